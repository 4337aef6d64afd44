// Answers the judge of produced records: which ids a subject has, its latest schema, and the programs that walk
// payloads. It answers from memory where it can, because a produce request waits.

import { type Policy, placeOf, type SchemaText, type SchemaType } from './format.ts'
import type { RegistryRefusal } from './refusals.ts'
import { type Level, latestLive, type Subject, type SubjectVersion } from './state/subject.ts'
import { refusalOf } from './verbs/candidate.ts'
import { inForce } from './verbs/compatibility.ts'
import { contentOf, sourceOf } from './verbs/dependencies.ts'
import type { VerbRooms } from './verbs/rooms.ts'
import { isUnusable } from './work/unusable.ts'

/** A subject as it is judged by. The same object until something of it changes. */
export interface SubjectNow {
  /** The newest version that is not deleted; null if the subject has none, and nothing is judged. */
  readonly latest: Pick<SubjectVersion, 'version' | 'id' | 'guid'> | null
  /** The guid of each id that a version has, deleted ones included. */
  readonly guidOfId: ReadonlyMap<number, string>
  /** The guids of all versions, deleted ones included. */
  readonly guids: ReadonlySet<string>
  readonly level: Level
  readonly policy: Policy
}

/** The program of a schema, made by its format (Format.compile). */
export interface SchemaProgram {
  readonly type: SchemaType
  readonly program: unknown
  readonly recordNames: readonly string[]
  /** About how much memory it takes. */
  readonly bytes: number
}

/** Programs have close to the size of their text (Format.compile). */
const BYTES = 2_000
const BYTES_PER_CHARACTER = 4

export class JudgedSubjects {
  readonly #rooms: VerbRooms
  readonly #made = new WeakMap<Subject, { readonly global: Subject; readonly now: SubjectNow }>()

  constructor(rooms: VerbRooms) {
    this.#rooms = rooms
  }

  /**
   * Returns the subject from memory, at most two seconds old; undefined if `load` must be called. Throws
   * UnreadableDocument.
   */
  now(name: string): SubjectNow | undefined {
    const found = this.#rooms.state.now(name)
    return found === undefined ? undefined : this.#of(found)
  }

  /** Resolves with the subject as the store has it now. Throws what the store throws. */
  async load(name: string): Promise<SubjectNow> {
    return this.#of(await this.#rooms.state.fresh(name))
  }

  /** Resolves with the guid of an id; null if no schema has it. Asks the store for an id that is not in memory. */
  async guidOf(id: number): Promise<string | null> {
    return await this.#rooms.state.ids.get(id)
  }

  /** Resolves with the highest id that the store has given out. No schema has a higher one. */
  async maxId(): Promise<number> {
    return await this.#rooms.state.counter.last()
  }

  /**
   * Resolves with the program of a schema, or with the reason why it cannot be made; null if no such schema is stored.
   */
  async programOf(guid: string): Promise<SchemaProgram | RegistryRefusal | null> {
    const { state, work } = this.#rooms
    const content = await state.contents.get(guid)
    if (content === null) return null
    const source = await sourceOf(state, content)
    const compiled = await work.compile(content.type, source)
    if (isUnusable(compiled)) return refusalOf(content.type, compiled)
    const bytes = BYTES + BYTES_PER_CHARACTER * sizeOf(source)
    return { type: content.type, program: compiled.program, recordNames: compiled.recordNames, bytes }
  }

  /**
   * Resolves with the reasons why the one stored schema cannot read what the other one writes; empty if it can.
   * Schemas of different types cannot.
   */
  async differences(reader: string, writer: string, policy: Policy): Promise<readonly string[]> {
    if (reader === writer) return []
    const { state, work } = this.#rooms
    const [one, other] = await Promise.all([contentOf(state, reader), contentOf(state, writer)])
    if (one.type !== other.type) return [`it is of type ${other.type}, and the latest one of type ${one.type}`]
    const found = await work.compareStored(one.type, await sourceOf(state, one), await sourceOf(state, other), policy)
    return isUnusable(found) ? [found.why] : found.map(each => `at ${placeOf(each)}: ${each.description}`)
  }

  #of({ subject, global }: { readonly subject: Subject; readonly global: Subject }): SubjectNow {
    const made = this.#made.get(subject)
    if (made !== undefined && made.global === global) return made.now
    const now = subjectNow(this.#rooms, subject, global)
    this.#made.set(subject, { global, now })
    return now
  }
}

function subjectNow(rooms: VerbRooms, subject: Subject, global: Subject): SubjectNow {
  const latest = latestLive(subject)
  const { level, policy } = inForce(rooms, subject, global)
  return Object.freeze({
    latest: latest === null ? null : { version: latest.version, id: latest.id, guid: latest.guid },
    guidOfId: new Map(subject.versions.map(({ id, guid }) => [id, guid])),
    guids: new Set(subject.versions.map(({ guid }) => guid)),
    level,
    policy,
  })
}

const sizeOf = ({ text, dependencies }: SchemaText) =>
  dependencies.reduce((sum, each) => sum + each.text.length, text.length)
