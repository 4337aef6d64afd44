// The time for which the batches of one lane wait for the first read of their topic's table (hold in
// partition-state.ts), so that a new topic on a healthy object store refuses none. The lane ends it earlier.

import type { Clock, Timer } from '../base/clock.ts'

/**
 * The longest wait of a lane. A read of a table takes some milliseconds, and under load some hundred. Later requests of
 * a connection wait behind the answer, so an object store that hangs must not hold them for long. It is far below the
 * time after which clients give a request up (30 s).
 */
export const MOST_WAIT_MS = 2_000

export class TableWait {
  readonly #timer: Timer
  #isOver = false

  /** Begins the wait, and calls `over` if nothing else ends it before it is too long. */
  constructor(clock: Clock, over: () => void) {
    this.#timer = clock.timer(MOST_WAIT_MS, () => {
      this.#isOver = true
      over()
    })
  }

  /** True if the wait was too long. Batches that come later do not wait. */
  get isOver(): boolean {
    return this.#isOver
  }

  end(): void {
    this.#timer.cancel()
  }
}
