// The file calls that the embedded store makes, behind a face so that tests can stand a failing disk between. It knows
// paths and bytes, nothing of journals. It deliberately has no growing, truncating or mapping: the journal needs none.

import fs from 'node:fs'
import { promisify } from 'node:util'

export interface DiskFile {
  /** Bytes in the file when it was opened. */
  readonly size: number
  /** Fills the buffer from the position and answers how many bytes there were; fewer only at the end of the file. */
  read(buffer: Uint8Array, position: number): Promise<number>
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

const open = promisify(fs.open)
const fstat = promisify(fs.fstat)
const close = promisify(fs.close)
const fsync = promisify(fs.fsync)

export const realDisk: Disk = Object.freeze({
  async open(path: string, create: boolean): Promise<DiskFile> {
    const flags = fs.constants.O_RDWR | (create ? fs.constants.O_CREAT | fs.constants.O_EXCL : 0)
    const fd = await open(path, flags, 0o600)
    try {
      const { size } = await fstat(fd)
      return fileOf(fd, size)
    } catch (error) {
      await close(fd)
      throw error
    }
  },
  rename: fs.promises.rename,
  unlink: fs.promises.unlink,
  async syncFolder(path: string): Promise<void> {
    const fd = await open(path, fs.constants.O_RDONLY)
    try {
      await fsync(fd)
    } finally {
      await close(fd)
    }
  },
})

function fileOf(fd: number, size: number): DiskFile {
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
    write: (buffers, position) =>
      new Promise((resolve, reject) => {
        const step = (rest: readonly Uint8Array[], at: number) =>
          fs.writev(fd, rest, at, (error, written) => {
            if (error !== null) return reject(error)
            const left = after(rest, written)
            if (left.length === 0) return resolve()
            if (written === 0) return reject(new Error('the disk took no bytes'))
            step(left, at + written)
          })
        step(buffers, position)
      }),
    sync: () =>
      new Promise((resolve, reject) => fs.fdatasync(fd, error => (error === null ? resolve() : reject(error)))),
    close: () => close(fd),
  }
}

/** What remains of the buffers after their first `count` bytes. */
function after(buffers: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let left = count
  for (const [i, buffer] of buffers.entries()) {
    if (left < buffer.length) return [buffer.subarray(left), ...buffers.slice(i + 1)]
    left -= buffer.length
  }
  return []
}
