// The file calls that the embedded store makes, behind a face so that tests can stand a failing disk between. It knows
// paths and bytes, nothing of journals. It deliberately has no growing, truncating or mapping: the journal needs none.
//
// A small write is done on the calling thread, and a read where its caller says so. Each copies some pages from or to
// the page cache, which takes some tens of microseconds; handing it to libuv's pool and hearing of it costs several
// times as much, twice a sleeping thread is woken. When one has been slow, because memory is short, the disk behind or
// the pages not in memory, the pool does those of its kind for a while. A read that was slow without the disk being
// asked was only kept from the processor, as the pool's would be.

import fs from 'node:fs'
import { promisify } from 'node:util'
import type { Clock } from '../../base/clock.ts'

export interface DiskFile {
  /** Bytes in the file when it was opened. */
  readonly size: number
  /** Fills the buffer from the position and returns the number of bytes; fewer only at the end of the file. */
  read(buffer: Uint8Array, position: number): Promise<number>
  /** Like read, on the calling thread; null, without reading, if that might take long. */
  readHere(buffer: Uint8Array, position: number): number | null
  /** Writes all the buffers, one after the other, or throws; then some of the bytes may have been written. */
  write(buffers: readonly Uint8Array[], position: number): Promise<void>
  /** fdatasync: what was written before the call is on the disk when it resolves. */
  sync(): Promise<void>
  close(): Promise<void>
}

export interface Disk {
  /** Opens for reading and writing. With `create`, makes the file (mode 0600); it must not exist. */
  open(path: string, create: boolean): Promise<DiskFile>
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Makes names that were created, renamed or unlinked in a folder durable. */
  syncFolder(path: string): Promise<void>
}

/**
 * The disk as a store sees that holds a folder: what makes, renames or removes a name there fails while the folder is
 * not at its path any more. Another's folder may be there by then. Files that are open are read and written wherever
 * they have gone.
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

/** A longer write goes to the pool: it would block the event loop for more than some tens of microseconds. */
const SHORT_WRITE_BYTES = 256 << 10
/** The same for a longer read. */
const SHORT_READ_BYTES = 1 << 20
/** A short one that took this long was not only a copy, and the next ones are left to the pool for a while. */
const SLOW_MS = 2
/**
 * A disk that is behind with writing stays so for a while; of pages that are not in memory only the first ones are
 * asked for.
 */
const WRITE_REST_MS = 5_000
const READ_REST_MS = 1_000

/** `blocksRead`: the number of blocks that this process has read from disks so far. */
export function realDisk(clock: Clock, blocksRead = () => process.resourceUsage().fsRead): Disk {
  /**
   * Makes calls of one kind on this thread; null where this one, or that kind for the time being, is the pool's. A slow
   * one during which `progress` stood still was not the disk's fault.
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

/** The rest of the buffers after their first `count` bytes. */
function after(buffers: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let left = count
  for (const [i, buffer] of buffers.entries()) {
    if (left < buffer.length) return [buffer.subarray(left), ...buffers.slice(i + 1)]
    left -= buffer.length
  }
  return []
}
