// One line for every change that was asked for: who, from where, what, and what came of it. It names of the body only what the
// route says may be shown (`audited`), so that no secret gets here by being forgotten.

import { AUDIT_LOGGER } from '../admin/loggers.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { AnyRoute } from './route.ts'

export interface Asked {
  /** Null where nobody signed in. */
  readonly who: string | null
  /** An identity provider vouches for the name: a user in the store who has the same one is somebody else. */
  readonly sso: boolean
  readonly from: string
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly status: number
  /** The code of the problem; null where it went well. */
  readonly code: string | null
  readonly requestId: string
}

/** At the level that the settings give it, for as long as the broker runs: who may change levels is not to change who hears of it. */
export function openAuditLog(logger: Logger): Logger {
  const own = logger.named('audit')
  logger.setLevel(AUDIT_LOGGER, logger.levels().get(AUDIT_LOGGER)!.level)
  return own
}

export function audit(logger: Logger, { verb, audited = [] }: AnyRoute, asked: Asked): void {
  const { params, query, body, ...rest } = asked
  const named = audited.map(name => [name, memberOf(body, name)] as const).filter(([, value]) => value !== undefined)
  const what = { ...asObject(params), ...asObject(query), ...Object.fromEntries(named) }
  logger.info(verb, { ...rest, what: JSON.stringify(what) })
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}

/** The body need not be what the route takes: refusals are audited too. */
function memberOf(body: unknown, name: string): unknown {
  return Object.hasOwn(asObject(body), name) ? (body as Record<string, unknown>)[name] : undefined
}
