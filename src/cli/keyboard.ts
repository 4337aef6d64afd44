// The keyboard of the terminal that a command was started from: the way to ask a question while the standard input is a
// pipe, as in `echo hello | ketch produce orders`.

import { openSync } from 'node:fs'
import { ReadStream } from 'node:tty'

/** Opens the keyboard; null if this process has no terminal. The caller must destroy it after the answer. */
export function openKeyboard(): ReadStream | null {
  try {
    return new ReadStream(openSync('/dev/tty', 'r'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // ENXIO: there is no terminal, as under cron. ENOENT: the device is missing, as in a container.
    if (code === 'ENXIO' || code === 'ENOENT') return null
    throw error
  }
}
