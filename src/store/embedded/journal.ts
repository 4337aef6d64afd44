// The journal's files: writing at their end, reading anywhere, rolling to the next, using dead ones again. It moves
// bytes and syncs; what a round means and when it is acknowledged is for embedded-store.ts.
//
// Writing into blocks that were written before makes fdatasync cheaper than growing a file does (measured on ext4 with
// rounds of 130 KB to 1.3 MB: up to twice the rate). So a dead file is renamed to be the next one; its old rounds carry
// another incarnation and never parse again. Without such a file zeros are written ahead of the end, but only when
// the store has nothing else to do: under load they cost as much as they save (measured). A fresh store begins small,
// the zeros reach as far ahead as was already written.

import { join } from 'node:path'
import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { type Disk, type DiskFile, FolderMoved } from './disk.ts'
import { decodeFileHeader, encodeFileHeader, FILE_HEADER_BYTES, FIRST_ROUND, ROUND_HEADER_BYTES } from './entry.ts'
import type { Reserve } from './reserve.ts'

export interface JournalFile {
  readonly number: number
  /** Bytes of batches that a reader may still need, wherever their index is. */
  live: number
  /** Of these, the bytes whose run lies in lmdb. */
  stored: number
  /** Where the last round ends. */
  end: number
  /** Bytes that the file has on the disk. */
  size: number
  readers: number
  /** Nothing refers to the file any longer; it is removed when its last reader is done. */
  retired: boolean
  incarnation: Buffer | null
  handle: Promise<DiskFile> | null
}

const NAME = /^journal-(\d{10})$/
const SPARE = /^spare-(\d{10})$/
const FILL_STEP = 4 << 20
const FILL_LEAST = 4 << 20
const FILL_MOST = 128 << 20
/** After this long without a round the store counts as idle. */
const IDLE_MS = 200
/** How often a store that writes looks whether its folder is still at its path. */
const LOOK_MS = 1000
const SPARES = 2
/**
 * Kept for a moment beyond those: retention gives up several files at once, and a store that is busy fills them again
 * in seconds.
 */
const BUSY_SPARES = 8
/** A spare beyond SPARES that was not used for this long is unlinked. */
const SPARE_MS = 5000
/**
 * Files are unlinked one after the other, no faster than this: retention gives up gigabytes in one moment, and a disk
 * that frees them at once lets no sync through for most of a second (measured on ext4). It is faster than journals are
 * written.
 */
const UNLINKED_BYTES_PER_MS = 2 << 20
/** More open files than this, and idle ones are closed. */
const MOST_OPEN = 200
const ZEROS = Buffer.alloc(1 << 20)
/** A file is begun with its header, and with zeros where its first round goes. */
const BEGUN_BYTES = 2 * FIRST_ROUND

export const fileName = (number: number) => `journal-${String(number).padStart(10, '0')}`
const spareName = (number: number) => `spare-${String(number).padStart(10, '0')}`

/** The number of a journal file by its name, or null for any other name. */
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
  /** Whether the folder is still at its path. */
  readonly isHere: () => boolean
  readonly fileBytes: number
  /** Spares beyond two together take no more than this, for a moment. */
  readonly mostSpareBytes: number
  readonly clock: Clock
  readonly random: Random
  readonly reserve: Reserve
  /** A sync in the background failed: the kernel may have dropped rounds with it, and will not say so again. */
  readonly onSyncFailed: (error: Error) => void
}

interface Spare {
  readonly name: string
  /** Bytes that it has on the disk. */
  readonly size: number
  readonly sinceMs: number
}

export class Journal {
  readonly files = new Map<number, JournalFile>()
  readonly #options: JournalOptions
  /** The last is used first. */
  readonly #spares: Spare[] = []
  readonly #mostSpares: number
  #active: JournalFile | null = null
  #activeFile: DiskFile | null = null
  #next: Promise<JournalFile> | null = null
  #lastNumber = 0
  #lastSpare = 0
  /** Files that are on their way to be spares. */
  #sparing = 0
  /** The file that comes after the active one, once it is ready. */
  #nextFile: JournalFile | null = null
  /** The file that was the reserve, when that was used last. */
  #reserveFile: JournalFile | null = null
  /** The part of a file that is being filled just now, and when that is done. */
  #filling: { readonly file: JournalFile; readonly from: number; readonly done: Promise<boolean> } | null = null
  #fillTimer: Timer | null = null
  #spareTimer: Timer | null = null
  /** Files to unlink, whether a loop is unlinking them, and how to end its pause. */
  readonly #doomed: { readonly path: string; readonly size: number }[] = []
  #isUnlinking = false
  #endPause: (() => void) | null = null
  #writtenAtMs = 0
  /** Whether the folder was missing from its path, and when that was checked last. */
  #moved: FolderMoved | null = null
  #lookedAtMs = Number.NEGATIVE_INFINITY
  readonly #background = new Set<Promise<unknown>>()
  #closed = false

  constructor(options: JournalOptions) {
    this.#options = options
    const { fileBytes, mostSpareBytes } = options
    this.#mostSpares = Math.max(SPARES, Math.min(BUSY_SPARES, Math.floor(mostSpareBytes / fileBytes)))
  }

  /** Tells of a file or spare that the folder holds. */
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
   * Unlinks the spares beyond those that are kept for another start: where the reserve is gone they hold the room for
   * it.
   */
  async unlinkSurplus(): Promise<void> {
    const { disk, folder, reserve } = this.#options
    for (const { name } of this.#spares.splice(reserve.isGone ? 0 : SPARES)) await disk.unlink(join(folder, name))
  }

  /** Unlinks spares beyond those that are kept, once they have not been used for a while. */
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
      // On a full disk their space is needed more.
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
    // In the turn in which the list became empty: a file that is added later needs a new loop.
    this.#isUnlinking = false
  }

  /** Numbers up to this one are taken, by files that are missing. */
  reserve(number: number): void {
    this.#lastNumber = Math.max(this.#lastNumber, number)
  }

  /** Puts away a file that a start found to hold nothing. */
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

  /** The header of a file; null when it was never begun under this name or its header is damaged. */
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

  /** Continues writing at the end that a start has found. */
  async resume(number: number, end: number): Promise<void> {
    const file = this.files.get(number)
    assert(file !== undefined, `journal file ${number} is resumed but not known`)
    assert((await this.header(file)) !== null, `journal file ${number} is resumed without a header`)
    file.end = end
    await this.#activate(file)
  }

  /** Begins the first file of a journal, or the one after a file that cannot be continued. */
  async begin(): Promise<void> {
    await this.#activate(await this.#prepare(this.#takeSpare()))
  }

  /** Rounds may come now: zeros are written ahead of them from here on. */
  ready(): void {
    this.#fillWhenIdle()
  }

  /** Whether a round of this many bytes goes into the active file. A file's first round always does. */
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
   * As roll, but only into a file whose blocks hold a round of this many bytes already, and answers whether it did. On
   * a full disk the active file cannot grow, though it is smaller than a full one, nor can one that was prepared before
   * the disk was full.
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
   * As roll, into the blocks of the reserve, which no other program can have taken. Throws where the reserve is gone,
   * or the disk refuses that too.
   */
  async rollIntoReserve(): Promise<void> {
    const path = this.#options.reserve.take()
    if (path === null) throw new Error('the reserve is in use already')
    this.#reserveFile = await this.#rollInto(path)
  }

  async #rollInto(path: string): Promise<JournalFile> {
    // The one that was prepared has the lower number: it must not come after this one.
    const prepared = (await this.#takeNext()?.catch(() => null)) ?? null
    if (prepared !== null) await this.#reuse(prepared)
    const file = await this.#prepare(path)
    await this.#activate(file)
    return file
  }

  /**
   * Gives the space of an emptied file back to the file system, even of the file that would come next. Returns whether
   * there was such a file.
   */
  async giveRoom(): Promise<boolean> {
    const { disk } = this.#options
    let path = this.#takeSpare()
    if (path === null) {
      const next = this.#nextFile
      // A new one holds no more than it was begun with.
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

  /** The caller owns the prepared file from here on. */
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
   * Writes a round at the end of the active file. The end moves when it succeeds. Refused once the folder was found to
   * be gone from its path, until it is back, though this file could take more: the next start would not look for it
   * where it is, and of a folder that was removed nothing is left.
   */
  async write(buffers: readonly Uint8Array[], bytes: number): Promise<void> {
    this.#checkHere()
    const file = this.active
    const end = file.end + bytes
    const filling = this.#filling
    if (filling?.file === file && end > filling.from) await filling.done
    if (end > file.size) file.size = end // claimed: the fill goes on behind it
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
   * Makes sure that a round whose writing failed is never read back: when its header has reached the file in spite of
   * the error, so may have the rest, and the header is overwritten and synced. Throws when that is not possible.
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

  /** The bytes of a part of a file; fewer when the file ends before. The file is not used again meanwhile. */
  read(number: number, position: number, length: number): Promise<Buffer> {
    return this.#read(number, position, Buffer.allocUnsafeSlow(length), false)
  }

  /**
   * As read, into this memory, on this thread where that is quick: for a caller who lets others have their turn between
   * two.
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

  /**
   * Keeps a file from being reused until the returned function is called, once. Throws when the file does not exist.
   */
  hold(number: number): () => void {
    const file = this.files.get(number)
    if (file === undefined) throw new Error(`journal file ${fileName(number)} is missing`)
    file.readers++
    return () => {
      file.readers--
      if (file.retired && file.readers === 0) this.#later(this.#reuse(file))
    }
  }

  /** Gives up a file that nothing refers to any more; the checkpoint that says so is on the disk. */
  retire(file: JournalFile): void {
    assert(file !== this.#active && file.live === 0, `journal file ${file.number} is still in use`)
    if (file.retired) return
    file.retired = true
    if (file.readers === 0) this.#later(this.#reuse(file))
  }

  /** From now on no background work starts. */
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
    // The last reader of a file puts it away.
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
   * Work that no caller waits for. If it fails, it is tried again when there is cause: a fill, a spare, a file to
   * unlink.
   */
  #later(work: Promise<unknown>): void {
    const settled: Promise<unknown> = work.catch(() => {}).finally(() => this.#background.delete(settled))
    this.#background.add(settled)
  }

  /** Zeros ahead of the end, as far again as it has come, whenever nothing else is written. */
  #fillWhenIdle(): void {
    const { clock, reserve } = this.#options
    // While the reserve is gone, free room is kept for it.
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

  /** The part to fill next: a part of the active file or of the one after it. */
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

  /** Has the next file ready some time before the active one is full. */
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

  /** Whether it could; on a full disk the next round may fare better. */
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

  /** The next file, begun with a new header and durable under its name: the one at `used`, or a new one. */
  async #prepare(used: string | null): Promise<JournalFile> {
    const { disk, folder, random } = this.#options
    const number = ++this.#lastNumber
    const path = join(folder, fileName(number))
    const incarnation = random.bytes(8)
    let handle: DiskFile | null = null
    try {
      if (used !== null) await disk.rename(used, path)
      handle = await disk.open(path, used === null)
      // The block of the first round is zeroed as well: a file that was never written to can be told at a glance.
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
    // Decided before anything is waited for: many files may be given up at once. On a full disk their room is wanted
    // more.
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

  /** Takes the file out of the journal, closes it, and answers its path. */
  async #forget(file: JournalFile): Promise<string> {
    this.files.delete(file.number)
    // Zeros that are written ahead go through its handle, whose number the next file that is opened may get.
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
