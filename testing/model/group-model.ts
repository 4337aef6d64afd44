// A consumer group as a plain value: its members, its generation, and its committed offsets by topic id and
// partition.

import { Difference, expectSame, shown } from './difference.ts'

export interface Committed {
  readonly offset: number
  readonly leaderEpoch: number
  readonly metadata: string
}

interface Kept extends Committed {
  /** The expiry time that the client requested; null if the offset does not expire during the run. */
  readonly expiresAtMs: number | null
}

/** A committed offset as a broker returns it: early versions do not return the epoch. */
export type Answered = Omit<Committed, 'leaderEpoch'> & { readonly leaderEpoch: number | null }

export interface GroupMember {
  readonly id: string
  readonly instanceId: string | null
}

export class GroupModel {
  readonly name: string
  /** `maybe`: the group is empty and has no offsets; the broker removes such a group at some time. */
  existence: 'no' | 'maybe' | 'yes' = 'no'
  generation = 0
  /** True if the broker may have removed the group and created it again, with generation 0. */
  mayBeAnew = false
  /** The first member is the leader. */
  members: readonly GroupMember[] = []
  /** The committed offsets, by `topic id:partition`. */
  readonly #offsets = new Map<string, Kept>()
  /** The offsets of commits whose answers were lost: each may be the committed one. By the same key. */
  readonly #late = new Map<string, Kept[]>()

  /** Keys whose offsets expired while the group had no members. */
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

  /** A group without members and committed offsets may be removed by the broker. */
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

  /** Returns whether the offset may have expired. Offsets do not start to expire while the group has members. */
  #mayHaveExpired(key: string, { expiresAtMs }: Kept, nowMs: number): boolean {
    if (this.members.length === 0 && expiresAtMs !== null && nowMs >= expiresAtMs) this.#overdue.add(key)
    return this.#overdue.has(key)
  }

  hasExpiring(topicId: string, partition: number): boolean {
    return (this.#offsets.get(`${topicId}:${partition}`)?.expiresAtMs ?? null) !== null
  }

  /**
   * Records the broker's answer at this time: the committed offset, or null without one. The answer holds from then
   * on.
   */
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

  /** Records whether the group exists, as the answer to an operation shows. */
  sawExistence(exists: boolean): void {
    if (this.existence !== 'maybe') expectSame(`whether group ${this.name} exists`, exists, this.existence === 'yes')
    if (!exists) this.remove()
  }

  /** Records that time has passed: if all offsets may have expired, the group may have been removed. */
  age(nowMs: number): void {
    const expired = [...this.#offsets].map(([key, kept]) => this.#mayHaveExpired(key, kept, nowMs))
    if (this.existence === 'yes' && this.members.length === 0 && expired.every(each => each)) this.#mayGo()
  }
}
