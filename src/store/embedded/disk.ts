// The file operations of the embedded store, behind an interface, so that tests can use a failing disk. It handles
// paths and bytes, and does not know the journal. It deliberately has no operation to extend, truncate or map a file:
// the journal needs none.
//
// A small write runs on the calling thread, and so does a read if its caller requests that. Each copies some pages
// from or to the page cache, which takes some tens of microseconds. libuv's thread pool would cost several times as
// much, because a sleeping thread is woken twice. A call can be slow because memory is short, the disk is behind, or
// the pages are not in memory. Then the pool makes calls of that kind for a while. If a read was slow but the process
// read nothing from a disk, it only waited for the processor; a read in the pool would have waited too.

import fs from 'node:fs'
import { promisify } from 'node:util'
import type { Clock } from '../../base/clock.ts'

export interface DiskFile {
  /** The size of the file in bytes when it was opened. */
  readonly size: number
  /**
   * Fills the buffer from the position. Resolves to the number of bytes, which is smaller only at the end of the
   * file.
   */
  read(buffer: Uint8Array, position: number): Promise<number>
  /** Like read, on the calling thread. Returns null without reading if the read might take long. */
  readHere(buffer: Uint8Array, position: number): number | null
  /** Writes all the buffers, one after the other. If it throws, some of the bytes may have been written. */
  write(buffers: readonly Uint8Array[], position: number): Promise<void>
  /** Calls fdatasync. When it resolves, everything that was written before the call is on the disk. */
  sync(): Promise<void>
  close(): Promise<void>
}

export interface Disk {
  /** Opens a file for reading and writing. With `create`, creates the file (mode 0600); it must not exist. */
  open(path: string, create: boolean): Promise<DiskFile>
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Makes names that were created, renamed or unlinked in a folder durable. */
  syncFolder(path: string): Promise<void>
}

/**
 * Returns a disk for the store of one folder. Operations that create, rename or remove a name in the folder fail
 * while the folder is not at its path: another store's folder may be there. Open files are read and written wherever
 * they are.
 */
export function heldDisk(disk: Disk, folder: string, isHere: () => boolean): Disk {
  const held = <A extends readonly unknown[], T>(call: (...args: A) => Promise<T>) => {
    return async (...args: A): Promise<T> => {
      if (!isHere()) throw new FolderMoved(folder)
      return call(...args)
    }
  }
  return {
    open: held(disk.open),
    rename: held(disk.rename),
    unlink: held(disk.unlink),
    syncFolder: held(disk.syncFolder),
  }
}

export class FolderMoved extends Error {
  override readonly name = 'FolderMoved'
  constructor(folder: string) {
    super(
      `the folder ${folder} was moved, removed or replaced while the store was in it; nothing is written until it is back at its path`,
    )
  }
}

const open = promisify(fs.open)
const fstat = promisify(fs.fstat)
const close = promisify(fs.close)
const fsync = promisify(fs.fsync)

/**
 * The longest write in bytes on the calling thread. A longer write would block the event loop for more than some tens
 * of microseconds.
 */
const SHORT_WRITE_BYTES = 256 << 10
/** The longest read in bytes on the calling thread. */
const SHORT_READ_BYTES = 1 << 20
/** A short call that took this many milliseconds was not only a copy. The pool makes the next ones for a while. */
const SLOW_MS = 2
/**
 * The milliseconds for which the pool makes all calls after a slow write, or after a slow read. A disk that is behind
 * with its writes stays so for a while; of pages that are not in memory, only the first ones must be read.
 */
const WRITE_REST_MS = 5_000
const READ_REST_MS = 1_000

/** Returns the real disk. `blocksRead` returns the number of blocks that this process has read from disks so far. */
export function realDisk(clock: Clock, blocksRead = () => process.resourceUsage().fsRead): Disk {
  /**
   * Returns a function that makes calls of one kind on this thread. It returns null if the call is too large or calls
   * of that kind are left to the pool. If `progress` did not change during a slow call, the disk was not the cause.
   */
  function callHere(mostBytes: number, restMs: number, progress: (() => number) | null) {
    let fromMs = Number.NEGATIVE_INFINITY
    return (bytes: number, call: () => number): number | null => {
      const startedAtMs = clock.monotonic()
      if (bytes > mostBytes || startedAtMs < fromMs) return null
      const before = progress?.()
      const done = call()
      const endedAtMs = clock.monotonic()
      const isSlow = endedAtMs - startedAtMs > SLOW_MS
      if (isSlow && (progress === null || progress() !== before)) fromMs = endedAtMs + restMs
      return done
    }
  }

  const here = {
    read: callHere(SHORT_READ_BYTES, READ_REST_MS, blocksRead),
    write: callHere(SHORT_WRITE_BYTES, WRITE_REST_MS, null),
  }

  return {
    async open(path, create) {
      const flags = fs.constants.O_RDWR | (create ? fs.constants.O_CREAT | fs.constants.O_EXCL : 0)
      const fd = await open(path, flags, 0o600)
      try {
        const { size } = await fstat(fd)
        return fileOf(fd, size, here)
      } catch (error) {
        await close(fd)
        throw error
      }
    },
    rename: fs.promises.rename,
    unlink: fs.promises.unlink,
    async syncFolder(path) {
      const fd = await open(path, fs.constants.O_RDONLY)
      try {
        await fsync(fd)
      } finally {
        await close(fd)
      }
    },
  }
}

type CallHere = (bytes: number, call: () => number) => number | null

function fileOf(fd: number, size: number, here: { readonly read: CallHere; readonly write: CallHere }): DiskFile {
  return {
    size,
    read: (buffer, position) =>
      new Promise((resolve, reject) => {
        let done = 0
        const step = () =>
          fs.read(fd, buffer, done, buffer.length - done, position + done, (error, bytesRead) => {
            if (error !== null) return reject(error)
            done += bytesRead
            if (bytesRead === 0 || done === buffer.length) return resolve(done)
            step()
          })
        step()
      }),
    readHere: (buffer, position) =>
      here.read(buffer.length, () => {
        let done = 0
        for (;;) {
          const bytesRead = fs.readSync(fd, buffer, done, buffer.length - done, position + done)
          done += bytesRead
          if (bytesRead === 0 || done === buffer.length) return done
        }
      }),
    write: (buffers, position) =>
      new Promise((resolve, reject) => {
        const step = (buffers: readonly Uint8Array[], position: number) =>
          fs.writev(fd, buffers, position, (error, written) => {
            if (error !== null) return reject(error)
            const left = after(buffers, written)
            if (left.length === 0) return resolve()
            if (written === 0) return reject(new Error('the disk wrote no bytes'))
            step(left, position + written)
          })
        const bytes = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
        const written = here.write(bytes, () => fs.writevSync(fd, buffers, position)) ?? 0
        const left = after(buffers, written)
        if (left.length === 0) resolve()
        else step(left, position + written)
      }),
    sync: () =>
      new Promise((resolve, reject) => fs.fdatasync(fd, error => (error === null ? resolve() : reject(error)))),
    close: () => close(fd),
  }
}

/** Returns the rest of the buffers after their first `count` bytes. */
function after(buffers: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let left = count
  for (const [i, buffer] of buffers.entries()) {
    if (left < buffer.length) return [buffer.subarray(left), ...buffers.slice(i + 1)]
    left -= buffer.length
  }
  return []
}
