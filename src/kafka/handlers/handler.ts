// What a Kafka API's handler is: one file per API beside this one, each a value made with `handler()`. A handler turns
// one decoded request into one answer. It holds no state (state lives in the rooms below), does not know sockets,
// correlation ids or encoding (dispatch.ts and connection.ts do), and does not import another handler.

import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import type { ClientQuotas } from '../../coordinator/client-quotas.ts'
import type { Groups } from '../../coordinator/groups.ts'
import type { ProducerIds } from '../../coordinator/producer-ids.ts'
import type { CatalogueKeeper } from '../../log/catalogue.ts'
import type { Logs } from '../../log/logs.ts'
import type { Refusal } from '../../protocol/errors.ts'
import type { Api, RequestOf, ResponseInput } from '../../protocol/schema.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Store } from '../../store/store.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Throttle } from '../throttle.ts'

/** Where a listener is reached, as clients are told. */
export interface Listener {
  readonly name: string
  readonly host: string
  readonly port: number
}

/** The connection that a request came by, as handlers may see it. */
export interface Peer {
  readonly id: number
  readonly listener: Listener
  /** Kafka's form, `User:name`; `User:ANONYMOUS` until somebody authenticated. */
  readonly principal: string
  /** The client's address, without its port. */
  readonly address: string
}

/** One decoded request. `deadlineMs` and `receivedAtMs` are on Clock.monotonic(). */
export interface Request<Body> {
  readonly body: Body
  readonly apiVersion: number
  readonly correlationId: number
  readonly clientId: string | null
  readonly connection: Peer
  readonly receivedAtMs: number
  /** After this an answer is too late: the client has been told REQUEST_TIMED_OUT. */
  readonly deadlineMs: number
  /** Aborts when the broker begins to drain: what is parked answers at once with what it has. */
  readonly drain: AbortSignal
  /** Aborts when the connection is gone: nobody will read the answer. */
  readonly closed: AbortSignal
  /**
   * Set by a handler that wants to know when the bytes of its answer are looked at no more: the network has taken them, or
   * nobody waited for them. Where the connection is gone before, it is not called.
   */
  onSent: (() => void) | null
}

/** The lower rooms, as handlers reach them. */
export interface Rooms {
  readonly store: Store
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  readonly groups: Groups
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

/** Null: nothing is written back (acks=0). */
export type Answer<A extends Api> = ResponseInput<A> | typeof CLOSE | null

export interface Answering<A extends Api> {
  /**
   * Called synchronously in the order in which the requests of a connection arrived, so what it does before its first
   * await happens in that order. Expected refusals go into their rows; it throws only what is an outside failure or our
   * own mistake, and `refused` then makes the answer. How long the client is to wait by its quotas is added by dispatch.ts.
   */
  answer(request: Request<RequestOf<A>>): Answer<A> | Promise<Answer<A>>
  /**
   * The answer in this API's own shape when the request as a whole came to this refusal (it waited too long, the store is
   * away, we made a mistake): every row that was asked for carries the code. Synchronous, must not throw.
   */
  refused(request: Request<RequestOf<A>>, refusal: Refusal): ResponseInput<A> | typeof CLOSE
  /**
   * For a request that may wait for other clients' requests: what of its body is still asked for once `answer` has returned.
   * The rest has been copied by then to where it is kept, under a bound of its own, or was refused: its frame holds no memory
   * while it waits, or those that it waits for might not be read.
   */
  kept?(body: RequestOf<A>): RequestOf<A>
  /** Clients say the same again and again: then `body` is the same value as in the connection's request before. */
  readonly isRepetitive?: boolean
  /** How much longer than `broker.response-queue-timeout` this request may take by its nature (a fetch's wait). */
  patienceMs?(request: Request<RequestOf<A>>): number
  /** The answer, in version 0, to a version that is not served. Without it the connection is closed. */
  unsupported?(): ResponseInput<A>
}

/** A handler whose message types are erased, as the dispatcher's table holds it. */
export interface Handler {
  readonly api: Api
  open(rooms: Rooms): Answering<Api>
}

/** Binds an API to what answers it. `open` is called once per broker. */
export function handler<A extends Api>(api: A, open: (rooms: Rooms) => Answering<A>): Handler {
  return Object.freeze({ api, open: open as unknown as (rooms: Rooms) => Answering<Api> })
}
