// The remarkable facts about the position of a group in one partition.

import type { DescribedGroup } from '../../../src/api/groups.ts'
import { counted } from '../../text/format.ts'

export type Position = DescribedGroup['positions'][number]

/** Returns how many records after the committed offset the log has lost; 0 if none, or if that is not known. */
export function lostRecords({
  committedOffset,
  startOffset,
}: Pick<Position, 'committedOffset' | 'startOffset'>): number {
  if (committedOffset === null || startOffset === null) return 0
  return Math.max(0, startOffset - committedOffset)
}

/** Returns the sentence about records that are gone before the group read them; null if there are none. */
export function lossSentence(position: Pick<Position, 'committedOffset' | 'startOffset'>): string | null {
  const lost = lostRecords(position)
  if (lost === 0) return null
  return `The log begins at offset ${position.startOffset}: ${counted(lost, 'record')} after the committed offset ${lost === 1 ? 'is' : 'are'} gone.`
}

/** Returns whether the group has committed an offset that the log has not reached. */
export function isBeyondEnd({ committedOffset, endOffset }: Pick<Position, 'committedOffset' | 'endOffset'>): boolean {
  return committedOffset !== null && endOffset !== null && committedOffset > endOffset
}

/** Returns whether no member reads the partition although the group has members that have shared out the partitions. */
export function isUnassigned(position: Pick<Position, 'memberId'>, group: Pick<DescribedGroup, 'state'>): boolean {
  return group.state === 'Stable' && position.memberId === null
}

/** Returns whether the log has a record at the committed offset, so that a link can show it. */
export function hasRecordAtCommit({ committedOffset, startOffset, endOffset }: Position): boolean {
  if (committedOffset === null || startOffset === null || endOffset === null) return false
  return committedOffset >= startOffset && committedOffset < endOffset
}
