// Serves one client's connection: it takes the bytes of requests, sends the answers in the order of their requests,
// and enforces the limits of one client. Requests go to their handlers in the order in which they arrived, and
// handlers work concurrently. It does not know the meaning of a request (dispatch.ts), the client's identity
// (session.ts) or sockets (transport.ts).
//
//   bytes ──> FrameSplitter ──> dispatch ──> queue of exchanges ──> Outgoing ──> transport
//             incomplete frame               unanswered
//                                            |<──────────── in flight ──────────────>|
//
// The connection's seat in connection/admission.ts decides whether the connection takes requests. It takes none at the
// in-flight limit, while the client does not take its answers, while the client is throttled (KIP-219), and above the
// broker-wide budget. The connection pauses between two frames. If the socket has already read bytes of later frames,
// the connection keeps them and processes them first when it continues. So if a client sends thousands of requests at
// once, the broker works on no more of them at a time than the in-flight limit allows. While a client is throttled, its
// socket is still read until bytes arrive, because only a read shows that the client disconnects.
//
// The connection also pauses behind each frame of an authentication until its outcome is known. So no request that a
// client pipelined behind it is decoded before the client has authenticated, and none at all if it fails.

import type { Clock, Timer } from '../../base/clock.ts'
import type { Dispatch, Exchange, Outcome } from '../dispatch.ts'
import type { Admission, Member, Seat, SeatLimits } from './admission.ts'
import { type FrameFault, type FrameRule, type FrameSink, FrameSplitter, requestFrames } from './frame.ts'
import { Outgoing } from './outgoing.ts'
import { hasIdentity } from './sasl-state.ts'
import type { Session } from './session.ts'
import type { Transport } from './transport.ts'

export interface ConnectionLimits extends SeatLimits {
  readonly maxRequestBytes: number
  readonly responseQueueTimeoutMs: number
  readonly frameTimeoutMs: number
  readonly idleTimeoutMs: number
  /** How long the client of a SASL listener may take to authenticate. */
  readonly authenticationTimeoutMs: number
}

/** Why the broker closed a connection, as a short word for metrics. */
export type CloseReason =
  | FrameFault['reason']
  | 'frame-timeout'
  | 'authentication-timeout'
  | 'idle'
  | 'stalled'
  | 'shed'

export interface ConnectionOptions {
  /** The caller passes the socket's bytes to read(). */
  readonly transport: Transport
  readonly session: Session
  readonly dispatch: Dispatch
  readonly admission: Admission
  readonly clock: Clock
  readonly limits: ConnectionLimits
  /** On clock.monotonic(): when the socket was accepted. The time to authenticate counts from here. */
  readonly acceptedAtMs: number
  /** Called once, when the connection is closed. The reason is for the log. */
  onClosed(connection: Connection, reason: string): void
  /** Called when the broker closes the connection because of a limit of this file. The message is for the log. */
  onRefused(reason: CloseReason, message: string): void
  /** Called when reading pauses because of pending bytes, and when it resumes. */
  onBackpressure(paused: boolean): void
}

/** If a client takes no byte of its answers for this long, the broker closes the connection. */
const ANSWER_TIMEOUT_MS = 30_000

/** The time between two checks whether a client takes its answers, while some are being sent. */
const ANSWER_CHECK_MS = 2_000

/**
 * The longest time for which a throttled client is not read. If its throttle time is longer and it still sends, the
 * broker reads one request after this time, and stops reading again.
 */
const LONGEST_MUTE_MS = 30_000

/** How long a client may take to close its side after the broker closed its own. */
const LINGER_MS = 1000

/** The largest frame of a client that has chosen no mechanism. */
const FIRST_FRAMES: FrameRule = Object.freeze({
  ...requestFrames(64 * 1024),
  limit: 'a client may send before it has chosen a SASL mechanism',
  tooLarge: 'too-large-unauthenticated',
})

/** The largest frame of a client that authenticates. The Kerberos tickets of Active Directory are large. */
const TOKEN_FRAMES: FrameRule = Object.freeze({
  ...FIRST_FRAMES,
  most: 512 * 1024,
  limit: 'a client may send before it has authenticated',
})

/** A token may be empty. */
const RAW_TOKENS: FrameRule = Object.freeze({ ...TOKEN_FRAMES, least: 0 })

const NOTHING = Buffer.alloc(0)

export class Connection implements Member, FrameSink {
  readonly #options: ConnectionOptions
  readonly #limits: ConnectionLimits
  readonly #clock: Clock
  readonly #transport: Transport
  readonly #session: Session
  readonly #splitter: FrameSplitter
  readonly #requests: FrameRule
  readonly #seat: Seat
  readonly #outgoing: Outgoing
  /** The shortest of the timeouts: no deadline that begins now is nearer. */
  readonly #nearestMs: number
  /** Unanswered exchanges in order of arrival, from #first on. */
  #queue: Exchange[] = []
  #first = 0
  /** The time since when the first exchange is at the head of the queue. */
  #headSinceMs = 0
  /** Bytes that were read but not split into frames, because reading has paused. */
  #rest: Buffer | null = null
  /** The exchange that must end before the next frame is read; null if no exchange must. */
  #holding: Exchange | null = null
  #frameSinceMs = 0
  #activeAtMs: number
  /** The bytes that the network had taken at the last check, and the time since when it has taken no more. */
  #takenBytes = 0
  #takenAtMs = 0
  /** True if the socket is read, even if only to notice that the client disconnects. */
  #isListening = true
  #wasReading = true
  #isHeldBack = false
  /** True if the connection is no longer read. */
  #closing = false
  /** True if the connection accepts no more answers. Answers that are gathered are sent, the queue is not. */
  #abandoned = false
  #ended = false
  #released = false
  /** Why the broker closes the connection; null while it does not close it. */
  #reason: string | null = null
  #timer: Timer | null = null
  #timerAtMs = 0
  #muteTimer: Timer | null = null
  #mutedUntilMs = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#limits = options.limits
    this.#clock = options.clock
    this.#transport = options.transport
    this.#session = options.session
    this.#requests = requestFrames(options.limits.maxRequestBytes)
    this.#splitter = new FrameSplitter(() => this.#rule, this)
    this.#outgoing = new Outgoing(options.transport, { sent: this.#sent, behind: this.#behind })
    this.#activeAtMs = options.clock.monotonic()
    this.#nearestMs = Math.min(
      options.limits.responseQueueTimeoutMs,
      options.limits.frameTimeoutMs,
      options.limits.idleTimeoutMs,
      options.limits.authenticationTimeoutMs,
    )
    this.#transport.whenClosed(() => this.#release())
    this.#seat = options.admission.join(this, options.limits, !hasIdentity(options.session.sasl))
    this.changed()
    this.#watch(this.#activeAtMs)
  }

  get session(): Session {
    return this.#session
  }

  /** Stops reading, lets the requests in flight finish, then closes. */
  drain(): void {
    this.#stopReading('drained')
    this.#closeWhenDone()
  }

  /** Closes at once. */
  destroy(): void {
    this.#reason ??= 'broker closed'
    this.#transport.destroy()
    this.#release()
  }

  changed(): void {
    const { isHeldBack } = this.#seat
    const mayRead = this.#mayRead
    if (isHeldBack !== this.#isHeldBack) {
      this.#isHeldBack = isHeldBack
      this.#options.onBackpressure(isHeldBack)
    }
    if (this.#closing) return
    const goesOn = mayRead && !this.#wasReading
    this.#wasReading = mayRead
    if (goesOn) {
      // The client could not finish its frame while it was not read, so its time begins again.
      this.#frameSinceMs = this.#clock.monotonic()
      this.#watch(this.#frameSinceMs)
    }
    // The kept bytes are processed later: other connections are notified at this moment, and must be notified first.
    if (mayRead && this.#rest !== null) {
      // While memory is scarce, connections without pending bytes are read first: their sockets are read between two
      // turns.
      if (goesOn && this.#seat.isTight) this.#clock.soon(() => this.#clock.soon(this.#proceed))
      else if (goesOn) process.nextTick(this.#proceed)
    } else this.#listen(mayRead || (this.#listensInVain && this.#rest === null))
  }

  #listen(isWanted: boolean): void {
    if (isWanted === this.#isListening) return
    this.#isListening = isWanted
    if (isWanted) this.#transport.resume()
    else this.#transport.pause()
  }

  takenBytes(): number {
    return this.#transport.takenBytes
  }

  shed(): void {
    const { input, output, isStranger } = this.#seat
    const memory = isStranger ? 'the memory for clients that have not authenticated' : 'the memory for requests'
    const what = `${input} bytes of unfinished requests and ${output} bytes of answers that it does not take`
    this.#refuse('shed', `${memory} is full, and this connection held most of it: ${what}`)
  }

  held(deltaBytes: number): void {
    this.#seat.read(deltaBytes)
  }

  fault(fault: FrameFault): void {
    this.#options.onRefused(fault.reason, fault.message)
    this.#stopReading(fault.reason)
    this.#closeWhenDone()
  }

  frame(bytes: Buffer): boolean {
    this.#seat.begin(bytes.byteLength)
    const exchange = this.#options.dispatch.receive(bytes, this.#session, this.#settled)
    const outcome = exchange.outcome
    if (outcome === null && exchange.holdsReading) {
      this.#holding = exchange
      this.changed()
    }
    this.#seat.settle(outcome === null ? bytes.byteLength - exchange.frameBytes : bytes.byteLength)
    if (outcome !== null) {
      if (outcome.kind === 'answer') this.#seat.answer(outcome.byteLength)
      if (isLast(outcome)) this.#stopReading(outcome.reason)
    }
    if (outcome !== null && this.#waiting === 0) {
      this.#transmit(outcome)
      this.#closeWhenDone()
    } else {
      if (this.#waiting === 0) this.#headSinceMs = this.#clock.monotonic()
      this.#queue.push(exchange)
    }
    return this.#mayRead && !this.#closing
  }

  /** Whether the connection may take the next frame. */
  get #mayRead(): boolean {
    return this.#seat.mayRead && this.#holding === null
  }

  /** Whether the socket is read although no frame is taken, to notice that the client disconnects. */
  get #listensInVain(): boolean {
    return this.#seat.isOnlyMuted || (this.#holding !== null && this.#seat.mayRead)
  }

  get #rule(): FrameRule {
    const { sasl } = this.#session
    if (hasIdentity(sasl)) return this.#requests
    if (sasl.at !== 'exchange') return FIRST_FRAMES
    return sasl.isRaw ? RAW_TOKENS : TOKEN_FRAMES
  }

  get #waiting(): number {
    return this.#queue.length - this.#first
  }

  /** Takes the bytes that the socket has read. The memory may be reused when this returns. */
  read(chunk: Buffer): void {
    if (this.#closing) return
    const now = this.#clock.monotonic()
    const begun = this.#splitter.begun
    this.#activeAtMs = now
    const isWanted = this.#mayRead && this.#rest === null
    const taken = isWanted ? this.#splitter.push(chunk) : 0
    if (taken < chunk.byteLength && !this.#closing)
      this.#keep(Buffer.concat([this.#rest ?? NOTHING, chunk.subarray(taken)]))
    if (this.#splitter.begun !== begun) this.#frameSinceMs = now
    this.#watch(now)
  }

  #keep(rest: Buffer | null): void {
    const deltaBytes = (rest?.byteLength ?? 0) - (this.#rest?.byteLength ?? 0)
    this.#rest = rest
    if (rest !== null) this.#listen(false)
    if (deltaBytes !== 0) this.#seat.read(deltaBytes)
  }

  /** Continues with the kept bytes, then with the socket. */
  readonly #proceed = (): void => {
    if (!this.#mayRead || this.#closing) return
    const rest = this.#rest
    if (rest !== null) {
      this.#keep(null)
      this.read(rest)
    }
    if (this.#rest === null && !this.#closing) this.changed()
  }

  /** Takes the outcome of a request whose handler has returned a promise. */
  readonly #settled = (exchange: Exchange, outcome: Outcome): void => {
    this.#seat.settle(exchange.frameBytes)
    if (exchange.outcome === null && !this.#abandoned && !this.#released) {
      exchange.outcome = outcome
      if (outcome.kind === 'answer') this.#seat.answer(outcome.byteLength)
      if (isLast(outcome)) this.#stopReading(outcome.reason)
      if (this.#queue[this.#first] === exchange) this.#advance()
    }
    if (this.#holding !== exchange) return
    this.#holding = null
    if (hasIdentity(this.#session.sasl)) this.#seat.meet()
    if (!this.#released) this.changed()
  }

  /** Sends the answers that are ready at the head of the queue. */
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
    this.#closeWhenDone()
    this.#watch(now)
  }

  #transmit(outcome: Outcome): void {
    if (isLast(outcome)) {
      this.#abandoned = true
      this.#queue = []
      this.#first = 0
      this.#stopReading(outcome.reason)
      if (outcome.kind === 'close') return
    } else if (outcome.throttleMs > 0) this.#mute(outcome.throttleMs)
    else this.#seat.forgive()
    if (outcome.kind === 'silence') {
      this.#seat.finish(1)
      return
    }
    if (this.#outgoing.answers === 0) this.#takenAtMs = this.#clock.monotonic()
    this.#outgoing.add(outcome)
  }

  readonly #sent = (bytes: number, answers: number): void => {
    this.#activeAtMs = this.#clock.monotonic()
    this.#seat.sent(bytes, answers)
    this.#closeWhenDone()
  }

  /** The client does not take its answers as fast as they come. */
  readonly #behind = (): void => {
    const now = this.#clock.monotonic()
    this.#noteTaken(now)
    this.#watchBy(now, now + ANSWER_CHECK_MS)
  }

  #noteTaken(now: number): void {
    const { takenBytes } = this.#transport
    if (takenBytes === this.#takenBytes) return
    this.#takenBytes = takenBytes
    this.#takenAtMs = now
  }

  #mute(throttleMs: number): void {
    const untilMs = this.#clock.monotonic() + throttleMs
    // An earlier answer may have named a longer time.
    if (this.#muteTimer !== null && untilMs <= this.#mutedUntilMs) return
    this.#mutedUntilMs = untilMs
    this.#muteTimer?.cancel()
    this.#seat.mute()
    const mutedMs = Math.min(throttleMs, LONGEST_MUTE_MS)
    this.#muteTimer = this.#clock.timer(mutedMs, () => {
      this.#muteTimer = null
      this.#seat.unmute(throttleMs > mutedMs)
    })
  }

  #refuse(reason: CloseReason, message: string): void {
    this.#reason ??= reason
    this.#options.onRefused(reason, message)
    this.destroy()
  }

  #stopReading(reason: string): void {
    if (this.#closing) return
    this.#closing = true
    this.#reason ??= reason
    this.#seat.drain()
    this.#splitter.stop()
    this.#keep(null)
    // Later bytes are read and dropped, so that the broker notices a client that disconnects before its last answer
    // is ready.
    this.#transport.resume()
  }

  #closeWhenDone(): void {
    if (!this.#closing || this.#ended || this.#released) return
    if (this.#waiting > 0 && !this.#abandoned) return
    if (this.#outgoing.answers > 0) return
    this.#ended = true
    // Closing a socket with unread input resets the connection, and a reset overtakes answers that the client has not
    // read yet. So the broker closes its side first and discards later bytes.
    this.#transport.end()
    this.#transport.resume()
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
    this.#outgoing.stop()
    this.#seat.close()
    this.changed()
    this.#queue = []
    this.#first = 0
    this.#session.end()
    this.#options.onClosed(this, this.#reason ?? this.#transport.errorCode ?? 'client closed')
  }

  /** Makes sure that the timer fires no later than any deadline that begins now. */
  #watch(now: number): void {
    this.#watchBy(now, now + this.#nearestMs)
  }

  #watchBy(now: number, atMs: number): void {
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
        if (outcome.kind === 'answer') this.#seat.answer(outcome.byteLength)
        this.#advance()
        this.#watch(now)
        return
      }
      nextMs = atMs
    }
    const { sasl } = this.#session
    // A client that has failed is closed when it has its answer.
    if (!hasIdentity(sasl) && sasl.at !== 'failed') {
      const atMs = this.#options.acceptedAtMs + this.#limits.authenticationTimeoutMs
      if (atMs <= now) {
        const took = `the client has not authenticated within ${this.#limits.authenticationTimeoutMs} ms`
        this.#refuse('authentication-timeout', took)
        return
      }
      nextMs = Math.min(nextMs, atMs)
    }
    if (this.#splitter.incomplete && this.#mayRead && !this.#closing) {
      const atMs = this.#frameSinceMs + this.#limits.frameTimeoutMs
      if (atMs <= now) {
        this.#refuse('frame-timeout', `a frame was not complete after ${this.#limits.frameTimeoutMs} ms`)
        return
      }
      nextMs = Math.min(nextMs, atMs)
    }
    if (this.#outgoing.answers > 0) {
      this.#noteTaken(now)
      const atMs = this.#takenAtMs + ANSWER_TIMEOUT_MS
      if (atMs <= now) {
        this.#refuse('stalled', `no byte of an answer was taken for ${ANSWER_TIMEOUT_MS} ms`)
        return
      }
      nextMs = Math.min(nextMs, atMs, now + ANSWER_CHECK_MS)
    }
    // A client that is not read cannot show that it is alive. The socket of a throttled client is read.
    if (head === undefined && !this.#seat.isSuspended) {
      const atMs = this.#activeAtMs + this.#limits.idleTimeoutMs
      if (atMs <= now) {
        this.#refuse('idle', `the client sent no request and took no answer for ${this.#limits.idleTimeoutMs} ms`)
        return
      }
      nextMs = Math.min(nextMs, atMs)
    }
    this.#arm(now, nextMs === Number.POSITIVE_INFINITY ? now + this.#nearestMs : nextMs)
  }
}

/** Returns true if the connection closes with this outcome: without an answer, or after it. */
function isLast(outcome: Outcome): outcome is Outcome & { readonly reason: string } {
  return outcome.kind === 'close' || (outcome.kind === 'answer' && outcome.reason !== null)
}
