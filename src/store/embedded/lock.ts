// One folder, one store: an exclusive lock that dies with its holder, whatever killed it. Node has no flock, but SQLite
// (built into Node) takes POSIX record locks on its database file, and unlike a lock of lmdb it also tells two
// connections of one process apart. Files lock across network namespaces and containers, which an abstract socket does
// not. The database stays empty: nothing is ever stored in it. No other code may open and close that file in this
// process, for POSIX drops a process's locks when any of its descriptors on the file is closed.

import fs from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface Lock {
  /** Whether the folder's path still leads to the locked folder. If not, it was moved, removed or replaced. */
  isHere(): boolean
  release(): void
}

const SQLITE_BUSY = 5

/** Takes the folder's lock, or answers who holds it: a sentence's end such as `process 123`. */
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
    // A full disk has no room for it, and only a sentence needs it.
  }
  return {
    isHere,
    release() {
      try {
        // The holder that is named where the folder was may be another store's.
        if (isHere()) fs.rmSync(holder, { force: true })
      } catch {
        // The disk takes no writes any more. The next holder writes another name over it.
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
