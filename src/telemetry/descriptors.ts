// Watches the file descriptors of the process. Sockets and files share one limit. At the limit Node closes each new
// connection without a message, and the store cannot open a file. So Kafka connections must stop before the limit: some
// descriptors are kept for files, and some of these for health requests over HTTP. The system gives a new descriptor
// the lowest free number. So the number of a connection's descriptor shows that all lower numbers are in use.

import { closeSync, openSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import type { Logger } from './logger.ts'

/** The number of descriptors that are kept for files. If the limit is low, a quarter of the limit is kept. */
const MOST_KEPT = 256
const LOOK_EVERY_MS = 5_000
const LOG_EVERY_MS = 30_000
/** The error codes for the limit of the process and the limit of the system. */
const EXHAUSTED = ['EMFILE', 'ENFILE']

export interface Descriptors {
  /** The most descriptors that the process may have; null if the system does not report it. */
  readonly limit: number | null
  /** The descriptors that are kept for everything except connections of the Kafka protocol. */
  readonly kept: number
  /** Returns a lower bound of the descriptors that are free after the one of this connection; infinite if unknown. */
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

/** Returns the soft limit, or null if it cannot be read. Node raises the soft limit to the hard limit at its start. */
function readLimit(): number | null {
  try {
    const found = /^Max open files +([0-9]+) /m.exec(readFileSync('/proc/self/limits', 'utf8'))
    return found === null ? null : Number(found[1])
  } catch {
    return null
  }
}

/** Logs a WARN while no descriptor is left. Node then closes new connections without an event that could be logged. */
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
