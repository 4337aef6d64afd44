// The memory that a group takes for as long as it is stored, even while it is empty: its id and its committed offsets.
// classic/books.ts counts the members. All groups of a broker share one limit. At the limit new groups and positions
// are refused, and existing ones continue.

import { because, GROUP_MAX_SIZE_REACHED, INVALID_COMMIT_OFFSET_SIZE } from '../protocol/errors.ts'
import type { CommittedOffset } from './offsets/offset-record.ts'

/** Measured on Node 24 and rounded up. */
const costs = Object.freeze({
  /** A group with its maps and its timer. */
  group: 4_096,
  /** A position with short metadata, so that the usual notes of clients do not make an existing position grow. */
  offset: 320,
})
/** Characters that the cost of a position includes. */
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

/** The memory left for a new group. */
export const TOO_MANY_GROUPS = because(GROUP_MAX_SIZE_REACHED, full)
/** The memory left for a new position, or one that grows. */
export const TOO_MANY_OFFSETS = because(INVALID_COMMIT_OFFSET_SIZE, full)
