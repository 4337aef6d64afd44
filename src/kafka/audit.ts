// Writes one log line for every request that asks for a change: the client, its tenant and address, the change with
// the names of its resources, and the result. It shows no values and no secrets. The lines have the logger and the
// form of those for HTTP (http/audit.ts).

import { openAuditLog } from '../admin/loggers.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Session } from './connection/session.ts'

/** A change that a request asks for: a verb, and the names of what it changes. */
export interface Audited {
  readonly verb: string
  readonly what: unknown
}

/** Writes the line of a finished request. `errors` are the names of the errors in its answer. */
export type Audit = (audited: Audited, by: Session, errors: readonly string[]) => void

export function openAudit(logger: Logger): Audit {
  const own = openAuditLog(logger)
  return ({ verb, what }, { principal, tenant, address }, errors) => {
    own.info(verb, {
      who: principal,
      tenant: tenant ?? undefined,
      from: address,
      code: errors.length === 0 ? null : errors.join(' '),
      what: JSON.stringify(what),
    })
  }
}
