// One client's connection: bytes in, answers out in the order of their requests, and every limit that one client must
// not pass. Requests are worked on concurrently; they are handed to their handlers in the order in which they arrived.
// It does not know what a request means: dispatch.ts does.
//
//   socket ──> FrameSplitter ──> dispatch ──> queue of exchanges ──> outgoing ──> socket
//              incomplete frame               unanswered            gathered      unflushed
//                                             |<──────────── in flight ──────────────>|
//
// Reading pauses for any of four reasons, the bits of one number, and goes on when all are gone: IN_FLIGHT (the
// in-flight limit is reached), OUTBOUND (the client does not take its answers), GLOBAL (the broker-wide budget), MUTED
// (throttled, KIP-219). It pauses between two frames: what the socket had read beyond is kept and comes first afterwards, so
// that clients that send thousands of requests at once are worked on a limit at a time.

import type { Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import type { Budget, Member } from './budget.ts'
import type { Caller, Dispatch, Exchange, Outcome } from './dispatch.ts'
import { type FrameFault, type FrameSink, FrameSplitter } from './frame.ts'
import type { Peer } from './handlers/handler.ts'

export interface ConnectionLimits {
  readonly maxRequestBytes: number
  /** Reads pause at this many requests in flight. */
  readonly inFlightLimit: number
  /** At so many or fewer they go on; below inFlightLimit. */
  readonly inFlightResume: number
  readonly maxPendingBytes: number
  readonly resumePendingBytes: number
  readonly responseQueueTimeoutMs: number
  readonly frameTimeoutMs: number
  readonly idleTimeoutMs: number
}

/** Why the broker closed a connection, as a short word for metrics. */
export type CloseReason = FrameFault['reason'] | 'frame-timeout' | 'idle' | 'shed'

export interface ConnectionOptions {
  /** Whoever gives it hands its bytes to read(). */
  readonly socket: Socket
  readonly peer: Peer
  readonly dispatch: Dispatch
  readonly budget: Budget
  readonly clock: Clock
  readonly limits: ConnectionLimits
  /** Called once, when nothing can be read or written any more. */
  onClosed(connection: Connection): void
  /** Called when the connection closes for breaking a limit of this file. The message is for the log. */
  onRefused(reason: CloseReason, message: string): void
  /** Called when reading pauses because of pending bytes, and when it goes on. */
  onBackpressure(paused: boolean): void
}

const IN_FLIGHT = 1
const OUTBOUND = 2
const GLOBAL = 4
const MUTED = 8
const BACKPRESSURE = OUTBOUND | GLOBAL

/** Neighbouring pieces smaller than this are joined before they are written: a piece costs more than copying it. */
const SMALL_PIECE_BYTES = 2048

/** How long a client may take to close its side after the broker closed its own. */
const LINGER_MS = 1000

const KEEP_ALIVE_MS = 60_000

export class Connection implements Member, FrameSink {
  readonly #options: ConnectionOptions
  readonly #limits: ConnectionLimits
  readonly #clock: Clock
  readonly #socket: Socket
  readonly #splitter: FrameSplitter
  readonly #closed = new AbortController()
  readonly #caller: Caller
  /** No deadline that begins now is nearer than this. */
  readonly #nearestMs: number
  /** Unanswered exchanges in order of arrival, from #first on. */
  #queue: Exchange[] = []
  #first = 0
  /** Since when the first of the queue has been its head. */
  #headSinceMs = 0
  /** Read, and not split into frames because reading has paused. */
  #rest: Buffer | null = null
  #frameSinceMs = 0
  #activeAtMs: number
  /** Pieces for the socket, gathered until the end of the turn. */
  #outgoing: Uint8Array[] = []
  #outgoingBytes = 0
  #outgoingAnswers = 0
  /** Who wants to know when those are out. */
  #outgoingTold: (() => void)[] = []
  /** Answers that the socket has and the network has not taken yet. */
  #unflushedAnswers = 0
  /** Bytes of every answer, from when it was made until the network took it. */
  #pendingBytes = 0
  #paused = 0
  /** No more is read. */
  #closing = false
  /** No more is answered either: what is gathered goes out, the queue does not. */
  #abandoned = false
  #ended = false
  #released = false
  #timer: Timer | null = null
  #timerAtMs = 0
  #muteTimer: Timer | null = null
  #mutedUntilMs = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#limits = options.limits
    this.#clock = options.clock
    this.#socket = options.socket
    this.#splitter = new FrameSplitter(options.limits.maxRequestBytes, this)
    this.#caller = { peer: options.peer, closed: this.#closed.signal, last: null }
    this.#activeAtMs = options.clock.monotonic()
    this.#nearestMs = Math.min(
      options.limits.responseQueueTimeoutMs,
      options.limits.frameTimeoutMs,
      options.limits.idleTimeoutMs,
    )
    this.#socket.setNoDelay(true)
    this.#socket.setKeepAlive(true, KEEP_ALIVE_MS)
    // 'close' follows every error, and is where everything is let go of. A reset is one of a client's ways to leave.
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => this.#release())
    options.budget.join(this)
    this.#watch(this.#activeAtMs)
  }

  get peer(): Peer {
    return this.#options.peer
  }

  /** Reads no more, lets what is in flight be answered, then closes. */
  drain(): void {
    this.#stopReading()
    this.#closeWhenDone()
  }

  /** Closes at once. */
  destroy(): void {
    this.#socket.destroy()
    this.#release()
  }

  suspend(): void {
    this.#pause(GLOBAL)
    this.#watch(this.#clock.monotonic())
  }

  admit(): void {
    this.#resume(GLOBAL)
  }

  incompleteBytes(): number {
    return this.#splitter.heldBytes
  }

  shed(): void {
    this.#refuse('shed', 'the memory for requests is full of incomplete frames, of which this was the largest')
  }

  held(deltaBytes: number): void {
    this.#options.budget.add(deltaBytes)
  }

  fault(fault: FrameFault): void {
    this.#options.onRefused(fault.reason, fault.message)
    this.drain()
  }

  frame(bytes: Buffer): boolean {
    const exchange = this.#options.dispatch.receive(bytes, this.#caller, this.#settled)
    const outcome = exchange.outcome
    if (outcome !== null) {
      this.#options.budget.add(-exchange.frameBytes)
      if (outcome.kind === 'answer') this.#account(outcome.byteLength)
      if (outcome.kind === 'close') this.#stopReading()
    }
    if (outcome !== null && this.#waiting === 0) {
      this.#transmit(outcome)
      this.#closeWhenDone()
    } else {
      if (this.#waiting === 0) this.#headSinceMs = this.#clock.monotonic()
      this.#queue.push(exchange)
    }
    if (this.#inFlight >= this.#limits.inFlightLimit) this.#pause(IN_FLIGHT)
    return this.#paused === 0 && !this.#closing
  }

  get #waiting(): number {
    return this.#queue.length - this.#first
  }

  get #inFlight(): number {
    return this.#waiting + this.#outgoingAnswers + this.#unflushedAnswers
  }

  /** Takes what the socket has read. The memory may be used again when this returns. */
  read(chunk: Buffer): void {
    if (this.#closing) return
    const now = this.#clock.monotonic()
    const begun = this.#splitter.begun
    this.#activeAtMs = now
    const taken = this.#splitter.push(chunk)
    if (taken < chunk.byteLength && !this.#closing) this.#keep(Buffer.from(chunk.subarray(taken)))
    if (this.#splitter.begun !== begun) this.#frameSinceMs = now
    this.#watch(now)
  }

  #keep(rest: Buffer | null): void {
    const deltaBytes = (rest?.byteLength ?? 0) - (this.#rest?.byteLength ?? 0)
    this.#rest = rest
    if (deltaBytes !== 0) this.#options.budget.add(deltaBytes)
  }

  /** Goes on with what was kept, then with the socket. */
  readonly #proceed = (): void => {
    if (this.#paused !== 0 || this.#closing) return
    const rest = this.#rest
    if (rest !== null) {
      this.#keep(null)
      this.read(rest)
    }
    if (this.#paused === 0 && !this.#closing) this.#socket.resume()
  }

  /** What a request came to, when that took longer than handing it over. */
  readonly #settled = (exchange: Exchange, outcome: Outcome): void => {
    this.#options.budget.add(-exchange.frameBytes)
    if (exchange.outcome !== null || this.#abandoned || this.#released) return
    exchange.outcome = outcome
    if (outcome.kind === 'answer') this.#account(outcome.byteLength)
    if (this.#queue[this.#first] === exchange) this.#advance()
  }

  /** Hands on what is answered at the head of the queue. */
  #advance(): void {
    const first = this.#first
    while (this.#first < this.#queue.length && !this.#abandoned) {
      const outcome = this.#queue[this.#first]!.outcome
      if (outcome === null) break
      this.#first++
      this.#transmit(outcome)
    }
    if (this.#first === first && !this.#abandoned) return
    const now = this.#clock.monotonic()
    this.#headSinceMs = now
    this.#activeAtMs = now
    if (this.#first === this.#queue.length) {
      this.#queue = []
      this.#first = 0
    } else if (this.#first >= 64 && this.#first * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#first)
      this.#first = 0
    }
    if (this.#inFlight <= this.#limits.inFlightResume) this.#resume(IN_FLIGHT)
    this.#closeWhenDone()
    this.#watch(now)
  }

  #transmit(outcome: Outcome): void {
    if (outcome.kind === 'close') {
      this.#abandoned = true
      this.#queue = []
      this.#first = 0
      this.#stopReading()
      return
    }
    if (outcome.throttleMs > 0) this.#mute(outcome.throttleMs)
    if (outcome.kind === 'silence') return
    if (this.#outgoingAnswers === 0) process.nextTick(this.#flush)
    for (const part of outcome.parts) this.#outgoing.push(part)
    this.#outgoingBytes += outcome.byteLength
    this.#outgoingAnswers++
    if (outcome.onSent !== null) this.#outgoingTold.push(outcome.onSent)
  }

  /** Writes what the turn has gathered with one call to the system. */
  readonly #flush = (): void => {
    if (this.#released) return
    const pieces = join(this.#outgoing)
    const bytes = this.#outgoingBytes
    const answers = this.#outgoingAnswers
    const told = this.#outgoingTold
    this.#outgoing = []
    this.#outgoingBytes = 0
    this.#outgoingAnswers = 0
    this.#outgoingTold = []
    this.#unflushedAnswers += answers
    const last = pieces.length - 1
    if (last > 0) this.#socket.cork()
    for (let i = 0; i < last; i++) this.#socket.write(pieces[i]!)
    this.#socket.write(pieces[last]!, error => {
      if (error || this.#released) return
      this.#unflushedAnswers -= answers
      this.#activeAtMs = this.#clock.monotonic()
      this.#pendingBytes -= bytes
      this.#options.budget.add(-bytes)
      for (const tell of told) tell()
      if (this.#pendingBytes < this.#limits.resumePendingBytes) this.#resume(OUTBOUND)
      if (this.#inFlight <= this.#limits.inFlightResume) this.#resume(IN_FLIGHT)
      this.#closeWhenDone()
    })
    if (last > 0) this.#socket.uncork()
  }

  #account(bytes: number): void {
    this.#pendingBytes += bytes
    if (this.#pendingBytes > this.#limits.maxPendingBytes) this.#pause(OUTBOUND)
    this.#options.budget.add(bytes)
  }

  #pause(reason: number): void {
    const before = this.#paused
    this.#paused |= reason
    if (before === 0 && !this.#closing) this.#socket.pause()
    if ((before & BACKPRESSURE) === 0 && (reason & BACKPRESSURE) !== 0) this.#options.onBackpressure(true)
  }

  #resume(reason: number): void {
    const before = this.#paused
    if ((before & reason) === 0) return
    this.#paused &= ~reason
    if ((before & BACKPRESSURE) !== 0 && (this.#paused & BACKPRESSURE) === 0) this.#options.onBackpressure(false)
    if (this.#paused !== 0 || this.#closing) return
    // The client could not go on with its frame while nobody read.
    this.#frameSinceMs = this.#clock.monotonic()
    // Not at once: others are being told the same, and what is kept would come between.
    if (this.#rest === null) this.#socket.resume()
    else process.nextTick(this.#proceed)
    this.#watch(this.#frameSinceMs)
  }

  #mute(throttleMs: number): void {
    const untilMs = this.#clock.monotonic() + throttleMs
    // An earlier answer may have said a longer time.
    if ((this.#paused & MUTED) !== 0 && untilMs <= this.#mutedUntilMs) return
    this.#mutedUntilMs = untilMs
    this.#pause(MUTED)
    this.#muteTimer?.cancel()
    this.#muteTimer = this.#clock.timer(throttleMs, () => this.#resume(MUTED))
  }

  #refuse(reason: CloseReason, message: string): void {
    this.#options.onRefused(reason, message)
    this.destroy()
  }

  #stopReading(): void {
    if (this.#closing) return
    this.#closing = true
    this.#splitter.stop()
    this.#keep(null)
    // What still comes is dropped unread, so that a client that leaves before its last answer is ready is noticed.
    this.#socket.resume()
  }

  #closeWhenDone(): void {
    if (!this.#closing || this.#ended || this.#released) return
    if (this.#waiting > 0 && !this.#abandoned) return
    if (this.#outgoingAnswers + this.#unflushedAnswers > 0) return
    this.#ended = true
    // Closing with unread input resets the connection, and a reset overtakes answers that the client has not read yet.
    // So the broker closes its side first and discards what still comes.
    this.#socket.end()
    this.#socket.resume()
    this.#timer?.cancel()
    this.#timer = this.#clock.timer(LINGER_MS, () => this.destroy())
  }

  #release(): void {
    if (this.#released) return
    this.#released = true
    this.#closing = true
    this.#timer?.cancel()
    this.#muteTimer?.cancel()
    this.#splitter.stop()
    this.#keep(null)
    if ((this.#paused & BACKPRESSURE) !== 0) this.#options.onBackpressure(false)
    this.#options.budget.leave(this)
    this.#options.budget.add(-this.#pendingBytes)
    this.#pendingBytes = 0
    this.#queue = []
    this.#first = 0
    this.#outgoing = []
    this.#closed.abort()
    this.#options.onClosed(this)
  }

  /** Makes sure that the timer fires no later than any deadline that begins now. */
  #watch(now: number): void {
    const atMs = now + this.#nearestMs
    if (this.#ended || this.#released || (this.#timer !== null && this.#timerAtMs <= atMs)) return
    this.#arm(now, atMs)
  }

  #arm(now: number, atMs: number): void {
    this.#timer?.cancel()
    this.#timerAtMs = atMs
    this.#timer = this.#clock.timer(atMs - now, this.#checkDeadlines)
  }

  readonly #checkDeadlines = (): void => {
    this.#timer = null
    if (this.#ended || this.#released) return
    const now = this.#clock.monotonic()
    let nextMs = Number.POSITIVE_INFINITY
    const head = this.#queue[this.#first]
    if (head !== undefined) {
      const atMs = this.#headSinceMs + this.#limits.responseQueueTimeoutMs + head.patienceMs()
      if (atMs <= now) {
        const outcome = head.expire()
        head.outcome = outcome
        if (outcome.kind === 'answer') this.#account(outcome.byteLength)
        this.#advance()
        this.#watch(now)
        return
      }
      nextMs = atMs
    }
    if (this.#splitter.incomplete && this.#paused === 0 && !this.#closing) {
      const atMs = this.#frameSinceMs + this.#limits.frameTimeoutMs
      if (atMs <= now) {
        this.#refuse('frame-timeout', `a frame was not complete after ${this.#limits.frameTimeoutMs} ms`)
        return
      }
      nextMs = Math.min(nextMs, atMs)
    }
    // While everybody waits for the memory of answers, whoever does not take theirs gives it back sooner.
    if (this.#unflushedAnswers > 0 && (this.#paused & GLOBAL) !== 0) {
      const atMs = this.#activeAtMs + this.#limits.frameTimeoutMs
      if (atMs <= now) {
        this.#refuse('shed', `no answer was taken for ${this.#limits.frameTimeoutMs} ms, and every connection waits`)
        return
      }
      nextMs = Math.min(nextMs, atMs)
    }
    // Who is not read cannot show that they are there.
    if (head === undefined && (this.#paused & (GLOBAL | MUTED)) === 0) {
      const atMs = this.#activeAtMs + this.#limits.idleTimeoutMs
      if (atMs <= now) {
        this.#refuse('idle', `nothing was asked or taken for ${this.#limits.idleTimeoutMs} ms`)
        return
      }
      nextMs = Math.min(nextMs, atMs)
    }
    this.#arm(now, nextMs === Number.POSITIVE_INFINITY ? now + this.#nearestMs : nextMs)
  }
}

/** Joins runs of small pieces; large ones stay the slices that they are. */
function join(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  if (pieces.length === 1) return pieces
  const joined: Uint8Array[] = []
  let from = 0
  for (let at = 0; at <= pieces.length; at++) {
    if (at < pieces.length && pieces[at]!.byteLength < SMALL_PIECE_BYTES) continue
    if (at - from === 1) joined.push(pieces[from]!)
    else if (at > from) joined.push(Buffer.concat(pieces.slice(from, at)))
    if (at < pieces.length) joined.push(pieces[at]!)
    from = at + 1
  }
  return joined
}
