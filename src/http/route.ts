// The type of a route of the HTTP side. Each route is one value made with route(), in routes/<noun>.ts: it states its
// contract (who may call it, its input, its answers) and answers one request. It holds no state, does not know
// fastify, sockets or the signatures of cookies, and does not import another route. The permission check, the audit
// line, the OpenAPI document and the tests of all three use this table.

import type { z } from 'zod'
import type { Build } from '../admin/build.ts'
import { type Declined, isDeclined } from '../admin/declined.ts'
import type { Health } from '../admin/health.ts'
import type { PeerMetrics } from '../admin/peer-metrics.ts'
import type { RecordReaders } from '../admin/records/readers.ts'
import type { SegmentInspections } from '../admin/segment-inspections.ts'
import type { AgentTools } from '../api/agent-tools.ts'
import type { AclKeeper } from '../auth/clients/acl-keeper.ts'
import type { Policies } from '../auth/clients/policies.ts'
import type { Accounts } from '../auth/console/accounts.ts'
import type { Identity } from '../auth/console/identity.ts'
import type { SingleSignOn } from '../auth/console/single-sign-on.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Peers } from '../cluster/peers.ts'
import type { ClientQuotas } from '../coordinator/client-quotas.ts'
import type { Groups } from '../coordinator/groups.ts'
import type { ReadPositions } from '../coordinator/read-positions.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { Logs } from '../log/logs.ts'
import { isRefusal, type Refusal } from '../protocol/errors.ts'
import type { RegistryJudge } from '../registry/judge/judge.ts'
import type { Registry } from '../registry/registry.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store } from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'
import type { Descriptors } from '../telemetry/descriptors.ts'
import type { History } from '../telemetry/history.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { RemoteTier } from '../tier/remote/remote-tier.ts'
import type { StorageWorker } from '../tier/worker.ts'
import type { ConsoleFiles } from './console-files.ts'
import type { Problem } from './problems.ts'

/** The parts of the remote tier that the catalog shows. */
export type CatalogSource = Pick<RemoteTier, 'namespace' | 'tables' | 'metadata'>

/** The lower rooms, in the form that routes use. */
export interface HttpRooms {
  readonly accounts: Accounts
  /** Null if users do not sign in through an identity provider. */
  readonly singleSignOn: SingleSignOn | null
  readonly store: Store
  readonly unreadable: NameUnreadable
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  readonly groups: Groups
  readonly readPositions: ReadPositions
  readonly clientQuotas: ClientQuotas
  readonly acls: AclKeeper
  /** The rights of Kafka clients. */
  readonly policies: Policies
  readonly cluster: Cluster
  /** The other brokers. */
  readonly peers: Peers
  readonly storageWorker: StorageWorker
  /** The tables of topics; null without `storage.remote.path`. */
  readonly remoteTier: RemoteTier | null
  /** The tables that the catalog shows; null without a remote tier. */
  readonly catalogSource: CatalogSource | null
  /** Null if it is switched off. */
  readonly registry: Registry | null
  /** Judges produced records by their schemas; null without a registry. */
  readonly judge: Pick<RegistryJudge, 'judged'> | null
  readonly recordReaders: RecordReaders
  readonly segmentInspections: SegmentInspections
  /** The metrics of the other brokers. */
  readonly peerMetrics: PeerMetrics
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
  readonly consoleFiles: ConsoleFiles
  /** The agent tools; null if they are switched off. */
  readonly agents: Agents | null
}

/** A POST to the agent tools (faces/agents.ts), whose caller was checked. */
export interface AgentRequest {
  /** The value of the JSON body. */
  readonly body: unknown
  readonly headers: HttpRequest<never, never, never>['headers']
  /** `mcp token`, or `anybody` if admin security is off. */
  readonly who: string
  /** The client's address. */
  readonly from: string
  /** The name of the caller, for work of which each caller has its turns. */
  readonly caller: string
  readonly ended: AbortSignal
}

export interface AgentAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A text in the media type of the headers; undefined without a body. */
  readonly body: string | undefined
}

/** The agent tools, in the form that HTTP uses. src/mcp has them. */
export interface Agents {
  /** Counts a request and returns 0; else returns after how many milliseconds one can be counted again. */
  take(): number
  answer(request: AgentRequest): Promise<AgentAnswer>
  /** Returns what people see of the endpoint. */
  describe(): Omit<AgentTools, 'needsToken'>
}

/**
 * Who may call a route.
 * - `anybody`: every client, without a session.
 * - `viewer`, `admin`: a session of that role, by the cookie. An ADMIN may do what a VIEWER may.
 * - `basic-viewer`, `basic-admin`: the same by HTTP Basic, for the actuator and the OpenAPI document.
 * - `scrape`: `basic-viewer`, or any client with `svc.admin.anonymous-prometheus`.
 * - `registry-…`: that right on the subject of the path, or on any subject if the path has none, for the schema
 *   registry (faces/schema-registry-access.ts).
 * With `svc.admin.security-enabled=false` every client may call everything.
 */
export type Needs = 'anybody' | 'viewer' | 'admin' | 'basic-viewer' | 'basic-admin' | 'scrape' | RegistryNeeds

export type RegistryNeeds = `registry-${RegistryRight}`

/** The rights in the schema registry: to read, to look up and check by content, to register, and everything else. */
export const REGISTRY_RIGHTS = ['read', 'lookup', 'register', 'administer'] as const
export type RegistryRight = (typeof REGISTRY_RIGHTS)[number]

/** The methods of routes. Every GET answers HEAD too. */
export const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

export interface HttpRequest<Params, Query, Body> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** Null if the route does not need a caller. */
  readonly identity: Identity | null
  /** The client's address without a port. Behind a proxy that is not configured, it is the address of the proxy. */
  readonly address: string
  /** `http` or `https`, as the client sees it. */
  readonly scheme: 'http' | 'https'
  /** The Host header. */
  readonly host: string
  readonly requestId: string
  /** The cookies by name, decoded. */
  readonly cookies: Readonly<Record<string, string | undefined>>
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /**
   * Aborts when the client no longer waits for the answer, when the caller may no longer read the stream, or when the
   * broker begins to drain.
   */
  readonly ended: AbortSignal
}

export interface Reply {
  readonly kind: 'reply'
  readonly status: number
  /** The body, which is checked against the schema of the status; undefined without a body. */
  readonly body: unknown
  readonly headers: Readonly<Record<string, string | readonly string[]>>
}

/**
 * An answer that has no end, such as server-sent events, or that is too long to build at once: each chunk is written
 * as it comes. Its status is 200, and no schema checks it.
 */
export interface Streaming {
  readonly kind: 'streaming'
  readonly contentType: string
  readonly headers?: Reply['headers']
  readonly chunks: AsyncIterable<string | Uint8Array>
  /**
   * True if the stream has an end. If it ends earlier, the connection is cut, so that the client does not mistake a
   * part for the whole.
   */
  readonly isFile?: boolean
}

/** A refusal of the rooms below, or a verb that declines, is answered as the problem of its name. */
export type Answer = Reply | Streaming | Problem | Declined | Refusal

export function reply(status: number, body?: unknown, headers: Reply['headers'] = {}): Reply {
  return { kind: 'reply', status, body, headers }
}

/** Returns the answer with what a verb found, or its refusal. */
export function found(result: object | Declined | Refusal, status = 200): Answer {
  return isDeclined(result) || isRefusal(result) ? result : reply(status, result)
}

export type Shape = z.ZodType | undefined
export type Of<S extends Shape> = S extends z.ZodType ? z.output<S> : undefined

export interface Route<P extends Shape = Shape, Q extends Shape = Shape, B extends Shape = Shape> {
  readonly method: Method
  /** The path in fastify's form, such as `/api/v1/topics/:topic`. */
  readonly path: string
  readonly needs: Needs
  /**
   * True if the route reports problems of the broker. Such a route answers even if the store is away and the session
   * cannot be looked up; the identity is null then.
   */
  readonly isForBadTimes?: true
  /**
   * True for a probe of health. It is answered even while other requests are refused because the broker is busy
   * (places.ts).
   */
  readonly isProbe?: true
  /**
   * True if a POST only asks, because a foreign API asks with a body, or because the question has a long text. It is
   * checked as a change is, leaves no audit line, and may be for a VIEWER.
   */
  readonly onlyAsks?: true
  /** True if HEAD is answered 204 where GET is answered 200, as a foreign API demands. */
  readonly isBareHead?: true
  /** Verb and noun, such as `create topic`: the operation in OpenAPI, and the verb of the audit line of a mutation. */
  readonly verb: string
  /** The section of the reference. */
  readonly tag: string
  /** One or two sentences for people. */
  readonly doc: string
  readonly params?: P
  /** A member that the shape does not name is refused, here and in the body, unless the shape is loose. */
  readonly query?: Q
  readonly body?: B
  /** The shape of the body of each good status; null for no body. Any other status is a defect and is answered 500. */
  readonly answers: Readonly<Record<number, z.ZodType | null>>
  /**
   * The media type of the good answers if it is not JSON, such as `text/event-stream`, for the reference; several if
   * the client has a choice.
   */
  readonly contentType?: string | readonly string[]
  /**
   * Codes of problems that only this route has, by status, several separated by `, `. Codes that follow from the kind
   * of the route (`problemsOf` in openapi.ts) are not listed.
   */
  readonly problems?: Readonly<Record<number, string>>
  /**
   * Names of headers that only this route has, by status, for the reference. Headers that follow from the kind of the
   * route (`headersOf` in openapi.ts), and those of every answer, are not listed.
   */
  readonly headers?: Readonly<Record<number, readonly string[]>>
  /**
   * Members of the body that the audit line of a mutation shows, so that it says what was changed. A member that may
   * contain a secret must not be listed.
   */
  readonly audited?: readonly string[]
  /** The largest body in bytes; 1 MiB by default. */
  readonly bodyLimit?: number
  /** The most values of a body, names of members included; 10,000 by default (json-body.ts). */
  readonly mostValues?: number
  answer(request: HttpRequest<Of<P>, Of<Q>, Of<B>>, rooms: HttpRooms): Promise<Answer> | Answer
}

/** A route without the types of its shapes, as the table has it. */
export type AnyRoute = Route

export function route<P extends Shape = undefined, Q extends Shape = undefined, B extends Shape = undefined>(
  spec: Route<P, Q, B>,
): AnyRoute {
  return Object.freeze(spec) as unknown as AnyRoute
}

/** Returns the methods that the path of the route answers. */
export function methodsOf({ method }: Pick<Route, 'method'>): readonly string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method]
}

/**
 * Returns whether the route may make a change. Such a route needs the content type of its face and the same origin.
 */
export function isMutation({ method }: Pick<Route, 'method'>): boolean {
  return method !== 'GET'
}

/** Returns whether each request of the route leaves an audit line. */
export function isAudited({ method, onlyAsks }: Pick<Route, 'method' | 'onlyAsks'>): boolean {
  return isMutation({ method }) && onlyAsks !== true
}
