// The limits of the agent tools on one broker: how many requests a second, how many at once, and for how long. They
// hold for all clients together, because all have the same token.

import type { Clock } from '../base/clock.ts'
import { patience } from '../base/patience.ts'
import { Semaphore } from '../base/semaphore.ts'

export const MCP_LIMITS = Object.freeze({
  /** Requests in a second over a longer time. */
  perSecond: 20,
  /** Requests in one moment after a quiet time. */
  burst: 100,
  atOnce: 4,
  /** Beyond these, requests are refused. */
  waiting: 16,
  /** The time in ms of one request, the wait for its turn included. */
  timeMs: 30_000,
})

export type McpLimits = { readonly [name in keyof typeof MCP_LIMITS]: number }

/** How a wait for a turn ended: the work may begin, too many others wait, or the time was over first. */
export type Turn = 'begun' | 'full' | 'over'

export class CallLimits {
  readonly #clock: Clock
  readonly #limits: McpLimits
  readonly #turns: Semaphore
  #waiting = 0
  /** The time for which requests are counted: each one moves it on by its share of a second. */
  #countedToMs: number

  constructor(clock: Clock, limits: McpLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#turns = new Semaphore(clock, limits.atOnce)
    this.#countedToMs = Number.NEGATIVE_INFINITY
  }

  /** Counts a request and returns 0; else returns after how many milliseconds one can be counted again. */
  take(): number {
    const { perSecond, burst } = this.#limits
    const nowMs = this.#clock.monotonic()
    const shareMs = 1_000 / perSecond
    const countedToMs = Math.max(this.#countedToMs, nowMs - burst * shareMs) + shareMs
    if (countedToMs > nowMs) return Math.ceil(countedToMs - nowMs)
    this.#countedToMs = countedToMs
    return 0
  }

  /** Resolves when the work may begin; the caller then must call `end`. */
  async begin(untilMs: number, ended: AbortSignal): Promise<Turn> {
    if (this.#turns.free === 0 && this.#waiting >= this.#limits.waiting) return 'full'
    this.#waiting++
    try {
      return (await this.#turns.take(1, patience(this.#clock, untilMs, ended))) ? 'begun' : 'over'
    } finally {
      this.#waiting--
    }
  }

  end(): void {
    this.#turns.give(1)
  }
}
