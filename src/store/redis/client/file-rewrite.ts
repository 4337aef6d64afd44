// Makes a restarted Redis rewrite its append-only file. If Redis was killed before, the file may end inside a
// transaction: then Redis cuts off only the torn command and writes on behind a MULTI without EXEC
// (docs/decisions/0037). That has two consequences.
// - At the next load Redis cuts off the open transaction and the single commands behind it, unless another
//   transaction has ended it. If a rewrite is in progress, Redis then cannot start at all. So the broker ends the
//   transaction before anything else.
// - The first part of the transaction runs at each later load. So the broker requests a rewrite of the file at once.
// INFO tells if a process has rewritten its file since its start, so the broker remembers nothing.

import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import { LOAD_ANYWAY } from '../functions.ts'
import { RedisError } from './redis-error.ts'
import { type Ask, askInfo, type ServerInfo } from './server-info.ts'

/** The milliseconds between two requests if Redis accepts a rewrite but does not complete it. */
const PAUSE_MS = 60_000

/**
 * A transaction that changes nothing. Redis writes a transaction to its file only if it has two commands. It needs no
 * key.
 */
export const ENDING_TRANSACTION = Object.freeze([['MULTI'], LOAD_ANYWAY, LOAD_ANYWAY, ['EXEC']] as const)

/** Returns true if the append-only file has not been rewritten since the process started. */
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

  /** Starts again. Call it after each connect, because the server may be another process. */
  begin(): void {
    this.#isSettled = false
    this.#isAsked = false
    this.#askAgainAtMs = 0
  }

  /**
   * Checks the file and requests the rewrite. Call it repeatedly: it costs nothing once the file is rewritten.
   * Rejects if Redis cannot be reached.
   */
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
      // Another broker has requested the rewrite already.
      if (/already in progress|scheduled/i.test(error.message)) return
      this.#isSettled = true
      if (this.#isRefused) return
      this.#isRefused = true
      log.warn(
        `Redis at ${address} does not let the broker rewrite its append-only file (BGREWRITEAOF: ${error.message}): if Redis was killed, run BGREWRITEAOF by hand after each start; until then a torn transaction comes back with each further start`,
      )
    }
  }
}
