// The counter of schema ids, which all brokers share. An id is stored as used before it is given out. The store may go
// back in time (a fail-over), and the counter with it. So the counter has the incarnation of the store under which it
// was written last, and an id that was taken under another one is not given out: the counter leaps first.
//
//   document schemas, counter   the field `counter`: JSON of { last, incarnation }

import { workInTurn } from '../../base/in-turn.ts'
import { contend, LOST } from '../../store/contention.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { OutcomeUnknown, StoreUnavailable, UnreadableDocument } from '../../store/store.ts'
import { UNNAMED } from '../../store/unreadable.ts'
import type { StateRooms } from './rooms.ts'
import { bytesOfJson, countOf, readJson, textOf } from './stored-json.ts'

const KIND: DocumentKind = 'schemas'
const NAME = 'counter'
const FIELD = 'counter'
const WHAT = 'the counter of schema ids'

/** No store loses this many registrations at once. */
const LEAP = 10_000
/** The last id that the counter gives. An id is an int32 in the prefix of a record. */
const LAST_ID = 2 ** 31 - 2
/** The highest id that an import may give. It leaves 147 million ids to the counter. */
export const MOST_IMPORTED_ID = 2_000_000_000

interface State {
  readonly version: number
  /** The last id that was taken; 0 if none was. */
  readonly last: number
  /** Null: no id was given out yet. */
  readonly incarnation: string | null
}

export class IdCounter {
  readonly #rooms: StateRooms
  readonly #inTurn = workInTurn()
  /** As this broker has left it; null if it must be loaded. */
  #state: State | null = null
  /** The highest id that this broker has seen. */
  #known = 0

  constructor(rooms: StateRooms) {
    this.#rooms = rooms
  }

  /** The highest id that this broker has seen; 0 if it has seen none. */
  get known(): number {
    return this.#known
  }

  /** Resolves with the highest id that was taken; 0 if none was. */
  async last(): Promise<number> {
    return Math.max((await this.#load()).last, this.#known)
  }

  /** Called with each id that this broker reads. */
  note(id: number): void {
    if (id > this.#known) this.#known = id
  }

  /** Resolves with an id that was never given out. Throws what the store throws. */
  async take(): Promise<number> {
    return await this.#inTurn(() => this.#raise(last => last + 1))
  }

  /** Makes sure that the counter gives only ids above this one. */
  async raiseTo(id: number): Promise<void> {
    await this.#inTurn(async () => {
      this.#state ??= await this.#load()
      if (this.#state.last < id) await this.#raise(last => Math.max(last, id))
    })
  }

  /** Raises the counter to the highest id that this broker has seen, if the store has set it back. */
  async raiseToKnown(): Promise<void> {
    if (this.#known === 0) return
    await this.#inTurn(async () => {
      this.#state = await this.#load()
      if (this.#state.last < this.#known) await this.#raise(last => last)
    })
  }

  /** Resolves with the last id after the change. `next` gets the highest id that is in use. */
  async #raise(next: (last: number) => number): Promise<number> {
    return await contend(this.#rooms, WHAT, async () => {
      let state = this.#state ?? (await this.#load())
      this.#state = null
      let last = next(Math.max(state.last, this.#known))
      for (;;) {
        const after = await this.#commit(state, last)
        if (after === LOST) return LOST
        if (after.incarnation === state.incarnation) {
          this.#state = after
          this.note(last)
          return last
        }
        // The store may have lost ids that were given out, unless none ever was.
        const isNew = state.incarnation === null && this.#known === 0
        if (!isNew) last += LEAP
        state = after
      }
    })
  }

  async #commit({ version, incarnation }: State, last: number): Promise<State | typeof LOST> {
    if (last > LAST_ID) throw new StoreUnavailable(`all schema ids up to ${LAST_ID} are used`)
    const changes = [{ key: FIELD, value: bytesOfJson({ last, incarnation }) }]
    try {
      const asked = { kind: KIND, name: NAME, expect: version, changes, isAcknowledged: true }
      const outcome = await this.#rooms.store.commit(asked)
      if (outcome.kind === 'conflict') return LOST
      return { version: outcome.version, last, incarnation: outcome.incarnation ?? null }
    } catch (cause) {
      // It is unknown whether the id is taken. No broker gives it out.
      if (cause instanceof OutcomeUnknown) return LOST
      throw cause
    }
  }

  async #load(): Promise<State> {
    const document = await this.#rooms.store.load(KIND, NAME)
    if (document === null) return { version: 0, last: 0, incarnation: null }
    try {
      return readJson(document, FIELD, WHAT, ({ last, incarnation }) => ({
        version: document.version,
        last: countOf(last, 'last id', 0),
        incarnation: incarnation === null ? null : textOf(incarnation, 'incarnation'),
      }))
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      const result = 'no new schema can be registered until it is repaired'
      ;(this.#rooms.unreadable ?? UNNAMED)({ kind: KIND, what: WHAT, why: error.cause ?? error, result })
      throw error
    }
  }
}
