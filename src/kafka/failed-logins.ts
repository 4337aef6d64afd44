// Bounds the work that failed authentications cause, however many clients fail: one log line for each address in a
// while, and a delay for each client (KIP-306). It decides no authentication.

import { type Clock, sleep } from '../base/clock.ts'
import type { Logger } from '../telemetry/logger.ts'

/** The shortest time between two log lines about the same address. */
const LOG_EVERY_MS = 10_000

/** The number of addresses whose lines are counted apart. All further addresses share one line. */
const MOST_ADDRESSES = 100

/** The number of failed clients of one address that wait at the same time. */
const MOST_WAITING = 100

/** The key of all addresses that are not counted apart. It is no address. */
const OTHERS = ''

interface Line {
  readonly silentUntilMs: number
  /** The failures since the line that were not logged. */
  unlogged: number
}

export class FailedLogins {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #delayMs: number
  /** The oldest line is the first. */
  readonly #lines = new Map<string, Line>()
  /** Failures that were not logged, of addresses that are no longer counted apart. */
  #unlogged = 0
  /** By address. No entry is 0. */
  readonly #waiting = new Map<string, number>()

  constructor(clock: Clock, logger: Logger, delayMs: number) {
    this.#clock = clock
    this.#logger = logger
    this.#delayMs = delayMs
  }

  /** Logs the failure, unless the address had a line a short time ago. Then the next line counts it (`suppressed`). */
  tell(message: string, fields: { readonly address: string; readonly [name: string]: unknown }): void {
    const nowMs = this.#clock.monotonic()
    const key = this.#keyOf(fields.address, nowMs)
    const line = this.#lines.get(key)
    if (line !== undefined && nowMs < line.silentUntilMs) {
      line.unlogged++
      return
    }
    this.#forget(key)
    this.#lines.set(key, { silentUntilMs: nowMs + LOG_EVERY_MS, unlogged: 0 })
    const suppressed = this.#unlogged === 0 ? undefined : this.#unlogged
    this.#unlogged = 0
    this.#logger.warn(message, { ...fields, suppressed })
  }

  /**
   * Resolves with true after the delay. Resolves with false at once if too many clients of the address wait already:
   * then the client gets no answer.
   */
  async delay(address: string): Promise<boolean> {
    const waiting = this.#waiting.get(address) ?? 0
    if (waiting === MOST_WAITING) return false
    this.#waiting.set(address, waiting + 1)
    await sleep(this.#clock, this.#delayMs)
    const left = this.#waiting.get(address)! - 1
    if (left === 0) this.#waiting.delete(address)
    else this.#waiting.set(address, left)
    return true
  }

  #keyOf(address: string, nowMs: number): string {
    if (this.#lines.has(address)) return address
    for (const [oldest, { silentUntilMs }] of this.#lines) {
      if (this.#lines.size < MOST_ADDRESSES || nowMs < silentUntilMs) break
      this.#forget(oldest)
    }
    return this.#lines.size < MOST_ADDRESSES ? address : OTHERS
  }

  #forget(key: string): void {
    this.#unlogged += this.#lines.get(key)?.unlogged ?? 0
    this.#lines.delete(key)
  }
}
