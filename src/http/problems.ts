// Every error that the HTTP side answers, in one table: a stable code, its status, its title. The body is a problem of
// RFC 9457 with `code`, `fields` and `requestId` beside the standard members. Refusals of the rooms below keep Kafka's
// names as codes; a verb that declines has a code of this table.

import { DECLINED, type Declined } from '../admin/declined.ts'
import type { ProblemBody } from '../api/problem.ts'
import { errorOf, type Refusal } from '../protocol/errors.ts'

const table = {
  INVALID_REQUEST: [400, DECLINED.INVALID_REQUEST],
  INVALID_SCHEMA: [400, DECLINED.INVALID_SCHEMA],
  UNAUTHENTICATED: [401, 'The caller is not signed in.'],
  INVALID_CREDENTIALS: [401, 'The username or the password is wrong.'],
  FORBIDDEN: [403, 'The role of this user does not allow it.'],
  PASSWORD_CHANGE_REQUIRED: [403, 'The password must be changed before anything else.'],
  WRONG_CURRENT_PASSWORD: [403, 'The current password is wrong.'],
  EXPORT_DISABLED: [403, 'The export of records is switched off here.'],
  FOREIGN_HOST: [403, 'The Host header does not name this server.'],
  CROSS_SITE: [403, 'A change may only be asked for by the console itself.'],
  NOT_FOUND: [404, DECLINED.NOT_FOUND],
  NO_SUCH_NAMESPACE: [404, 'The catalog has no such namespace.'],
  NO_SUCH_TABLE: [404, 'The catalog has no such table.'],
  NO_SUCH_VIEW: [404, 'The catalog has no views.'],
  CONSOLE_DISABLED: [404, 'The web console is switched off here.'],
  REMOTE_TIER_OFF: [404, DECLINED.REMOTE_TIER_OFF],
  SCHEMA_REGISTRY_OFF: [404, DECLINED.SCHEMA_REGISTRY_OFF],
  METHOD_NOT_ALLOWED: [405, 'The path does not take this method.'],
  NOT_ACCEPTABLE: [406, 'No media type of the answer is accepted.'],
  UNSUPPORTED_OPERATION: [406, 'The catalog does not have this operation.'],
  REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
  USER_EXISTS: [409, 'There is a user of this name already.'],
  LAST_ADMIN: [409, 'The last ADMIN can be neither removed nor made a VIEWER.'],
  SETUP_CLOSED: [409, 'There are users already: sign in instead.'],
  CONFLICT: [409, DECLINED.CONFLICT],
  INCOMPATIBLE_SCHEMA: [409, DECLINED.INCOMPATIBLE_SCHEMA],
  REFERENCED: [409, DECLINED.REFERENCED],
  UNREADABLE: [409, DECLINED.UNREADABLE],
  PREVIEW_REQUIRED: [409, DECLINED.PREVIEW_REQUIRED],
  PREVIEW_OUTDATED: [409, DECLINED.PREVIEW_OUTDATED],
  PAYLOAD_TOO_LARGE: [413, 'The body is too large.'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'The body must be JSON.'],
  TOO_MANY_REQUESTS: [429, 'Too many attempts.'],
  HEADERS_TOO_LARGE: [431, 'The headers are too large or too many.'],
  INTERNAL_ERROR: [500, 'The broker made a mistake.'],
  TABLE_DAMAGED: [500, 'The table of the topic is damaged.'],
  SHUTTING_DOWN: [503, 'The broker is shutting down.'],
  BROKER_UNAVAILABLE: [503, 'Another broker of the cluster does not answer.'],
  BUSY: [503, DECLINED.BUSY],
  NO_STORAGE_WORKER: [503, 'No broker runs the storage worker.'],
  OBJECT_STORE_UNAVAILABLE: [503, 'The object store does not answer.'],
  STORE_UNAVAILABLE: [503, 'The store does not answer.'],
  CONSOLE_NOT_BUILT: [503, 'The web console is not there yet.'],
} as const satisfies Record<string, readonly [status: number, title: string]>

type ProblemCode = keyof typeof table

/** An expected refusal, as a value: a route returns it. */
export interface Problem {
  readonly kind: 'problem'
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  /**
   * The objection to each field, by its name in the query, the path or the body; a deeper one is named like
   * `offsets.0.before`.
   */
  readonly fields: Readonly<Record<string, string>> | null
  readonly headers: Readonly<Record<string, string>>
}

interface More {
  readonly fields?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
}

/** The headers of a problem on every route. A client may ask again soon if the broker was busy. */
const HEADERS: Readonly<Partial<Record<ProblemCode, Readonly<Record<string, string>>>>> = {
  BUSY: { 'retry-after': '1' },
}

/**
 * Makes a problem. `detail` is one sentence that names the wrong thing and the expected one; never a stack, a path or
 * a key of the store.
 */
export function problem(
  code: ProblemCode,
  detail?: string,
  { fields, headers = HEADERS[code] ?? {} }: More = {},
): Problem {
  const [status, title] = table[code]
  return { kind: 'problem', status, code, title, detail: detail ?? title, fields: fields ?? null, headers }
}

export function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && (value as Problem).kind === 'problem'
}

/** The status of refusals whose reason is outside of the request. All others are 400. */
const STATUS_OF_REFUSAL: Readonly<Record<string, number>> = {
  UNKNOWN_SERVER_ERROR: 500,
  UNKNOWN_TOPIC_OR_PARTITION: 404,
  UNKNOWN_TOPIC_ID: 404,
  GROUP_ID_NOT_FOUND: 404,
  UNKNOWN_MEMBER_ID: 404,
  RESOURCE_NOT_FOUND: 404,
  TOPIC_ALREADY_EXISTS: 409,
  NON_EMPTY_GROUP: 409,
  GROUP_SUBSCRIBED_TO_TOPIC: 409,
  LEADER_NOT_AVAILABLE: 503,
  NOT_LEADER_OR_FOLLOWER: 503,
  COORDINATOR_NOT_AVAILABLE: 503,
  COORDINATOR_LOAD_IN_PROGRESS: 503,
  NOT_COORDINATOR: 503,
  NOT_CONTROLLER: 503,
  KAFKA_STORAGE_ERROR: 503,
  NOT_ENOUGH_REPLICAS: 503,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 503,
  REQUEST_TIMED_OUT: 503,
}

/** Titles for codes whose text in Kafka fits only some of their uses. */
const TITLE_OF_REFUSAL: Readonly<Record<string, string>> = {
  INVALID_PARTITIONS: 'A topic cannot have this number of partitions.',
  NOT_CONTROLLER: 'The broker does not hold the lease of the storage worker.',
}

export function fromRefusal({ code, name, message, isDamage }: Refusal): Problem {
  const status = isDamage === true ? 500 : (STATUS_OF_REFUSAL[name] ?? 400)
  const title = TITLE_OF_REFUSAL[name] ?? errorOf(code)!.message
  return { kind: 'problem', status, code: name, title, detail: message, fields: null, headers: {} }
}

export function fromDeclined({ code, detail, fields }: Declined): Problem {
  return problem(code, detail, fields === null ? {} : { fields })
}

export const PROBLEM_TYPE = 'application/problem+json'

/** Returns an error in the form of the admin API and the actuator. */
export function asProblem(problem: Problem, requestId: string) {
  return { contentType: PROBLEM_TYPE, body: bodyOf(problem, requestId) }
}

export function bodyOf({ title, status, detail, code, fields }: Problem, requestId: string): ProblemBody {
  return { type: 'about:blank', title, status, detail, code, ...(fields === null ? {} : { fields }), requestId }
}
