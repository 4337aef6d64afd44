// Turns a request frame into its answer: it reads the header, checks the API and the version, decodes the body, calls
// the handler and encodes the answer. It measures and logs every request, and maps each error that a handler throws
// to an error code. It knows the session of a connection, but no sockets (connection/) and no API (handlers/).
//
// The logger `svc.kafka.dispatch` follows clients. At TRACE it logs each request when it arrives. At DEBUG it logs
// each finished request, with the error codes of its answer and its time. `svc.kafka.authorization` logs at INFO which
// permission a client does not have.

import { allowedBy } from '../auth/clients/policy.ts'
import { assert } from '../base/assert.ts'
import { cut } from '../base/cut.ts'
import { decodeRequest, encodeResponse } from '../protocol/codec.ts'
import {
  because,
  ILLEGAL_SASL_STATE,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  REQUEST_TIMED_OUT,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
} from '../protocol/errors.ts'
import { headerLookup, type RequestHeader, readRequestHeader, responseHeaderLength } from '../protocol/header.ts'
import { Malformed } from '../protocol/malformed.ts'
import { type Api, inRange, type ResponseInput } from '../protocol/schema.ts'
import { isStoreFailure, StoreContended } from '../store/store.ts'
import type { RequestScope, Scoped } from '../telemetry/logger.ts'
import { openAudit } from './audit.ts'
import { askVersions, awaitsRawToken, gate } from './connection/sasl-state.ts'
import type { Session } from './connection/session.ts'
import { codeFinder, type FindCodes, type FindFault, faultFinder } from './faults.ts'
import { type Answer, type Answering, CLOSE, type Handler, type Reply, type Request, type Rooms } from './handler.ts'
import { createMeasures, type Result } from './measures.ts'
import type { Need } from './needs.ts'
import { ALL_ALLOWED, type Permissions, permissionsOf } from './permissions.ts'
import { answerToken } from './raw-tokens.ts'
import { decodeAgain } from './repeats.ts'

/**
 * How a request ended. `silence`: the client gets no answer. `close`: the client gets no answer, and the connection
 * closes after the earlier answers are sent.
 */
export type Outcome =
  | {
      readonly kind: 'answer'
      readonly parts: readonly Uint8Array[]
      readonly byteLength: number
      /** How long the broker does not read from this client (KIP-219). */
      readonly throttleMs: number
      /** Called when the network has taken the whole answer. */
      readonly onSent: (() => void) | null
      /** Why the connection closes after the answer, as a short word for the log; null if it stays open. */
      readonly reason: string | null
    }
  | { readonly kind: 'silence'; readonly throttleMs: number }
  | { readonly kind: 'close'; readonly reason: string }

/** One request, from its arrival until its outcome is known. */
export interface Exchange {
  /**
   * Null until the outcome is known. Dispatch sets an outcome that is known when `receive` returns. The connection
   * sets a later one.
   */
  outcome: Outcome | null
  /**
   * The bytes of the frame, which the request uses until it has settled; 0 if the request no longer needs its frame.
   */
  readonly frameBytes: number
  /**
   * True if the connection must not read the next frame before the outcome is known, because the outcome decides
   * whether the client may send it.
   */
  readonly holdsReading: boolean
  /** Returns how much longer than usual the request may take. */
  patienceMs(): number
  /** Returns the outcome of a request that took too long. A later answer of its handler is dropped. */
  expire(): Outcome
}

export interface Dispatch {
  /**
   * Decodes a frame and calls its handler before it returns. The frame must not change afterwards. If the outcome is
   * known by then, the exchange has it. Otherwise `settled` is called once, later. Never throws.
   */
  receive(frame: Buffer, session: Session, settled: (exchange: Exchange, outcome: Outcome) => void): Exchange
}

const SILENCE: Outcome = Object.freeze({ kind: 'silence', throttleMs: 0 })
const closed = (reason: string): Outcome => ({ kind: 'close', reason })

/** The shortest time between two log lines about the same kind of failure. */
const LOG_EVERY_MS = 10_000

interface Route {
  readonly api: Api
  readonly answering: Answering<Api>
  readonly findFault: FindFault
  readonly findCodes: FindCodes
}

type Settled = (exchange: Exchange, outcome: Outcome) => void

/** `handlers` must have one handler for each API. `drain` aborts when the broker begins to drain. */
export function createDispatch(handlers: readonly Handler[], rooms: Rooms, drain: AbortSignal): Dispatch {
  const { clock, throttle, authentication } = rooms
  const logger = rooms.logger.named('kafka.dispatch')
  const audit = openAudit(rooms.logger)
  const authorization = rooms.logger.named('kafka.authorization')
  const measures = createMeasures(rooms.metrics, rooms.catalogue)
  const timeoutMs = rooms.settings.get('broker.response-queue-timeout')
  const isFlexible = headerLookup(handlers.map(each => each.api))
  const routes = new Map<number, Route>()
  for (const { api, open } of handlers) {
    assert(!routes.has(api.key), `two handlers answer ${api.name}`)
    routes.set(api.key, { api, answering: open(rooms), findFault: faultFinder(api), findCodes: codeFinder(api) })
  }

  /** A request as its handler sees it. */
  class Incoming implements Request<unknown>, Scoped {
    readonly api: Api
    body: unknown
    readonly apiVersion: number
    readonly correlationId: number
    readonly clientId: string | null
    readonly connection: Session
    permissions: Permissions = ALL_ALLOWED
    readonly receivedAtMs: number
    readonly deadlineMs: number
    readonly drain = drain
    readonly closed: AbortSignal
    onSent: (() => void) | null = null
    waitedMs = 0

    constructor(api: Api, header: RequestHeader, body: unknown, connection: Session, receivedAtMs: number) {
      this.api = api
      this.body = body
      this.apiVersion = header.apiVersion
      this.correlationId = header.correlationId
      this.clientId = header.clientId
      this.connection = connection
      this.receivedAtMs = receivedAtMs
      this.deadlineMs = receivedAtMs + timeoutMs
      this.closed = connection.closed
    }

    scope(): RequestScope {
      return scopeOf(this.api, this)
    }
  }

  /** One request that was decoded and passed to its handler. */
  class Asked implements Exchange {
    outcome: Outcome | null = null
    /** The size of the frame in bytes. start() sets it to 0 if the request no longer needs its frame. */
    frameBytes: number
    readonly #route: Route
    readonly #incoming: Incoming
    readonly #requestBytes: number
    readonly #settled: Settled
    /** How long the handler kept the event loop busy until it returned a promise; null if it is not measured. */
    #busyMs: number | null = null

    constructor(frameBytes: number, route: Route, incoming: Incoming, settled: Settled) {
      this.frameBytes = frameBytes
      this.#requestBytes = frameBytes
      this.#route = route
      this.#incoming = incoming
      this.#settled = settled
    }

    /** The request, with the type that the handler of its API takes. */
    get #request(): Request<never> {
      return this.#incoming as Request<unknown> as Request<never>
    }

    start(): void {
      let answer: Answer<Api> | Promise<Answer<Api>>
      try {
        const refusal = this.#authorize()
        if (refusal !== null) {
          this.outcome = this.#refused(refusal, 'error')
          return
        }
        answer = logger.during(this.#incoming, () => this.#route.answering.answer(this.#request))
      } catch (error) {
        this.outcome = this.#failed(error)
        return
      }
      if (answer instanceof Promise) {
        answer.then(
          value => this.#settled(this, this.#wanted ? this.#answered(value) : this.#dropped(value)),
          error => this.#settled(this, this.#failed(error)),
        )
        if (throttle.isTimed) this.#busyMs = clock.monotonic() - this.#request.receivedAtMs
        const { kept } = this.#route.answering
        if (kept === undefined) return
        this.#incoming.body = kept(this.#request.body)
        this.frameBytes = 0
      } else {
        this.outcome = this.#answered(answer)
      }
    }

    get holdsReading(): boolean {
      const { saslPart } = this.#route.answering
      return saslPart === 'handshake' || saslPart === 'authenticate'
    }

    /** Refuses a request that the client may not send at this point of its authentication. */
    turnAway(): void {
      const { name } = this.#route.api
      const { connection } = this.#incoming
      const message = `${name} is not served between SaslHandshake and the end of the authentication`
      refuse(connection, 'unauthenticated', message, this.#incoming.scope())
      const outcome = this.#refused(ILLEGAL_SASL_STATE, 'success')
      this.outcome = outcome.kind === 'answer' ? { ...outcome, reason: 'unauthenticated' } : outcome
    }

    /** Sets the permissions of the request. Returns the refusal if the client may not send it at all. */
    #authorize(): Refusal | null {
      const { policy } = this.#incoming.connection
      if (policy === null) return null
      const needs = this.#route.answering.needs(this.#request)
      const permissions = permissionsOf(policy, needs, rooms.catalogue, (need, name) => this.#tellDenied(need, name))
      if (isRefusal(permissions)) return permissions
      this.#incoming.permissions = permissions
      return null
    }

    #tellDenied({ operation, resource: { type } }: Need, name: string | null): void {
      const { principal, tenant, address } = this.#incoming.connection
      authorization
        .within(this.#incoming.scope())
        .limited(`denied ${operation} ${type}`, LOG_EVERY_MS)
        .info('no rule allows an operation that a client asked for', {
          ...{ principal, tenant: tenant ?? undefined, address, operation, type },
          name: name === null ? undefined : cut(name),
          allowedBy: allowedBy(operation, type),
        })
    }

    patienceMs(): number {
      return this.#route.answering.patienceMs?.(this.#request) ?? 0
    }

    expire(): Outcome {
      const { name } = this.#route.api
      measures.failed(name, REQUEST_TIMED_OUT.name)
      logger
        .within(this.#incoming.scope())
        .limited(`late ${name}`, LOG_EVERY_MS)
        .warn(
          `${name} has no answer after the ${timeoutMs} ms of svc.broker.response-queue-timeout; the client is told REQUEST_TIMED_OUT`,
        )
      return this.#refused(REQUEST_TIMED_OUT, 'timeout')
    }

    /** False if the client has disconnected, or if it was told that the request took too long. */
    get #wanted(): boolean {
      return this.outcome === null && !this.#request.closed.aborted
    }

    /** Drops an answer without encoding it, and lets the handler release its memory. */
    #dropped(answer: Answer<Api>): Outcome {
      this.#audit(answer === CLOSE ? null : answer)
      this.#request.onSent?.()
      return SILENCE
    }

    #answered(answer: Answer<Api>): Outcome {
      if (answer === null || answer === CLOSE) {
        this.#measure(answer === null ? 'success' : 'error', null, 0)
        return answer === null ? this.#silent() : closed('refused')
      }
      try {
        return this.#encoded(answer as Reply<Api>, this.#resultOf(answer))
      } catch (error) {
        return this.#failed(error)
      }
    }

    /** Returns the result for the metrics. A handler reports failures in the rows of its answer. */
    #resultOf(answer: object): Result {
      const { api, findFault } = this.#route
      const fault = findFault(answer)
      if (fault === null) return 'success'
      measures.failed(api.name, fault.name)
      return fault === REQUEST_TIMED_OUT ? 'timeout' : 'error'
    }

    /** Logs the error that the handler has thrown, and makes an answer with an error code. */
    #failed(error: unknown): Outcome {
      const { api } = this.#route
      const isOutside = isStoreFailure(error)
      const kind = error instanceof Error ? error.name : 'Error'
      measures.failed(api.name, kind)
      const limited = logger.within(this.#incoming.scope()).limited(`failed ${api.name} ${kind}`, LOG_EVERY_MS)
      if (isOutside) {
        limited.warn(`${api.name} failed: ${error.message}`, { error })
        if (error instanceof StoreContended) return this.#refused(because(REQUEST_TIMED_OUT, error.message), 'error')
        return this.#refused(this.#route.answering.storeAway ?? KAFKA_STORAGE_ERROR, 'error')
      }
      limited.error(`${api.name} failed because of a defect in the broker`, { error })
      return this.#refused(UNKNOWN_SERVER_ERROR, 'error')
    }

    #refused(refusal: Refusal, result: Result): Outcome {
      if (!this.#wanted) {
        this.#audit(null, [refusal.name])
        return SILENCE
      }
      try {
        const answer = this.#route.answering.refused(this.#request, refusal)
        if (answer !== CLOSE) return this.#encoded(answer as Reply<Api>, result)
      } catch (error) {
        logger
          .within(this.#incoming.scope())
          .error(`${this.#route.api.name} failed, and so did its error answer`, { error })
      }
      this.#measure(result, null, 0)
      return closed('refused')
    }

    #encoded(answer: Reply<Api>, result: Result): Outcome {
      const { api } = this.#route
      const throttleMs = this.#throttleMs((answer as Throttled).throttleTimeMs ?? 0)
      const reason = answer.close === true ? 'answered' : null
      const outcome = encode(api, this.#request.apiVersion, this.#request, answer, throttleMs, reason)
      this.#measure(result, answer, outcome.byteLength)
      return outcome
    }

    /** Returns the outcome of a request without an answer. The client may still have to wait. */
    #silent(): Outcome {
      const throttleMs = this.#throttleMs(0)
      return throttleMs === 0 ? SILENCE : { kind: 'silence', throttleMs }
    }

    /** Returns how long the client must wait, because of its quotas or because the handler asked for it. */
    #throttleMs(asked: number): number {
      const { api, answering } = this.#route
      let throttleMs = Math.max(asked, answering.throttleMs?.(this.#request, this.#requestBytes) ?? 0)
      if (throttle.isTimed) {
        const busyMs = this.#busyMs ?? clock.monotonic() - this.#request.receivedAtMs
        throttleMs = Math.max(throttleMs, throttle.worked(this.#request, busyMs))
      }
      if (throttleMs > 0) measures.throttled(api, throttleMs)
      return Math.min(throttleMs, LONGEST_THROTTLE_MS)
    }

    #measure(result: Result, answer: ResponseInput<Api> | null, bytes: number): void {
      const elapsedMs = clock.monotonic() - this.#incoming.receivedAtMs
      measures.answered(this.#route.api, result, elapsedMs, this.#incoming, bytes, answer)
      this.#audit(answer)
      if (logger.isEnabled('DEBUG')) this.#tell(result, answer, elapsedMs)
    }

    /** Logs the change that the request asked for, even if its client is gone. */
    #audit(answer: ResponseInput<Api> | null, errors?: readonly string[]): void {
      const change = this.#route.answering.audit?.(this.#request)
      if (change !== undefined) audit(change, this.#incoming.connection, errors ?? this.#errorsOf(answer))
    }

    #errorsOf(answer: ResponseInput<Api> | null): readonly string[] {
      return answer === null ? [] : this.#route.findCodes(answer)
    }

    #tell(result: Result, answer: ResponseInput<Api> | null, elapsedMs: number): void {
      const { api } = this.#route
      const { connection, waitedMs } = this.#incoming
      const errors = this.#errorsOf(answer)
      logger
        .within(this.#incoming.scope())
        .debug(`${api.name} ${answer === null ? 'ends without an answer' : 'is answered'}`, {
          connection: connection.id,
          ...clientOf(connection),
          result,
          errors: errors.length === 0 ? undefined : errors.join(' '),
          ms: Number(elapsedMs.toFixed(3)),
          waitedMs: waitedMs === 0 ? undefined : Number(waitedMs.toFixed(3)),
        })
    }
  }

  function receiveToken(token: Buffer, session: Session, settled: Settled): Exchange {
    const exchange: Exchange = {
      outcome: null,
      frameBytes: token.byteLength,
      holdsReading: true,
      patienceMs: () => authentication.timeoutMs,
      expire: () => closed('refused'),
    }
    void answerToken(token, session, authentication).then(answer => {
      if (answer === null) return settled(exchange, closed('refused'))
      const { byteLength } = answer
      const outcome = {
        kind: 'answer',
        parts: [answer],
        byteLength,
        throttleMs: 0,
        onSent: null,
        reason: null,
      } as const
      settled(exchange, outcome)
    })
    return exchange
  }

  /** The scope is null if the header does not identify the request. */
  function refuse({ address }: Session, reason: string, message: string, scope: RequestScope | null): Outcome {
    measures.failed('request', reason)
    const scoped = scope === null ? logger : logger.within(scope)
    scoped.limited(`refused ${reason}`, LOG_EVERY_MS).warn(message, { address, reason })
    return closed(reason)
  }

  function read({ api, answering }: Route, { apiVersion, bodyOffset }: RequestHeader, frame: Buffer, session: Session) {
    const decode = () => decodeRequest(api, apiVersion, frame, bodyOffset)
    return answering.isRepetitive ? decodeAgain(session, api, apiVersion, frame, bodyOffset, decode) : decode()
  }

  function unsupported({ api, answering }: Route, header: RequestHeader, session: Session): Outcome {
    if (answering.unsupported === undefined) {
      return refuse(
        session,
        'unsupported-version',
        `${api.name} version ${header.apiVersion} is not served`,
        scopeOf(api, header),
      )
    }
    return encode(api, 0, { ...header, onSent: null }, answering.unsupported(), 0, null)
  }

  return {
    receive(frame, session, settled) {
      if (awaitsRawToken(session.sasl)) return receiveToken(frame, session, settled)
      const receivedAtMs = clock.monotonic()
      let isAllowed = true
      let header: RequestHeader | null = null
      let route: Route | undefined
      let body: unknown
      try {
        header = readRequestHeader(frame, isFlexible)
        route = routes.get(header.apiKey)
        if (route === undefined) {
          return unread(frame, refuse(session, 'unknown-api', `API key ${header.apiKey} is not served`, null))
        }
        const { saslPart = 'other' } = route.answering
        const verdict = gate(session.sasl, saslPart)
        isAllowed = verdict === 'pass'
        if (verdict === 'close') {
          const often = saslPart === 'versions' ? ' again' : ''
          const message = `${route.api.name} is not served${often} before the client has authenticated`
          return unread(frame, refuse(session, 'unauthenticated', message, scopeOf(route.api, header)))
        }
        if (saslPart === 'versions') session.sasl = askVersions(session.sasl)
        const renews = saslPart === 'handshake' || session.sasl.at === 'exchange'
        if (session.isExpired(receivedAtMs) && !renews) {
          const message = 'the client has not authenticated again before its session ended (KIP-368)'
          return unread(frame, refuse(session, 'session-expired', message, scopeOf(route.api, header)))
        }
        if (!inRange(route.api.versions, header.apiVersion)) return unread(frame, unsupported(route, header, session))
        body = read(route, header, frame, session)
      } catch (error) {
        const what = route === undefined ? 'a request header' : `a ${route.api.name} request`
        const scope = header === null || route === undefined ? null : scopeOf(route.api, header)
        if (!(error instanceof Malformed)) {
          logger.within(scope ?? {}).error(`${what} could not be read because of a defect in the broker`, { error })
          return unread(frame, closed('broker mistake'))
        }
        return unread(frame, refuse(session, 'malformed', `${what} could not be read: ${error.message}`, scope))
      }
      measures.received(route.api, frame.byteLength)
      const request = new Incoming(route.api, header, body, session, receivedAtMs)
      if (logger.isEnabled('TRACE')) {
        const { id: connection, address } = session
        const line = { connection, address, ...clientOf(session), bytes: frame.byteLength }
        logger.within(request.scope()).trace(`${route.api.name} is received`, line)
      }
      const asked = new Asked(frame.byteLength, route, request, settled)
      if (isAllowed) asked.start()
      else asked.turnAway()
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

/** Returns the fields of a log line that say who the client is; none on a listener without SASL. */
function clientOf({ sasl, principal, tenant }: Session): { principal?: string; tenant?: string | undefined } {
  return sasl.at === 'not-needed' ? {} : { principal, tenant: tenant ?? undefined }
}

/** Returns the exchange of a frame that did not reach a handler. */
function unread(frame: Buffer, outcome: Outcome): Exchange {
  return { outcome, frameBytes: frame.byteLength, holdsReading: false, patienceMs: () => 0, expire: () => outcome }
}

interface Throttled {
  readonly throttleTimeMs?: number
}

/** The largest int32. */
const LONGEST_THROTTLE_MS = 2 ** 31 - 1

/**
 * Encodes an answer in pieces. Records are not copied.
 *
 *   | size int32 | correlation id int32 | tags, if flexible | body ...
 */
function encode(
  api: Api,
  version: number,
  { correlationId, onSent }: Pick<Request<never>, 'correlationId' | 'onSent'>,
  answer: ResponseInput<Api>,
  throttleMs: number,
  reason: string | null,
): Outcome & { kind: 'answer' } {
  // Handlers know no quotas, so the wait of the client is written into the answer here.
  const isSaid = ((answer as Throttled).throttleTimeMs ?? 0) === throttleMs
  const headBytes = 4 + responseHeaderLength(api, version)
  const parts = encodeResponse(api, version, isSaid ? answer : { ...answer, throttleTimeMs: throttleMs }, headBytes)
  let byteLength = 0
  for (const part of parts) byteLength += part.byteLength
  const head = parts[0]!
  head.fill(0, 0, headBytes)
  head.writeInt32BE(byteLength - 4, 0)
  head.writeInt32BE(correlationId, 4)
  return { kind: 'answer', parts, byteLength, throttleMs, onSent, reason }
}
