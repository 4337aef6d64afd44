// Decides which connections may be read. It is a state machine without clock and sockets: connections report the
// bytes that arrive and leave, and it decides which connections are read, which wait, and which are closed.
//
//              limits of its own
//   reading <───────────────────> paused
//      │  ^                      │  ^        all together above the maximum:  every connection is suspended
//      v  │                      v  │        below the resume mark:           every connection goes on
//      └──┴───── suspended ──────┴──┘
//   any of them ──drain──> drained (no longer read, requests in flight go on) ──close──> closed
//
// The bytes of a connection are counted in three groups, by the event that releases them:
//
//   input    an incomplete frame, and bytes that were read beyond a pause: released by further reading, or by closing
//   work     frames that a handler uses: released by the handler, in a time that it limits
//   output   answers that the network has not taken: released by the client
//
// While every connection is suspended, none is read. So input stays, and so does the output of a client that takes
// nothing. If these bytes alone reached the resume mark, all connections would wait for ever. So the machine closes
// the connections that have most of these bytes until the rest is below the mark. Then work and the network always
// bring the sum below the mark. After that memory is tight for a while: each connection is read for one request at a
// time, so that a client that requests little gets its turn between those that request much.
//
// Clients that have not authenticated share a small part of the budget for their input. Above it, those of them that
// hold most are closed. So they can neither suspend nor close the connections of others.
//
// Batches that the log keeps in memory have a budget of their own (the tail cache).

/** Why a connection is not read although the total is within the budget: bits of one number. */
const IN_FLIGHT = 1
const OUTBOUND = 2
const MUTED = 4

/** The part of the budget for the input of clients that have not authenticated. */
const STRANGERS_PART = 1 / 8

export interface BudgetLimits {
  readonly maxBytes: number
  /** Below maxBytes. */
  readonly resumeBytes: number
}

export interface SeatLimits {
  /** Reads pause at this many requests in flight. */
  readonly inFlightLimit: number
  /** Reads resume at this many requests in flight or fewer; below inFlightLimit. */
  readonly inFlightResume: number
  readonly maxPendingBytes: number
  readonly resumePendingBytes: number
}

/** The interface through which the admission controls a connection. */
export interface Member {
  /** Called when the state may have changed. The connection must count nothing before this returns. */
  changed(): void
  /** Closes the connection. Its seat must be closed before this returns. */
  shed(): void
  /** Returns the number of bytes of answers that the network has taken so far. */
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
  /** The part of the input that clients hold that have not authenticated. */
  #strangeBytes = 0
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

  /** True if all connections are suspended, or were suspended a short time ago. */
  get isTight(): boolean {
    return this.#isTight
  }

  /** `isStranger`: the client has not authenticated, and must. */
  join(member: Member, limits: SeatLimits, isStranger = false): Seat {
    const seat = new Seat(this, member, limits, isStranger)
    this.#seats.add(seat)
    return seat
  }

  /**
   * Calls `listener` when memory becomes scarce. The caller must then call `look` from time to time until `isTight`
   * is false.
   */
  whenTight(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /**
   * Must be called from time to time while memory is tight. Closes stuck connections if their bytes keep all
   * connections waiting. A connection is stuck if it has taken no byte of its answers since the last call, or since
   * all were suspended. Memory is no longer tight if no suspension happened since the last call.
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

  /**
   * Changes the sum by `deltaBytes`, of which `inputBytes` are input, and `strangeBytes` of these are of a client that
   * has not authenticated. Only seats call this.
   */
  count(deltaBytes: number, inputBytes: number, strangeBytes = 0): void {
    this.#pendingBytes += deltaBytes
    this.#inputBytes += inputBytes
    this.#strangeBytes += strangeBytes
    if (strangeBytes > 0) this.#relieveStrangers()
    if (!this.#isSuspended) {
      if (this.#pendingBytes > this.#limits.maxBytes) this.#suspend()
    } else if (this.#pendingBytes < this.#limits.resumeBytes) this.#resume()
    else if (inputBytes > 0) this.#relieveInput()
  }

  /** Removes a seat. Only seats call this. */
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
   * Lets every connection be read again. Connections without pending bytes come first, then the one that was not read
   * for longest: one small request must not wait for floods.
   */
  #resume(): void {
    this.#isSuspended = false
    const seats = [...this.#seats]
    for (const seat of seats) if (seat.isEmpty) seat.member.changed()
    for (const seat of seats) if (!seat.isEmpty) seat.member.changed()
  }

  #relieveStrangers(): void {
    while (this.#strangeBytes > this.#limits.maxBytes * STRANGERS_PART) {
      let largest: Seat | null = null
      for (const seat of this.#seats) if (seat.isStranger && seat.input > (largest?.input ?? 0)) largest = seat
      if (largest === null) return
      largest.member.shed()
    }
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
  /** True if its throttle time is not over: it may have one request in flight. */
  #isOwing = false
  #isDrained = false
  #isClosed = false
  #wasRead = false
  #takenBytes = 0
  #isStranger: boolean

  constructor(admission: Admission, member: Member, limits: SeatLimits, isStranger: boolean) {
    this.member = member
    this.#admission = admission
    this.#limits = limits
    this.#isStranger = isStranger
  }

  /** True until the client of a SASL listener has authenticated. */
  get isStranger(): boolean {
    return this.#isStranger
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

  /**
   * True if only throttling stops the connection from being read. The broker may then read its socket to notice its
   * end.
   */
  get isOnlyMuted(): boolean {
    return this.#paused === MUTED && !this.#admission.isSuspended && !this.#isDrained
  }

  /** True if it waits for memory: for its own limit or for the broker-wide budget. */
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

  /** The client has authenticated: its input no longer counts as a stranger's. */
  meet(): void {
    if (!this.#isStranger || this.#isClosed) return
    this.#admission.count(0, 0, -this.#input)
    this.#isStranger = false
  }

  /** Counts input that has arrived, or was released. */
  read(deltaBytes: number): void {
    if (this.#isClosed) return
    if (deltaBytes > 0) this.#wasRead = true
    this.#countInput(deltaBytes, deltaBytes)
  }

  /** Counts a frame of the input as a request. */
  begin(frameBytes: number): void {
    this.#work += frameBytes
    this.#countInput(0, -frameBytes)
    if (++this.#inFlight >= (this.#isOneByOne ? 1 : this.#limits.inFlightLimit)) this.#pause(IN_FLIGHT)
  }

  /**
   * Counts released bytes of its requests' frames. Bytes that the log still needs after the connection has closed
   * count until they are released.
   */
  settle(frameBytes: number): void {
    this.#work -= frameBytes
    this.#admission.count(-frameBytes, 0)
  }

  /** Counts an encoded answer. */
  answer(bytes: number): void {
    if (this.#isClosed) return
    this.#output += bytes
    if (this.#output > this.#limits.maxPendingBytes) this.#pause(OUTBOUND)
    this.#admission.count(bytes, 0)
  }

  /** Counts this number of bytes as taken by the network, and with them the last byte of this number of answers. */
  sent(bytes: number, answers: number): void {
    if (this.#isClosed) return
    this.#output -= bytes
    this.#admission.count(-bytes, 0)
    if (this.#output < this.#limits.resumePendingBytes) this.#unpause(OUTBOUND)
    this.finish(answers)
  }

  /** Counts this number of requests as finished. */
  finish(requests: number): void {
    this.#inFlight -= requests
    if (this.#inFlight <= (this.#isOneByOne ? 0 : this.#limits.inFlightResume)) this.#unpause(IN_FLIGHT)
  }

  /** Stops the reading until unmute() is called. */
  mute(): void {
    this.#pause(MUTED)
  }

  /**
   * Ends a mute. If `isOwing` is true, the throttle time is not over: the connection is read for one request at a
   * time until it is forgiven.
   */
  unmute(isOwing: boolean): void {
    this.#isOwing = isOwing
    this.#unpause(MUTED)
    if (isOwing && this.#inFlight >= 1) this.#pause(IN_FLIGHT)
  }

  /** Ends the reading of one request at a time that `unmute(true)` has begun. */
  forgive(): void {
    if (!this.#isOwing) return
    this.#isOwing = false
    this.finish(0)
  }

  get #isOneByOne(): boolean {
    return this.#isOwing || this.#admission.isTight
  }

  /** Stops the reading for good. */
  drain(): void {
    this.#isDrained = true
  }

  /** Releases the input and the output of the connection at once. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#isDrained = true
    this.#admission.leave(this)
    const output = this.#output
    this.#output = 0
    this.#inFlight = 0
    this.#countInput(-this.#input - output, -this.#input)
  }

  #countInput(deltaBytes: number, inputBytes: number): void {
    this.#input += inputBytes
    this.#admission.count(deltaBytes, inputBytes, this.#isStranger ? inputBytes : 0)
  }

  /** Returns true if input has arrived since the last call. Only the admission calls this. */
  wasRead(): boolean {
    const before = this.#wasRead
    this.#wasRead = false
    return before
  }

  /** Returns true if the network has taken answers since the last call. Only the admission calls this. */
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
