// The reserve: a file that holds room on the disk for what a full disk must still take. It is given up when room runs
// out, to the journal, which goes on in its blocks so that no other program can take them meanwhile, or to the file
// system, where the index needs more pages. It is made again as soon as there is room, for which the journal gives up
// emptied files. While it is gone nothing is appended.
//
// A write is one of three kinds. An `append` adds batches: it never goes into the reserve. A `change` adds little, an
// opening or a committed offset: it may use an eighth of it, so that what the index needs for all of them is there
// (tables.ts). `relief` makes room or adds nothing, a trim or a removal: it may use all of it.

import { join } from 'node:path'
import type { Disk } from './disk.ts'

export type Weight = 'append' | 'change' | 'relief'

export const RESERVE = 'reserve'

const MOST_BYTES = 8 << 20
/** The part of the whole disk, on a small disk. */
const DISK_PART = 1 / 16
const CHANGES_PART = 1 / 8
const ZEROS = Buffer.alloc(1 << 20)

/** How large the reserve is on a disk of this size: 8 MiB, or a sixteenth of a disk below 128 MiB. */
export function reserveBytes(diskBytes: number): number {
  return Math.min(MOST_BYTES, Math.floor((diskBytes * DISK_PART) / ZEROS.length) * ZEROS.length)
}

/** Whether a write failed because the disk, or this user's quota on it, is full. */
export function isNoRoom(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code === 'ENOSPC' || code === 'EDQUOT'
}

export interface ReserveOptions {
  readonly disk: Disk
  readonly folder: string
  readonly bytes: number
  /** The bytes of it that the disk holds already. */
  readonly foundBytes: number
  /** Bytes that this process may still write to the disk. */
  readonly usableBytes: () => Promise<number>
  /** Frees space that is kept for later; returns whether there was any. */
  readonly giveRoom: () => Promise<boolean>
}

/** `without`: the disk is too small for one, or a limit of this process does not allow a file of that size. */
type State = 'whole' | 'gone' | 'without'

export class Reserve {
  readonly bytes: number
  readonly #options: ReserveOptions
  #state: State
  #making: Promise<void> | null = null
  /**
   * Why the last attempt to make it failed, if the reason was not missing space: then the disk takes no writes at all.
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

  /** How many bytes of changes may be written while it is gone. */
  get changeBytes(): number {
    return this.bytes * CHANGES_PART
  }

  /**
   * Makes it if it is gone and the disk has space for it and a little more, or if space that is kept for later can be
   * freed. Does not throw: `isGone` tells the result.
   */
  make(): Promise<void> {
    if (this.#state !== 'gone') return Promise.resolve()
    this.#making ??= this.#make().finally(() => {
      this.#making = null
    })
    return this.#making
  }

  /** Resolves when nothing is being made. */
  async idle(): Promise<void> {
    await this.#making
  }

  /**
   * Gives it up to the journal: the path of the file, whose blocks are the caller's from here on. Null when there is
   * none.
   */
  take(): string | null {
    if (this.#state !== 'whole') return null
    this.#state = 'gone'
    return this.#path
  }

  /** Gives it up to the file system; returns whether that freed space. */
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

  /** Whether there was room for it. Where there was not, or it throws, no part of it stays. */
  async #write(): Promise<boolean> {
    const { disk, bytes, usableBytes } = this.#options
    // A part of one that could not be finished.
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
      // A user's quota may be used up while the disk has space.
      if (isNoRoom(error)) return false
      throw error
    }
  }
}
