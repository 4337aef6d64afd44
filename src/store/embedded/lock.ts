// An exclusive lock, so that only one store uses a folder. The lock ends with its process, however the process ends.
// Node has no flock, but SQLite (built into Node) takes POSIX record locks on its database file. Unlike a lock of
// lmdb, it also distinguishes two connections of one process. A file lock works across network namespaces and
// containers; an abstract socket does not. The database stays empty. No other code in this process may open and close
// that file, because POSIX drops a process's locks when any of its descriptors of the file is closed.

import fs from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface Lock {
  /**
   * Returns true if the folder's path still leads to the locked folder. If not, the folder was moved, removed or
   * replaced.
   */
  isHere(): boolean
  release(): void
}

const SQLITE_BUSY = 5

/**
 * Takes the folder's lock. If another store has it, returns the end of a sentence that names its process: `process
 * 123`.
 */
export function lockFolder(folder: string): Lock | string {
  const path = join(folder, 'lock')
  const holder = join(folder, 'lock-holder')
  const database = new DatabaseSync(path)
  try {
    // EXCLUSIVE keeps the lock after the transaction; MEMORY keeps SQLite from making a journal file of its own.
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
    return nameHolder(holder)
  }
  fs.chmodSync(path, 0o600)
  const held = fs.statSync(path)
  const isHere = () => {
    try {
      const found = fs.statSync(path)
      return found.dev === held.dev && found.ino === held.ino
    } catch {
      return false
    }
  }
  try {
    fs.writeFileSync(holder, `${process.pid}\n`, { mode: 0o600 })
  } catch {
    // A full disk has no space for the file. It is needed only for an error message.
  }
  return {
    isHere,
    release() {
      try {
        // If the folder was moved, the lock-holder file at its old path may belong to another store.
        if (isHere()) fs.rmSync(holder, { force: true })
      } catch {
        // The disk refuses writes. The next holder overwrites the name.
      }
      database.close()
    },
  }
}

function nameHolder(path: string): string {
  try {
    const pid = fs.readFileSync(path, 'utf8').trim()
    return pid === String(process.pid) ? `this process (${pid})` : `process ${pid}`
  } catch {
    return 'another process'
  }
}
