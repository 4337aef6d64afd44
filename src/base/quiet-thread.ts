// For threads whose work can wait: on Linux each thread has a priority of its own, so that one which computes for tens of
// milliseconds leaves the processor to the event loop whenever that has something to do.

import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { basename } from 'node:path'

/** Gives the calling thread the lowest priority. Where threads share that of their process nothing is changed. */
export function stepBack(): void {
  if (process.platform !== 'linux') return
  // `<process>/task/<thread>`
  const thread = Number(basename(readlinkSync('/proc/thread-self')))
  setPriority(thread, constants.priority.PRIORITY_LOW)
}
