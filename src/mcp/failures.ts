// The errors of calls that are no refusal of a verb: failures of the store and of other brokers, and defects. Defects
// are logged; the client sees no internals.

import { declined } from '../admin/declined.ts'
import { PeerUnavailable } from '../cluster/peers.ts'
import { isStoreFailure, OutcomeUnknown, StoreContended, UnreadableDocument } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { ToolDeclined } from './tool.ts'

const LOG_EVERY_MS = 5_000

/**
 * Returns the refusal for an error that a verb threw. `what` names the call in the log. `ended` is the signal that the
 * verb had.
 */
export function failureOf(error: unknown, what: string, ended: AbortSignal, logger: Logger): ToolDeclined {
  if (ended.aborted && (error === ended.reason || (error as { readonly name?: unknown }).name === 'AbortError'))
    return declined('ENDED', 'The client has gone, or the broker is shutting down.')
  if (error instanceof UnreadableDocument) return declined('UNREADABLE', error.message)
  if (isStoreFailure(error)) {
    logger.limited('store', LOG_EVERY_MS).warn('a call of an agent could not be answered', { call: what, error })
    if (error instanceof StoreContended) return declined('BUSY', `${error.message}.`)
    const mayBeMade = error instanceof OutcomeUnknown ? ' The change may have been made.' : ''
    return declined('STORE_UNAVAILABLE', `The store does not answer.${mayBeMade}`)
  }
  if (error instanceof PeerUnavailable) {
    logger.limited('peer', LOG_EVERY_MS).warn('a call of an agent could not be answered', { call: what, error })
    return declined('BROKER_UNAVAILABLE', `${error.message}.`)
  }
  logger.error('a call of an agent failed', { call: what, error })
  return declined('INTERNAL_ERROR', 'The broker made a mistake. Its log has the reason.')
}
