// The append-only file of a Redis that was started anew. If it was killed before, the file may be torn inside a
// transaction: Redis then cuts the torn command only, and writes on behind a MULTI that has no EXEC
// (docs/decisions/0037). Two things follow.
// - The next single commands are cut off with the dangling transaction at the next load, if no other transaction has
//   ended it before; and a rewrite that is under way then keeps Redis from starting. So the transaction is ended
//   before anything else.
// - The begun transaction runs at each later load. So Redis is asked to write its file anew, at once.
// INFO tells whether a process has rewritten its file since it was started, so that nothing must be remembered here.

import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import { LOAD_ANYWAY } from '../functions.ts'
import { RedisError } from './redis-error.ts'
import { type Ask, askInfo, type ServerInfo } from './server-info.ts'

/** Between two attempts of a rewrite that Redis takes on and does not bring to an end. */
const PAUSE_MS = 60_000

/**
 * A transaction that changes nothing: Redis writes one to its file only where it holds two commands. It needs no key.
 */
export const ENDING_TRANSACTION = Object.freeze([['MULTI'], LOAD_ANYWAY, LOAD_ANYWAY, ['EXEC']] as const)

/** Whether the append-only file is still the one from the start of the process. */
export function hasFormerFile({ fields }: ServerInfo): boolean {
  const isRewritten =
    fields.get('aof_last_rewrite_time_sec') !== '-1' && fields.get('aof_last_bgrewrite_status') === 'ok'
  return fields.get('aof_enabled') === '1' && !isRewritten
}

export interface FileRewriteOptions {
  readonly address: string
  readonly ask: Ask
  readonly clock: Clock
  readonly log: Logger
}

/** Makes a Redis rewrite its append-only file once after each start. */
export class FileRewrite {
  readonly #options: FileRewriteOptions
  #isSettled = false
  #isAsked = false
  #askAgainAtMs = 0
  #isRefused = false

  constructor(options: FileRewriteOptions) {
    this.#options = options
  }

  /** After each connect: it may be another process. */
  begin(): void {
    this.#isSettled = false
    this.#isAsked = false
    this.#askAgainAtMs = 0
  }

  /** Call it repeatedly; it costs nothing once the file is rewritten. Rejects if Redis cannot be asked. */
  async look(): Promise<void> {
    if (this.#isSettled) return
    const { address, ask, clock, log } = this.#options
    const info = await askInfo(ask, 'persistence')
    if (!hasFormerFile(info)) {
      if (this.#isAsked) log.info(`Redis at ${address} has rewritten its append-only file`)
      this.#isSettled = true
      return
    }
    const isUnderWay = ['aof_rewrite_in_progress', 'aof_rewrite_scheduled'].some(name => info.fields.get(name) === '1')
    if (isUnderWay || clock.monotonic() < this.#askAgainAtMs) return
    if (this.#isAsked) log.warn(`Redis at ${address} could not rewrite its append-only file; the broker asks again`)
    this.#askAgainAtMs = clock.monotonic() + PAUSE_MS
    try {
      await ask(['BGREWRITEAOF'])
      this.#isAsked = true
      log.info(`Redis at ${address} has restarted; the broker asks it to rewrite its append-only file`)
    } catch (error) {
      if (!(error instanceof RedisError)) throw error
      // Another broker was faster.
      if (/already in progress|scheduled/i.test(error.message)) return
      this.#isSettled = true
      if (this.#isRefused) return
      this.#isRefused = true
      log.warn(
        `Redis at ${address} may not be asked to rewrite its append-only file (BGREWRITEAOF: ${error.message}): if it was killed, run that by hand after each start; until then a torn transaction comes back with each further start`,
      )
    }
  }
}
