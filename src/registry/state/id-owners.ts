// The schema that each id belongs to, one document for each id. A document is made once and never goes, and its schema
// never changes: an id belongs to one schema for ever, also after its subjects are deleted for good. The document
// remembers those subjects, because their readers may have records with the id.
//
//   document schema-id, <id>   the field `schema`: JSON of { guid }
//                              the field `former`: JSON of { subjects: [name, ...] }, the newest last; absent if none

import { BoundedCache } from '../../base/bounded-cache.ts'
import { coalesceEach } from '../../base/coalesce.ts'
import { changeDocument } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Document, UnreadableDocument } from '../../store/store.ts'
import { UNNAMED } from '../../store/unreadable.ts'
import type { JsonObject } from './content.ts'
import type { StateRooms } from './rooms.ts'
import { bytesOfJson, readJson, textOf } from './stored-json.ts'

const KIND: DocumentKind = 'schema-id'
const FIELD = 'schema'
const FORMER = 'former'
/** The former subjects that one id remembers. */
const MOST_FORMER = 100
/** A guid and its place in the cache. */
const BYTES = 200

export class IdOwners {
  readonly #rooms: StateRooms
  readonly #kept: BoundedCache<number, string>
  readonly #loadInTurn = coalesceEach<number, string | null>()

  constructor(rooms: StateRooms, mostBytes: number) {
    this.#rooms = rooms
    this.#kept = new BoundedCache(mostBytes, () => BYTES)
  }

  get bytes(): number {
    return this.#kept.bytes
  }

  /** Resolves with the guid of the schema; null if no schema has this id. Throws what the store throws. */
  async get(id: number): Promise<string | null> {
    // A load that began earlier may not see an id that another broker has just given.
    const get = async () => this.#kept.get(id) ?? (await this.#load(id))
    return this.#kept.get(id) ?? (await this.#loadInTurn(id, get))
  }

  /** Gives the id to the schema, unless it has an owner. Resolves with its owner. */
  async claim(id: number, guid: string): Promise<string> {
    // The store may have lost what this broker knows.
    const kept = this.#rooms.isShared ? undefined : this.#kept.get(id)
    if (kept !== undefined) return kept
    const place = { kind: KIND, name: String(id), what: 'a schema id' }
    const owner = await changeDocument(this.#rooms, place, now => {
      if (now !== null) return { answer: this.#read(id, now) }
      return { answer: guid, write: { changes: [{ key: FIELD, value: bytesOfJson({ guid }) }], isAcknowledged: true } }
    })
    this.#kept.set(id, owner)
    return owner
  }

  /**
   * Resolves with the last hundred subjects from which versions with this id were deleted for good. Throws what the
   * store throws, or UnreadableDocument.
   */
  async formerSubjects(id: number): Promise<readonly string[]> {
    const document = await this.#rooms.store.load(KIND, String(id))
    return document === null ? [] : this.#readFormer(id, document)
  }

  /**
   * Remembers that a version with this id and schema is deleted from the subject for good. It must be called before the
   * deletion, so that a reader of the subject finds the id at any time. Throws what the store throws.
   */
  async remember(id: number, guid: string, subject: string): Promise<void> {
    const place = { kind: KIND, name: String(id), what: 'a schema id' }
    await changeDocument<null>(this.#rooms, place, now => {
      if (now !== null && this.#read(id, now) !== guid) return { answer: null }
      const former = now === null ? [] : this.#readFormer(id, now)
      if (former.includes(subject)) return { answer: null }
      const subjects = [...former, subject].slice(-MOST_FORMER)
      const changes = [
        { key: FIELD, value: bytesOfJson({ guid }) },
        { key: FORMER, value: bytesOfJson({ subjects }) },
      ]
      return { answer: null, write: { changes, isAcknowledged: true } }
    })
  }

  async #load(id: number): Promise<string | null> {
    const document = await this.#rooms.store.load(KIND, String(id))
    if (document === null) return null
    const guid = this.#read(id, document)
    this.#kept.set(id, guid)
    return guid
  }

  #read(id: number, document: Document): string {
    return this.#readField(id, document, FIELD, value => textOf(value.guid, 'guid'))
  }

  #readFormer(id: number, document: Document): readonly string[] {
    if (!document.fields.has(FORMER)) return []
    return this.#readField(id, document, FORMER, ({ subjects }) => {
      if (!Array.isArray(subjects)) throw new Error('it has no list of former subjects')
      return subjects.map(each => textOf(each, 'former subject'))
    })
  }

  #readField<T>(id: number, document: Document, field: string, read: (value: JsonObject) => T): T {
    const what = `the schema id ${id}`
    try {
      return readJson(document, field, what, read)
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      const result = 'records that name it cannot be decoded until the document is repaired'
      ;(this.#rooms.unreadable ?? UNNAMED)({ kind: KIND, what, why: error.cause ?? error, result })
      throw error
    }
  }
}
