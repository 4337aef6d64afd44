// A semaphore: a fixed amount of a resource that all callers share. Each caller takes a part before it begins and gives
// it back afterwards. Waiting requests are served in order, so that small ones do not pass a large one for ever. A
// caller that holds a part must not wait for more of the same semaphore: two such callers would wait for each other.

import type { Clock } from './clock.ts'
import type { Patience } from './patience.ts'

interface Waiting {
  readonly amount: number
  readonly admit: () => void
}

export class Semaphore {
  readonly #clock: Clock
  #free: number
  /** In the order of arrival. */
  readonly #waiting = new Set<Waiting>()

  constructor(clock: Clock, total: number) {
    this.#clock = clock
    this.#free = total
  }

  get free(): number {
    return this.#free
  }

  /**
   * Returns true when the caller has this amount, or false if its patience ended first. A request for more than the
   * total never succeeds.
   */
  take(amount: number, patience: Patience): boolean | Promise<boolean> {
    if (patience.isOver) return false
    if (this.#waiting.size > 0 || amount > this.#free) return this.#wait(amount, patience)
    this.#free -= amount
    return true
  }

  give(amount: number): void {
    this.#free += amount
    this.#admit()
  }

  #wait(amount: number, { untilMs, ended }: Patience): Promise<boolean> {
    return new Promise(resolve => {
      const settle = (isAdmitted: boolean) => {
        this.#waiting.delete(waiting)
        timer?.cancel()
        ended?.removeEventListener('abort', leave)
        resolve(isAdmitted)
      }
      const waiting: Waiting = { amount, admit: () => settle(true) }
      const leave = () => {
        settle(false)
        // Requests behind it may need less.
        this.#admit()
      }
      const timer = Number.isFinite(untilMs) ? this.#clock.timer(untilMs - this.#clock.monotonic(), leave) : null
      ended?.addEventListener('abort', leave)
      this.#waiting.add(waiting)
    })
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (waiting.amount > this.#free) return
      this.#free -= waiting.amount
      waiting.admit()
    }
  }
}
