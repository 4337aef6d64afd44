// The schemas, one document each, named by its identity. A document is made once; only its id may change, if the store
// has lost the document of that id (state.ts).
//
//   document schema-content, <guid>   the field `content`: JSON of a StoredContent without its guid

import { BoundedCache } from '../../base/bounded-cache.ts'
import { coalesceEach } from '../../base/coalesce.ts'
import { changeDocument } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import type { Document } from '../../store/store.ts'
import { UnreadableDocument } from '../../store/store.ts'
import { UNNAMED } from '../../store/unreadable.ts'
import type { SchemaType } from '../format.ts'
import { type Content, contentBytes, guidOf, type JsonObject, type StoredContent } from './content.ts'
import type { StateRooms } from './rooms.ts'
import { bytesOfJson, countOf, isObject, readJson, textOf } from './stored-json.ts'

const KIND: DocumentKind = 'schema-content'
const FIELD = 'content'
const TYPES: readonly unknown[] = ['AVRO', 'JSON', 'PROTOBUF'] satisfies SchemaType[]

export class Contents {
  readonly #rooms: StateRooms
  readonly #kept: BoundedCache<string, StoredContent>
  readonly #loadInTurn = coalesceEach<string, StoredContent | null>()

  constructor(rooms: StateRooms, mostBytes: number) {
    this.#rooms = rooms
    this.#kept = new BoundedCache<string, StoredContent>(mostBytes, contentBytes)
  }

  get bytes(): number {
    return this.#kept.bytes
  }

  /** Resolves with null if no such schema is stored. Throws what the store throws, or UnreadableDocument. */
  async get(guid: string): Promise<StoredContent | null> {
    // A load that began earlier may not see a schema that another broker has just answered.
    const get = async () => this.#kept.get(guid) ?? (await this.#load(guid))
    return this.#kept.get(guid) ?? (await this.#loadInTurn(guid, get))
  }

  /** Like `get`, but the store is asked, because it may have lost what this broker knows. */
  async find(guid: string): Promise<StoredContent | null> {
    return this.#rooms.isShared ? await this.#load(guid) : await this.get(guid)
  }

  /** Makes the schema with this id, unless it exists. Resolves with what is stored then. */
  async make(content: Content, id: number): Promise<StoredContent> {
    const guid = guidOf(content)
    const place = { kind: KIND, name: guid, what: 'a schema' }
    const made = await changeDocument<StoredContent>(this.#rooms, place, now => {
      if (now !== null) return { answer: this.#read(guid, now) }
      return { answer: { ...content, guid, id }, write: this.#writeOf({ ...content, guid, id }) }
    })
    this.#kept.set(guid, made)
    return made
  }

  /** Replaces the id of a schema, unless it has another one than `former` already. */
  async renumber({ guid }: StoredContent, former: number, id: number): Promise<StoredContent> {
    const place = { kind: KIND, name: guid, what: 'a schema' }
    const changed = await changeDocument<StoredContent>(this.#rooms, place, now => {
      if (now === null) throw new UnreadableDocument(`The store has lost the schema ${guid}.`)
      const read = this.#read(guid, now)
      if (read.id !== former) return { answer: read }
      return { answer: { ...read, id }, write: this.#writeOf({ ...read, id }) }
    })
    this.#kept.set(guid, changed)
    return changed
  }

  async #load(guid: string): Promise<StoredContent | null> {
    const document = await this.#rooms.store.load(KIND, guid)
    if (document === null) return null
    const content = this.#read(guid, document)
    this.#kept.set(guid, content)
    return content
  }

  #writeOf({ guid: _, ...stored }: StoredContent) {
    return { changes: [{ key: FIELD, value: bytesOfJson({ ...stored }) }], isAcknowledged: true }
  }

  #read(guid: string, document: Document): StoredContent {
    const what = `the schema ${guid}`
    try {
      return readJson(document, FIELD, what, value => contentOf(guid, value))
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      const result = 'requests that need it fail until the document is repaired'
      ;(this.#rooms.unreadable ?? UNNAMED)({ kind: KIND, what, why: error.cause ?? error, result })
      throw error
    }
  }
}

function contentOf(guid: string, value: JsonObject): StoredContent {
  const { type, schema, references, metadata, ruleSet, id } = value
  if (!TYPES.includes(type)) throw new Error(`its type is ${JSON.stringify(type)}`)
  if (!Array.isArray(references)) throw new Error('its references are no list')
  const content: StoredContent = {
    guid,
    id: countOf(id, 'id'),
    type: type as SchemaType,
    schema: textOf(schema, 'text'),
    references: references.map((each: JsonObject) => ({
      name: textOf(each.name, 'reference'),
      subject: textOf(each.subject, 'reference'),
      version: countOf(each.version, 'reference'),
      guid: textOf(each.guid, 'reference'),
    })),
    metadata: objectOrNull(metadata),
    ruleSet: objectOrNull(ruleSet),
  }
  // The name is a digest of the content, so a document that was edited by hand shows.
  if (guidOf(content) !== guid) throw new Error('its name is the digest of another content')
  return content
}

function objectOrNull(value: unknown): JsonObject | null {
  if (value === null || isObject(value)) return value
  throw new Error('its metadata or rules are no object')
}
