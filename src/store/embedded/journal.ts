// The journal's files. This file writes at their end, reads anywhere, rolls to the next file and reuses dead files.
// It moves and syncs bytes; rounds.ts decides what a round contains and when it is acknowledged.
//
// fdatasync is cheaper for writes into existing blocks than for a growing file (measured on ext4 with rounds of 130
// KB to 1.3 MB: up to twice the rate). So a dead file is renamed to be the next one; its old rounds have another
// incarnation and never parse again. Without a dead file, zeros are written ahead of the end, but only if the store
// is idle: under load they cost as much as they save (measured). The zeros reach as far ahead as the file was
// written, so they are few in a new store.

import { join } from 'node:path'
import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { type Disk, type DiskFile, FolderMoved } from './disk.ts'
import { decodeFileHeader, encodeFileHeader, FILE_HEADER_BYTES, FIRST_ROUND, ROUND_HEADER_BYTES } from './entry.ts'
import type { Reserve } from './reserve.ts'

export interface JournalFile {
  readonly number: number
  /** The bytes of batches that a reader may still need, whether their runs are in lmdb or in memory. */
  live: number
  /** The part of these bytes whose runs are in lmdb. */
  stored: number
  /** The end of the last round. */
  end: number
  /** The size of the file on the disk in bytes. */
  size: number
  readers: number
  /** True if nothing refers to the file any longer. It is removed when its last reader has finished. */
  retired: boolean
  incarnation: Buffer | null
  handle: Promise<DiskFile> | null
}

const NAME = /^journal-(\d{10})$/
const SPARE = /^spare-(\d{10})$/
const FILL_STEP = 4 << 20
const FILL_LEAST = 4 << 20
const FILL_MOST = 128 << 20
/** The milliseconds without a round after which the store counts as idle. */
const IDLE_MS = 200
/** The milliseconds between two checks of a writing store that its folder is still at its path. */
const LOOK_MS = 1000
const SPARES = 2
/**
 * The number of spares that are kept for a short time: retention frees several files at once, and a busy store fills
 * them again in seconds.
 */
const BUSY_SPARES = 8
/** The milliseconds after which an unused spare beyond SPARES is unlinked. */
const SPARE_MS = 5000
/**
 * The rate in bytes per millisecond at which files are unlinked, one after the other. Retention frees gigabytes at
 * once, and a disk that frees them all at once delays every sync for most of a second (measured on ext4). The rate is
 * higher than the rate at which journals are written.
 */
const UNLINKED_BYTES_PER_MS = 2 << 20
/** If more files than this are open, idle ones are closed. */
const MOST_OPEN = 200
const ZEROS = Buffer.alloc(1 << 20)
/** The bytes that a new file gets: its header, and zeros at the position of its first round. */
const BEGUN_BYTES = 2 * FIRST_ROUND

export const fileName = (number: number) => `journal-${String(number).padStart(10, '0')}`
const spareName = (number: number) => `spare-${String(number).padStart(10, '0')}`

/** Returns the number of a journal file by its name, or null for any other name. */
export function fileNumber(name: string): number | null {
  const match = NAME.exec(name)
  return match === null ? null : Number(match[1])
}

export function isSpare(name: string): boolean {
  return SPARE.test(name)
}

export interface JournalOptions {
  readonly disk: Disk
  readonly folder: string
  /** Returns true if the folder is still at its path. */
  readonly isHere: () => boolean
  readonly fileBytes: number
  /** The most bytes that all spares together take if more than SPARES of them are kept for a short time. */
  readonly mostSpareBytes: number
  readonly clock: Clock
  readonly random: Random
  readonly reserve: Reserve
  /**
   * Called if a sync in the background failed: the kernel may have dropped rounds with it, and will not report that
   * again.
   */
  readonly onSyncFailed: (error: Error) => void
}

interface Spare {
  readonly name: string
  /** The size of the spare on the disk in bytes. */
  readonly size: number
  readonly sinceMs: number
}

export class Journal {
  readonly files = new Map<number, JournalFile>()
  readonly #options: JournalOptions
  /** The spares; the last one is used first. */
  readonly #spares: Spare[] = []
  readonly #mostSpares: number
  #active: JournalFile | null = null
  #activeFile: DiskFile | null = null
  #next: Promise<JournalFile> | null = null
  #lastNumber = 0
  #lastSpare = 0
  /** The number of files that are becoming spares. */
  #sparing = 0
  /** The file that comes after the active one, once it is ready. */
  #nextFile: JournalFile | null = null
  /** The file that was made from the reserve, the last time the reserve was used. */
  #reserveFile: JournalFile | null = null
  /** The part of a file that is being filled with zeros, and a promise for its end. */
  #filling: { readonly file: JournalFile; readonly from: number; readonly done: Promise<boolean> } | null = null
  #fillTimer: Timer | null = null
  #spareTimer: Timer | null = null
  /** The files to unlink, whether a loop is unlinking them, and a function that ends the loop's pause. */
  readonly #doomed: { readonly path: string; readonly size: number }[] = []
  #isUnlinking = false
  #endPause: (() => void) | null = null
  #writtenAtMs = 0
  /** The error if the folder was not at its path at the last check, and the time of that check. */
  #moved: FolderMoved | null = null
  #lookedAtMs = Number.NEGATIVE_INFINITY
  readonly #background = new Set<Promise<unknown>>()
  #closed = false

  constructor(options: JournalOptions) {
    this.#options = options
    const { fileBytes, mostSpareBytes } = options
    this.#mostSpares = Math.max(SPARES, Math.min(BUSY_SPARES, Math.floor(mostSpareBytes / fileBytes)))
  }

  /** Adds a journal file or a spare that exists in the folder. */
  known(name: string, size: number): void {
    if (isSpare(name)) {
      this.#spares.push({ name, size, sinceMs: Number.NEGATIVE_INFINITY })
      this.#lastSpare = Math.max(this.#lastSpare, Number(SPARE.exec(name)![1]))
      return
    }
    const number = fileNumber(name)
    assert(number !== null, `${name} is no journal file`)
    this.#lastNumber = Math.max(this.#lastNumber, number)
    this.files.set(number, blank(number, size))
  }

  /**
   * Unlinks the spares beyond those that the next start keeps. If the reserve is gone, unlinks all spares, because
   * they occupy the space for it.
   */
  async unlinkSurplus(): Promise<void> {
    const { disk, folder, reserve } = this.#options
    for (const { name } of this.#spares.splice(reserve.isGone ? 0 : SPARES)) await disk.unlink(join(folder, name))
  }

  /** Unlinks spares beyond SPARES once they have not been used for a while. */
  #unlinkSurplusLater(): void {
    const oldest = this.#spares[0]
    if (this.#spares.length <= SPARES || oldest === undefined || this.#spareTimer !== null || this.#closed) return
    const { clock, folder } = this.#options
    this.#spareTimer = clock.timer(oldest.sinceMs + SPARE_MS - clock.monotonic(), () => {
      this.#spareTimer = null
      if (this.#spares.length > SPARES && this.#spares[0] === oldest) {
        this.#spares.shift()
        this.#doom(join(folder, oldest.name), oldest.size)
      }
      this.#unlinkSurplusLater()
    })
  }

  #doom(path: string, size: number): void {
    this.#doomed.push({ path, size })
    if (this.#isUnlinking) return
    this.#isUnlinking = true
    this.#later(this.#unlinkDoomed())
  }

  async #unlinkDoomed(): Promise<void> {
    const { clock, disk, reserve } = this.#options
    for (let file = this.#doomed.shift(); file !== undefined; file = this.#doomed.shift()) {
      // The next start tries again.
      await disk.unlink(file.path).catch(() => {})
      // On a full disk the space is more important.
      if (this.#closed || reserve.isGone) continue
      const pauseMs = file.size / UNLINKED_BYTES_PER_MS
      await new Promise<void>(resolve => {
        const pause = clock.timer(pauseMs, resolve)
        this.#endPause = () => {
          pause.cancel()
          resolve()
        }
      })
    }
    // This happens in the turn in which the list became empty: a file that is added later needs a new loop.
    this.#isUnlinking = false
  }

  /** Marks the numbers up to this one as used: their files are missing. */
  reserve(number: number): void {
    this.#lastNumber = Math.max(this.#lastNumber, number)
  }

  /** Removes a file in which a start found no rounds. */
  async discard(file: JournalFile): Promise<void> {
    await this.#reuse(file)
  }

  count(file: number, bytes: number): void {
    const found = this.files.get(file)
    if (found !== undefined) found.live += bytes
  }

  get active(): JournalFile {
    assert(this.#active !== null, 'the journal has no active file yet')
    return this.#active
  }

  get incarnation(): Buffer {
    const { incarnation } = this.active
    assert(incarnation !== null, 'the active file has a header')
    return incarnation
  }

  /**
   * Reads the header of a file. Resolves to null if the file was never begun under this name or its header is
   * damaged.
   */
  async header(file: JournalFile): Promise<Buffer | null> {
    if (file.incarnation !== null) return file.incarnation
    const bytes = Buffer.alloc(FILE_HEADER_BYTES)
    const handle = await this.#open(file)
    await handle.read(bytes, 0)
    const header = decodeFileHeader(bytes)
    if (header === null || header.number !== file.number) return null
    file.incarnation = header.incarnation
    return header.incarnation
  }

  /** Continues writing at the end of the journal that a start has found. */
  async resume(number: number, end: number): Promise<void> {
    const file = this.files.get(number)
    assert(file !== undefined, `journal file ${number} is resumed but not known`)
    assert((await this.header(file)) !== null, `journal file ${number} is resumed without a header`)
    file.end = end
    await this.#activate(file)
  }

  /** Begins the first file of a journal, or the file after one that cannot be continued. */
  async begin(): Promise<void> {
    await this.#activate(await this.#prepare(this.#takeSpare()))
  }

  /** Tells that rounds may come now. From then on zeros are written ahead of them. */
  ready(): void {
    this.#fillWhenIdle()
  }

  /** Returns true if a round of this many bytes fits into the active file. The first round of a file always fits. */
  fits(bytes: number): boolean {
    const { fileBytes, reserve } = this.#options
    const { end } = this.active
    const most = this.active === this.#reserveFile ? Math.max(fileBytes, reserve.bytes) : fileBytes
    return end === FIRST_ROUND || end + bytes <= most
  }

  /** Makes the next file the active one. The caller has synced the old one. */
  async roll(): Promise<void> {
    await this.#activate(await (this.#takeNext() ?? this.#prepare(this.#takeSpare())))
  }

  /**
   * Like roll, but only into a file whose existing blocks have room for a round of this many bytes. Resolves to
   * whether it found such a file. On a full disk the active file cannot grow even if it is smaller than a full file,
   * nor can a file that was prepared before.
   */
  async rollIntoSpare(bytes: number): Promise<boolean> {
    const holds = ({ size }: { readonly size: number }) => size >= FIRST_ROUND + bytes
    const next = (await this.#next?.catch(() => null)) ?? null
    if (next !== null && holds(next)) {
      await this.roll()
      return true
    }
    const at = this.#spares.findLastIndex(holds)
    if (at < 0) return false
    const [spare] = this.#spares.splice(at, 1)
    await this.#rollInto(join(this.#options.folder, spare!.name))
    return true
  }

  /**
   * Like roll, into the blocks of the reserve, which no other program can have taken. Throws if the reserve is gone
   * or the disk refuses that too.
   */
  async rollIntoReserve(): Promise<void> {
    const path = this.#options.reserve.take()
    if (path === null) throw new Error('the reserve is in use already')
    this.#reserveFile = await this.#rollInto(path)
  }

  async #rollInto(path: string): Promise<JournalFile> {
    // The prepared file has the lower number: it must not come after this one.
    const prepared = (await this.#takeNext()?.catch(() => null)) ?? null
    if (prepared !== null) await this.#reuse(prepared)
    const file = await this.#prepare(path)
    await this.#activate(file)
    return file
  }

  /**
   * Gives the space of an empty file back to the file system, even the space of the prepared next file. Resolves to
   * whether there was such a file.
   */
  async giveRoom(): Promise<boolean> {
    const { disk } = this.#options
    let path = this.#takeSpare()
    if (path === null) {
      const next = this.#nextFile
      // A new file has only the bytes that it was begun with.
      if (next === null || next.size <= BEGUN_BYTES) return false
      void this.#takeNext()
      path = await this.#forget(next)
    }
    await disk.unlink(path)
    return true
  }

  async #activate(file: JournalFile): Promise<void> {
    this.#activeFile = await this.#open(file)
    this.#active = file
  }

  /** Returns the prepared file, which then belongs to the caller. */
  #takeNext(): Promise<JournalFile> | null {
    const next = this.#next
    this.#next = null
    this.#nextFile = null
    return next
  }

  #takeSpare(): string | null {
    const spare = this.#spares.pop()
    return spare === undefined ? null : join(this.#options.folder, spare.name)
  }

  /**
   * Writes a round at the end of the active file. The end moves if the write succeeds. If the folder was found
   * missing from its path, the journal refuses to write until the folder is back, even if the active file has room:
   * the next start would not find the round there, or the folder was removed.
   */
  async write(buffers: readonly Uint8Array[], bytes: number): Promise<void> {
    this.#checkHere()
    const file = this.active
    const end = file.end + bytes
    const filling = this.#filling
    // From here on zeros are filled only behind it. The next fill may begin while this round waits for the last one.
    if (end > file.size) file.size = end
    if (filling?.file === file && end > filling.from) await filling.done
    await this.#activeFile!.write(buffers, file.end)
    file.end = end
    this.#writtenAtMs = this.#options.clock.monotonic()
    this.#prepareAhead()
    this.#fillWhenIdle()
  }

  #checkHere(): void {
    const { clock, folder, isHere } = this.#options
    const nowMs = clock.monotonic()
    if (this.#moved === null && nowMs - this.#lookedAtMs < LOOK_MS) return
    this.#lookedAtMs = nowMs
    this.#moved = isHere() ? null : new FolderMoved(folder)
    if (this.#moved !== null) throw this.#moved
  }

  /**
   * Makes sure that a round is never read back after its write has failed. If its header has reached the file in
   * spite of the error, the rest may have too: then it overwrites and syncs the header. Throws if that is not
   * possible.
   */
  async erase(buffers: readonly Uint8Array[]): Promise<void> {
    const { end } = this.active
    const handle = this.#activeFile!
    const there = Buffer.alloc(ROUND_HEADER_BYTES)
    await handle.read(there, end)
    if (!there.equals(buffers[0]!.subarray(0, ROUND_HEADER_BYTES))) return
    await handle.write([Buffer.alloc(ROUND_HEADER_BYTES)], end)
    await handle.sync()
  }

  async sync(): Promise<void> {
    await this.#activeFile!.sync()
  }

  /** Reads a part of a file. Resolves to fewer bytes if the file ends before. The file is not reused meanwhile. */
  read(number: number, position: number, length: number): Promise<Buffer> {
    return this.#read(number, position, Buffer.allocUnsafeSlow(length), false)
  }

  /**
   * Like read, into the given memory, and on this thread if that is quick. The caller lets other work run between two
   * calls.
   */
  readInto(number: number, position: number, memory: Buffer): Promise<Buffer> {
    return this.#read(number, position, memory, true)
  }

  async #read(number: number, position: number, memory: Buffer, here: boolean): Promise<Buffer> {
    const release = this.hold(number)
    try {
      const handle = await this.#open(this.files.get(number)!)
      const count = (here ? handle.readHere(memory, position) : null) ?? (await handle.read(memory, position))
      return count === memory.length ? memory : memory.subarray(0, count)
    } finally {
      release()
    }
  }

  /** Prevents the reuse of a file until the returned function is called, once. Throws if the file does not exist. */
  hold(number: number): () => void {
    const file = this.files.get(number)
    if (file === undefined) throw new Error(`journal file ${fileName(number)} is missing`)
    file.readers++
    return () => {
      file.readers--
      if (file.retired && file.readers === 0) this.#later(this.#reuse(file))
    }
  }

  /** Frees a file that nothing refers to any longer. The checkpoint that shows this is on the disk. */
  retire(file: JournalFile): void {
    assert(file !== this.#active && file.live === 0, `journal file ${file.number} is still in use`)
    if (file.retired) return
    file.retired = true
    if (file.readers === 0) this.#later(this.#reuse(file))
  }

  /** Stops the start of new background work. */
  stop(): void {
    this.#closed = true
    this.#fillTimer?.cancel()
    this.#spareTimer?.cancel()
    this.#endPause?.()
  }

  async close(): Promise<void> {
    this.stop()
    while ([...this.files.values()].some(file => file.readers > 0)) {
      await new Promise<void>(resolve => this.#options.clock.soon(resolve))
    }
    // The last reader of a file removes it.
    while (this.#background.size > 0) await Promise.all(this.#background)
    // The next start tries again.
    await this.unlinkSurplus().catch(() => {})
    await this.#next?.catch(() => {})
    for (const file of this.files.values()) {
      const handle = await file.handle?.catch(() => null)
      file.handle = null
      await handle?.close()
    }
  }

  #open(file: JournalFile): Promise<DiskFile> {
    if (file.handle !== null) return file.handle
    const { disk, folder } = this.#options
    const handle = disk.open(join(folder, fileName(file.number)), false)
    file.handle = handle
    handle.catch(() => {
      if (file.handle === handle) file.handle = null
    })
    this.#closeIdle()
    return handle
  }

  #closeIdle(): void {
    const open = [...this.files.values()].filter(file => file.handle !== null)
    if (open.length <= MOST_OPEN) return
    for (const file of open) {
      if (file === this.#active || file === this.#filling?.file || file.readers > 0 || file.handle === null) continue
      const handle = file.handle
      file.handle = null
      this.#later(handle.then(each => each.close()))
      return
    }
  }

  /**
   * Runs work that no caller waits for: a fill, a spare, a file to unlink. If it fails, it is tried again when it is
   * next needed.
   */
  #later(work: Promise<unknown>): void {
    const settled: Promise<unknown> = work.catch(() => {}).finally(() => this.#background.delete(settled))
    this.#background.add(settled)
  }

  /** Writes zeros ahead of the end, as many bytes as the file already has, whenever the store is idle. */
  #fillWhenIdle(): void {
    const { clock, reserve } = this.#options
    // While the reserve is gone, free space is kept for it.
    if (this.#fillTimer !== null || this.#filling !== null || this.#closed || reserve.isGone) return
    const part = this.#unfilled()
    if (part === null) return
    const waitMs = this.#writtenAtMs + IDLE_MS - clock.monotonic()
    if (waitMs > 0) {
      this.#fillTimer = clock.timer(waitMs, () => {
        this.#fillTimer = null
        this.#fillWhenIdle()
      })
      return
    }
    const { file, from, bytes } = part
    file.size = from + bytes
    const filling = { file, from, done: this.#fill(file, from, bytes) }
    this.#filling = filling
    this.#later(
      filling.done.then(filled => {
        this.#filling = null
        if (filled) this.#fillWhenIdle()
      }),
    )
  }

  /** Returns the part to fill next: a part of the active file or of the next file. */
  #unfilled(): { readonly file: JournalFile; readonly from: number; readonly bytes: number } | null {
    const { fileBytes } = this.#options
    const goal = this.active.end + Math.min(Math.max(this.active.end, FILL_LEAST), FILL_MOST)
    for (const [file, end] of [
      [this.active, Math.min(goal, fileBytes)],
      [this.#nextFile, Math.min(goal - fileBytes, fileBytes)],
    ] as const) {
      if (file !== null && file.size < end)
        return { file, from: file.size, bytes: Math.min(FILL_STEP, end - file.size) }
    }
    return null
  }

  /** Prepares the next file some time before the active file is full. */
  #prepareAhead(): void {
    if (this.#closed || this.active.end < this.#options.fileBytes / 2) return
    void this.#prepareNext()
  }

  #prepareNext(): Promise<JournalFile> {
    if (this.#next !== null) return this.#next
    const next = this.#prepare(this.#takeSpare())
    this.#next = next
    this.#later(
      next.then(
        file => {
          if (this.#next === next) this.#nextFile = file
        },
        () => {
          if (this.#next === next) this.#next = null
        },
      ),
    )
    return next
  }

  /** Fills a part with zeros. Resolves to false if it could not; on a full disk the next round may still succeed. */
  async #fill(file: JournalFile, from: number, bytes: number): Promise<boolean> {
    let handle: DiskFile
    try {
      handle = await this.#open(file)
      for (let done = 0; done < bytes; done += ZEROS.length) {
        if (this.#closed) return false
        await handle.write([ZEROS.subarray(0, Math.min(ZEROS.length, bytes - done))], from + done)
      }
    } catch {
      return false
    }
    if (this.#closed) return false
    try {
      await handle.sync()
    } catch (error) {
      this.#options.onSyncFailed(error as Error)
      return false
    }
    return true
  }

  /** Prepares the next file with a new header, durable under its name: the file at `used`, or a new one. */
  async #prepare(used: string | null): Promise<JournalFile> {
    const { disk, folder, random } = this.#options
    const number = ++this.#lastNumber
    const path = join(folder, fileName(number))
    const incarnation = random.bytes(8)
    let handle: DiskFile | null = null
    try {
      if (used !== null) await disk.rename(used, path)
      handle = await disk.open(path, used === null)
      // The block of the first round is zeroed as well, so that a start can recognize a file that was never written
      // to.
      const header = Buffer.alloc(BEGUN_BYTES)
      encodeFileHeader({ number, incarnation }).copy(header)
      await handle.write([header], 0)
      await handle.sync()
      await disk.syncFolder(folder)
    } catch (error) {
      if (error instanceof FolderMoved) this.#moved = error
      this.#lastNumber = Math.max(this.#lastNumber, number)
      await handle?.close()
      await disk.unlink(path).catch(() => {})
      throw error
    }
    const file: JournalFile = { ...blank(number, Math.max(handle.size, BEGUN_BYTES)), incarnation }
    file.handle = Promise.resolve(handle)
    this.files.set(number, file)
    return file
  }

  async #reuse(file: JournalFile): Promise<void> {
    const { clock, disk, folder, fileBytes, reserve } = this.#options
    // This is decided before the first await, because many files may be freed at once. On a full disk their space is
    // needed.
    const isWanted = this.#spares.length + this.#sparing < this.#mostSpares && !this.#closed && !reserve.isGone
    const { size } = file
    const isSpared = isWanted && size >= fileBytes / 2 && size <= fileBytes * 2
    if (isSpared) this.#sparing++
    try {
      const path = await this.#forget(file)
      if (!isSpared) return this.#doom(path, size)
      const spare = spareName(++this.#lastSpare)
      await disk.rename(path, join(folder, spare))
      this.#spares.push({ name: spare, size, sinceMs: clock.monotonic() })
      this.#unlinkSurplusLater()
    } finally {
      if (isSpared) this.#sparing--
    }
  }

  /** Removes the file from the journal, closes it, and resolves to its path. */
  async #forget(file: JournalFile): Promise<string> {
    this.files.delete(file.number)
    // Zeros are written through its file descriptor. After a close the next opened file could get the same number.
    if (this.#filling?.file === file) await this.#filling.done
    const handle = await file.handle
    file.handle = null
    await handle?.close()
    return join(this.#options.folder, fileName(file.number))
  }
}

function blank(number: number, size: number): JournalFile {
  return {
    number,
    live: 0,
    stored: 0,
    end: FIRST_ROUND,
    size,
    readers: 0,
    retired: false,
    incarnation: null,
    handle: null,
  }
}
