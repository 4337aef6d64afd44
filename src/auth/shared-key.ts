// Random keys that rest in the store: every broker has the same one, and what is made with it nobody outside can compute. Made by
// the first broker that needs one, and made anew where the store was emptied: it is asked for each time and never remembered.

import type { Random } from '../base/random.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { type Store, UnreadableDocument } from '../store/store.ts'

const KIND: DocumentKind = 'signing-key'
const FIELD = 'key'
const BYTES = 32

/** Null where it has not been made. Throws what the store throws, or UnreadableDocument. */
export async function findSharedKey(store: Store, name: string): Promise<Uint8Array | null> {
  const document = await store.load(KIND, name)
  if (document === null) return null
  const found = document.fields.get(FIELD)
  if (found?.length === BYTES) return found
  throw new UnreadableDocument(
    `The stored key ${JSON.stringify(name)} cannot be read: it has not the ${BYTES} bytes that this version makes. Delete its document, and a new one is made.`,
  )
}

/** Throws what the store throws, or UnreadableDocument: another key in its place would undo what was made with it. */
export async function makeSharedKey(store: Store, random: Random, name: string): Promise<Uint8Array> {
  for (;;) {
    const found = await findSharedKey(store, name)
    if (found !== null) return found
    // A conflict says that another broker made it.
    const changes = [{ key: FIELD, value: random.bytes(BYTES) }]
    await store.commit({ kind: KIND, name, expect: 0, changes, mayOverfill: true })
  }
}
