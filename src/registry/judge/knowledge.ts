// The facts that a broker needs for its verdicts: subjects, programs of schemas, which schema each id belongs to, and
// which schemas the latest one of a subject can read. It answers from memory at once, or says how to look it up.
// Everything but subjects is true for ever, so it is kept until there is no room.
//
// Producers may invent ids. An id above the highest one that was given out costs one question to the store for all
// batches that ask at that moment. Another one that no schema has is remembered for a second, and at most MOST_INVENTED
// of them are looked up in a second; beyond that a batch that names an unknown id is refused for now. A subject is
// compared with the store once for all batches that wait for it, however many ids they invent.

import { BoundedCache } from '../../base/bounded-cache.ts'
import type { Clock } from '../../base/clock.ts'
import { coalesce, coalesceEach } from '../../base/coalesce.ts'
import { because, KAFKA_STORAGE_ERROR, type Refusal } from '../../protocol/errors.ts'
import { UnreadableDocument } from '../../store/store.ts'
import type { Policy } from '../format.ts'
import type { JudgedSubjects, SubjectNow } from '../judged-subjects.ts'
import { isRefusal as isRegistryRefusal } from '../refusals.ts'
import { JudgedSchema } from './judged-schema.ts'

const SCHEMA_BYTES = 16 << 20
const ID_BYTES = 2 << 20
const READING_BYTES = 2 << 20
const INVENTED_MS = 1_000
const MOST_INVENTED = 100
const INVENTED_BYTES = 1 << 20
/** A schema whose program takes too long to make is tried again after this time. */
const UNUSABLE_MS = 60_000

/** Why a schema judges no payloads. */
export interface UnusableSchema {
  readonly guid: string
  readonly why: string
  readonly untilMs: number
}

/** Why the latest schema cannot read what another one writes; empty if it can. */
export interface Reading {
  readonly reasons: readonly string[]
  readonly untilMs: number
}

/** Thrown if the answer is not known and must not be looked up now. */
export class RefusedForNow extends Error {
  readonly refusal: Refusal

  constructor(message: string) {
    super(message)
    this.refusal = because(KAFKA_STORAGE_ERROR, message)
  }
}

/** An id, or a guid in a header, as a record names it. */
export type SchemaKey = number | string

export class Knowledge {
  /** True if no other broker writes to the store: then the subjects in memory are those of the store. */
  readonly isAlone: boolean
  readonly #judged: JudgedSubjects
  readonly #clock: Clock
  readonly #schemas = new BoundedCache<string, JudgedSchema | UnusableSchema>(SCHEMA_BYTES, each =>
    'why' in each ? 300 + 2 * each.why.length : each.bytes,
  )
  readonly #guids = new BoundedCache<number, string>(ID_BYTES, () => 200)
  readonly #readings = new BoundedCache<string, Reading>(READING_BYTES, ({ reasons }) =>
    reasons.reduce((sum, each) => sum + 2 * each.length, 400),
  )
  /** When each id was looked up that no schema has. */
  readonly #invented = new BoundedCache<SchemaKey, number>(INVENTED_BYTES, () => 200)
  readonly #loadInTurn = coalesceEach<string, SubjectNow>()
  #maxId = 0
  readonly #askMaxId = coalesce(() => this.#judged.maxId())
  #inventedSinceMs = Number.NEGATIVE_INFINITY
  #inventedCount = 0

  constructor(judged: JudgedSubjects, clock: Clock, isAlone: boolean) {
    this.#judged = judged
    this.#clock = clock
    this.isAlone = isAlone
  }

  /** Undefined: it has to be loaded. Throws UnreadableDocument. */
  subject(name: string): SubjectNow | undefined {
    return this.#judged.now(name)
  }

  /** Resolves with the subject as the store has it at this call, or later. Throws what the store throws. */
  async loadSubject(name: string): Promise<SubjectNow> {
    return await this.#loadInTurn(name, () => this.#judged.load(name))
  }

  /** Undefined: it has to be loaded. */
  schema(guid: string): JudgedSchema | UnusableSchema | undefined {
    const known = this.#schemas.get(guid)
    return known !== undefined && 'why' in known && known.untilMs <= this.#clock.monotonic() ? undefined : known
  }

  /** Resolves with null if no such schema is stored. Throws what the store throws. */
  async loadSchema(guid: string): Promise<JudgedSchema | UnusableSchema | null> {
    const made = await this.#judged.programOf(guid)
    // Another batch may have been faster: all use the same walkers.
    const known = this.schema(guid)
    if (known !== undefined) return known
    if (made === null) return null
    const schema: JudgedSchema | UnusableSchema = isRegistryRefusal(made)
      ? { guid, why: made.message, untilMs: this.#clock.monotonic() + UNUSABLE_MS }
      : new JudgedSchema(guid, made)
    this.#schemas.set(guid, schema)
    return schema
  }

  /** The guid of an id; null if no schema has it, as far as is known. Undefined: it has to be looked up. */
  guidOf(key: SchemaKey): string | null | undefined {
    if (typeof key === 'number') {
      if (key <= 0) return null
      const guid = this.#guids.get(key)
      if (guid !== undefined) return guid
    } else if (this.schema(key) !== undefined) return key
    const sinceMs = this.#invented.get(key)
    return sinceMs !== undefined && this.#clock.monotonic() - sinceMs < INVENTED_MS ? null : undefined
  }

  /** Resolves with null if no schema has it. Throws RefusedForNow, and what the store throws. */
  async lookUp(key: SchemaKey): Promise<string | null> {
    if (typeof key === 'number' && key > this.#maxId) {
      this.#maxId = await this.#askMaxId()
      if (key > this.#maxId) return null
    }
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#inventedSinceMs >= 1_000) {
      this.#inventedSinceMs = nowMs
      this.#inventedCount = 0
    }
    if (this.#inventedCount >= MOST_INVENTED)
      throw new RefusedForNow(
        'Producers name many schema ids that no schema has, so unknown ids are not looked up for a moment.',
      )
    const found =
      typeof key === 'number' ? await this.#judged.guidOf(key) : ((await this.loadSchema(key))?.guid ?? null)
    if (found === null) {
      this.#inventedCount++
      this.#invented.set(key, nowMs)
    } else if (typeof key === 'number') this.#guids.set(key, found)
    return found
  }

  /** Undefined: it has to be found out. */
  reading(latest: string, writer: string, policy: Policy): Reading | undefined {
    const known = this.#readings.get(`${policy} ${latest} ${writer}`)
    return known === undefined || known.untilMs <= this.#clock.monotonic() ? undefined : known
  }

  /** Throws what the store throws. */
  async findReading(latest: string, writer: string, policy: Policy): Promise<Reading> {
    const [first, ...others] = await this.#judged.differences(latest, writer, policy)
    const untilMs = first === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() + UNUSABLE_MS
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`
    const reading = { reasons: first === undefined ? [] : [`${first}${more}`], untilMs }
    this.#readings.set(`${policy} ${latest} ${writer}`, reading)
    return reading
  }

  /** Resolves with a schema that a version of a subject names. */
  async schemaOfVersion(guid: string): Promise<JudgedSchema | UnusableSchema> {
    const schema = await this.loadSchema(guid)
    if (schema === null) throw new UnreadableDocument(`The store has lost the schema ${guid}.`)
    return schema
  }
}
