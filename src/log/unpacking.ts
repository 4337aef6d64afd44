// The only code of the broker that looks into a batch that a client packed. Searches by time, the pages, exports and
// tails of the admin API, and the checks of produced records use it. A batch of a few hundred bytes can unpack to
// gigabytes, to millions of records, or to one record with millions of headers, and it stays in the log. So this file
// limits the cost of a look, whatever is in the batch:
//
//   bytes of one batch, unpacked          MAX_UNPACKED_BYTES; a larger one is InvalidRecords
//   bytes of all batches, at one time     UNPACKED_AT_ONCE, over all requests that share the object: the checks of
//                                         produced batches have one, which adds ORDINARY_AT_ONCE, and all others have
//                                         another one; a request that finds no bytes left waits in order; produced
//                                         batches beyond ORDINARY_BYTES go in turns of their topics (large-turns.ts)
//   headers of one record, decoded        HEADER_LIMITS; the other headers are returned as bytes (RecordWalk.read)
//   time on the event loop                other work gets turns, within a batch too
//   time in all                           the patience of the caller
//
// No unpacked bytes outlive the look. docs/decisions/0039 lists all callers and the most that each may take.

import { type Clock, type Turns, takingTurns } from '../base/clock.ts'
import type { Patience } from '../base/patience.ts'
import { Semaphore } from '../base/semaphore.ts'
import { type Codec, NotDecompressed } from '../protocol/compression.ts'
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
import { claimedSize } from '../protocol/unpacked-size.ts'
import { discard, unpack, unpackSync } from '../protocol/unpacking.ts'
import { LargeTurns } from './large-turns.ts'

/** The most unpacked bytes at one time. A batch that needed more would never get its turn. */
const UNPACKED_AT_ONCE = MAX_UNPACKED_BYTES

export const HEADER_LIMITS: HeaderLimits = Object.freeze({ count: 1_000, bytes: 1024 * 1024 })

/**
 * The first attempt assumes an ordinary batch: it unpacks to at most USUAL_GROWTH times its size, or USUAL_BYTES if
 * that is more.
 */
const USUAL_GROWTH = 16
const USUAL_BYTES = 256 * 1024

/** With USUAL_GROWTH, batches of up to 1 MiB are ordinary at the first attempt. */
const ORDINARY_BYTES = 16 * 1024 * 1024
const ORDINARY_AT_ONCE = 2 * ORDINARY_BYTES

/**
 * A batch of at most SOON_PACKED_BYTES that unpacks to at most SOON_BYTES is unpacked at once by lookSoon. That takes
 * well under 1 ms, and less than the way to the thread pool and back.
 */
const SOON_PACKED_BYTES = 32 * 1024
const SOON_BYTES = 128 * 1024

/** How long the work runs before other work gets a turn. */
const TURN_MS = 0.5
/** The number of steps of a walk between two looks at the clock. */
const STEPS = 256

const TIMED_OUT = because(REQUEST_TIMED_OUT, 'The request waited too long for other requests that unpack batches.')
const ENDED = because(REQUEST_TIMED_OUT, 'The search through the records took too long.')

/** A caller that looks into batches one after the other. */
export interface Looker {
  readonly patience: Patience
  /** For all of its looks together: many small batches are as much work as a large one. */
  readonly turn: Turns
  /** Set for produced batches: the topic whose turn a large one needs. */
  readonly topic?: string
}

/** The records of a batch, valid until `use` has ended. */
export interface Look {
  /** The number of bytes that were unpacked; 0 if the batch is not compressed. */
  readonly unpackedBytes: number
  readonly walk: RecordWalk
  /** Returns one more walk over the same records, from the first one on. */
  again(): RecordWalk
  /** Called before each step of the walk. Returns a promise when it is the turn of other work, else undefined. */
  readonly step: Turns
  /** The same as `step`, but called before each piece of longer work. */
  readonly turn: Turns
}

export class Unpacking {
  readonly #clock: Clock
  readonly #semaphore: Semaphore
  /** For batches that need at most ORDINARY_BYTES. The same as #semaphore if they share it with larger ones. */
  readonly #ordinary: Semaphore
  readonly #largeTurns: LargeTurns

  /** `hasOrdinary`: ordinary batches have ORDINARY_AT_ONCE bytes of their own, so that no bomb makes them wait. */
  constructor(clock: Clock, hasOrdinary = false) {
    this.#clock = clock
    this.#semaphore = new Semaphore(clock, UNPACKED_AT_ONCE)
    this.#ordinary = hasOrdinary ? new Semaphore(clock, ORDINARY_AT_ONCE) : this.#semaphore
    this.#largeTurns = new LargeTurns(clock)
  }

  /** The bytes that are held at this moment, or are about to be. */
  get heldBytes(): number {
    const ordinary = this.#ordinary === this.#semaphore ? 0 : ORDINARY_AT_ONCE - this.#ordinary.free
    return UNPACKED_AT_ONCE - this.#semaphore.free + ordinary
  }

  looker(patience: Patience): Looker {
    return { patience, turn: takingTurns(this.#clock, TURN_MS) }
  }

  /**
   * Calls `use` with the records of a batch and resolves with its result. Views of the records are empty afterwards.
   * `use` must not look into another batch and must wait only for its turns. Resolves with REQUEST_TIMED_OUT if the
   * patience ended. Throws InvalidRecords.
   */
  async look<T>(batch: BatchView, looker: Looker, use: (look: Look) => Promise<T>): Promise<T | Refusal> {
    const { patience, turn } = looker
    const codec = codecOf(batch)
    const payload = payloadOf(batch)
    if (patience.isOver) return ENDED
    const others = turn()
    if (others !== undefined) await others
    if (codec === 'none') return await this.#use(batch, payload, 0, patience, turn, use)
    const usual = Math.min(MAX_UNPACKED_BYTES, Math.max(USUAL_BYTES, payload.length * USUAL_GROWTH))
    const isUsual = (claimedSize(codec, payload) ?? 0) <= usual
    for (const most of isUsual && usual < MAX_UNPACKED_BYTES ? [usual, MAX_UNPACKED_BYTES] : [MAX_UNPACKED_BYTES]) {
      const room = await this.#enter(most, looker)
      if (room === null) return TIMED_OUT
      let held = most
      let unpacked: Buffer | null = null
      try {
        unpacked = await unpack(codec, payload, most, turn)
        held = Math.max(unpacked.length, 1)
        room.semaphore.give(most - held)
        return await this.#use(batch, unpacked, unpacked.length, patience, turn, use)
      } catch (error) {
        const isLarger = error instanceof NotDecompressed && error.tooLarge && most < MAX_UNPACKED_BYTES
        if (!isLarger) asInvalid(error)
      } finally {
        if (unpacked !== null) discard(unpacked)
        room.semaphore.give(held)
        room.leave?.()
      }
    }
    return TIMED_OUT
  }

  /** Takes room for `most` bytes, of a large batch in the turn of its topic. Null if the patience ended first. */
  async #enter(most: number, { patience, topic }: Looker): Promise<Room | null> {
    const isOrdinary = most <= ORDINARY_BYTES
    const semaphore = isOrdinary ? this.#ordinary : this.#semaphore
    const leave = isOrdinary || topic === undefined ? undefined : await this.#largeTurns.enter(topic, patience)
    if (leave === null) return null
    if (await semaphore.take(most, patience)) return { semaphore, leave }
    leave?.()
    return null
  }

  /**
   * The same at once, for work that a client waits for, if the batch is not compressed or is small; else returns null,
   * and the caller must use look(). Returns the result of `use` itself: no promise, unless `use` returns one. Its
   * errors may be thrown or come by the promise. The few bytes that it unpacks do not count as held, so that it never
   * waits for large batches. Call it only in a turn: then only one batch at a time can be in such a look, except for
   * those that wait for their next turn.
   */
  lookSoon<T>(
    batch: BatchView,
    { patience, turn }: Looker,
    use: (look: Look) => T | Promise<T>,
  ): T | Refusal | Promise<T | Refusal> | null {
    if (patience.isOver) return ENDED
    const codec = codecOf(batch)
    const payload = payloadOf(batch)
    if (codec === 'none') return this.#useSoon(batch, payload, 0, patience, turn, use)
    const maySuit = payload.length <= SOON_PACKED_BYTES && (claimedSize(codec, payload) ?? 0) <= SOON_BYTES
    const unpacked = maySuit ? unpackSoon(codec, payload) : null
    return unpacked === null ? null : this.#useUnpacked(batch, unpacked, patience, turn, use)
  }

  #useUnpacked<T>(
    batch: BatchView,
    unpacked: Buffer,
    patience: Patience,
    turn: Turns,
    use: (look: Look) => T | Promise<T>,
  ): T | Refusal | Promise<T | Refusal> {
    let used: T | Refusal | Promise<T | Refusal> | undefined
    try {
      used = this.#useSoon(batch, unpacked, unpacked.length, patience, turn, use)
    } finally {
      if (!(used instanceof Promise)) discard(unpacked)
    }
    return used instanceof Promise ? used.finally(() => discard(unpacked)) : used
  }

  #useSoon<T>(
    batch: BatchView,
    payload: Buffer,
    unpackedBytes: number,
    patience: Patience,
    turn: Turns,
    use: (look: Look) => T | Promise<T>,
  ): T | Refusal | Promise<T | Refusal> {
    try {
      const used = use(lookInto(batch, payload, unpackedBytes, patience, turn))
      return used instanceof Promise ? used.catch(ended) : used
    } catch (error) {
      return ended(error)
    }
  }

  async #use<T>(
    batch: BatchView,
    payload: Buffer,
    unpackedBytes: number,
    patience: Patience,
    turn: Turns,
    use: (look: Look) => Promise<T>,
  ): Promise<T | Refusal> {
    try {
      return await use(lookInto(batch, payload, unpackedBytes, patience, turn))
    } catch (error) {
      return ended(error)
    }
  }
}

/** Where the unpacked bytes of a batch count as held. */
interface Room {
  readonly semaphore: Semaphore
  /** Ends the turn of a topic. */
  readonly leave: (() => void) | undefined
}

/** Returns the unpacked records; null if they are too large for a look that begins at once. Throws InvalidRecords. */
function unpackSoon(codec: Codec, payload: Buffer): Buffer | null {
  try {
    return unpackSync(codec, payload, SOON_BYTES)
  } catch (error) {
    if (error instanceof NotDecompressed && error.tooLarge) return null
    return asInvalid(error)
  }
}

function lookInto(batch: BatchView, payload: Buffer, unpackedBytes: number, patience: Patience, turn: Turns): Look {
  let steps = 0
  const ready = () => {
    if (patience.isOver) throw new Ended()
    return turn()
  }
  const step = () => (++steps % STEPS === 0 ? ready() : undefined)
  const again = () => new RecordWalk(batch, payload)
  return { unpackedBytes, walk: again(), again, step, turn: ready }
}

/** Thrown to end a look whose patience is over. */
class Ended extends Error {}

function ended(error: unknown): Refusal {
  if (error instanceof Ended) return ENDED
  throw error
}
