// What a route of the HTTP side is: one value made with route(), in routes/<noun>.ts. It states its contract (who may call it,
// what it takes, what it answers) and answers one request. It holds no state, does not know fastify, sockets or cookies'
// signatures, and does not import another route. The permission check, the audit line, the OpenAPI document and the tests of
// all three come from this table.

import type { z } from 'zod'
import type { Build } from '../admin/build.ts'
import type { Health } from '../admin/health.ts'
import type { MessageReaders } from '../admin/message-readers.ts'
import type { Peers } from '../admin/peers.ts'
import type { Accounts } from '../auth/accounts.ts'
import type { Identity } from '../auth/identity.ts'
import type { SingleSignOn } from '../auth/single-sign-on.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { ClientQuotas } from '../coordinator/client-quotas.ts'
import type { Groups } from '../coordinator/groups.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { Logs } from '../log/logs.ts'
import type { Refusal } from '../protocol/errors.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store } from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'
import type { Descriptors } from '../telemetry/descriptors.ts'
import type { History } from '../telemetry/history.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Problem } from './problems.ts'

/** The lower rooms, as routes reach them. */
export interface HttpRooms {
  readonly accounts: Accounts
  /** Null where nobody signs in through an identity provider. */
  readonly singleSignOn: SingleSignOn | null
  readonly store: Store
  readonly unreadable: NameUnreadable
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  readonly groups: Groups
  readonly clientQuotas: ClientQuotas
  readonly cluster: Cluster
  /** The other brokers. */
  readonly peers: Peers
  readonly messageReaders: MessageReaders
  /** This broker's node id. */
  readonly nodeId: number
  readonly settings: Settings
  readonly descriptors: Descriptors
  readonly metrics: Metrics
  readonly history: History
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
  readonly health: Health
  readonly build: () => Promise<Build>
}

/**
 * Who may call a route.
 * - `nobody`: everybody, without a session.
 * - `viewer`, `admin`: a session of that role, by the cookie. An ADMIN may do what a VIEWER may.
 * - `basic-viewer`, `basic-admin`: the same by HTTP Basic, for the actuator and the OpenAPI document.
 * - `scrape`: `basic-viewer`, or everybody with `svc.admin.anonymous-prometheus`.
 * With `svc.admin.security-enabled=false` everybody may call everything.
 */
export type Needs = 'nobody' | 'viewer' | 'admin' | 'basic-viewer' | 'basic-admin' | 'scrape'

/** No route takes another one. */
export const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

export interface HttpRequest<Params, Query, Body> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** Null where nobody had to be anybody. */
  readonly identity: Identity | null
  /** The client's address, without its port; the proxy's, unless that is a configured one. */
  readonly address: string
  /** `http` or `https`, as the client sees it. */
  readonly scheme: 'http' | 'https'
  /** The Host header. */
  readonly host: string
  readonly requestId: string
  /** By name, decoded. */
  readonly cookies: Readonly<Record<string, string | undefined>>
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Aborts when nobody waits for the answer any more, when whoever streams it may not any more, or when the broker begins to drain. */
  readonly ended: AbortSignal
}

export interface Reply {
  readonly kind: 'reply'
  readonly status: number
  /** Held against the schema of the status; undefined where there is no body. */
  readonly body: unknown
  readonly headers: Readonly<Record<string, string | readonly string[]>>
}

/**
 * An answer without an end of its own, such as server-sent events, or one that is too long to be made in one go: each chunk is
 * written as it comes. Its status is 200, and nothing holds it against the schema.
 */
export interface Streaming {
  readonly kind: 'streaming'
  readonly contentType: string
  readonly headers?: Reply['headers']
  readonly chunks: AsyncIterable<string | Uint8Array>
  /** It has an end of its own: whatever ends it before cuts the connection, so that nobody takes what came for the whole. */
  readonly isFile?: boolean
}

/** A refusal of the rooms below is answered as the problem of its name. */
export type Answer = Reply | Streaming | Problem | Refusal

export function reply(status: number, body?: unknown, headers: Reply['headers'] = {}): Reply {
  return { kind: 'reply', status, body, headers }
}

type Shape = z.ZodType | undefined
type Of<S extends Shape> = S extends z.ZodType ? z.output<S> : undefined

export interface Route<P extends Shape = Shape, Q extends Shape = Shape, B extends Shape = Shape> {
  readonly method: Method
  /** fastify's form, `/api/v1/topics/:topic`. */
  readonly path: string
  readonly needs: Needs
  /** It says what is wrong: asked with a session that cannot be looked up while the store is away, it answers, with identity null. */
  readonly isForBadTimes?: true
  /** Health: answered also where others are told that the broker has too much to do (places.ts). */
  readonly isProbe?: true
  /** What is done to what, such as `create topic`: the operation in OpenAPI, and the verb of the audit line of a mutation. */
  readonly verb: string
  /** The section of the reference. */
  readonly tag: string
  /** One or two sentences for people. */
  readonly doc: string
  readonly params?: P
  /** A member that the shape does not name is refused, here and in the body, unless the shape is loose. */
  readonly query?: Q
  readonly body?: B
  /** The body of each good status; null for none. A status that is not here is a mistake, and answered 500. */
  readonly answers: Readonly<Record<number, z.ZodType | null>>
  /** What the good answers are written in where it is not JSON, such as `text/event-stream`, for the reference; several where there is a choice. */
  readonly contentType?: string | readonly string[]
  /**
   * Codes of problems that are this route's own, by status, several with `, ` between. Those that follow from what the route is
   * (`problemsOf` in openapi.ts) need not be said.
   */
  readonly problems?: Readonly<Record<number, string>>
  /**
   * Names of headers that are this route's own, by status, for the reference. Those that follow from what the route is (`headersOf`
   * in openapi.ts), and those that every answer has, need not be said.
   */
  readonly headers?: Readonly<Record<number, readonly string[]>>
  /** Members of the body that the audit line of a mutation shows, so that it says what was changed. Never one that may hold a secret. */
  readonly audited?: readonly string[]
  /** Takes a body of this many bytes at most; 1 MiB where it is not said. */
  readonly bodyLimit?: number
  answer(request: HttpRequest<Of<P>, Of<Q>, Of<B>>, rooms: HttpRooms): Promise<Answer> | Answer
}

/** A route whose shapes are erased, as the table holds it. */
export type AnyRoute = Route

export function route<P extends Shape = undefined, Q extends Shape = undefined, B extends Shape = undefined>(
  spec: Route<P, Q, B>,
): AnyRoute {
  return Object.freeze(spec) as unknown as AnyRoute
}

/** Asks for a change: it needs the JSON content type and the same origin, and it is audited. */
export function isMutation({ method }: Pick<Route, 'method'>): boolean {
  return method !== 'GET'
}
