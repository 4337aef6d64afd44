// The keyboard of the terminal that a command was started from: the way to ask a question while the standard input is a
// pipe, as in `echo hello | ketch produce orders`.

import { openSync } from 'node:fs'
import { ReadStream } from 'node:tty'

/** Null if this process has no terminal. The caller destroys it after the answer. */
export function openKeyboard(): ReadStream | null {
  try {
    return new ReadStream(openSync('/dev/tty', 'r'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Without a terminal, as under cron; in a container without the device.
    if (code === 'ENXIO' || code === 'ENOENT') return null
    throw error
  }
}
