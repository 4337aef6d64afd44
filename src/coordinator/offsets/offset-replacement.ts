// Defines an operator's change of committed offsets. The change is made only if the offsets are still those that the
// operator saw.

import type { Refusal } from '../../protocol/errors.ts'
import type { CommittedOffset } from './offset-record.ts'

export interface OffsetReplacement {
  readonly topicId: string
  readonly partition: number
  /** Returns whether the committed offset is the one that the operator saw. */
  isExpected(committed: CommittedOffset | null): boolean
  /** Null forgets the offset. */
  readonly offset: number | null
}

/** An offset differs from the offset that the operator saw. Nothing was replaced. */
export const CHANGED = 'changed'

/**
 * Null when all offsets are replaced; NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, or the refusal of a coordinator that cannot
 * answer.
 */
export type ReplaceOutcome = null | typeof CHANGED | Refusal

/** Returns the committed offset for an offset that an operator sets. */
export function committedBy(offset: number, nowMs: number): CommittedOffset {
  return { offset, leaderEpoch: -1, metadata: '', commitTimestampMs: nowMs, expireAtMs: -1 }
}
