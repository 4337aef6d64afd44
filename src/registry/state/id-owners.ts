// The schema that each id belongs to, one document for each id. A document is made once and never changes or goes: an
// id belongs to one schema for ever, also after its subjects are deleted for good.
//
//   document schema-id, <id>   the field `schema`: JSON of { guid }

import { BoundedCache } from '../../base/bounded-cache.ts'
import { coalesceEach } from '../../base/coalesce.ts'
import { changeDocument } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Document, UnreadableDocument } from '../../store/store.ts'
import { UNNAMED } from '../../store/unreadable.ts'
import type { StateRooms } from './rooms.ts'
import { bytesOfJson, readJson, textOf } from './stored-json.ts'

const KIND: DocumentKind = 'schema-id'
const FIELD = 'schema'
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

  async #load(id: number): Promise<string | null> {
    const document = await this.#rooms.store.load(KIND, String(id))
    if (document === null) return null
    const guid = this.#read(id, document)
    this.#kept.set(id, guid)
    return guid
  }

  #read(id: number, document: Document): string {
    const what = `the schema id ${id}`
    try {
      return readJson(document, FIELD, what, value => textOf(value.guid, 'guid'))
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      const result = 'records that name it cannot be decoded until the document is repaired'
      ;(this.#rooms.unreadable ?? UNNAMED)({ kind: KIND, what, why: error.cause ?? error, result })
      throw error
    }
  }
}
