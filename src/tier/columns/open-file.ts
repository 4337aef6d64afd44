// Opens a data file: fetches its footer, and says which row groups it has. It reads no rows, but of files of other
// writers that left out the bounds of a group.

import type { ColumnChunk, FileMetaData, RowGroup } from 'hyparquet'
import { chunkOf, spanOf } from './chunk-places.ts'
import { type DataFileFacts, MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS } from './data-file.ts'
import { type ByteSpan, fetchRange, type PageAt, type ReadRange, Tail } from './file-bytes.ts'
import { CREATED_BY, FACTS_KEY } from './file-writer.ts'
import { parseFooter } from './footer.ts'
import { boundsOfForeign, type FetchedForeign, type ForeignBounds } from './foreign-rows.ts'
import { DamagedFile, toMs } from './page-cursors.ts'
import { parsing, wholeNumber } from './parsing.ts'
import { FIELD } from './table-schema.ts'

export interface RowGroupFacts {
  readonly index: number
  readonly firstOffset: number
  readonly lastOffset: number
  /** In ms, as the column has them; `isLimited` says that a record can have an earlier or a later one. */
  readonly minTimestamp: number
  readonly maxTimestamp: number
  readonly isLimited: boolean
  readonly rows: number
  /** Where the group is in the file. */
  readonly byteRange: ByteSpan
  /** Bytes in the file, and without compression. */
  readonly bytes: number
  readonly plainBytes: number
  /** Every batch has its original bytes. */
  readonly hasRaw: boolean
}

export interface DataFile {
  readonly size: number
  readonly metadata: FileMetaData
  readonly groups: readonly RowGroupFacts[]
  /** The leader epochs of a file of ours, each with its first offset. */
  readonly epochs: DataFileFacts['epochs']
  /** False: another writer made it. Its rows can be in any order, and those of a batch can be incomplete. */
  readonly isOurs: boolean
  readonly read: ReadRange
  /** The bytes of the footer, for readers in other threads. */
  readonly footer: Uint8Array
  /** Parsed parts of the page index, for page-index.ts. */
  readonly pages: Map<ColumnChunk, Promise<readonly PageAt[]>>
  /** The end of the file, which has the page index. */
  readonly tail: Tail
}

/**
 * The end of a file that is fetched first: most footers fit it. Of a large file it is a small part, because
 * readers of the whole file fetch some of it again; a small file is fetched whole.
 */
const TAIL_PART = 16
const LEAST_TAIL_BYTES = 8 * 1024
const MOST_TAIL_BYTES = 64 * 1024
const TRAILER_BYTES = 8
/** That of a file with 2,000 row groups has some 8 MB. */
const MOST_FOOTER_BYTES = 32 * 1024 * 1024

/** Reads the bounds of a group of another writer. It is work for a thread. */
export type MeasureForeign = (fetched: FetchedForeign) => Promise<ForeignBounds>

/** Opens a file of this size. Throws DamagedFile or MissingFile. */
export async function openDataFile(
  read: ReadRange,
  size: number,
  measure: MeasureForeign = boundsOfForeign,
): Promise<DataFile> {
  if (size < TRAILER_BYTES) throw new DamagedFile(`a Parquet file has at least ${TRAILER_BYTES} bytes, got ${size}`)
  const part = Math.min(MOST_TAIL_BYTES, Math.max(LEAST_TAIL_BYTES, Math.ceil(size / TAIL_PART)))
  const tailBytes = size <= MOST_TAIL_BYTES ? size : part
  let start = Math.max(0, size - tailBytes)
  let bytes = await fetchRange(read, { start, end: size })
  const trailer = Buffer.from(bytes.buffer, bytes.byteOffset + bytes.length - TRAILER_BYTES, TRAILER_BYTES)
  if (trailer.toString('latin1', 4) !== 'PAR1') throw new DamagedFile('the file does not end as a Parquet file does')
  const footerBytes = trailer.readUInt32LE(0) + TRAILER_BYTES
  if (footerBytes > size) throw new DamagedFile(`a footer of ${footerBytes} bytes does not fit ${size}`)
  if (footerBytes > MOST_FOOTER_BYTES)
    throw new DamagedFile(`a footer of ${footerBytes} bytes is larger than ${MOST_FOOTER_BYTES}`)
  if (footerBytes > bytes.length) {
    bytes = Buffer.concat([await fetchRange(read, { start: size - footerBytes, end: start }), bytes])
    start = size - footerBytes
  }
  const footer = bytes.subarray(bytes.length - footerBytes)
  const metadata = parseFooter(footer)
  const isOurs = metadata.created_by === CREATED_BY
  const { groups, indexAt } = parsing('the footer', () => {
    checkChunks(metadata, size)
    const groups = metadata.row_groups.map((group, index) => groupFacts(group, index))
    return { groups, indexAt: indexStart(metadata) }
  })
  const tail = new Tail(read, indexAt ?? start, start, bytes)
  const file: DataFile = { size, metadata, isOurs, read, footer, tail, pages: new Map(), groups: [], epochs: [] }
  const known: RowGroupFacts[] = []
  for (const group of groups) known.push(isComplete(group) ? group : await measureForeign(file, group, measure))
  return { ...file, groups: known, epochs: epochsOf({ ...file, groups: known }) }
}

/** A footer has no checksum: damaged ones can be read, and name places that the file does not have. */
function checkChunks({ row_groups }: FileMetaData, size: number): void {
  for (const [index, { columns }] of row_groups.entries())
    for (const chunk of columns) {
      const { meta_data } = chunk
      if (meta_data === undefined || !Array.isArray(meta_data.path_in_schema))
        throw new DamagedFile(`the footer does not describe a column of row group ${index}`)
      const { start, end } = spanOf(chunk)
      if (!(start >= 0 && end >= start && end <= size))
        throw new DamagedFile(`the footer says that a column of row group ${index} has the bytes ${start} to ${end}`)
    }
}

/** Returns the facts in the metadata of a file of ours; null if another writer made it. */
export function factsIn({ metadata, isOurs, size, groups }: DataFile): StoredFacts | null {
  const text = metadata.key_value_metadata?.find(({ key }) => key === FACTS_KEY)?.value
  if (!isOurs || text === undefined) return null
  return { ...parseFacts(text), size, splitOffsets: groups.map(({ byteRange }) => byteRange.start) }
}

function parseFacts(text: string): Omit<StoredFacts, 'size' | 'splitOffsets'> {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new DamagedFile(`the facts in the footer cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/** Facts that stand in the file itself. */
export type StoredFacts = Omit<
  DataFileFacts,
  'columnSizes' | 'valueCounts' | 'nullValueCounts' | 'lowerBounds' | 'upperBounds'
>

function epochsOf(file: DataFile): DataFile['epochs'] {
  const epochs: unknown = factsIn(file)?.epochs ?? []
  const isEpoch = (each: unknown) =>
    Array.isArray(each) && each.length === 2 && each.every(number => Number.isSafeInteger(number))
  if (!Array.isArray(epochs) || !epochs.every(isEpoch))
    throw new DamagedFile('the leader epochs in the footer are no pairs of integers')
  return epochs
}

/** Returns where the page index of the file begins; null if it has none. */
function indexStart({ row_groups }: FileMetaData): number | null {
  const starts = row_groups.flatMap(({ columns }) =>
    columns.flatMap(({ column_index_offset, offset_index_offset }) => [column_index_offset, offset_index_offset]),
  )
  const known = starts
    .filter(start => start !== undefined)
    .map(start => wholeNumber('the place of a page index', start))
  return known.length === 0 ? null : known.reduce((a, b) => Math.min(a, b))
}

type Incomplete = Omit<RowGroupFacts, 'firstOffset' | 'lastOffset' | 'minTimestamp' | 'maxTimestamp'> &
  Partial<RowGroupFacts>

function isComplete(group: Incomplete): group is RowGroupFacts {
  return group.firstOffset !== undefined && group.minTimestamp !== undefined
}

function groupFacts({ columns, num_rows, total_byte_size }: RowGroup, index: number): Incomplete {
  const spans = columns.map(spanOf)
  const byteRange = {
    start: spans.reduce((least, { start }) => Math.min(least, start), Number.POSITIVE_INFINITY),
    end: spans.reduce((most, { end }) => Math.max(most, end), 0),
  }
  const named = (id: number) => chunkOf(columns, id)?.meta_data
  const bounds = (id: number) => {
    const statistics = named(id)?.statistics
    const [least, most] = [statistics?.min_value, statistics?.max_value]
    return typeof least === 'bigint' && typeof most === 'bigint' ? [Number(least), Number(most)] : null
  }
  const offsets = bounds(FIELD.offset)?.map(each => wholeNumber('the bound of the offsets of a row group', each))
  const times = bounds(FIELD.timestamp)?.map(toMs)
  const present = (id: number) => {
    const chunk = named(id)
    const nulls = chunk?.statistics?.null_count
    return chunk === undefined || nulls === undefined ? null : Number(chunk.num_values) - Number(nulls)
  }
  return {
    index,
    ...(offsets && { firstOffset: offsets[0]!, lastOffset: offsets[1]! }),
    ...(times && { minTimestamp: times[0]!, maxTimestamp: times[1]! }),
    isLimited: times === undefined || times[0]! <= MIN_TIMESTAMP_MS || times[1]! >= MAX_TIMESTAMP_MS,
    rows: wholeNumber('the number of rows of a row group', num_rows),
    byteRange,
    bytes: byteRange.end - byteRange.start,
    plainBytes: Math.max(0, wholeNumber('the size of a row group', total_byte_size)),
    hasRaw: present(FIELD.batchRaw) !== null && present(FIELD.batchRaw) === present(FIELD.batchHeader),
  }
}

/** Reads the bounds of a group whose writer left them out. */
async function measureForeign(file: DataFile, group: Incomplete, measure: MeasureForeign): Promise<RowGroupFacts> {
  const bytes = await fetchRange(file.read, group.byteRange)
  const fetched: FetchedForeign = {
    kind: 'foreign',
    footer: file.footer,
    group: group.index,
    start: group.byteRange.start,
    bytes,
  }
  return { ...group, ...(await measure(fetched)) }
}
