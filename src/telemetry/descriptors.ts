// The descriptors of the process: sockets and files draw on one limit. Node accepts connections until there are none
// left, then closes further ones without a word, and the store can open no file. So connections stop before that: some
// are kept for files, and of these some for questions about health over HTTP. The system gives a new descriptor the
// lowest free number, so the number of a connection's own says that all below it are in use.

import { closeSync, openSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import type { Logger } from './logger.ts'

/** Kept for files where the limit is high enough, and a quarter where it is not. */
const MOST_KEPT = 256
const LOOK_EVERY_MS = 5_000
const LOG_EVERY_MS = 30_000
/** The codes of the limit of the process, and of the system. */
const EXHAUSTED = ['EMFILE', 'ENFILE']

export interface Descriptors {
  /** The most that the process may have; null if the system does not say. */
  readonly limit: number | null
  /** Kept for everything except connections of the Kafka protocol. */
  readonly kept: number
  /** A lower bound of the descriptors that are still free after the one of this connection; infinite if unknown. */
  leftAfter(socket: Socket): number
}

export function readDescriptors(): Descriptors {
  const limit = readLimit()
  return {
    limit,
    kept: limit === null ? 0 : Math.min(MOST_KEPT, Math.floor(limit / 4)),
    leftAfter(socket) {
      const { _handle: handle } = socket as { _handle?: { readonly fd?: number } | null }
      const number = handle?.fd ?? -1
      return limit === null || number < 0 ? Number.POSITIVE_INFINITY : limit - 1 - number
    },
  }
}

/** The soft limit, which Node raises to the hard one at its start. */
function readLimit(): number | null {
  try {
    const found = /^Max open files +([0-9]+) /m.exec(readFileSync('/proc/self/limits', 'utf8'))
    return found === null ? null : Number(found[1])
  } catch {
    return null
  }
}

/** Logs a WARN while no descriptor is left: Node closes connections then without an event that could be logged. */
export function watchDescriptors(clock: Clock, logger: Logger): { close(): void } {
  let timer: Timer
  const look = () => {
    try {
      closeSync(openSync('/dev/null', 'r'))
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      const message =
        'no descriptor is left: connections are closed as they come, and no file can be opened (ulimit -n)'
      if (EXHAUSTED.includes(code)) logger.limited('descriptors', LOG_EVERY_MS).warn(message, { error })
    }
    timer = clock.timer(LOOK_EVERY_MS, look)
  }
  timer = clock.timer(LOOK_EVERY_MS, look)
  return { close: () => timer.cancel() }
}
