// An operator's change of committed offsets. It is made only while the offsets are still those that the operator saw.

import type { Refusal } from '../../protocol/errors.ts'
import type { CommittedOffset } from './offset-record.ts'

export interface OffsetReplacement {
  readonly topicId: string
  readonly partition: number
  /** Whether the committed offset is the one that the operator saw. */
  isExpected(committed: CommittedOffset | null): boolean
  /** Null forgets the offset. */
  readonly offset: number | null
}

/** Some offset differs from the one that the operator saw; nothing was replaced. */
export const CHANGED = 'changed'

/**
 * Null when all offsets are replaced; NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, or the refusal of a coordinator that cannot
 * answer.
 */
export type ReplaceOutcome = null | typeof CHANGED | Refusal

/** An offset that an operator sets. */
export function committedBy(offset: number, nowMs: number): CommittedOffset {
  return { offset, leaderEpoch: -1, metadata: '', commitTimestampMs: nowMs, expireAtMs: -1 }
}
