// Random keys that rest in the store: every broker has the same one, and what is made with it nobody outside can compute. Made by
// the first broker that needs one, and made anew where the store was emptied: it is asked for each time and never remembered.

import { assert } from '../base/assert.ts'
import type { Random } from '../base/random.ts'
import type { Store } from '../store/store.ts'

const KIND = 'signing-key'
const FIELD = 'key'
const BYTES = 32

/** Null where it has not been made. Throws what the store throws. */
export async function findSharedKey(store: Store, name: string): Promise<Uint8Array | null> {
  const document = await store.load(KIND, name)
  if (document === null) return null
  const found = document.fields.get(FIELD)
  assert(found !== undefined, `the key '${name}' is missing from its document`)
  return found
}

/** Throws what the store throws. */
export async function makeSharedKey(store: Store, random: Random, name: string): Promise<Uint8Array> {
  for (;;) {
    const found = await findSharedKey(store, name)
    if (found !== null) return found
    // A conflict says that another broker made it.
    const changes = [{ key: FIELD, value: random.bytes(BYTES) }]
    await store.commit({ kind: KIND, name, expect: 0, changes, mayOverfill: true })
  }
}
