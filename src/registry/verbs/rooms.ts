// The rooms of the registry's verbs, and the values that several verbs share.

import type { SchemaType } from '../format.ts'
import type { JsonObject, Reference, StoredContent } from '../state/content.ts'
import type { RegistryState } from '../state/state.ts'
import type { Level, Subject, SubjectVersion } from '../state/subject.ts'
import type { SchemaWork } from '../work/schema-work.ts'
import type { Turn } from '../work/turns.ts'

export type VerbWork = Pick<SchemaWork, 'examine' | 'compare' | 'compareStored' | 'compile' | 'serialize'>

export interface VerbRooms {
  readonly state: RegistryState
  readonly work: VerbWork
  /** The level of subjects while neither they nor the registry have one. */
  readonly defaultLevel: Level
}

/** Returns the same rooms, whose threads work in this turn. */
export function inTurn({ work, ...rooms }: VerbRooms, turn: Turn): VerbRooms {
  return {
    ...rooms,
    work: {
      examine: (type, source, strictness) => work.examine(type, source, strictness, turn),
      compare: (type, reader, writer, policy) => work.compare(type, reader, writer, policy, turn),
      compareStored: (type, reader, writer, policy) => work.compareStored(type, reader, writer, policy),
      compile: (type, source) => work.compile(type, source),
      serialize: (type, source) => work.serialize(type, source, turn),
    },
  }
}

/** A schema as clients send it. */
export interface SchemaRequest {
  /** AVRO by default. */
  readonly type?: string | undefined
  /** Empty: the text of the newest version, with other metadata or rules. */
  readonly schema: string
  readonly references?: readonly Reference[] | undefined
  /** Absent or null: those of the newest version. An empty object: none. */
  readonly metadata?: JsonObject | null | undefined
  readonly ruleSet?: JsonObject | null | undefined
}

/** A stored schema as clients see it. */
export interface Schema {
  readonly id: number
  readonly guid: string
  readonly type: SchemaType
  readonly schema: string
  readonly references: readonly Reference[]
  readonly metadata: JsonObject | null
  readonly ruleSet: JsonObject | null
}

/** A version of a subject as clients see it. */
export interface SchemaOfSubject extends Schema {
  readonly subject: string
  readonly version: number
  readonly isDeleted: boolean
  /** When it was registered, in ms since 1970. */
  readonly atMs: number
}

export interface Page {
  /** 0 by default. */
  readonly offset?: number | undefined
  /** -1, the default: all. */
  readonly limit?: number | undefined
}

export function pageOf<T>(all: readonly T[], { offset = 0, limit = -1 }: Page): readonly T[] {
  return all.slice(Math.max(0, offset), limit < 0 ? undefined : Math.max(0, offset) + limit)
}

export function schemaOf(content: StoredContent, id: number): Schema {
  const { guid, type, schema, metadata, ruleSet } = content
  const references = content.references.map(({ name, subject, version }) => ({ name, subject, version }))
  return { id, guid, type, schema, references, metadata, ruleSet }
}

export function schemaOfSubject({ name }: Subject, row: SubjectVersion, content: StoredContent): SchemaOfSubject {
  const { version, isDeleted, atMs } = row
  return { ...schemaOf(content, row.id), subject: name, version, isDeleted, atMs }
}
