// The slots of a pool. Waiting callers get them in the order of their calls.

import type { Clock } from '../../../base/clock.ts'

export class Slots {
  /** The callers that wait for a slot, oldest first. */
  readonly #waiting = new Set<() => void>()
  readonly #clock: Clock
  #free: number

  constructor(size: number, clock: Clock) {
    this.#free = size
    this.#clock = clock
  }

  get pending(): number {
    return this.#waiting.size
  }

  /**
   * Takes a slot and returns true if one is free. The caller must give it back. While a caller waits, no slot is
   * free.
   */
  takeFree(): boolean {
    if (this.#free === 0) return false
    this.#free--
    return true
  }

  /** Takes a slot, and waits for it if necessary. Resolves to false if no slot became free in time. */
  take(withinMs: number): Promise<boolean> {
    if (this.takeFree()) return Promise.resolve(true)
    return new Promise(resolve => {
      const got = () => {
        timer.cancel()
        resolve(true)
      }
      const timer = this.#clock.timer(withinMs, () => {
        this.#waiting.delete(got)
        resolve(false)
      })
      this.#waiting.add(got)
    })
  }

  giveBack(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#free++
    else {
      this.#waiting.delete(next)
      next()
    }
  }
}
