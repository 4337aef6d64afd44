// The error codes of Confluent's schema registry, and the form of its errors: `{"error_code": 40401, "message": "…"}`.
// Clients decide by the code and the status. The names are those of the codes in audit lines and in the route table.

import { assert } from '../../base/assert.ts'
import { type Problem, problem } from '../problems.ts'

/** By name: the code, and the status if the code does not begin with it. */
export const registryErrors = Object.freeze({
  INVALID_BODY: [422],
  INCOMPATIBLE_SCHEMA: [409],
  SUBJECT_NOT_FOUND: [40401],
  VERSION_NOT_FOUND: [40402],
  SCHEMA_NOT_FOUND: [40403],
  SUBJECT_SOFT_DELETED: [40404],
  SUBJECT_NOT_SOFT_DELETED: [40405],
  VERSION_SOFT_DELETED: [40406],
  VERSION_NOT_SOFT_DELETED: [40407],
  LEVEL_NOT_CONFIGURED: [40408],
  MODE_NOT_CONFIGURED: [40409],
  INVALID_SCHEMA: [42201],
  INVALID_VERSION: [42202],
  INVALID_COMPATIBILITY_LEVEL: [42203],
  INVALID_MODE: [42204],
  OPERATION_NOT_PERMITTED: [42205],
  REFERENCE_EXISTS: [42206],
  ID_DOES_NOT_MATCH: [42207],
  INVALID_SUBJECT: [42208],
  SCHEMA_TOO_LARGE: [42209],
  INVALID_RULE_SET: [42210],
  CONTEXT_NOT_EMPTY: [42211],
  FORBIDDEN: [40301],
  PASSWORD_CHANGE_REQUIRED: [40301],
  CROSS_SITE: [40301],
  BUSY: [50002, 503],
  STORE_UNAVAILABLE: [50001, 503],
  UNREADABLE: [50001, 500],
} as const satisfies Readonly<Record<string, readonly [code: number, status?: number]>>)

export type RegistryErrorName = keyof typeof registryErrors

/** Makes the problem for an expected refusal. `message` is Confluent's text, which some clients search. */
export function registryProblem(name: RegistryErrorName, message: string): Problem {
  const [code, status = statusOf(code)] = registryErrors[name] as readonly [number, number?]
  const headers = name === 'BUSY' ? { 'retry-after': '1' } : {}
  return { kind: 'problem', status, code: name, title: message, detail: message, fields: null, headers }
}

/** A refusal of the registry's verbs, with the `error_code` and Confluent's text. */
export interface Refused {
  readonly kind: 'refused'
  readonly code: number
  readonly message: string
}

/** Returns the problem for a refusal of the registry's verbs. */
export function fromRefused({ code, message }: Refused): Problem {
  const names = Object.keys(registryErrors) as readonly RegistryErrorName[]
  const name = names.find(each => registryErrors[each][0] === code)
  assert(name !== undefined, `the table of the registry's errors has the code ${code}`)
  return registryProblem(name, message)
}

function statusOf(code: number): number {
  return code < 1_000 ? code : Math.floor(code / 100)
}

/** Returns the `error_code` of a problem: that of its name, else its status. */
export function errorCodeOf({ code, status }: Pick<Problem, 'code' | 'status'>): number {
  return Object.hasOwn(registryErrors, code) ? registryErrors[code as RegistryErrorName][0] : status
}

/** The messages of Confluent's server for requests that reach no route of it. */
const MESSAGES: Readonly<Record<string, string>> = Object.freeze({
  NOT_FOUND: 'HTTP 404 Not Found',
  METHOD_NOT_ALLOWED: 'HTTP 405 Method Not Allowed',
  NOT_ACCEPTABLE: 'HTTP 406 Not Acceptable',
  UNSUPPORTED_MEDIA_TYPE: 'HTTP 415 Unsupported Media Type',
})

/** Returns the body of the error. */
export function registryErrorOf(what: Problem, requestId: string) {
  const message = MESSAGES[what.code] ?? (what.status < 500 ? what.detail : `${what.detail} (request ${requestId})`)
  return { error_code: errorCodeOf(what), message }
}

/** The path or the query names nothing: clients of a registry expect 404 for an id that is no number. */
export const NO_SUCH_PLACE = problem('NOT_FOUND')
