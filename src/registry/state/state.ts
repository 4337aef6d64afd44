// The state of the registry: the documents in the store, and the part of them that this broker has in memory. It
// decides nothing about compatibility, and knows no clients.

import type { Clock, Timer } from '../../base/clock.ts'
import { isStoreFailure } from '../../store/store.ts'
import { type Content, guidOf, type StoredContent } from './content.ts'
import { Contents } from './contents.ts'
import { GlobalSettings } from './global.ts'
import { IdCounter } from './id-counter.ts'
import { IdOwners } from './id-owners.ts'
import { Notices } from './notices.ts'
import { ReferenceHolds } from './reference-holds.ts'
import type { StateRooms } from './rooms.ts'
import type { Subject } from './subject.ts'
import { SubjectIndex } from './subject-index.ts'
import { Subjects } from './subjects.ts'

/** The most bytes that each part keeps in memory. */
export interface StateBounds {
  readonly contents: number
  readonly ids: number
  readonly subjects: number
  readonly index: number
}

export const STATE_BOUNDS: StateBounds = Object.freeze({
  contents: 16 << 20,
  ids: 8 << 20,
  subjects: 12 << 20,
  index: 24 << 20,
})

/** A change of another broker counts after this time at the latest, and the time of a few requests to the store. */
const LOOK_MS = 1_000
/** Without a look for this time, the memory does not count for the judge. */
const STALE_MS = 2_000
/** The looks between two comparisons of the counter with the highest known id. */
const LOOKS_PER_RAISE = 10

export class RegistryState {
  readonly contents: Contents
  readonly ids: IdOwners
  readonly counter: IdCounter
  readonly subjects: Subjects
  readonly index: SubjectIndex
  readonly holds: ReferenceHolds
  readonly global: GlobalSettings
  readonly clock: Clock
  readonly #isShared: boolean
  /** When the last look at the other brokers' changes began that succeeded. */
  #followedAtMs = Number.NEGATIVE_INFINITY
  #timer: Timer | null = null
  #looks = 0
  #isClosed = false

  constructor(rooms: StateRooms, bounds: StateBounds = STATE_BOUNDS) {
    this.contents = new Contents(rooms, bounds.contents)
    this.ids = new IdOwners(rooms, bounds.ids)
    this.counter = new IdCounter(rooms)
    this.subjects = new Subjects(rooms, new Notices(rooms), bounds.subjects)
    this.index = new SubjectIndex(rooms, this.subjects, bounds.index)
    this.holds = new ReferenceHolds(this.subjects, rooms)
    this.global = new GlobalSettings(rooms)
    this.clock = rooms.clock
    this.#isShared = rooms.isShared
    if (rooms.isShared) this.#lookLater(0)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  /** Resolves with the schema that has this id; null if no schema has it. Throws what the store throws. */
  async byId(id: number): Promise<StoredContent | null> {
    const guid = await this.ids.get(id)
    if (guid === null) return null
    this.counter.note(id)
    return await this.contents.get(guid)
  }

  /**
   * Resolves with the stored schema of this content, with an id that belongs to it. Both are made if they do not exist.
   * The order of the documents is counter, content, id: an id is used up before it names a schema. If two brokers do
   * this at once, one content document is made, and both resolve with its id.
   */
  async store(content: Content): Promise<StoredContent> {
    const guid = guidOf(content)
    let stored = await this.contents.find(guid)
    stored ??= await this.contents.make(content, await this.counter.take())
    while ((await this.ids.claim(stored.id, guid)) !== guid) {
      // The store has lost the document of the id, and the id was given to another schema.
      stored = await this.contents.renumber(stored, stored.id, await this.counter.take())
    }
    this.counter.note(stored.id)
    return stored
  }

  /**
   * Like `store`, with an id that an import gives. Resolves with null if the id belongs to another schema. The order is
   * counter, id, content: the id of the content is then certainly its own.
   */
  async storeAs(content: Content, id: number): Promise<StoredContent | null> {
    const guid = guidOf(content)
    await this.counter.raiseTo(id)
    if ((await this.ids.claim(id, guid)) !== guid) return null
    return await this.contents.make(content, id)
  }

  /**
   * Returns the subject and the global settings from memory, at most two seconds old; undefined if they must be loaded
   * first. Throws UnreadableDocument.
   */
  now(name: string): { readonly subject: Subject; readonly global: Subject } | undefined {
    if (this.#isShared && this.clock.monotonic() - this.#followedAtMs > STALE_MS) return undefined
    const subject = this.subjects.now(name)
    const global = this.global.now()
    return subject === undefined || global === undefined ? undefined : { subject, global }
  }

  /** Resolves with the subject and the global settings as the store has them now. Throws what the store throws. */
  async fresh(name: string): Promise<{ readonly subject: Subject; readonly global: Subject }> {
    const [subject, global] = await Promise.all([this.subjects.fresh(name), this.global.fresh()])
    return { subject, global }
  }

  /** Follows the other brokers. Throws what the store throws. */
  async follow(): Promise<void> {
    const beganAtMs = this.clock.monotonic()
    await Promise.all([this.subjects.follow(), this.global.follow()])
    this.#followedAtMs = beganAtMs
    if (++this.#looks % LOOKS_PER_RAISE === 0) await this.counter.raiseToKnown()
  }

  #lookLater(delayMs: number): void {
    this.#timer = this.clock.timer(delayMs, () => void this.#look())
  }

  async #look(): Promise<void> {
    try {
      await this.follow()
    } catch (error) {
      // The next look tries again. Until then the judge asks the store (subjects.ts).
      if (!isStoreFailure(error)) throw error
    }
    if (!this.#isClosed) this.#lookLater(LOOK_MS)
  }
}
