// Finds how far all groups in the store have committed, also the groups of other brokers. A log that begins again
// after a loss begins at that offset, so that it gives no offset to a second record.

import type { Store } from '../../store/store.ts'
import { KIND } from '../group-record.ts'
import { decodeOffset, offsetField } from './offset-record.ts'

/**
 * Committed offsets above this limit are ignored. Clients may commit any number, and a log that begins above this
 * limit would soon run out of offsets.
 */
const HIGHEST = 2 ** 52

/**
 * Returns a function that resolves to the highest offset that any group has committed for a partition; 0 without
 * commits. A committed offset is the next offset that the group reads. A call reads all groups; calls at the same
 * time share one read. A group or an offset that cannot be read is ignored. Throws what the store throws.
 */
export function committedBounds(store: Pick<Store, 'list'>): (topicId: string, partition: number) => Promise<number> {
  let listing: ReturnType<Store['list']> | null = null
  return async (topicId, partition) => {
    listing ??= store.list(KIND).finally(() => {
      listing = null
    })
    const field = offsetField(topicId, partition)
    let bound = 0
    for (const { fields } of await listing) {
      const value = fields.get(field)
      const offset = value === undefined ? 0 : offsetOf(value)
      if (offset <= HIGHEST) bound = Math.max(bound, offset)
    }
    return bound
  }
}

function offsetOf(value: Uint8Array): number {
  try {
    return decodeOffset(value).offset
  } catch {
    return 0
  }
}
