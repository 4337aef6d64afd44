// Bounds the work that failed authentications cause, however many clients fail: one log line for each address and
// reason in a while, and a delay for each client (KIP-306). It decides no authentication.

import { type Clock, sleep } from '../base/clock.ts'
import type { Logger } from '../telemetry/logger.ts'

/** The shortest time between two log lines about the same address and reason. */
const LOG_EVERY_MS = 10_000

/** The number of lines that are limited apart. All further failures share one line. */
const MOST_LINES = 100

/** The number of failed clients of one address that wait at the same time. */
const MOST_WAITING = 100

/** The key of the line that all further failures share. */
const OTHERS = ''

/** The fields of a log line about a failure. */
export interface FailedLogin {
  readonly address: string
  /** Why it failed. Text of the client stands in single quotes. */
  readonly why: string
  readonly [name: string]: unknown
}

interface Line {
  readonly silentUntilMs: number
  /** The failures since the line that were not logged. */
  unlogged: number
}

export class FailedLogins {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #delayMs: number
  /** By address and reason. The oldest line is the first. */
  readonly #lines = new Map<string, Line>()
  /** Failures that were not logged, of lines that are no longer limited apart. */
  #unlogged = 0
  /** By address. No entry is 0. */
  readonly #waiting = new Map<string, number>()

  constructor(clock: Clock, logger: Logger, delayMs: number) {
    this.#clock = clock
    this.#logger = logger
    this.#delayMs = delayMs
  }

  /** Logs the failure, unless it had a line a short time ago. Then the next line counts it (`suppressed`). */
  tell(message: string, fields: FailedLogin): void {
    const nowMs = this.#clock.monotonic()
    const key = this.#keyOf(`${fields.address} ${kindOf(fields.why)}`, nowMs)
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

  #keyOf(wanted: string, nowMs: number): string {
    if (this.#lines.has(wanted)) return wanted
    for (const [oldest, { silentUntilMs }] of this.#lines) {
      if (this.#lines.size < MOST_LINES || nowMs < silentUntilMs) break
      this.#forget(oldest)
    }
    return this.#lines.size < MOST_LINES ? wanted : OTHERS
  }

  #forget(key: string): void {
    this.#unlogged += this.#lines.get(key)?.unlogged ?? 0
    this.#lines.delete(key)
  }
}

/** Returns the reason without what the client chose: it must not get lines, or take those of others, by other words. */
function kindOf(why: string): string {
  return why.replace(/'.*'/s, "''").replace(/\d+/g, '0')
}
