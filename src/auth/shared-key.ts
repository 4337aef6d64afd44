// Random keys in the store, which all brokers share. No outsider can compute values that were made with such a key.
// The first broker that needs a key creates it. After the store was emptied, a broker creates a new key. Therefore
// the key is read each time and never cached.

import { changeDocument, type DocumentRooms } from '../store/document-keeper.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { type Document, type Store, UnreadableDocument } from '../store/store.ts'

const KIND: DocumentKind = 'signing-key'
const FIELD = 'key'
const BYTES = 32

/** Resolves with the key; null if no broker has created it yet. Throws what the store throws, or UnreadableDocument. */
export async function findSharedKey(store: Store, name: string): Promise<Uint8Array | null> {
  const document = await store.load(KIND, name)
  return document === null ? null : keyIn(document)
}

/**
 * Resolves with the key, and creates it if it does not exist. Throws what the store throws, or UnreadableDocument: a
 * new key in place of an unreadable one would invalidate every value that was made with that.
 */
export async function makeSharedKey(rooms: DocumentRooms, name: string): Promise<Uint8Array> {
  return await changeDocument(rooms, { kind: KIND, name, what: 'a key that all brokers share' }, now => {
    if (now !== null) return { answer: keyIn(now) }
    const key = rooms.random.bytes(BYTES)
    return { answer: key, write: { changes: [{ key: FIELD, value: key }], mayOverfill: true } }
  })
}

function keyIn({ name, fields }: Document): Uint8Array {
  const found = fields.get(FIELD)
  if (found?.length === BYTES) return found
  throw new UnreadableDocument(
    `The stored key ${JSON.stringify(name)} cannot be read: this version writes keys of ${BYTES} bytes. Delete its document, and the broker makes a new key.`,
  )
}
