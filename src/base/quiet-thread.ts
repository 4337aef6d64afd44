// For threads whose work can wait. On Linux each thread has its own priority, so a thread that computes for tens of
// milliseconds can leave the processor to the event loop.

import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { basename } from 'node:path'

/** Gives the calling thread the lowest priority. Changes nothing if the threads of a process share one priority. */
export function stepBack(): void {
  if (process.platform !== 'linux') return
  // `<process>/task/<thread>`
  const thread = Number(basename(readlinkSync('/proc/thread-self')))
  setPriority(thread, constants.priority.PRIORITY_LOW)
}
