// The contract of a Kafka API's handler. There is one file per API in handlers/, each a value made with `handler()`. A
// handler turns one decoded request into one answer, and says what the request needs. It holds no state: state lives in
// the rooms below, and in fetch/ what fetches keep between requests. It does not know sockets, correlation ids or
// encoding (dispatch.ts and connection/ do), and does not import another handler.

import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { ClientQuotas } from '../coordinator/client-quotas.ts'
import type { Groups } from '../coordinator/groups.ts'
import type { ProducerIds } from '../coordinator/producer-ids.ts'
import type { ReadPositions } from '../coordinator/read-positions.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { Logs } from '../log/logs.ts'
import type { Refusal } from '../protocol/errors.ts'
import type { Api, RequestOf, ResponseInput } from '../protocol/schema.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store } from '../store/store.ts'
import type { Logger, RequestScope } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Session } from './connection/session.ts'
import type { Need } from './needs.ts'
import type { Throttle } from './throttle.ts'

/** One decoded request. `deadlineMs` and `receivedAtMs` are on Clock.monotonic(). */
export interface Request<Body> {
  readonly body: Body
  readonly apiVersion: number
  readonly correlationId: number
  readonly clientId: string | null
  /** The connection that the request came by, and who its client is. */
  readonly connection: Session
  readonly receivedAtMs: number
  /** After this an answer is too late: the client has been told REQUEST_TIMED_OUT. */
  readonly deadlineMs: number
  /** Aborts when the broker begins to drain: a request that waits answers at once with what it has. */
  readonly drain: AbortSignal
  /** Aborts when the connection is gone: no client will read the answer. */
  readonly closed: AbortSignal
  /**
   * The fields of the log lines of this request. Dispatch calls `answer` within logger.during(). A handler that
   * continues after an await enters it again if lines of other rooms shall carry the fields too.
   */
  scope(): RequestScope
  /**
   * Set by a handler that wants to know when the bytes of its answer are no longer needed: the network has taken them,
   * or the answer was dropped. If the connection is gone before, it is not called.
   */
  onSent: (() => void) | null
  /**
   * How long the request waited for other clients by its nature, in milliseconds; the handler adds it up. The request's
   * time in the history and in the snapshot is without it.
   */
  waitedMs: number
}

/** The lower rooms, in the form that handlers use. */
export interface Rooms {
  readonly store: Store
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  readonly groups: Groups
  readonly readPositions: ReadPositions
  readonly producerIds: ProducerIds
  readonly clientQuotas: ClientQuotas
  readonly throttle: Throttle
  readonly cluster: Cluster
  /** This broker's node id. */
  readonly nodeId: number
  readonly settings: Settings
  readonly metrics: Metrics
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
}

/** Returned in place of an answer: the client expects no bytes, and closing is the only way to tell it of a failure. */
export const CLOSE = Object.freeze({ kind: 'close' })

/**
 * An answer in the shape of the API, after which the connection closes if `close` is true (a failed authentication).
 * Requests that came behind it get no answer then.
 */
export type Reply<A extends Api> = ResponseInput<A> & { readonly close?: true }

/** Null: nothing is written back (acks=0). */
export type Answer<A extends Api> = Reply<A> | typeof CLOSE | null

export interface Answering<A extends Api> {
  /**
   * The operations that the client must be allowed to do: a value, computed from the request alone. An API without
   * needs says so with `NO_NEEDS`. No rule is checked yet; needs.ts says how rules will be checked, and how a row that
   * is not allowed is answered.
   */
  needs(request: Request<RequestOf<A>>): readonly Need[]
  /**
   * Called synchronously in the order in which the requests of a connection arrived, so what it does before its first
   * await happens in that order. Expected refusals go into their rows; it throws only an outside failure or our own
   * mistake, and `refused` then makes the answer. Dispatch adds how long the client must wait by its quotas.
   */
  answer(request: Request<RequestOf<A>>): Answer<A> | Promise<Answer<A>>
  /**
   * The answer in this API's own shape when the whole request was refused (it waited too long, the store is away, the
   * broker has a defect): every requested row carries the code. Synchronous, must not throw.
   */
  refused(request: Request<RequestOf<A>>, refusal: Refusal): Reply<A> | typeof CLOSE
  /**
   * The refusal when the store is away: a code after which clients repeat this request. By default KAFKA_STORAGE_ERROR,
   * which clients take for a broker that cannot reach its disk. The clients of a coordinator look for it again after
   * COORDINATOR_NOT_AVAILABLE, and wait for it after COORDINATOR_LOAD_IN_PROGRESS.
   */
  readonly storeAway?: Refusal
  /**
   * For a request that may wait for other clients' requests: the part of its body that is still needed after `answer`
   * has returned. The handler has copied the rest to where a bound of its own holds, or has refused it. The frame of a
   * request that waits must hold no memory, or the broker might not read the requests that it waits for.
   */
  kept?(body: RequestOf<A>): RequestOf<A>
  /** Clients send the same body again and again. Then `body` is the same object as in the earlier request. */
  readonly isRepetitive?: boolean
  /** How much longer than `broker.response-queue-timeout` this request may take by its nature (a fetch's wait). */
  patienceMs?(request: Request<RequestOf<A>>): number
  /** How long the client must wait by a quota that this API alone counts; called once, when the request is over. */
  throttleMs?(request: Request<RequestOf<A>>, frameBytes: number): number
  /** The answer, in version 0, to a version that is not served. Without it the connection is closed. */
  unsupported?(): ResponseInput<A>
  /** Served although the client's identity has expired, because it gives the client a new one (KIP-368). */
  readonly reauthenticates?: boolean
}

/** A handler whose message types are erased, as the dispatcher's table holds it. */
export interface Handler {
  readonly api: Api
  open(rooms: Rooms): Answering<Api>
}

/** Binds an API to its answering. `open` is called once per broker. */
export function handler<A extends Api>(api: A, open: (rooms: Rooms) => Answering<A>): Handler {
  return Object.freeze({ api, open: open as unknown as (rooms: Rooms) => Answering<Api> })
}
