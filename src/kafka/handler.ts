// Declares the contract of a Kafka API's handler. Each API has one file in handlers/, with a value made by
// `handler()`. A handler turns one decoded request into one answer, and declares the permissions that the request
// needs. It has no state: state is in the rooms below, and fetch/ has the state that fetches keep between requests.
// It knows no sockets, correlation ids or encoding (dispatch.ts and connection/ do), and does not import another
// handler.

import type { AclKeeper } from '../auth/clients/acl-keeper.ts'
import type { Policies } from '../auth/clients/policies.ts'
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
import type { History } from '../telemetry/history.ts'
import type { Logger, RequestScope } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { RemoteTier } from '../tier/remote/remote-tier.ts'
import type { StorageWorker } from '../tier/worker.ts'
import type { Audited } from './audit.ts'
import type { Authentication } from './authentication.ts'
import type { SaslPart } from './connection/sasl-state.ts'
import type { Session } from './connection/session.ts'
import type { Need } from './needs.ts'
import type { Permissions } from './permissions.ts'
import type { Throttle } from './throttle.ts'

/** One decoded request. `deadlineMs` and `receivedAtMs` are on Clock.monotonic(). */
export interface Request<Body> {
  readonly body: Body
  readonly apiVersion: number
  readonly correlationId: number
  readonly clientId: string | null
  /** The connection of the request, and the identity of its client. */
  readonly connection: Session
  /** The permissions of the client. Dispatch has refused a request if a need of the whole request is not met. */
  readonly permissions: Permissions
  readonly receivedAtMs: number
  /** After this time an answer is too late: the client has got REQUEST_TIMED_OUT. */
  readonly deadlineMs: number
  /**
   * Aborts when the broker begins to drain. A handler that waits must then answer at once with the data that it has.
   */
  readonly drain: AbortSignal
  /** Aborts when the connection is closed: no client will read the answer. */
  readonly closed: AbortSignal
  /**
   * Returns the fields that log lines about this request have. Dispatch calls `answer` within logger.during(). After
   * an await, a handler must call logger.during() again if log lines of other rooms must have the fields too.
   */
  scope(): RequestScope
  /**
   * A handler sets this to learn when the bytes of its answer are no longer needed. It is called when the network has
   * taken them, or when the answer is dropped. It is not called if the connection closes before.
   */
  onSent: (() => void) | null
  /**
   * How long the request waited for other clients, in milliseconds. The handler adds it up. The request's time in the
   * history and in the snapshot does not include it.
   */
  waitedMs: number
}

/** The lower rooms that handlers use. */
export interface Rooms {
  readonly store: Store
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  readonly groups: Groups
  readonly readPositions: ReadPositions
  readonly producerIds: ProducerIds
  readonly clientQuotas: ClientQuotas
  readonly acls: AclKeeper
  readonly policies: Policies
  readonly throttle: Throttle
  readonly authentication: Authentication
  readonly cluster: Cluster
  readonly storageWorker: StorageWorker
  readonly remoteTier?: Pick<RemoteTier, 'noticed'> | null
  /** This broker's node id. */
  readonly nodeId: number
  readonly settings: Settings
  readonly metrics: Metrics
  readonly history: History
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
}

/**
 * A handler returns this in place of an answer if the client expects none: only a closed connection tells it of a
 * failure.
 */
export const CLOSE = Object.freeze({ kind: 'close' })

/**
 * An answer in the shape of the API. If `close` is true, the connection closes after it (a failed authentication),
 * and later requests get no answer.
 */
export type Reply<A extends Api> = ResponseInput<A> & { readonly close?: true }

/** Null if the client gets no answer (acks=0). */
export type Answer<A extends Api> = Reply<A> | typeof CLOSE | null

export interface Answering<A extends Api> {
  /**
   * Returns the operations that the client must be allowed to do, computed from the request alone. An API without
   * needs returns `NO_NEEDS`. Dispatch checks the needs of the whole request. The handler asks `request.permissions`
   * about each row, before any effect (needs.ts). Called only for a client with a policy.
   */
  needs(request: Request<RequestOf<A>>): readonly Need[]
  /**
   * Returns the answer. Dispatch calls this synchronously in the order in which the requests of a connection arrived,
   * so its work before the first await happens in that order. Expected refusals go into their rows. It throws only an
   * outside failure or our own mistake, and then `refused` makes the answer. Dispatch adds how long the client must
   * wait by its quotas.
   */
  answer(request: Request<RequestOf<A>>): Answer<A> | Promise<Answer<A>>
  /**
   * Returns the answer to a request that is refused as a whole (it waited too long, the store is unavailable, the
   * broker has a defect). Every requested row has the code. Synchronous, must not throw.
   */
  refused(request: Request<RequestOf<A>>, refusal: Refusal): Reply<A> | typeof CLOSE
  /** Returns the change that the request asks for, for the audit line. An API that changes nothing has no such line. */
  audit?(request: Request<RequestOf<A>>): Audited
  /**
   * The refusal while the store is unavailable; its code must make clients retry. The default is KAFKA_STORAGE_ERROR,
   * which tells clients that the broker cannot reach its disk. After COORDINATOR_NOT_AVAILABLE, clients look up the
   * coordinator again. After COORDINATOR_LOAD_IN_PROGRESS, they wait for it.
   */
  readonly storeAway?: Refusal
  /**
   * Returns the part of the body that is still needed after `answer` has returned. An API needs this if its requests
   * may wait for requests of other clients. The handler has copied the rest to memory with a limit of its own, or has
   * refused it. The frame of a waiting request must use no memory. Otherwise the broker might not read the requests
   * that it waits for.
   */
  kept?(body: RequestOf<A>): RequestOf<A>
  /** True if clients send the same body again and again. `body` is then the same object as in the earlier request. */
  readonly isRepetitive?: boolean
  /**
   * Returns how much longer than `broker.response-queue-timeout` this request may take, for example for a fetch's
   * wait.
   */
  patienceMs?(request: Request<RequestOf<A>>): number
  /**
   * Returns how long the client must wait by a quota that only this API counts. Called once, when the request is
   * over.
   */
  throttleMs?(request: Request<RequestOf<A>>, frameBytes: number): number
  /** Returns the answer, in version 0, to a version that is not served. By default the connection closes. */
  unsupported?(): ResponseInput<A>
  /**
   * The part of the API in an authentication. On a SASL listener, only APIs with a part are served before the client
   * has authenticated. After its identity has expired, only `handshake` is (KIP-368).
   */
  readonly saslPart?: Exclude<SaslPart, 'other'>
}

/** A handler without its message types, for the table in dispatch.ts. */
export interface Handler {
  readonly api: Api
  open(rooms: Rooms): Answering<Api>
}

/** Makes the handler of an API. `open` is called once per broker. */
export function handler<A extends Api>(api: A, open: (rooms: Rooms) => Answering<A>): Handler {
  return Object.freeze({ api, open: open as unknown as (rooms: Rooms) => Answering<Api> })
}
