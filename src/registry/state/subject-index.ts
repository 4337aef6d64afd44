// All subjects at once, for lists and for questions that no single subject answers: which subjects hold an id, which
// schemas refer to a version. It is read from the store when it is first needed, and follows the changes from then on.
// If the subjects take more memory than it may keep, they are read again for each question.

import type { StateRooms } from './rooms.ts'
import { type Subject, subjectBytes } from './subject.ts'
import type { SubjectFollower, Subjects } from './subjects.ts'

/** The subjects by name, and what was made from them. It goes on following the changes. */
class Held implements SubjectView {
  readonly subjects = new Map<string, Subject>()
  #ordered: readonly Subject[] | null = null
  readonly #holders = new Map<number, Set<string>>()
  bytes = 0

  set(subject: Subject): void {
    const { name } = subject
    this.#ordered = null
    const before = this.subjects.get(name)
    if (before !== undefined) {
      this.bytes -= subjectBytes(before)
      for (const { id } of before.versions) {
        const holders = this.#holders.get(id)
        holders?.delete(name)
        if (holders?.size === 0) this.#holders.delete(id)
      }
    }
    if (subject.documentVersion === 0) {
      this.subjects.delete(name)
      return
    }
    this.subjects.set(name, subject)
    this.bytes += subjectBytes(subject)
    for (const { id } of subject.versions) {
      const holders = this.#holders.get(id) ?? new Set()
      this.#holders.set(id, holders.add(name))
    }
  }

  all(): readonly Subject[] {
    this.#ordered ??= [...this.subjects.values()].sort(byName)
    return this.#ordered
  }

  holders(id: number): readonly Subject[] {
    return [...(this.#holders.get(id) ?? [])].map(name => this.subjects.get(name)!).sort(byName)
  }
}

export interface SubjectView {
  /** In the order of their names. */
  all(): readonly Subject[]
  /** The subjects that have the id in any version, in the order of their names. */
  holders(id: number): readonly Subject[]
}

/** No document has this version. */
const NEVER = -1

export class SubjectIndex implements SubjectFollower {
  readonly #rooms: StateRooms
  readonly #subjects: Subjects
  readonly #mostBytes: number
  #held: Held | null = null
  /** Subjects that were loaded while the index was being read. */
  #meanwhile: Map<string, Subject> | null = null
  #reading: Promise<Held> | null = null

  constructor(rooms: StateRooms, subjects: Subjects, mostBytes: number) {
    this.#rooms = rooms
    this.#subjects = subjects
    this.#mostBytes = mostBytes
    subjects.follower = this
  }

  get bytes(): number {
    return this.#held?.bytes ?? 0
  }

  /** The number of subjects that are held; 0 before the first view. */
  get size(): number {
    return this.#held?.subjects.size ?? 0
  }

  /** Resolves with the subjects as the store has them now. Throws what the store throws. */
  async view(): Promise<SubjectView> {
    if (this.#rooms.isShared) await this.#subjects.follow()
    if (this.#held !== null) return this.#held
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    return await this.#reading
  }

  changed(subject: Subject): void {
    this.#meanwhile?.set(subject.name, subject)
    this.#held?.set(subject)
    this.#drop()
  }

  forget(): void {
    this.#held = null
    // The list that is being read may lack a change that was made before.
    this.#meanwhile = null
  }

  versionOf(name: string): number | undefined {
    // While the index is being read, each announced subject is loaded, because it may have changed behind the read.
    if (this.#meanwhile !== null) return this.#meanwhile.get(name)?.documentVersion ?? NEVER
    if (this.#held === null) return undefined
    return this.#held.subjects.get(name)?.documentVersion ?? 0
  }

  held(name: string): Subject | undefined {
    return this.#held?.subjects.get(name)
  }

  async #read(): Promise<Held> {
    const meanwhile = new Map<string, Subject>()
    this.#meanwhile = meanwhile
    const held = new Held()
    await this.#subjects.all(subject => held.set(subject))
    for (const subject of meanwhile.values()) held.set(subject)
    if (this.#meanwhile === meanwhile) {
      this.#held = held
      this.#meanwhile = null
      this.#drop()
    }
    return held
  }

  /** The subjects are read again for the next question if they are too many to keep. */
  #drop(): void {
    if (this.#held !== null && this.#held.bytes > this.#mostBytes) this.#held = null
  }
}

const byName = (one: Subject, other: Subject) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0)
