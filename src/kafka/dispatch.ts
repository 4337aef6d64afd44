// From a frame to its answer: header, API, version, decoding, handler, encoding. The one place where requests are measured
// and logged, and where what a handler throws becomes a code that clients understand. It knows no sockets (connection.ts)
// and no API (handlers/).

import { assert } from '../base/assert.ts'
import { decodeRequest, encodeResponse } from '../protocol/codec.ts'
import {
  because,
  COORDINATOR_LOAD_IN_PROGRESS,
  COORDINATOR_NOT_AVAILABLE,
  KAFKA_STORAGE_ERROR,
  REQUEST_TIMED_OUT,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
} from '../protocol/errors.ts'
import { headerLookup, type RequestHeader, readRequestHeader, responseHeaderLength } from '../protocol/header.ts'
import { Malformed } from '../protocol/malformed.ts'
import { produce } from '../protocol/messages/produce.ts'
import { type Api, inRange, type ResponseInput } from '../protocol/schema.ts'
import { isStoreFailure, StoreContended } from '../store/store.ts'
import type { RequestScope } from '../telemetry/logger.ts'
import { type FindFault, faultFinder } from './faults.ts'
import {
  type Answer,
  type Answering,
  CLOSE,
  type Handler,
  type Peer,
  type Request,
  type Rooms,
} from './handlers/handler.ts'
import { createMeasures, type Result } from './measures.ts'
import { decodeAgain, type Saying } from './repeats.ts'

/** What a request came to. `close`: no answer; the connection closes once earlier answers are out. */
export type Outcome =
  | {
      readonly kind: 'answer'
      readonly parts: readonly Uint8Array[]
      readonly byteLength: number
      /** How long nothing more is read from this client (KIP-219). */
      readonly throttleMs: number
      /** To be called once the network has taken all of it. */
      readonly onSent: (() => void) | null
    }
  | { readonly kind: 'silence'; readonly throttleMs: number }
  | { readonly kind: 'close' }

/** One request on its way to its outcome. */
export interface Exchange {
  /** Null until it is known. Whoever holds the exchange sets it, except where it was known at once. */
  outcome: Outcome | null
  /** The memory that the request's frame holds until the request has settled; 0 where its content is kept elsewhere by now. */
  readonly frameBytes: number
  /** How much longer than usual it may take. */
  patienceMs(): number
  /** The outcome when it has taken too long. What comes after that is dropped. */
  expire(): Outcome
}

/** Who sent a frame. */
export interface Caller extends Saying {
  readonly peer: Peer
  /** Aborts when the connection is gone. */
  readonly closed: AbortSignal
}

export interface Dispatch {
  /**
   * Takes a frame, which must not change any more, and calls its handler before it returns. An outcome that is known by
   * then is in the exchange; otherwise `settled` is called once, later. Never throws.
   */
  receive(frame: Buffer, caller: Caller, settled: (exchange: Exchange, outcome: Outcome) => void): Exchange
}

const SILENCE: Outcome = Object.freeze({ kind: 'silence', throttleMs: 0 })
const CLOSED: Outcome = Object.freeze({ kind: 'close' })

/** How often a client's mistake of one sort is logged. */
const LOG_EVERY_MS = 10_000

interface Route {
  readonly api: Api
  readonly answering: Answering<Api>
  readonly findFault: FindFault
}

type Settled = (exchange: Exchange, outcome: Outcome) => void

/**
 * What a client is told when the store is away: a code that its library retries for that API. Group and producer-id
 * clients look for their coordinator again; the rest take it as a broker that cannot reach its disk.
 */
const STORE_AWAY: ReadonlyMap<string, Refusal> = new Map([
  ['OffsetCommit', COORDINATOR_NOT_AVAILABLE],
  ['OffsetFetch', COORDINATOR_LOAD_IN_PROGRESS],
  ['FindCoordinator', COORDINATOR_NOT_AVAILABLE],
  ['JoinGroup', COORDINATOR_NOT_AVAILABLE],
  ['SyncGroup', COORDINATOR_NOT_AVAILABLE],
  ['Heartbeat', COORDINATOR_NOT_AVAILABLE],
  ['LeaveGroup', COORDINATOR_NOT_AVAILABLE],
  ['InitProducerId', COORDINATOR_LOAD_IN_PROGRESS],
])

/** `handlers` must hold each API once. `drain` aborts when the broker begins to drain. */
export function createDispatch(handlers: readonly Handler[], rooms: Rooms, drain: AbortSignal): Dispatch {
  const { clock, throttle } = rooms
  const logger = rooms.logger.named('kafka.dispatch')
  const measures = createMeasures(rooms.metrics, rooms.catalogue)
  const timeoutMs = rooms.settings.get('broker.response-queue-timeout')
  const isFlexible = headerLookup(handlers.map(each => each.api))
  const routes = new Map<number, Route>()
  for (const { api, open } of handlers) {
    assert(!routes.has(api.key), `two handlers answer ${api.name}`)
    routes.set(api.key, { api, answering: open(rooms), findFault: faultFinder(api) })
  }

  /** One request that was read and handed to its handler. */
  class Asked implements Exchange {
    outcome: Outcome | null = null
    /** Of the whole frame, until start() has returned. */
    frameBytes: number
    readonly #route: Route
    #request: Request<never>
    readonly #requestBytes: number
    readonly #settled: Settled
    /** How long the event loop worked for this request until its handler gave way; null until then. */
    #busyMs: number | null = null

    constructor(frameBytes: number, route: Route, request: Request<never>, settled: Settled) {
      this.frameBytes = frameBytes
      this.#requestBytes = frameBytes
      this.#route = route
      this.#request = request
      this.#settled = settled
    }

    start(): void {
      let answer: Answer<Api> | Promise<Answer<Api>>
      try {
        answer = logger.during(
          () => this.#scope(),
          () => this.#route.answering.answer(this.#request),
        )
      } catch (error) {
        this.outcome = this.#failed(error)
        return
      }
      if (answer instanceof Promise) {
        answer.then(
          value => this.#settled(this, this.#wanted ? this.#answered(value) : this.#dropped()),
          error => this.#settled(this, this.#failed(error)),
        )
        if (throttle.isTimed) this.#busyMs = clock.monotonic() - this.#request.receivedAtMs
        const { kept } = this.#route.answering
        if (kept === undefined) return
        this.#request = { ...this.#request, body: kept(this.#request.body) as never }
        this.frameBytes = 0
      } else {
        this.outcome = this.#answered(answer)
      }
    }

    patienceMs(): number {
      return this.#route.answering.patienceMs?.(this.#request) ?? 0
    }

    expire(): Outcome {
      const { name } = this.#route.api
      measures.failed(name, REQUEST_TIMED_OUT.name)
      logger
        .within(this.#scope())
        .limited(`late ${name}`, LOG_EVERY_MS)
        .warn(
          `${name} has no answer after the ${timeoutMs} ms of svc.broker.response-queue-timeout; the client is told REQUEST_TIMED_OUT`,
        )
      return this.#refused(REQUEST_TIMED_OUT, 'timeout')
    }

    /** False when the client is gone or was told that it took too long. */
    get #wanted(): boolean {
      return this.outcome === null && !this.#request.closed.aborted
    }

    /** The bytes of the answer are not looked at. */
    #dropped(): Outcome {
      this.#request.onSent?.()
      return SILENCE
    }

    #answered(answer: Answer<Api>): Outcome {
      if (answer === null || answer === CLOSE) {
        this.#measure(answer === null ? 'success' : 'error', null, 0)
        return answer === null ? this.#silent() : CLOSED
      }
      try {
        return this.#encoded(answer as ResponseInput<Api>, this.#resultOf(answer))
      } catch (error) {
        return this.#failed(error)
      }
    }

    /** A handler that could not do something says so in the rows of its answer. */
    #resultOf(answer: object): Result {
      const { api, findFault } = this.#route
      const fault = findFault(answer)
      if (fault === null) return 'success'
      measures.failed(api.name, fault.name)
      return fault === REQUEST_TIMED_OUT ? 'timeout' : 'error'
    }

    /** What the handler threw, told to the log and to the client. */
    #failed(error: unknown): Outcome {
      const { api } = this.#route
      const isOutside = isStoreFailure(error)
      const kind = error instanceof Error ? error.name : 'Error'
      measures.failed(api.name, kind)
      const limited = logger.within(this.#scope()).limited(`failed ${api.name} ${kind}`, LOG_EVERY_MS)
      if (isOutside) {
        limited.warn(`${api.name} failed: ${error.message}`, { error })
        if (error instanceof StoreContended) return this.#refused(because(REQUEST_TIMED_OUT, error.message), 'error')
        return this.#refused(STORE_AWAY.get(api.name) ?? KAFKA_STORAGE_ERROR, 'error')
      }
      limited.error(`${api.name} failed by a mistake of the broker`, { error })
      return this.#refused(UNKNOWN_SERVER_ERROR, 'error')
    }

    #refused(refusal: Refusal, result: Result): Outcome {
      if (!this.#wanted) return SILENCE
      try {
        const answer = this.#route.answering.refused(this.#request, refusal)
        if (answer !== CLOSE) return this.#encoded(answer as ResponseInput<Api>, result)
      } catch (error) {
        logger.within(this.#scope()).error(`${this.#route.api.name} could not even be refused`, { error })
      }
      this.#measure(result, null, 0)
      return CLOSED
    }

    #encoded(answer: ResponseInput<Api>, result: Result): Outcome {
      const { api } = this.#route
      const { apiVersion, correlationId } = this.#request
      const throttleMs = this.#throttleMs((answer as Throttled).throttleTimeMs ?? 0)
      const outcome = encode(api, apiVersion, correlationId, answer, throttleMs, this.#request.onSent)
      this.#measure(result, answer, outcome.byteLength)
      return outcome
    }

    /** No answer, after which the client may have to wait all the same. */
    #silent(): Outcome {
      const throttleMs = this.#throttleMs(0)
      return throttleMs === 0 ? SILENCE : { kind: 'silence', throttleMs }
    }

    /** How long the client is to wait, by its quotas or because the handler said so. */
    #throttleMs(asked: number): number {
      const { api } = this.#route
      let throttleMs = asked
      if (api === produce) throttleMs = Math.max(throttleMs, throttle.produced(this.#request, this.#requestBytes))
      if (throttle.isTimed) {
        const busyMs = this.#busyMs ?? clock.monotonic() - this.#request.receivedAtMs
        throttleMs = Math.max(throttleMs, throttle.worked(this.#request, busyMs))
      }
      if (throttleMs > 0) measures.throttled(api, throttleMs)
      return Math.min(throttleMs, LONGEST_THROTTLE_MS)
    }

    #measure(result: Result, answer: ResponseInput<Api> | null, bytes: number): void {
      const elapsedMs = clock.monotonic() - this.#request.receivedAtMs
      measures.answered(this.#route.api, result, elapsedMs, bytes, this.#request.body, answer)
    }

    #scope(): RequestScope {
      return scopeOf(this.#route.api, this.#request)
    }
  }

  /** The scope is null where the header does not say which request it is. */
  function refuse(caller: Caller, reason: string, message: string, scope: RequestScope | null): Outcome {
    measures.failed('request', reason)
    const scoped = scope === null ? logger : logger.within(scope)
    scoped.limited(`refused ${reason}`, LOG_EVERY_MS).warn(message, { address: caller.peer.address, reason })
    return CLOSED
  }

  function read({ api, answering }: Route, { apiVersion, bodyOffset }: RequestHeader, frame: Buffer, caller: Caller) {
    const decode = () => decodeRequest(api, apiVersion, frame, bodyOffset)
    return answering.isRepetitive ? decodeAgain(caller, api, apiVersion, frame, bodyOffset, decode) : decode()
  }

  function unsupported({ api, answering }: Route, header: RequestHeader, caller: Caller): Outcome {
    if (answering.unsupported === undefined) {
      return refuse(
        caller,
        'unsupported-version',
        `${api.name} version ${header.apiVersion} is not served`,
        scopeOf(api, header),
      )
    }
    return encode(api, 0, header.correlationId, answering.unsupported(), 0, null)
  }

  return {
    receive(frame, caller, settled) {
      const receivedAtMs = clock.monotonic()
      let header: RequestHeader | null = null
      let route: Route | undefined
      let body: unknown
      try {
        header = readRequestHeader(frame, isFlexible)
        route = routes.get(header.apiKey)
        if (route === undefined) {
          return unread(frame, refuse(caller, 'unknown-api', `API key ${header.apiKey} is not served`, null))
        }
        if (!inRange(route.api.versions, header.apiVersion)) return unread(frame, unsupported(route, header, caller))
        body = read(route, header, frame, caller)
      } catch (error) {
        const what = route === undefined ? 'a request header' : `a ${route.api.name} request`
        const scope = header === null || route === undefined ? null : scopeOf(route.api, header)
        if (!(error instanceof Malformed)) {
          logger.within(scope ?? {}).error(`${what} could not be read by a mistake of the broker`, { error })
          return unread(frame, CLOSED)
        }
        return unread(frame, refuse(caller, 'malformed', `${what} could not be read: ${error.message}`, scope))
      }
      measures.received(route.api, frame.byteLength)
      const request: Request<unknown> = {
        body,
        apiVersion: header.apiVersion,
        correlationId: header.correlationId,
        clientId: header.clientId,
        connection: caller.peer,
        receivedAtMs,
        deadlineMs: receivedAtMs + timeoutMs,
        drain,
        closed: caller.closed,
        onSent: null,
      }
      const asked = new Asked(frame.byteLength, route, request as Request<never>, settled)
      asked.start()
      return asked
    },
  }
}

function scopeOf(
  { name }: Api,
  { correlationId, clientId, apiVersion }: Pick<RequestHeader, 'correlationId' | 'clientId' | 'apiVersion'>,
): RequestScope {
  return { correlationId, clientId, apiKey: name, apiVersion }
}

/** The exchange of a frame that never reached a handler. */
function unread(frame: Buffer, outcome: Outcome): Exchange {
  return { outcome, frameBytes: frame.byteLength, patienceMs: () => 0, expire: () => outcome }
}

interface Throttled {
  readonly throttleTimeMs?: number
}

/** The largest int32. */
const LONGEST_THROTTLE_MS = 2 ** 31 - 1

/**   | size int32 | correlation id int32 | tags, if flexible | body ...   in pieces; records stay the slices they are. */
function encode(
  api: Api,
  version: number,
  correlationId: number,
  answer: ResponseInput<Api>,
  throttleMs: number,
  onSent: (() => void) | null,
): Outcome & { kind: 'answer' } {
  // Handlers say nothing of quotas: here is the place that tells clients to wait.
  const isSaid = ((answer as Throttled).throttleTimeMs ?? 0) === throttleMs
  const headBytes = 4 + responseHeaderLength(api, version)
  const parts = encodeResponse(api, version, isSaid ? answer : { ...answer, throttleTimeMs: throttleMs }, headBytes)
  let byteLength = 0
  for (const part of parts) byteLength += part.byteLength
  const head = parts[0]!
  head.fill(0, 0, headBytes)
  head.writeInt32BE(byteLength - 4, 0)
  head.writeInt32BE(correlationId, 4)
  return { kind: 'answer', parts, byteLength, throttleMs, onSent }
}
