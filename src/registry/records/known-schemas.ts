// The schemas that keys and values name, each with the program that decodes and makes them. They are kept within a
// bound of bytes, because a page can have thousands of records of one schema.

import { BoundedCache } from '../../base/bounded-cache.ts'
import type { SchemaType } from '../format.ts'
import type { StoredContent } from '../state/content.ts'
import { contentOf, sourceOf } from '../verbs/dependencies.ts'
import type { VerbRooms } from '../verbs/rooms.ts'
import { isUnusable } from '../work/unusable.ts'

export interface KnownSchema {
  readonly kind: 'known'
  readonly guid: string
  readonly type: SchemaType
  /** Of its format (Format.compile). */
  readonly program: unknown
  readonly recordNames: readonly string[]
}

/** No program can be made of the schema. */
export interface UnusableSchema {
  readonly kind: 'unusable'
  readonly type: SchemaType
  readonly why: string
}

interface Kept {
  readonly schema: KnownSchema | UnusableSchema
  readonly bytes: number
  readonly untilMs: number
}

/** Programs are about as large as their texts, four times over (SchemaWork). */
const KEPT_BYTES = 16 << 20
/** A schema that costs too much is not tried again for each record. */
const UNUSABLE_MS = 10_000

export class KnownSchemas {
  readonly #rooms: VerbRooms
  readonly #kept = new BoundedCache<string, Kept>(KEPT_BYTES, ({ bytes }) => bytes)
  readonly #loading = new Map<string, Promise<KnownSchema | UnusableSchema>>()

  constructor(rooms: VerbRooms) {
    this.#rooms = rooms
  }

  /** Resolves with a stored schema. Throws what the store throws, and UnreadableDocument if it has lost the schema. */
  async get(guid: string): Promise<KnownSchema | UnusableSchema> {
    const kept = this.#kept.get(guid)
    if (kept !== undefined && kept.untilMs > this.#rooms.state.clock.monotonic()) return kept.schema
    const loading = this.#loading.get(guid)
    if (loading !== undefined) return await loading
    const load = this.#load(guid).finally(() => this.#loading.delete(guid))
    this.#loading.set(guid, load)
    return await load
  }

  async #load(guid: string): Promise<KnownSchema | UnusableSchema> {
    const content = await contentOf(this.#rooms.state, guid)
    const kept = await this.#compile(content)
    this.#kept.set(guid, kept)
    return kept.schema
  }

  async #compile(content: StoredContent): Promise<Kept> {
    const { state, work } = this.#rooms
    const { guid, type } = content
    const source = await sourceOf(state, content)
    const compiled = await work.compile(type, source)
    if (isUnusable(compiled)) {
      const { why } = compiled
      const untilMs = state.clock.monotonic() + UNUSABLE_MS
      return { schema: { kind: 'unusable', type, why }, bytes: 500 + 2 * why.length, untilMs }
    }
    const { program, recordNames } = compiled
    const length = source.dependencies.reduce((sum, { text }) => sum + text.length, source.text.length)
    const schema: KnownSchema = { kind: 'known', guid, type, program, recordNames }
    return { schema, bytes: 1_000 + 4 * length, untilMs: Number.POSITIVE_INFINITY }
  }
}
