// How a key or value is judged, by the schema that it names: which subject that schema has to be in, and whether the
// latest version can read it. A Way holds for all records of a batch that name the same schema.

import type { SubjectNow } from '../judged-subjects.ts'
import { subjectOf } from '../payload/subjects.ts'
import { type BatchMemory, Miss } from './batch-memory.ts'
import { type BrokenRule, broken } from './broken-rule.ts'
import type { JudgedSchema } from './judged-schema.ts'
import type { SchemaKey } from './knowledge.ts'
import type { Rule } from './rules.ts'

export type Way =
  /** Not judged: its subject has no live version. */
  | { readonly kind: 'pass' }
  | { readonly kind: 'broken'; readonly rule: BrokenRule }
  | Judged
  /** The subject depends on the message. */
  | { readonly kind: 'by-message'; readonly schema: JudgedSchema; readonly ways: Map<number, Way> }

interface Judged {
  readonly kind: 'judged'
  readonly schema: JudgedSchema
  /** Of JSON: payloads must match it too. */
  readonly latest: JudgedSchema | null
  /** For messages: the schema and its subject. */
  readonly named: string
}

/** The most ways that are remembered: more than a batch may have schemas. */
const MOST_WAYS = 1_024

const PASS: Way = Object.freeze({ kind: 'pass' })
const TOO_MANY = Object.freeze({
  kind: 'broken',
  rule: broken('too-many-schemas', 'the batch names more schemas or subjects than one batch may'),
} as const)

export class Ways {
  readonly rule: Rule
  readonly #memory: BatchMemory
  readonly #isCounting: boolean
  readonly #ways = new Map<SchemaKey, Way>()

  constructor(rule: Rule, memory: BatchMemory, isCounting: boolean) {
    this.rule = rule
    this.#memory = memory
    this.#isCounting = isCounting
  }

  /** Returns the way of all records of the batch; null if it depends on the record. */
  ofAll(): Way | Miss | null {
    if (this.rule.subject === null) return null
    const subject = this.#memory.subject(this.rule.subject)
    if (subject instanceof Miss) return subject
    return subject.latest === null ? this.#withoutSubject(this.rule.subject) : null
  }

  /** Returns the way of records that name no schema. */
  unframed(why: string): Way {
    if (this.rule.subject === null && !this.rule.isRequired) return PASS
    return { kind: 'broken', rule: broken('no-schema-id', why) }
  }

  of(key: SchemaKey): Way | Miss {
    const known = this.#ways.get(key)
    if (known !== undefined) return known
    const way = this.rule.subject === null ? this.#byRecordName(key) : this.#byTopicName(key, this.rule.subject)
    if (way instanceof Miss) return way
    // A batch may invent millions of ids.
    if (this.#ways.size === MOST_WAYS) this.#ways.clear()
    this.#ways.set(key, way)
    return way
  }

  /** Returns the way of one message of a schema. */
  ofMessage({ schema, ways }: Way & { readonly kind: 'by-message' }, key: SchemaKey, message: number): Way | Miss {
    const known = ways.get(message)
    if (known !== undefined) return known
    const way = this.#named(schema, key, schema.recordName(message))
    if (way instanceof Miss) return way
    if (ways.size === MOST_WAYS) ways.clear()
    ways.set(message, way)
    return way
  }

  #byTopicName(key: SchemaKey, name: string): Way | Miss {
    const subject = this.#memory.subject(name)
    if (subject instanceof Miss) return subject
    return this.#inSubject(key, name, subject)
  }

  #byRecordName(key: SchemaKey): Way | Miss {
    const guid = this.#memory.guidOf(key)
    if (guid instanceof Miss) return guid
    if (guid === undefined) return this.#isCounting ? unknown(`no schema is known that has the ${keyText(key)}`) : PASS
    if (guid === null) return unknown(`no schema has the ${keyText(key)}`)
    const schema = this.#schema(guid)
    if (schema instanceof Miss || 'kind' in schema) return schema
    if (schema.type === 'PROTOBUF') return { kind: 'by-message', schema, ways: new Map() }
    return this.#named(schema, key, schema.recordName(0))
  }

  #named(schema: JudgedSchema, key: SchemaKey, recordName: string | null): Way | Miss {
    const { strategy, topic, part } = this.rule
    const name = subjectOf(strategy, topic, part, recordName)
    if (name === null) {
      const why = `the schema with the ${keyText(key)} has no record name, which ${strategy} needs to find the subject`
      return this.rule.isRequired ? { kind: 'broken', rule: broken('no-subject', why) } : PASS
    }
    if (!this.#memory.takesSubject(name)) return TOO_MANY
    const subject = this.#memory.subject(name)
    if (subject instanceof Miss) return subject
    if (subject.latest === null) return this.#withoutSubject(name)
    return this.#inSubject(key, name, subject, schema)
  }

  #withoutSubject(name: string): Way {
    if (!this.rule.isRequired) return PASS
    const config = `confluent.${this.rule.part}.schema.validation`
    return { kind: 'broken', rule: broken('no-subject', `the subject "${name}" has no version, and ${config} is true`) }
  }

  /** The way of a schema that has to be a version of this subject. */
  #inSubject(key: SchemaKey, name: string, known: SubjectNow, found?: JudgedSchema): Way | Miss {
    let subject = known
    let guid = guidIn(subject, key)
    if (guid === undefined) {
      const fresh = this.#memory.freshSubject(name)
      if (fresh instanceof Miss) return fresh
      subject = fresh
      guid = guidIn(subject, key)
    }
    if (guid === undefined) return unknown(`no version of the subject "${name}" has the schema ${keyText(key)}`)
    const schema = found ?? this.#schema(guid)
    if (schema instanceof Miss || 'kind' in schema) return schema
    return this.#readable(schema, subject, `schema ${keyText(key)} of the subject "${name}"`)
  }

  #readable(schema: JudgedSchema, { latest, level, policy }: SubjectNow, named: string): Way | Miss {
    const judged: Judged = { kind: 'judged', schema, latest: null, named }
    if (latest === null || latest.guid === schema.guid || !/^(BACKWARD|FULL)/.test(level)) return judged
    const reading = this.#memory.reading(latest.guid, schema.guid, policy)
    if (reading instanceof Miss) return reading
    const [reason] = reading.reasons
    if (reason === undefined) return judged
    // Whether the payload itself matches the latest schema can be seen with JSON only.
    const reader = schema.json === null ? schema : this.#schema(latest.guid)
    if (reader instanceof Miss) return reader
    if (!('kind' in reader) && schema.json !== null && reader.json !== null) return { ...judged, latest: reader }
    const why = `${named} cannot be read by the latest version ${latest.version}, which the level ${level} asks for: ${reason}`
    return { kind: 'broken', rule: broken('not-readable', why) }
  }

  #schema(guid: string): JudgedSchema | Miss | (Way & { readonly kind: 'broken' }) {
    if (!this.#memory.takesSchema(guid)) return TOO_MANY
    const schema = this.#memory.schema(guid)
    if (schema instanceof Miss || !('why' in schema)) return schema
    return { kind: 'broken', rule: broken('unusable-schema', `nothing can be judged by its schema: ${schema.why}`) }
  }
}

const unknown = (why: string): Way => ({ kind: 'broken', rule: broken('unknown-id', why) })

function guidIn({ guidOfId, guids }: SubjectNow, key: SchemaKey): string | undefined {
  if (typeof key === 'number') return guidOfId.get(key)
  return guids.has(key) ? key : undefined
}

const keyText = (key: SchemaKey) => (typeof key === 'number' ? `id ${key}` : `guid ${key}`)
