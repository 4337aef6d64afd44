// Reads a file that the operator names. The path may lead to any kind of file: a FIFO without a writer would block
// forever, and a device may never end.

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/** The message completes "but it is …". */
export class NotAPlainFile extends Error {
  override readonly name = 'NotAPlainFile'
}

/**
 * Returns the first `mostBytes` bytes, and one more if the file is longer. Throws NotAPlainFile, or the error of
 * node:fs. Never waits for another process.
 */
export function readPlainFile(path: string, mostBytes: number): Uint8Array {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const kind = kindOf(fstatSync(file))
    if (kind !== null) throw new NotAPlainFile(`${kind}, and a regular file is read`)
    const bytes = Buffer.alloc(mostBytes + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null)
    return bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

/** Returns the kind of a file for a message; null for a regular file. */
function kindOf(stats: Stats): string | null {
  if (stats.isFile()) return null
  if (stats.isDirectory()) return 'a directory'
  if (stats.isFIFO()) return 'a FIFO'
  if (stats.isSocket()) return 'a socket'
  return 'a device'
}
