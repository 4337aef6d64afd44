// Which connections may be read. A state machine without clock and sockets: it is told which bytes come and go, and
// says who is read, who waits, and who has to go.
//
//              limits of its own
//   reading <───────────────────> paused
//      │  ^                      │  ^        all together above the maximum:  every connection is suspended
//      v  │                      v  │        below the resume mark:           every connection goes on
//      └──┴───── suspended ──────┴──┘
//   any of them ──drain──> drained (is read no more, what is under way goes on) ──close──> closed
//
// Bytes of a connection are counted by who can let go of them:
//
//   input    a frame that is not complete, and what was read beyond a pause: only by reading on, or by closing
//   work     frames that a handler looks at: by the handlers, in a time that they bound
//   output   answers that the network has not taken: by the client
//
// While every connection is suspended none is read, so input stays, and so does the output of a client that takes
// nothing. Where these alone reach the resume mark, all would wait for ever: the machine closes the connections that
// hold most of it until the rest is below the mark. So work and the network always bring the sum there. After that
// memory is tight for a while: each connection is read for one request at a time, so that a client that asks for little
// gets its turn between those that ask for much.
//
// Batches that the log keeps in memory have a budget of their own (the tail cache).

/** Why a connection is not read although the total is within the budget: bits of one number. */
const IN_FLIGHT = 1
const OUTBOUND = 2
const MUTED = 4

export interface BudgetLimits {
  readonly maxBytes: number
  /** Below maxBytes. */
  readonly resumeBytes: number
}

export interface SeatLimits {
  /** Reads pause at this many requests in flight. */
  readonly inFlightLimit: number
  /** Reads go on at this many requests in flight or fewer; below inFlightLimit. */
  readonly inFlightResume: number
  readonly maxPendingBytes: number
  readonly resumePendingBytes: number
}

/** The interface of a connection to the admission's decisions. */
export interface Member {
  /** The state may have changed. The connection must count nothing before this returns. */
  changed(): void
  /** Closes the connection, and its seat before this returns. */
  shed(): void
  /** Bytes of answers that the network has taken so far. */
  takenBytes(): number
}

export type AdmissionState = 'reading' | 'paused' | 'suspended' | 'drained' | 'closed'

/** The budget of all connections together. */
export class Admission {
  readonly #limits: BudgetLimits
  /** The connections that have waited for longest come first. */
  readonly #seats = new Set<Seat>()
  readonly #listeners: (() => void)[] = []
  #pendingBytes = 0
  #inputBytes = 0
  #isSuspended = false
  #isTight = false
  #wasSuspended = false

  constructor(limits: BudgetLimits) {
    this.#limits = limits
  }

  get pendingBytes(): number {
    return this.#pendingBytes
  }

  get isSuspended(): boolean {
    return this.#isSuspended
  }

  /** All connections were suspended a short time ago. */
  get isTight(): boolean {
    return this.#isTight
  }

  join(member: Member, limits: SeatLimits): Seat {
    const seat = new Seat(this, member, limits)
    this.#seats.add(seat)
    return seat
  }

  /** Calls back when memory becomes scarce: then `look` must be called from time to time until it no longer is. */
  whenTight(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /**
   * Some time has passed. A connection that has taken no byte of its answers since the last look, or since all were
   * suspended, is stuck.
   */
  look(): void {
    if (!this.#isSuspended) {
      if (!this.#wasSuspended) this.#loosen()
      this.#wasSuspended = false
      return
    }
    const stuck = new Map<Seat, number>()
    for (const seat of this.#seats) stuck.set(seat, seat.input + (seat.hasTaken() ? 0 : seat.output))
    this.#relieve(stuck)
  }

  /** For seats: the sum changes by `deltaBytes`, and `inputBytes` of that are input. */
  count(deltaBytes: number, inputBytes: number): void {
    this.#pendingBytes += deltaBytes
    this.#inputBytes += inputBytes
    if (!this.#isSuspended) {
      if (this.#pendingBytes > this.#limits.maxBytes) this.#suspend()
    } else if (this.#pendingBytes < this.#limits.resumeBytes) this.#resume()
    else if (inputBytes > 0) this.#relieveInput()
  }

  /** For seats. */
  leave(seat: Seat): void {
    this.#seats.delete(seat)
  }

  #suspend(): void {
    const wasTight = this.#isTight
    this.#isSuspended = true
    this.#isTight = true
    this.#wasSuspended = true
    for (const seat of [...this.#seats]) {
      if (seat.wasRead()) {
        this.#seats.delete(seat)
        this.#seats.add(seat)
      }
      seat.hasTaken()
      seat.member.changed()
    }
    if (!wasTight) for (const listener of this.#listeners) listener()
    this.#relieveInput()
  }

  #loosen(): void {
    this.#isTight = false
    for (const seat of [...this.#seats]) seat.finish(0)
  }

  /**
   * Connections that hold nothing go first, then the one that was not read for longest: one small request must not wait
   * for floods.
   */
  #resume(): void {
    this.#isSuspended = false
    const seats = [...this.#seats]
    for (const seat of seats) if (seat.isEmpty) seat.member.changed()
    for (const seat of seats) if (!seat.isEmpty) seat.member.changed()
  }

  #relieveInput(): void {
    if (this.#inputBytes < this.#limits.resumeBytes) return
    this.#relieve(new Map(Array.from(this.#seats, seat => [seat, seat.input])))
  }

  /** Closes the connections that hold most of the stuck memory until the rest is below the resume mark. */
  #relieve(stuck: ReadonlyMap<Seat, number>): void {
    let bytes = 0
    for (const held of stuck.values()) bytes += held
    if (bytes < this.#limits.resumeBytes) return
    for (const [seat, held] of [...stuck].sort(([, one], [, other]) => other - one)) {
      if (bytes < this.#limits.resumeBytes || !this.#isSuspended) return
      bytes -= held
      seat.member.shed()
    }
  }
}

/** The bytes that one connection holds, and whether it may be read. */
export class Seat {
  readonly member: Member
  readonly #admission: Admission
  readonly #limits: SeatLimits
  #input = 0
  #work = 0
  #output = 0
  #inFlight = 0
  #paused = 0
  /** It may have one request in flight. */
  #isOwing = false
  #isDrained = false
  #isClosed = false
  #wasRead = false
  #takenBytes = 0

  constructor(admission: Admission, member: Member, limits: SeatLimits) {
    this.member = member
    this.#admission = admission
    this.#limits = limits
  }

  get state(): AdmissionState {
    if (this.#isClosed) return 'closed'
    if (this.#isDrained) return 'drained'
    if (this.#admission.isSuspended) return 'suspended'
    return this.#paused === 0 ? 'reading' : 'paused'
  }

  get mayRead(): boolean {
    return this.#paused === 0 && !this.#admission.isSuspended && !this.#isDrained
  }

  /** Only throttling stops it from being read: the broker may listen for the end of its connection. */
  get isOnlyMuted(): boolean {
    return this.#paused === MUTED && !this.#admission.isSuspended && !this.#isDrained
  }

  /** Whether it waits for memory, its own or that of all connections. */
  get isHeldBack(): boolean {
    return !this.#isClosed && ((this.#paused & OUTBOUND) !== 0 || this.#admission.isSuspended)
  }

  get isSuspended(): boolean {
    return this.#admission.isSuspended
  }

  get isTight(): boolean {
    return this.#admission.isTight
  }

  get input(): number {
    return this.#input
  }

  get output(): number {
    return this.#output
  }

  /** Requests that have arrived and whose answers are not sent yet. */
  get inFlight(): number {
    return this.#inFlight
  }

  get isEmpty(): boolean {
    return this.#input + this.#work + this.#output === 0 && this.#inFlight === 0
  }

  /** Input has arrived, or was given back. */
  read(deltaBytes: number): void {
    if (this.#isClosed) return
    if (deltaBytes > 0) this.#wasRead = true
    this.#input += deltaBytes
    this.#admission.count(deltaBytes, deltaBytes)
  }

  /** A frame of the input has become a request. */
  begin(frameBytes: number): void {
    this.#input -= frameBytes
    this.#work += frameBytes
    this.#admission.count(0, -frameBytes)
    if (++this.#inFlight >= (this.#isOneByOne ? 1 : this.#limits.inFlightLimit)) this.#pause(IN_FLIGHT)
  }

  /**
   * The frames of its requests hold this much less. Bytes that the log still holds when the connection is gone count
   * until then.
   */
  settle(frameBytes: number): void {
    this.#work -= frameBytes
    this.#admission.count(-frameBytes, 0)
  }

  /** An answer was built. */
  answer(bytes: number): void {
    if (this.#isClosed) return
    this.#output += bytes
    if (this.#output > this.#limits.maxPendingBytes) this.#pause(OUTBOUND)
    this.#admission.count(bytes, 0)
  }

  /** The network has taken this number of bytes, and with them the last byte of this number of answers. */
  sent(bytes: number, answers: number): void {
    if (this.#isClosed) return
    this.#output -= bytes
    this.#admission.count(-bytes, 0)
    if (this.#output < this.#limits.resumePendingBytes) this.#unpause(OUTBOUND)
    this.finish(answers)
  }

  /** This number of requests is over. */
  finish(requests: number): void {
    this.#inFlight -= requests
    if (this.#inFlight <= (this.#isOneByOne ? 0 : this.#limits.inFlightResume)) this.#unpause(IN_FLIGHT)
  }

  /** It is not read until unmute. */
  mute(): void {
    this.#pause(MUTED)
  }

  /** If it still owes time, it is read for one request only, until that request is over and the opposite was said. */
  unmute(isOwing: boolean): void {
    this.#isOwing = isOwing
    this.#unpause(MUTED)
    if (isOwing && this.#inFlight >= 1) this.#pause(IN_FLIGHT)
  }

  /** It owes no more time. */
  forgive(): void {
    if (!this.#isOwing) return
    this.#isOwing = false
    this.finish(0)
  }

  get #isOneByOne(): boolean {
    return this.#isOwing || this.#admission.isTight
  }

  /** It is not read any more. */
  drain(): void {
    this.#isDrained = true
  }

  /** Everything that the connection holds is given back at once. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#isDrained = true
    this.#admission.leave(this)
    const input = this.#input
    const output = this.#output
    this.#input = 0
    this.#output = 0
    this.#inFlight = 0
    this.#admission.count(-input - output, -input)
  }

  /** For the admission: whether it was read since the last call. */
  wasRead(): boolean {
    const before = this.#wasRead
    this.#wasRead = false
    return before
  }

  /** For the admission: whether the network has taken anything since the last call. */
  hasTaken(): boolean {
    const before = this.#takenBytes
    this.#takenBytes = this.member.takenBytes()
    return this.#takenBytes !== before
  }

  #pause(reason: number): void {
    const before = this.#paused
    this.#paused |= reason
    if (before !== this.#paused && !this.#isClosed) this.member.changed()
  }

  #unpause(reason: number): void {
    if ((this.#paused & reason) === 0) return
    this.#paused &= ~reason
    if (!this.#isClosed) this.member.changed()
  }
}
