// A clock that stands still until a test advances it. Timers fire in the order of their time, then of their creation.

import type { Clock, Timer } from '../../src/base/clock.ts'

interface Pending {
  readonly at: number
  readonly order: number
  readonly fn: () => void
}

export class SimulatedClock implements Clock {
  #now: number
  #order = 0
  #pending: Pending[] = []

  constructor(startMs = 1_700_000_000_000) {
    this.#now = startMs
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  timer(delayMs: number, fn: () => void): Timer {
    const pending: Pending = { at: this.#now + Math.max(0, delayMs), order: this.#order++, fn }
    this.#pending.push(pending)
    return {
      cancel: () => {
        this.#pending = this.#pending.filter(other => other !== pending)
      },
    }
  }

  soon(fn: () => void): void {
    setImmediate(fn)
  }

  /** Advances the time and fires the due timers. Promises settle after each timer. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await this.settle()
    for (;;) {
      const due = this.#pending.filter(pending => pending.at <= end).sort((a, b) => a.at - b.at || a.order - b.order)[0]
      if (due === undefined) break
      this.#pending = this.#pending.filter(pending => pending !== due)
      this.#now = Math.max(this.#now, due.at)
      due.fn()
      await this.settle()
    }
    this.#now = end
  }

  /**
   * Resolves with the result of the work and advances the time while it waits. The work may wait only for time, and
   * at most for an hour.
   */
  async passing<T>(work: Promise<T>): Promise<T> {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    work.then(settle, settle)
    for (let ms = 0; !isSettled && ms < 3_600_000; ms += 10) await this.advance(10)
    return await work
  }

  /** Runs everything that is ready. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
  }
}
