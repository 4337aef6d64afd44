// The data files that readers use, with their footers and the parts of their groups. Only some of them are kept open:
// a footer takes memory, and a file costs one or two requests to open again. It knows nothing of tables.

import type { Clock } from '../../base/clock.ts'
import { MissingFile } from '../columns/file-bytes.ts'
import { type DataFile, type MeasureForeign, openDataFile, type RowGroupFacts } from '../columns/open-file.ts'
import { DamagedFile } from '../columns/page-cursors.ts'
import { type GroupPart, partsOf } from '../columns/read.ts'
import type { ArchivedFile } from '../iceberg/offset-index.ts'
import type { Objects } from '../objects/objects.ts'

export interface OpenFile {
  /** A URI, for messages. */
  readonly path: string
  readonly file: DataFile
  /** The groups that have rows, in the order of their first offsets. */
  readonly groups: readonly RowGroupFacts[]
  /** The parts of the groups that a reader has used. */
  readonly parts: Map<RowGroupFacts, readonly GroupPart[]>
}

/** An error about one file, which it names. */
export class FileTrouble extends Error {
  override readonly name = 'FileTrouble'
  readonly path: string
  /** The table may have other files by now. */
  readonly isMissing: boolean

  constructor(path: string, cause: MissingFile | DamagedFile) {
    super(`${path}: ${cause.message}`, { cause })
    this.path = path
    this.isMissing = cause instanceof MissingFile
  }
}

/** Runs work on a file, and names the file in errors about it. */
export async function naming<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof MissingFile || error instanceof DamagedFile) throw new FileTrouble(path, error)
    throw error
  }
}

export interface FilesRooms {
  readonly objects: Objects
  readonly measure: MeasureForeign
  /** After each range that was fetched. */
  fetched(bytes: number, tookMs: number): void
}

/** About 0.5 MB each for files of 128 MB. */
const MOST_OPEN = 100

export class OpenFiles {
  readonly #clock: Clock
  readonly #rooms: FilesRooms
  /** The one that was used last stands last. */
  readonly #open = new Map<string, OpenFile>()
  readonly #opening = new Map<string, Promise<OpenFile>>()

  constructor(clock: Clock, rooms: FilesRooms) {
    this.#clock = clock
    this.#rooms = rooms
  }

  /** Returns the file if it is open. */
  get({ path }: ArchivedFile): OpenFile | undefined {
    const found = this.#open.get(path)
    if (found === undefined) return undefined
    this.#open.delete(path)
    this.#open.set(path, found)
    return found
  }

  /** Opens the file; callers at the same time share one footer. Rejects with FileTrouble or an ObjectStoreError. */
  async open(file: ArchivedFile): Promise<OpenFile> {
    const found = this.get(file) ?? this.#opening.get(file.path)
    if (found !== undefined) return await found
    const opening = naming(file.path, () => this.#read(file)).finally(() => this.#opening.delete(file.path))
    this.#opening.set(file.path, opening)
    return await opening
  }

  /** Resolves with the parts of a group, in order. */
  async parts({ path, file, parts }: OpenFile, group: RowGroupFacts): Promise<readonly GroupPart[]> {
    const known = parts.get(group)
    if (known !== undefined) return known
    const found = await naming(path, () => partsOf(file, group))
    parts.set(group, found)
    return found
  }

  /** Forgets a file that is missing. */
  forget(path: string): void {
    this.#open.delete(path)
  }

  close(): void {
    this.#open.clear()
  }

  async #read({ path, key, size }: ArchivedFile): Promise<OpenFile> {
    const { objects, measure, fetched } = this.#rooms
    if (key === null) throw new DamagedFile(`the file is not in ${objects.uri}`)
    const read = async (start: number, end: number) => {
      const beganAtMs = this.#clock.monotonic()
      const bytes = await objects.read(key, { start, end })
      fetched(bytes?.length ?? 0, this.#clock.monotonic() - beganAtMs)
      return bytes
    }
    const file = await openDataFile(read, size, measure)
    const groups = file.groups.filter(({ rows }) => rows > 0).sort((a, b) => a.firstOffset - b.firstOffset)
    const open = { path, file, groups, parts: new Map() }
    this.#open.set(path, open)
    if (this.#open.size > MOST_OPEN) this.#open.delete(this.#open.keys().next().value!)
    return open
  }
}
