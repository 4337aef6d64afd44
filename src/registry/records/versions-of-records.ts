// Which subject and version a record's schema is, for people. An id can be in several subjects, so that of the topic
// comes first. The answer may be two seconds old.

import { BoundedCache } from '../../base/bounded-cache.ts'
import { UnreadableDocument } from '../../store/store.ts'
import type { Part } from '../payload/framing.ts'
import { type SubjectStrategy, subjectOf } from '../payload/subjects.ts'
import type { RegistryState } from '../state/state.ts'
import type { Subject, SubjectVersion } from '../state/subject.ts'

export interface VersionOfRecord {
  readonly subject: string
  readonly version: number
}

/** The facts of a record about its schema. */
export interface Sighting {
  readonly topic: string
  readonly part: Part
  readonly strategy: SubjectStrategy
  /** The name of its Avro record or Protobuf message, or the title of its JSON schema. */
  readonly recordName: string | null
  readonly id: number
}

const KEPT_BYTES = 1 << 20
const KEPT_MS = 2_000

interface Kept {
  readonly found: VersionOfRecord | null
  readonly untilMs: number
  readonly bytes: number
}

export class VersionsOfRecords {
  readonly #state: RegistryState
  readonly #kept = new BoundedCache<string, Kept>(KEPT_BYTES, ({ bytes }) => bytes)

  constructor(state: RegistryState) {
    this.#state = state
  }

  /** Resolves with null if no version has the id any more. Throws what the store throws. */
  async find(sighting: Sighting): Promise<VersionOfRecord | null> {
    const { topic, part, strategy, recordName, id } = sighting
    const key = JSON.stringify([topic, part, strategy, recordName, id])
    const nowMs = this.#state.clock.monotonic()
    const kept = this.#kept.get(key)
    if (kept !== undefined && kept.untilMs > nowMs) return kept.found
    const found = await this.#search(sighting)
    // The name of a record may be half a megabyte.
    const bytes = 500 + 2 * (key.length + (found?.subject.length ?? 0))
    this.#kept.set(key, { found, untilMs: nowMs + KEPT_MS, bytes })
    return found
  }

  async #search({ topic, part, strategy, recordName, id }: Sighting): Promise<VersionOfRecord | null> {
    const named = [strategy, 'TopicName', 'TopicRecordName', 'RecordName'] as const
    const subjects = new Set(named.map(each => subjectOf(each, topic, part, recordName)))
    for (const name of subjects) {
      if (name === null) continue
      const found = await this.#inSubject(name, id)
      if (found !== null) return found
    }
    const holders = await this.#holders(id)
    // A subject that still lives tells a reader more than a deleted one.
    for (const isLive of [true, false]) {
      for (const subject of holders) {
        const row = rowOf(subject, id)
        if (row !== null && (!isLive || !row.isDeleted)) return { subject: subject.name, version: row.version }
      }
    }
    return null
  }

  async #inSubject(name: string, id: number): Promise<VersionOfRecord | null> {
    const subject = await orUnknown(() => this.#state.subjects.fresh(name))
    const row = subject === null ? null : rowOf(subject, id)
    return row === null ? null : { subject: name, version: row.version }
  }

  async #holders(id: number): Promise<readonly Subject[]> {
    return (await orUnknown(async () => (await this.#state.index.view()).holders(id))) ?? []
  }
}

/** The newest version with the id; a deleted one only if there is no other. */
function rowOf({ versions }: Subject, id: number): SubjectVersion | null {
  const its = versions.filter(each => each.id === id)
  return its.findLast(({ isDeleted }) => !isDeleted) ?? its.at(-1) ?? null
}

/** A record is decoded also if its subject cannot be read: the keeper of the document has named it. */
async function orUnknown<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof UnreadableDocument) return null
    throw error
  }
}
