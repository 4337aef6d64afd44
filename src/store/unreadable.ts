// Reports documents, or parts of one, that exist but cannot be read: an operator edited them by hand, or a later
// version wrote them. Each is named once and counted. Its reader decides what to do instead. It must not treat the
// document as absent if data would be lost, and must not overwrite it unasked.

import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { DocumentKind } from './document-kinds.ts'

/**
 * `what` is the beginning of a sentence that names the document ("the stored quotas of user=ada"), `why` a phrase that
 * says what is wrong with it, `result` what follows and what an operator can do.
 */
export type NameUnreadable = (found: {
  readonly kind: DocumentKind
  readonly what: string
  readonly why: unknown
  readonly result: string
}) => void

/** The log remembers this many names; beyond them the oldest may be named again. */
const MOST_REMEMBERED = 10_000

export function nameUnreadable(metrics: Pick<Metrics, 'count'>, logger: Logger): NameUnreadable {
  const log = logger.named('store')
  const named = new Set<string>()
  return ({ kind, what, why, result }) => {
    const key = `${kind} ${what}`
    if (named.has(key)) return
    named.add(key)
    const [first] = named
    if (named.size > MOST_REMEMBERED) named.delete(first!)
    metrics.count('svc.storage.unreadable_documents', { kind })
    const reason = why instanceof Error ? why.message : String(why)
    log.error(`${what} cannot be read (${reason}): ${result}`, { kind })
  }
}

/** For callers without a log: tests and tools. */
export const UNNAMED: NameUnreadable = () => {}
