// The memory that a group takes for as long as it is stored, also while it is empty: its id and its committed offsets. Members
// are counted in classic-group.ts. All groups of a broker together have a bound, beyond which there are no new ones; groups and
// positions that are there go on.

import { because, GROUP_MAX_SIZE_REACHED, INVALID_COMMIT_OFFSET_SIZE } from '../protocol/errors.ts'
import type { CommittedOffset } from './group-record.ts'

/** Measured on Node 24 and rounded up. */
const costs = Object.freeze({
  /** A group with its maps and its timer. */
  group: 4_096,
  /** A position with short metadata, so that one that is there does not grow by the usual notes of clients. */
  offset: 320,
})
/** Characters that are in the cost of a position. */
const SHORT_METADATA = 64

/** Bytes of a group without offsets. */
export function costOfGroup(groupId: string): number {
  return costs.group + 2 * groupId.length
}

/** Bytes of a committed offset. */
export function costOfOffset({ metadata }: Pick<CommittedOffset, 'metadata'>): number {
  return costs.offset + 2 * Math.max(metadata.length - SHORT_METADATA, 0)
}

const full = 'All groups of this broker, empty ones too, and their committed offsets hold svc.broker.groups-max-bytes.'

/** For a group that would be new. */
export const TOO_MANY_GROUPS = because(GROUP_MAX_SIZE_REACHED, full)
/** For a position that would be new, or say more than before. */
export const TOO_MANY_OFFSETS = because(INVALID_COMMIT_OFFSET_SIZE, full)
