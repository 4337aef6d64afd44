// The memory that a group takes for as long as it is stored, even while it is empty: its id and its committed offsets.
// classic/books.ts counts the members. All groups of a broker share one limit. At the limit the broker refuses new
// groups and new committed offsets. Existing ones continue.

import { because, GROUP_MAX_SIZE_REACHED, INVALID_COMMIT_OFFSET_SIZE } from '../protocol/errors.ts'
import type { CommittedOffset } from './offsets/offset-record.ts'

/** Measured on Node 24 and rounded up. */
const costs = Object.freeze({
  /** A group with its maps and its timer. */
  group: 4_096,
  /** A committed offset with short metadata: the usual metadata of clients does not make a stored offset grow. */
  offset: 320,
})
/** The characters of metadata that `costs.offset` includes. */
const SHORT_METADATA = 64

/** Returns the memory of a group without offsets, in bytes. */
export function costOfGroup(groupId: string): number {
  return costs.group + 2 * groupId.length
}

/** Returns the memory of a committed offset, in bytes. */
export function costOfOffset({ metadata }: Pick<CommittedOffset, 'metadata'>): number {
  return costs.offset + 2 * Math.max(metadata.length - SHORT_METADATA, 0)
}

const full =
  'All groups of this broker, including empty ones, and their committed offsets have reached svc.broker.groups-max-bytes together.'

/** No memory is left for a new group. */
export const TOO_MANY_GROUPS = because(GROUP_MAX_SIZE_REACHED, full)
/** No memory is left for a new committed offset, or for an offset that grows. */
export const TOO_MANY_OFFSETS = because(INVALID_COMMIT_OFFSET_SIZE, full)
