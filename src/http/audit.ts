// Writes one log line for every requested change: the caller, the address, the change, and the result. Of the body it
// shows only the members that the route allows (`audited`), so that no secret is logged by mistake. If the body does
// not fit its shape, a member may contain others, such as a password. Then the line shows single values only.

import type { Logger } from '../telemetry/logger.ts'
import type { AnyRoute } from './route.ts'

export interface Asked {
  /** Null if the caller did not sign in. */
  readonly who: string | null
  /** True if an identity provider gave the name. A user in the store with the same name is another person. */
  readonly sso: boolean
  readonly from: string
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly status: number
  /** The code of the problem; null if there was none. */
  readonly code: string | null
  readonly requestId: string
}

export function audit(logger: Logger, { verb, audited = [] }: AnyRoute, asked: Asked): void {
  const { params, query, body, ...rest } = asked
  const mayShow = (value: unknown) =>
    value !== undefined && (rest.code !== 'INVALID_REQUEST' || typeof value !== 'object')
  const named = audited.map(name => [name, memberOf(body, name)] as const).filter(([, value]) => mayShow(value))
  const what = { ...asObject(params), ...asObject(query), ...Object.fromEntries(named) }
  logger.info(verb, { ...rest, what: JSON.stringify(what) })
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}

/** Returns a member of the body. The body may be any value, because refused changes are audited too. */
function memberOf(body: unknown, name: string): unknown {
  return Object.hasOwn(asObject(body), name) ? (body as Record<string, unknown>)[name] : undefined
}
