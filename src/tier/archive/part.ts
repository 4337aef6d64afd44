// The restored batches of a part of a data file, with the memory that they share. The cache and the readers use a part
// at the same time, and its memory is freed when the last of them has released it. Without that it would be free only
// at the next garbage collection, and a reader that catches up would cause one for every hundred megabytes. A part that
// somebody forgets to release is merely left to the garbage collector.

import { assert } from '../../base/assert.ts'
import { memoryOf, release } from '../../base/copied.ts'
import type { RestoredBatch } from '../columns/restore.ts'

export class Part {
  readonly batches: readonly RestoredBatch[]
  /** Of its memory. */
  readonly bytes: number
  #uses: number

  /** Nothing else may use the memory of the batches. */
  constructor(batches: readonly RestoredBatch[], uses: number) {
    this.batches = batches
    this.#uses = uses
    this.bytes = memoryOf(batches.map(({ bytes }) => bytes)).reduce((sum, { byteLength }) => sum + byteLength, 0)
    if (uses === 0) this.#free()
  }

  /** Adds a use. It must be released. */
  use(): this {
    assert(this.#uses > 0, 'a part that is used again is in use')
    this.#uses++
    return this
  }

  /** Ends a use. After the last one the bytes of the batches are gone. */
  release(): void {
    assert(this.#uses > 0, 'a part is released once for each use')
    if (--this.#uses === 0) this.#free()
  }

  #free(): void {
    release(this.batches.map(({ bytes }) => bytes))
  }
}
