// The reserve: a file that occupies disk space for writes that must succeed on a full disk. When the disk is full,
// the reserve is released. Either the journal continues in its blocks, so that no other program can take them, or the
// file system gets the space if the index needs more pages. The reserve is created again as soon as there is space;
// the journal frees empty files for it. While it is gone, appends are refused.
//
// There are three kinds of writes. An `append` adds batches: it never uses the reserve. A `change` adds little data
// (an opening, a committed offset): all changes may use an eighth of the reserve, so that there is enough space for
// the index (tables.ts). `relief` frees space or adds nothing (a trim, a removal): it may use the whole reserve.

import { join } from 'node:path'
import type { Disk } from './disk.ts'

export type Weight = 'append' | 'change' | 'relief'

export const RESERVE = 'reserve'

const MOST_BYTES = 8 << 20
/** The size of the reserve on a small disk, as a part of the disk. */
const DISK_PART = 1 / 16
const CHANGES_PART = 1 / 8
const ZEROS = Buffer.alloc(1 << 20)

/** Returns the size in bytes of the reserve on a disk of this size: 8 MiB, or a sixteenth of a disk below 128 MiB. */
export function reserveBytes(diskBytes: number): number {
  return Math.min(MOST_BYTES, Math.floor((diskBytes * DISK_PART) / ZEROS.length) * ZEROS.length)
}

/** Returns true if a write failed because the disk, or this user's quota on it, is full. */
export function isNoRoom(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code === 'ENOSPC' || code === 'EDQUOT'
}

export interface ReserveOptions {
  readonly disk: Disk
  readonly folder: string
  readonly bytes: number
  /** The bytes of the reserve that exist on the disk already. */
  readonly foundBytes: number
  /** Resolves to the number of bytes that this process can still write to the disk. */
  readonly usableBytes: () => Promise<number>
  /** Frees space that is kept for later. Resolves to whether there was any. */
  readonly giveRoom: () => Promise<boolean>
}

/** `without`: the disk is too small for a reserve, or a limit of this process does not allow a file of that size. */
type State = 'whole' | 'gone' | 'without'

export class Reserve {
  readonly bytes: number
  readonly #options: ReserveOptions
  #state: State
  #making: Promise<void> | null = null
  /**
   * The error of the last attempt to create the reserve, if the reason was not missing space: then the disk refuses
   * all writes.
   */
  trouble: Error | null = null

  constructor(options: ReserveOptions) {
    this.#options = options
    this.bytes = options.bytes
    if (options.bytes === 0) this.#state = 'without'
    else this.#state = options.foundBytes >= options.bytes ? 'whole' : 'gone'
  }

  /** The reserve is gone: appends must not use the remaining space. */
  get isGone(): boolean {
    return this.#state === 'gone'
  }

  /** The bytes of changes that may be written while the reserve is gone. */
  get changeBytes(): number {
    return this.bytes * CHANGES_PART
  }

  /**
   * Creates the reserve if it is gone, and the disk has enough space or the journal can free some. Does not throw:
   * `isGone` tells the result.
   */
  make(): Promise<void> {
    if (this.#state !== 'gone') return Promise.resolve()
    this.#making ??= this.#make().finally(() => {
      this.#making = null
    })
    return this.#making
  }

  /** Resolves when the reserve is not being created. */
  async idle(): Promise<void> {
    await this.#making
  }

  /**
   * Gives the reserve to the journal. Returns the path of the file, which then belongs to the caller; null if there
   * is no reserve.
   */
  take(): string | null {
    if (this.#state !== 'whole') return null
    this.#state = 'gone'
    return this.#path
  }

  /** Gives the space of the reserve to the file system. Resolves to whether that freed space. */
  async release(): Promise<boolean> {
    const path = this.take()
    if (path === null) return false
    await this.#options.disk.unlink(path)
    return true
  }

  get #path(): string {
    return join(this.#options.folder, RESERVE)
  }

  async #make(): Promise<void> {
    this.trouble = null
    try {
      while (!(await this.#write())) if (!(await this.#options.giveRoom())) return
      this.#state = 'whole'
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EFBIG') this.#state = 'without'
      else this.trouble = error as Error
    }
  }

  /**
   * Writes the reserve. Resolves to whether there was space for it. If there was not, or if it throws, the file is
   * removed.
   */
  async #write(): Promise<boolean> {
    const { disk, bytes, usableBytes } = this.#options
    // An earlier attempt may have left a part of the reserve.
    await disk.unlink(this.#path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    if ((await usableBytes()) < bytes + bytes / 8) return false
    try {
      const file = await disk.open(this.#path, true)
      try {
        for (let done = 0; done < bytes; done += ZEROS.length) await file.write([ZEROS], done)
        await file.sync()
      } finally {
        await file.close()
      }
      return true
    } catch (error) {
      await disk.unlink(this.#path).catch(() => {})
      // The user's quota may be exhausted although the disk has space.
      if (isNoRoom(error)) return false
      throw error
    }
  }
}
