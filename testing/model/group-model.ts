// A consumer group as a plain value: who is in it, of which generation, and what it committed, by topic id and
// partition.

import { Difference, expectSame, shown } from './difference.ts'

export interface Committed {
  readonly offset: number
  readonly leaderEpoch: number
  readonly metadata: string
}

interface Kept extends Committed {
  /** The client said when it ends; null: not before the run does. */
  readonly expiresAtMs: number | null
}

/** As a broker answers it: early versions do not say the epoch. */
export type Answered = Omit<Committed, 'leaderEpoch'> & { readonly leaderEpoch: number | null }

export interface GroupMember {
  readonly id: string
  readonly instanceId: string | null
}

export class GroupModel {
  readonly name: string
  /** `maybe`: it is empty and without offsets, and the broker removes such a group at some time. */
  existence: 'no' | 'maybe' | 'yes' = 'no'
  generation = 0
  /** It may have been removed and made anew since, with generation 0. */
  mayBeAnew = false
  /** The first one leads. */
  members: readonly GroupMember[] = []
  /** By `topic id:partition`. */
  readonly #offsets = new Map<string, Kept>()
  /** The values that commits whose answers are lost may have left, by the same key. */
  readonly #late = new Map<string, Kept[]>()

  /** Their time was over while the group had no members. */
  readonly #overdue = new Set<string>()

  constructor(name: string) {
    this.name = name
  }

  commit(topicId: string, partition: number, kept: Kept): void {
    const key = `${topicId}:${partition}`
    this.#offsets.set(key, kept)
    this.#late.delete(key)
    this.#overdue.delete(key)
    this.existence = 'yes'
  }

  commitWithoutAnswer(topicId: string, partition: number, kept: Kept): void {
    const key = `${topicId}:${partition}`
    this.#late.set(key, [...(this.#late.get(key) ?? []), kept])
    if (this.existence === 'no') this.#mayGo()
  }

  forget(topicId: string, partition: number): void {
    const key = `${topicId}:${partition}`
    this.#offsets.delete(key)
    this.#late.delete(key)
    this.#emptied()
  }

  forgetTopic(topicId: string): void {
    for (const offsets of [this.#offsets, this.#late]) {
      for (const key of offsets.keys()) if (key.startsWith(`${topicId}:`)) offsets.delete(key)
    }
    this.#emptied()
  }

  remove(): void {
    this.#offsets.clear()
    this.#late.clear()
    this.existence = 'no'
    this.generation = 0
    this.mayBeAnew = false
    this.members = []
  }

  /** A group without members and committed offsets may go. */
  #emptied(): void {
    if (this.existence === 'yes' && this.members.length === 0 && this.#offsets.size === 0) this.#mayGo()
  }

  #mayGo(): void {
    this.existence = 'maybe'
    this.mayBeAnew = true
  }

  left(): void {
    this.members = []
    this.#emptied()
  }

  /** Members keep what they subscribe to. */
  #mayHaveExpired(key: string, { expiresAtMs }: Kept, nowMs: number): boolean {
    if (this.members.length === 0 && expiresAtMs !== null && nowMs >= expiresAtMs) this.#overdue.add(key)
    return this.#overdue.has(key)
  }

  hasExpiring(topicId: string, partition: number): boolean {
    return (this.#offsets.get(`${topicId}:${partition}`)?.expiresAtMs ?? null) !== null
  }

  /** The broker says that this is committed (null: nothing) at this time. Its answer holds from then on. */
  saw(topicId: string, partition: number, answered: Answered | null, nowMs: number): void {
    const key = `${topicId}:${partition}`
    const known = this.#offsets.get(key) ?? null
    const late = this.#late.get(key) ?? []
    const isSame = (kept: Kept) =>
      answered !== null &&
      kept.offset === answered.offset &&
      (answered.leaderEpoch ?? kept.leaderEpoch) === kept.leaderEpoch &&
      kept.metadata === answered.metadata
    if (known !== null && isSame(known)) return
    const came = late.find(isSame)
    if (came !== undefined) {
      this.#offsets.set(key, came)
      this.existence = 'yes'
      return
    }
    if (answered === null) {
      if (known === null) return
      if (this.#mayHaveExpired(key, known, nowMs)) {
        this.#offsets.delete(key)
        this.#emptied()
        return
      }
    }
    const what = `group ${this.name}, offset of ${key}`
    const allowed = [known, ...late].map(shown).join(' or ')
    throw new Difference(`${what}: the broker says ${shown(answered)}, the model ${allowed}`)
  }

  /** Whether the group is there, by what an operation on it was answered. */
  sawExistence(exists: boolean): void {
    if (this.existence !== 'maybe') expectSame(`whether group ${this.name} exists`, exists, this.existence === 'yes')
    if (!exists) this.remove()
  }

  /** Time has gone by: what may have expired makes a group that may be gone. */
  age(nowMs: number): void {
    const expired = [...this.#offsets].map(([key, kept]) => this.#mayHaveExpired(key, kept, nowMs))
    if (this.existence === 'yes' && this.members.length === 0 && expired.every(each => each)) this.#mayGo()
  }
}
