// The one place where the broker looks into a batch that a client packed: for a look-up by time and for the pages,
// exports and tails of the admin API. A batch of a few hundred bytes can unpack to gigabytes, to millions of records,
// or to one record with millions of headers, and stays in the log. So what any look costs is bounded here, whatever is
// in the batch:
//
//   bytes of one batch, unpacked          MAX_UNPACKED_BYTES; a larger one is InvalidRecords
//   bytes of all, at one time             UNPACKED_AT_ONCE, over all requests of the broker; a request that finds no
//                                         bytes left waits in order
//   headers of one record, decoded        HEADER_LIMITS; the bytes of the rest are told apart (RecordWalk.read)
//   time on the event loop                work takes turns, within a batch too
//   time in all                           the patience of the caller
//
// Nothing of what was unpacked outlives the look. docs/decisions/0039 has the list of all callers and of the most that
// each may take.

import { type Clock, type Turns, takingTurns } from '../base/clock.ts'
import type { Patience } from '../base/patience.ts'
import { Semaphore } from '../base/semaphore.ts'
import { NotDecompressed } from '../protocol/compression.ts'
import { because, REQUEST_TIMED_OUT, type Refusal } from '../protocol/errors.ts'
import {
  asInvalid,
  type BatchView,
  codecOf,
  type HeaderLimits,
  MAX_UNPACKED_BYTES,
  payloadOf,
  RecordWalk,
} from '../protocol/records.ts'
import { discard, unpack } from '../protocol/unpacking.ts'

/** No batch may need more than this, or it would never be its turn. */
const UNPACKED_AT_ONCE = MAX_UNPACKED_BYTES

export const HEADER_LIMITS: HeaderLimits = Object.freeze({ count: 1_000, bytes: 1024 * 1024 })

/** A batch is first taken for an ordinary one, which unpacks to no more than this. */
const USUAL_GROWTH = 16
const USUAL_BYTES = 256 * 1024

/** The work between two turns of others. */
const TURN_MS = 0.5
/** Steps of a walk between two looks at the clock. */
const STEPS = 256

const TIMED_OUT = because(REQUEST_TIMED_OUT, 'The request waited too long for other requests that unpack batches.')
const ENDED = because(REQUEST_TIMED_OUT, 'The search through the records took too long.')

/** A caller that looks into batches one after the other. */
export interface Looker {
  readonly patience: Patience
  /** For all of its work together: many small batches are as much work as a large one. */
  readonly turn: Turns
}

/** The records of a batch, as long as they are held. */
export interface Look {
  /** How many bytes were unpacked for it. */
  readonly unpackedBytes: number
  readonly walk: RecordWalk
  /** Called before each step of the walk. Returns a promise when it is the turn of other work, else undefined. */
  readonly step: Turns
  /** The same before each piece of longer work. */
  readonly turn: Turns
}

export class Unpacking {
  readonly #clock: Clock
  readonly #semaphore: Semaphore

  constructor(clock: Clock) {
    this.#clock = clock
    this.#semaphore = new Semaphore(clock, UNPACKED_AT_ONCE)
  }

  /** Bytes that are held at this moment, or are about to be. */
  get heldBytes(): number {
    return UNPACKED_AT_ONCE - this.#semaphore.free
  }

  looker(patience: Patience): Looker {
    return { patience, turn: takingTurns(this.#clock, TURN_MS) }
  }

  /**
   * Calls `use` with the records of a batch and returns its result. Views of the records are empty afterwards. `use`
   * must not look into another batch and must wait only for its turns. REQUEST_TIMED_OUT if the patience ended; throws
   * InvalidRecords.
   */
  async look<T>(batch: BatchView, { patience, turn }: Looker, use: (look: Look) => Promise<T>): Promise<T | Refusal> {
    const codec = codecOf(batch)
    const payload = payloadOf(batch)
    if (patience.isOver) return ENDED
    const others = turn()
    if (others !== undefined) await others
    if (codec === 'none') return await this.#use(batch, payload, 0, patience, turn, use)
    const usual = Math.min(MAX_UNPACKED_BYTES, Math.max(USUAL_BYTES, payload.length * USUAL_GROWTH))
    for (const most of usual < MAX_UNPACKED_BYTES ? [usual, MAX_UNPACKED_BYTES] : [usual]) {
      if (!(await this.#semaphore.take(most, patience))) return TIMED_OUT
      let held = most
      let unpacked: Buffer | null = null
      try {
        unpacked = await unpack(codec, payload, most, turn)
        held = Math.max(unpacked.length, 1)
        this.#semaphore.give(most - held)
        return await this.#use(batch, unpacked, unpacked.length, patience, turn, use)
      } catch (error) {
        const isLarger = error instanceof NotDecompressed && error.tooLarge && most < MAX_UNPACKED_BYTES
        if (!isLarger) asInvalid(error)
      } finally {
        if (unpacked !== null) discard(unpacked)
        this.#semaphore.give(held)
      }
    }
    return TIMED_OUT
  }

  async #use<T>(
    batch: BatchView,
    payload: Buffer,
    unpackedBytes: number,
    patience: Patience,
    turn: Turns,
    use: (look: Look) => Promise<T>,
  ): Promise<T | Refusal> {
    const walk = new RecordWalk(batch, payload)
    let steps = 0
    const ready = () => {
      if (patience.isOver) throw new Ended()
      return turn()
    }
    const step = () => (++steps % STEPS === 0 ? ready() : undefined)
    try {
      return await use({ unpackedBytes, walk, step, turn: ready })
    } catch (error) {
      if (error instanceof Ended) return ENDED
      throw error
    }
  }
}

/** Ends a look whose patience is over. */
class Ended extends Error {}
