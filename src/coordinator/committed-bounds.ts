// How far consumers of all groups in the store have committed, also of those that other brokers coordinate. A log that begins anew
// begins there, so that it gives no offset to another record.

import type { Store } from '../store/store.ts'
import { decodeOffset, KIND, offsetField } from './group-record.ts'

/** Clients commit whatever they like; above this no log could go on for long. */
const HIGHEST = 2 ** 52

/**
 * The highest offset that any group has committed of a partition, which is the next that it reads; 0 where none has. All groups are read for an answer;
 * callers that ask meanwhile share it. A group that cannot be read counts as none. Throws what the store throws.
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
