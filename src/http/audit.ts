// One line for every change that was asked for: who, from where, what, and the result. Of the body it shows only the
// members that the route allows (`audited`), so that no secret gets here because it was forgotten. A member of a body
// that does not fit its shape may hold more members, such as a password: it is shown if it is a single value.

import { AUDIT_LOGGER } from '../admin/loggers.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { AnyRoute } from './route.ts'

export interface Asked {
  /** Null if the caller did not sign in. */
  readonly who: string | null
  /** An identity provider vouches for the name: a user in the store with the same name is another person. */
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

/**
 * At the level of the settings while the broker runs: a user who may change levels must not be able to hide changes.
 */
export function openAuditLog(logger: Logger): Logger {
  const own = logger.named('audit')
  logger.setLevel(AUDIT_LOGGER, logger.levels().get(AUDIT_LOGGER)!.level)
  return own
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

/** The body may be any value: refused changes are audited too. */
function memberOf(body: unknown, name: string): unknown {
  return Object.hasOwn(asObject(body), name) ? (body as Record<string, unknown>)[name] : undefined
}
