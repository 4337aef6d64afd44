// The answers that one batch has got, so that all of its records are judged by the same: a subject may change and a
// cache may forget while the batch is judged. An answer that is not known is a Miss, with the way to it.

import type { Policy } from '../format.ts'
import type { SubjectNow } from '../judged-subjects.ts'
import type { JudgedSchema } from './judged-schema.ts'
import type { Knowledge, Reading, SchemaKey, UnusableSchema } from './knowledge.ts'

/** An answer that must be looked up first. */
export class Miss {
  /** Gets the answer. Throws RefusedForNow, and what the store throws. */
  readonly load: () => Promise<void>

  constructor(load: () => Promise<void>) {
    this.load = load
  }
}

/** A batch may name this many schemas, and they may have this many bytes together. */
const MOST_SCHEMAS = 256
const MOST_BYTES = 32 << 20
/** Messages of one schema may each have a subject. */
const MOST_SUBJECTS = 256

export class BatchMemory {
  readonly #knowledge: Knowledge
  readonly #namedSubjects = new Set<string>()
  readonly #namedSchemas = new Set<string>()
  readonly #subjects = new Map<string, { readonly now: SubjectNow; readonly isFresh: boolean }>()
  readonly #schemas = new Map<string, JudgedSchema | UnusableSchema>()
  readonly #guids = new Map<SchemaKey, string | null>()
  readonly #readings = new Map<string, Reading>()
  /** One for each question, so that a question is asked once. */
  readonly #misses = new Map<string, Miss>()
  #bytes = 0
  #hasInvented = false

  constructor(knowledge: Knowledge) {
    this.#knowledge = knowledge
  }

  /** Notes that the batch names a subject. Returns false if it named as many others before as one batch may. */
  takesSubject(name: string): boolean {
    if (this.#namedSubjects.has(name)) return true
    if (this.#namedSubjects.size === MOST_SUBJECTS) return false
    this.#namedSubjects.add(name)
    return true
  }

  /** Notes that the batch names a schema. Returns false if it named as many others before as one batch may. */
  takesSchema(guid: string): boolean {
    if (this.#namedSchemas.has(guid)) return true
    if (this.#namedSchemas.size === MOST_SCHEMAS || this.#bytes > MOST_BYTES) return false
    this.#namedSchemas.add(guid)
    return true
  }

  subject(name: string): SubjectNow | Miss {
    const pinned = this.#subjects.get(name)
    if (pinned !== undefined) return pinned.now
    const now = this.#knowledge.subject(name)
    if (now === undefined) return this.#refresh(name)
    this.#subjects.set(name, { now, isFresh: this.#knowledge.isAlone })
    return now
  }

  /** Returns a Miss unless the subject is one that the store had after the batch arrived. */
  freshSubject(name: string): SubjectNow | Miss {
    const pinned = this.#subjects.get(name)
    return pinned?.isFresh ? pinned.now : this.#refresh(name)
  }

  /**
   * Returns null if no schema has the id. Undefined: it is not looked up. Once the batch has named an id that no schema
   * has, it is refused anyway, and it may invent millions of them.
   */
  guidOf(key: SchemaKey): string | null | undefined | Miss {
    const pinned = this.#guids.get(key)
    if (pinned !== undefined) return pinned
    const guid = this.#knowledge.guidOf(key)
    if (guid === undefined) {
      if (this.#hasInvented) return undefined
      return this.#miss(`id ${key}`, async () => {
        const found = await this.#knowledge.lookUp(key)
        this.#guids.set(key, found)
        if (found === null) this.#hasInvented = true
      })
    }
    // A batch may invent millions of ids, so those that are known not to exist are not kept.
    if (guid !== null) this.#guids.set(key, guid)
    return guid
  }

  schema(guid: string): JudgedSchema | UnusableSchema | Miss {
    const pinned = this.#schemas.get(guid)
    if (pinned !== undefined) return pinned
    const schema = this.#knowledge.schema(guid)
    if (schema === undefined) {
      return this.#miss(`schema ${guid}`, async () => void this.#pinSchema(await this.#knowledge.schemaOfVersion(guid)))
    }
    return this.#pinSchema(schema)
  }

  reading(latest: string, writer: string, policy: Policy): Reading | Miss {
    const key = `${latest} ${writer}`
    const pinned = this.#readings.get(key)
    if (pinned !== undefined) return pinned
    const reading = this.#knowledge.reading(latest, writer, policy)
    if (reading === undefined) {
      return this.#miss(`reading ${key}`, async () => {
        this.#readings.set(key, await this.#knowledge.findReading(latest, writer, policy))
      })
    }
    this.#readings.set(key, reading)
    return reading
  }

  #refresh(name: string): Miss {
    return this.#miss(`subject ${name}`, async () => {
      this.#subjects.set(name, { now: await this.#knowledge.loadSubject(name), isFresh: true })
    })
  }

  #miss(question: string, load: () => Promise<void>): Miss {
    const known = this.#misses.get(question)
    if (known !== undefined) return known
    const miss = new Miss(load)
    this.#misses.set(question, miss)
    return miss
  }

  #pinSchema(schema: JudgedSchema | UnusableSchema): JudgedSchema | UnusableSchema {
    this.#schemas.set(schema.guid, schema)
    if (!('why' in schema)) this.#bytes += schema.bytes
    return schema
  }
}
