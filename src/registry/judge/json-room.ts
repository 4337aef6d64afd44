// The room for copies of JSON payloads, which all batches of a broker share, and their way through the validators.

import type { Clock } from '../../base/clock.ts'
import { type Patience, patience } from '../../base/patience.ts'
import { Semaphore } from '../../base/semaphore.ts'
import type { Fault } from '../format.ts'
import type { JsonValidators, PayloadBatch } from '../json/json-validators.ts'
import type { JsonGroup, JsonPayloads } from './json-payloads.ts'

const ROOM_BYTES = 32 << 20

/** A part of the room. It is left once, whatever happens. */
export class RoomForJson {
  readonly bytes: number
  /** Resolves with whether there was room in time; null if there was at once. */
  readonly entered: Promise<boolean> | null
  readonly #semaphore: Semaphore
  #isInside: boolean
  #isLeft = false

  constructor(semaphore: Semaphore, bytes: number, limit: Patience) {
    this.bytes = bytes
    this.#semaphore = semaphore
    const taken = semaphore.take(bytes, limit)
    this.#isInside = taken === true
    this.entered =
      taken instanceof Promise
        ? taken.then(isInside => {
            this.#isInside = isInside
            if (isInside && this.#isLeft) this.#semaphore.give(this.bytes)
            return isInside
          })
        : null
  }

  get isInside(): boolean {
    return this.#isInside
  }

  leave(): void {
    if (this.#isLeft) return
    this.#isLeft = true
    if (this.#isInside) this.#semaphore.give(this.bytes)
  }
}

export interface JsonFault {
  readonly group: JsonGroup
  readonly index: number
  readonly fault: Fault
}

export class JsonRoom {
  readonly #semaphore: Semaphore
  readonly #clock: Clock
  readonly #validators: Pick<JsonValidators, 'judge'>

  constructor(validators: Pick<JsonValidators, 'judge'>, clock: Clock) {
    this.#validators = validators
    this.#clock = clock
    this.#semaphore = new Semaphore(clock, ROOM_BYTES)
  }

  get heldBytes(): number {
    return ROOM_BYTES - this.#semaphore.free
  }

  /** Asks for room, for at most `withinMs`. */
  enter(bytes: number, withinMs: number): RoomForJson {
    return new RoomForJson(this.#semaphore, bytes, patience(this.#clock, this.#clock.monotonic() + withinMs))
  }

  /** Copies the payloads, for which the caller has room. */
  copy(payloads: JsonPayloads, records: Buffer, room: RoomForJson): Pieces {
    return new Pieces(payloads.copy(records), room, this.#validators)
  }
}

/** Copies of payloads. */
export class Pieces {
  readonly #copies: readonly { readonly group: JsonGroup; readonly batch: PayloadBatch }[]
  readonly #room: RoomForJson
  readonly #validators: Pick<JsonValidators, 'judge'>
  #isJudging = false

  constructor(
    copies: readonly { readonly group: JsonGroup; readonly batch: PayloadBatch }[],
    room: RoomForJson,
    validators: Pick<JsonValidators, 'judge'>,
  ) {
    this.#copies = copies
    this.#room = room
    this.#validators = validators
  }

  /**
   * Resolves with the payloads that are not valid, or with null if the patience ended before all were judged. Leaves
   * the room then.
   */
  async judge(limit: Patience): Promise<readonly JsonFault[] | null> {
    this.#isJudging = true
    const found: JsonFault[] = []
    try {
      for (const { group, batch } of this.#copies) {
        const faults = await this.#validators.judge(group.programs, batch, limit)
        if (faults === null) return null
        for (const [at, fault] of faults.entries()) {
          if (fault !== null) found.push({ group, index: group.indexes[at]!, fault })
        }
      }
      return found
    } finally {
      this.#room.leave()
    }
  }

  /** Forgets copies that are not judged. */
  leave(): void {
    if (!this.#isJudging) this.#room.leave()
  }
}
