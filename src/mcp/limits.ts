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
  /** The requests that may be taken at `#countedAtMs`. */
  #left: number
  #countedAtMs: number

  constructor(clock: Clock, limits: McpLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#turns = new Semaphore(clock, limits.atOnce)
    this.#left = limits.burst
    this.#countedAtMs = clock.monotonic()
  }

  /** Counts a request and returns 0; else returns after how many milliseconds one can be counted again. */
  take(): number {
    const { perSecond, burst } = this.#limits
    const nowMs = this.#clock.monotonic()
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#countedAtMs) * perSecond) / 1_000)
    this.#countedAtMs = nowMs
    if (this.#left < 1) return Math.ceil(((1 - this.#left) * 1_000) / perSecond)
    this.#left--
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
