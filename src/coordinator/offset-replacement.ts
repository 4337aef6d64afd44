// An operator's change of committed offsets, which holds only while they are what he was shown.

import type { Refusal } from '../protocol/errors.ts'
import type { CommittedOffset } from './group-record.ts'

export interface OffsetReplacement {
  readonly topicId: string
  readonly partition: number
  /** Whether what is committed is what was shown. */
  isExpected(committed: CommittedOffset | null): boolean
  /** Null forgets the offset. */
  readonly offset: number | null
}

/** Some offset is not what was shown; nothing was replaced. */
export const CHANGED = 'changed'

/** Null when all is replaced; NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, or why the coordinator does not know. */
export type ReplaceOutcome = null | typeof CHANGED | Refusal

/** An offset that an operator sets. */
export function committedBy(offset: number, nowMs: number): CommittedOffset {
  return { offset, leaderEpoch: -1, metadata: '', commitTimestampMs: nowMs, expireAtMs: -1 }
}
