// How far the consumers of all groups in the store have committed, those of other brokers included. A log that begins
// again after a loss begins there, so that it gives no offset to a second record.

import type { Store } from '../../store/store.ts'
import { KIND } from '../group-record.ts'
import { decodeOffset, offsetField } from './offset-record.ts'

/** Clients may commit any number. Above this limit a log would soon run out of offsets. */
const HIGHEST = 2 ** 52

/**
 * The highest offset that any group has committed for a partition, which is the next one that the group reads; 0
 * without commits. An answer reads all groups; callers that ask meanwhile share it. A group that cannot be read is
 * ignored. Throws what the store throws.
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
