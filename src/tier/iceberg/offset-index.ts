// Says which file of a table has an offset. An index is made from the manifests of one version of the table; a manifest
// never changes, so it is read once. Files of other writers are indexed as far as their manifests go: their order may
// differ, their ranges may overlap, and bounds may be missing.

import { aFewAtATime } from '../../base/a-few.ts'
import { firstIndex } from '../../base/bisect.ts'
import type { Clock } from '../../base/clock.ts'
import { FIELD, PARTITION_FIELDS } from '../columns/table-schema.ts'
import type { Objects } from '../objects/objects.ts'
import { liveFiles, loadManifest } from './manifest-lists.ts'
import { CONTENT, type DataFile, type ManifestEntry, STATUS } from './manifests.ts'
import { manifestsOf, type Table } from './table.ts'
import { keyOf, readDataFileName } from './table-files.ts'

/** The facts of a file that its manifest may lack. The footer of the file has them. */
export interface FileBounds {
  readonly partition: number
  /** The offsets of its first and last row. */
  readonly lo: number
  readonly hi: number
  /** In ms, rounded outwards; null if neither the manifest nor the reader of the footer knows them. */
  readonly minTimestamp: number | null
  readonly maxTimestamp: number | null
  /** The leader epochs with their first offsets; null if there are several and only the file itself says where. */
  readonly epochs: readonly (readonly [epoch: number, firstOffset: number])[] | null
}

export interface ArchivedFile {
  /** A URI, as the metadata has it. */
  readonly path: string
  /** Null if the file is not in the place of the table. */
  readonly key: string | null
  /** In bytes. */
  readonly size: number
  readonly rows: number
  /** Bytes of its batches, as clients see them; null for a file of another writer. */
  readonly kafkaBytes: number | null
  /** The commit that added its rows. Delete files of earlier commits do not touch it. Null if no manifest says it. */
  readonly sequenceNumber: number | null
}

/** A file whose manifest does not say which offsets it has. */
export interface UnplacedFile extends ArchivedFile {
  /** Null if the manifest does not say the partition either. */
  readonly partition: number | null
}

export type IndexedFile = ArchivedFile & FileBounds

/** A file that removes rows of data files. */
export interface DeleteFile {
  readonly path: string
  readonly key: string | null
  readonly kind: 'position' | 'equality'
  /** The partition whose files it can touch; null: any. */
  readonly partition: number | null
  readonly sequenceNumber: number | null
  /** The first and the last path that a file of positions names, perhaps rounded outwards; null: not known. */
  readonly paths: readonly [least: Buffer, most: Buffer] | null
}

interface PartitionIndex {
  /** In the order of their first offsets. */
  readonly files: readonly IndexedFile[]
  /** For each file, the largest last offset of it and of those before it. Only overlapping files make it differ. */
  readonly reach: readonly number[]
}

export interface OffsetIndex {
  readonly version: number
  readonly partitions: ReadonlyMap<number, PartitionIndex>
  /** Files whose manifests do not say what is in them: the caller reads their footers, and calls `learn`. */
  readonly unplaced: readonly UnplacedFile[]
  readonly deleteFiles: readonly DeleteFile[]
}

/** Returns the files of a partition in the order of their first offsets. */
export function filesOf({ partitions }: OffsetIndex, partition: number): readonly IndexedFile[] {
  return partitions.get(partition)?.files ?? []
}

/** Returns the first file with a row at the offset or above it; null if there is no such file. */
export function fileAt({ partitions }: OffsetIndex, partition: number, offset: number): IndexedFile | null {
  const index = partitions.get(partition)
  if (index === undefined) return null
  return index.files[firstIndex(index.reach, hi => hi >= offset)] ?? null
}

/**
 * Returns the files that can have the first row at the offset or above it, in the order of their first offsets: fileAt
 * and the files that overlap with it. Those of another writer can have the rows of neighbours in turns.
 */
export function filesMeeting({ partitions }: OffsetIndex, partition: number, offset: number): readonly IndexedFile[] {
  const index = partitions.get(partition)
  if (index === undefined) return []
  const { files, reach } = index
  const first = firstIndex(reach, hi => hi >= offset)
  if (first === files.length) return []
  let end = first + 1
  while (end < files.length && files[end]!.lo <= files[first]!.hi) end++
  return files.slice(first, end).filter(({ hi }) => hi >= offset)
}

/** Returns the files of a partition whose rows are all below the offset. */
export function filesBelow(index: OffsetIndex, partition: number, offset: number): readonly IndexedFile[] {
  return filesOf(index, partition).filter(({ hi }) => hi < offset)
}

/**
 * Returns a delete file that can remove rows of the data file; null if there is no such file (Iceberg specification,
 * "Scan Planning").
 */
export function deleteFileOf({ deleteFiles }: OffsetIndex, file: IndexedFile): DeleteFile | null {
  const path = Buffer.from(file.path)
  const touches = ({ kind, partition, sequenceNumber, paths }: DeleteFile): boolean => {
    if (partition !== null && partition !== file.partition) return false
    if (sequenceNumber !== null && file.sequenceNumber !== null) {
      const isEarlier =
        kind === 'position' ? sequenceNumber < file.sequenceNumber : sequenceNumber <= file.sequenceNumber
      if (isEarlier) return false
    }
    return paths === null || (paths[0].compare(path) <= 0 && paths[1].compare(path) >= 0)
  }
  return deleteFiles.find(touches) ?? null
}

interface ManifestPart {
  readonly placed: readonly IndexedFile[]
  readonly unplaced: readonly UnplacedFile[]
  readonly deletes: readonly DeleteFile[]
}

/** Makes indexes of one table and remembers the manifests that it has read. */
export class OffsetIndexer {
  readonly #clock: Clock
  readonly #objects: Objects
  #parts: ReadonlyMap<string, ManifestPart> = new Map()
  readonly #learnt = new Map<string, FileBounds>()

  constructor(clock: Clock, objects: Objects) {
    this.#clock = clock
    this.#objects = objects
  }

  /** Keeps the facts from the footer of an unplaced file. The next index has the file in its place. */
  learn(path: string, bounds: FileBounds): void {
    this.#learnt.set(path, bounds)
  }

  /** Resolves with the index of the table. Rejects with MissingFile, BadAvro or an ObjectStoreError. */
  async index(table: Table): Promise<OffsetIndex> {
    const manifests = (await manifestsOf(table)).filter(manifest => liveFiles(manifest) > 0)
    const parts = new Map<string, ManifestPart>()
    await aFewAtATime(this.#clock, manifests, async manifest => {
      const known = this.#parts.get(manifest.path)
      if (known !== undefined) return parts.set(manifest.path, known)
      const { entries } = await loadManifest(this.#objects, manifest)
      const live = entries.filter(({ status }) => status !== STATUS.deleted)
      return parts.set(manifest.path, partOf(this.#objects, live))
    })
    // Manifests that the table no longer has are forgotten.
    this.#parts = parts
    const all = [...parts.values()]
    const unplaced = all.flatMap(part => part.unplaced)
    const present = new Set(unplaced.map(({ path }) => path))
    for (const path of this.#learnt.keys()) if (!present.has(path)) this.#learnt.delete(path)
    const learnt = unplaced.flatMap(file => {
      const bounds = this.#learnt.get(file.path)
      return bounds === undefined ? [] : [{ ...file, ...bounds }]
    })
    return {
      version: table.version,
      partitions: partitionsOf([...all.flatMap(part => part.placed), ...learnt]),
      unplaced: unplaced.filter(({ path }) => !this.#learnt.has(path)),
      deleteFiles: all.flatMap(part => part.deletes),
    }
  }
}

function partitionsOf(files: readonly IndexedFile[]): ReadonlyMap<number, PartitionIndex> {
  const grouped = Map.groupBy(files, ({ partition }) => partition)
  return new Map(
    Array.from(grouped, ([partition, group]) => {
      const sorted = group.sort((a, b) => a.lo - b.lo || a.hi - b.hi)
      let most = -1
      return [partition, { files: sorted, reach: sorted.map(({ hi }) => (most = Math.max(most, hi))) }]
    }),
  )
}

function partOf(objects: Objects, entries: readonly ManifestEntry[]): ManifestPart {
  const placed: IndexedFile[] = []
  const unplaced: UnplacedFile[] = []
  const deletes: DeleteFile[] = []
  for (const { file, sequenceNumber } of entries) {
    const { path, size, recordCount: rows } = file
    const key = keyOf(objects, path)
    if (file.content !== CONTENT.data) {
      const kind = file.content === CONTENT.positionDeletes ? 'position' : 'equality'
      const paths = kind === 'position' ? pathsOf(file) : null
      deletes.push({ path, key, kind, partition: partitionOf(file), sequenceNumber, paths })
      continue
    }
    const archived = { path, key, size, rows, kafkaBytes: readDataFileName(path)?.kafkaBytes ?? null, sequenceNumber }
    const bounds = boundsOf(file)
    if (bounds === null) unplaced.push({ ...archived, partition: partitionOf(file) })
    else placed.push({ ...archived, ...bounds })
  }
  return { placed, unplaced, deletes }
}

/** The reserved field id of the column `file_path` in files of position deletes. */
const DELETE_FILE_PATH = 2147483546

/** Returns the range of the paths that a file of position deletes names. */
function pathsOf({ referencedDataFile, lowerBounds, upperBounds }: DataFile): DeleteFile['paths'] {
  if (referencedDataFile !== null) return [Buffer.from(referencedDataFile), Buffer.from(referencedDataFile)]
  const [least, most] = [lowerBounds?.get(DELETE_FILE_PATH), upperBounds?.get(DELETE_FILE_PATH)]
  return least === undefined || most === undefined ? null : [Buffer.from(least), Buffer.from(most)]
}

function partitionOf(file: DataFile): number | null {
  const inTuple = file.partition.get(PARTITION_FIELDS[0].fieldId)
  if (typeof inTuple === 'number') return inTuple
  const inColumn = lower(file, FIELD.partition)
  return inColumn === upper(file, FIELD.partition) ? inColumn : null
}

/** Returns null if the manifest does not say which offsets of which partition the file has. */
function boundsOf(file: DataFile): FileBounds | null {
  const lo = lower(file, FIELD.offset)
  const hi = upper(file, FIELD.offset)
  const partition = partitionOf(file)
  if (lo === null || hi === null || partition === null) return null
  // No file has these. The one that is named says so when its footer is read.
  if (!Number.isSafeInteger(lo) || !Number.isSafeInteger(hi) || hi < lo) return null
  const minMicros = lower(file, FIELD.timestamp)
  const maxMicros = upper(file, FIELD.timestamp)
  const epoch = lower(file, FIELD.leaderEpoch)
  return {
    partition,
    lo,
    hi,
    minTimestamp: minMicros === null ? null : Math.floor(minMicros / MICROS),
    maxTimestamp: maxMicros === null ? null : Math.ceil(maxMicros / MICROS),
    epochs: epoch !== null && epoch === upper(file, FIELD.leaderEpoch) ? [[epoch, lo]] : null,
  }
}

const MICROS = 1000

const lower = ({ lowerBounds }: DataFile, id: number) => integer(lowerBounds?.get(id))
const upper = ({ upperBounds }: DataFile, id: number) => integer(upperBounds?.get(id))

/** Reads a bound of an int, a long or a timestamp: 4 or 8 bytes, little-endian. Null for other bytes. */
function integer(bound: Uint8Array | undefined): number | null {
  if (bound === undefined) return null
  const view = new DataView(bound.buffer, bound.byteOffset, bound.byteLength)
  if (bound.length === 4) return view.getInt32(0, true)
  return bound.length === 8 ? Number(view.getBigInt64(0, true)) : null
}
