// Reports documents, or parts of documents, that exist but cannot be read: an operator edited them by hand, or a
// later version wrote them. Each is logged once and counted. The reader of the document decides what to do instead.
// It must not treat the document as absent if data would be lost, and must not overwrite it without a request.

import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { DocumentKind } from './document-kinds.ts'

/**
 * Logs and counts a document that cannot be read. `what` is the beginning of a sentence that names the document ("the
 * stored quotas of user=ada"), `why` says what is wrong with it, `result` says what the broker does and what an
 * operator can do.
 */
export type NameUnreadable = (found: {
  readonly kind: DocumentKind
  readonly what: string
  readonly why: unknown
  readonly result: string
}) => void

/** The number of names that are remembered. If there are more, the oldest may be logged again. */
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

/** Does nothing. It is for callers without a log: tests and tools. */
export const UNNAMED: NameUnreadable = () => {}
