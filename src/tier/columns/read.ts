// Reads a data file: its footer once, then what the caller asks for. Fetching and restoring are two steps, because
// restoring takes a processor and runs in a thread, and fetching waits for a store. Groups up to 3 MiB are fetched
// whole; of larger ones only the pages of the wanted rows. Pages of our files begin between batches, so that any page
// of the offsets is a place to begin.

import type { ColumnChunk } from 'hyparquet'
import { chunkOf, spanOf } from './chunk-places.ts'
import { BLOCK_BYTES } from './data-file.ts'
import { type ByteSpan, fetchRange, type PageAt } from './file-bytes.ts'
import { type FetchedForeign, restoreForeign } from './foreign-rows.ts'
import type { DataFile, RowGroupFacts } from './open-file.ts'
import { type ColumnBytes, DamagedFile } from './page-cursors.ts'
import { pagesOf } from './page-index.ts'
import { wholeNumber } from './parsing.ts'
import { type FetchedColumns, type RestoredBatch, restoreBatches } from './restore.ts'
import { FIELD } from './table-schema.ts'

/** The wanted part of a large group; a small one is read whole. */
export interface Wanted {
  /** The first batch has this offset or a later one. */
  readonly from: number
  /** About as many bytes of batches, at least one batch. */
  readonly maxBytes: number
}

export type Fetched = FetchedColumns | FetchedForeign

/** Of a larger group only a part is fetched, so that a random read of 1 MiB fetches less than 4 MB. */
export const WHOLE_GROUP_BYTES = 3 * 1024 * 1024
const WHOLE_GROUP_PLAIN_BYTES = 32 * 1024 * 1024

/**
 * Fetches the bytes from which a group, or the wanted part of it, can be restored. Their memory belongs to the caller,
 * who may hand it to a thread.
 */
export async function fetchGroup(file: DataFile, group: RowGroupFacts, wanted?: Wanted): Promise<Fetched> {
  const chunks = file.metadata.row_groups[group.index]!.columns
  if (!file.isOurs) {
    const bytes = await fetchRange(file.read, group.byteRange)
    return { kind: 'foreign', footer: file.footer, group: group.index, start: group.byteRange.start, bytes }
  }
  if (isSmall(group) || wanted === undefined) {
    const spans = neededOf(chunks, group).map(({ id, chunk }) => ({ id, span: spanOf(chunk), skippedRows: 0 }))
    return { kind: 'columns', rows: group.rows, columns: await fetchColumns(file, spans) }
  }
  const blocks = await blocksOf(file, group)
  const first = blockOf(blocks, wanted.from)
  // The first block may end with the wanted offset.
  return await fetchBlocks(file, group, blocks.slice(first, first + Math.ceil(wanted.maxBytes / BLOCK_BYTES) + 1))
}

function isSmall({ bytes, plainBytes }: RowGroupFacts): boolean {
  return bytes <= WHOLE_GROUP_BYTES && plainBytes <= WHOLE_GROUP_PLAIN_BYTES
}

/**
 * Yields a group in parts of bounded size, from the batch on that ends at `from` or later. For work that goes through
 * all batches of a group.
 */
export async function* fetchParts(file: DataFile, group: RowGroupFacts, from = 0): AsyncGenerator<Fetched> {
  if (!file.isOurs || isSmall(group)) {
    yield await fetchGroup(file, group)
    return
  }
  const blocks = await blocksOf(file, group)
  for (let first = blockOf(blocks, from); first < blocks.length; first += PART_BLOCKS)
    yield await fetchBlocks(file, group, blocks.slice(first, first + PART_BLOCKS))
}

/** The blocks of a part: 4 MiB of batches. A thread holds a part in three forms at once. */
const PART_BLOCKS = 16

/** A piece of a group that can be fetched and restored by itself: neighbouring pieces fetch no page twice, or few. */
export interface GroupPart {
  /** Of its rows. */
  readonly firstOffset: number
  readonly lastOffset: number
  /** About the memory that the piece takes in the file and when it is restored. */
  readonly bytes: number
  fetch(): Promise<Fetched>
}

/** The blocks of a GroupPart: 1.5 MiB of batches, so that a read of 1 MiB needs two of them at most. */
const PIECE_BLOCKS = 6

/** Resolves with the parts of a group in order; a small group is one part. */
export async function partsOf(file: DataFile, group: RowGroupFacts): Promise<readonly GroupPart[]> {
  const { firstOffset, lastOffset, rows } = group
  const bytes = memoryFor(file, group)
  const whole = { firstOffset, lastOffset, bytes, fetch: () => fetchGroup(file, group) }
  if (!file.isOurs || isSmall(group)) return [whole]
  const blocks = await blocksOf(file, group)
  if (blocks.some(({ least, most }) => least === null || most === null)) return [whole]
  const parts: GroupPart[] = []
  for (let first = 0; first < blocks.length; first += PIECE_BLOCKS) {
    const piece = blocks.slice(first, first + PIECE_BLOCKS)
    const share = piece.reduce((sum, block) => sum + block.rows, 0) / rows
    parts.push({
      firstOffset: piece[0]!.least!,
      lastOffset: piece.at(-1)!.most!,
      bytes: Math.ceil(bytes * share),
      fetch: () => fetchBlocks(file, group, piece),
    })
  }
  return parts
}

/** Returns the bytes of what is fetched of a group, in the file and without compression. */
function memoryFor(file: DataFile, group: RowGroupFacts): number {
  if (!file.isOurs) return group.bytes + group.plainBytes
  const needed = neededOf(file.metadata.row_groups[group.index]!.columns, group)
  return needed.reduce((sum, { chunk }) => {
    const { total_compressed_size: bytes, total_uncompressed_size: plainBytes } = chunk.meta_data!
    return sum + Number(bytes) + Math.max(0, wholeNumber('the size of a column', plainBytes))
  }, 0)
}

/** Restores the batches of a group that was fetched. */
export function restoreGroup(fetched: Fetched, from = 0): RestoredBatch[] | Promise<RestoredBatch[]> {
  return fetched.kind === 'foreign' ? restoreForeign(fetched, from) : restoreBatches(fetched, from)
}

/** Fetches and restores on this thread. */
export async function readGroup(file: DataFile, group: RowGroupFacts, wanted?: Wanted): Promise<RestoredBatch[]> {
  return await restoreGroup(await fetchGroup(file, group, wanted), wanted?.from)
}

const RESTORED_FROM: readonly number[] = [
  FIELD.offset,
  FIELD.timestamp,
  FIELD.key,
  FIELD.value,
  FIELD.headerKey,
  FIELD.headerValue,
  FIELD.batchHeader,
  FIELD.batchRaw,
]

interface Needed {
  readonly id: number
  readonly chunk: ColumnChunk
}

function neededOf(chunks: readonly ColumnChunk[], { hasRaw }: RowGroupFacts): Needed[] {
  return (hasRaw ? [FIELD.batchRaw] : RESTORED_FROM).flatMap(id => {
    // Headers whose values are all null still have their keys.
    const isAbsent = isAllNull(ownChunk(chunks, id === FIELD.headerValue ? FIELD.headerKey : id))
    return isAbsent ? [] : [{ id, chunk: ownChunk(chunks, id) }]
  })
}

/** Returns the blocks of a large group: its pages of offsets. */
async function blocksOf(file: DataFile, group: RowGroupFacts): Promise<readonly PageAt[]> {
  const chunks = file.metadata.row_groups[group.index]!.columns
  const blocks = await pagesOf(file, ownChunk(chunks, FIELD.offset), group.rows)
  let last = -1
  for (const { least, most } of blocks) {
    // Without this check a damaged index would hide the blocks behind it from readers. It has no checksum.
    if ((least ?? last + 1) <= last || (most ?? last + 1) < (least ?? 0))
      throw new DamagedFile(`the page index of row group ${group.index} has offsets ${least} to ${most} behind ${last}`)
    last = most ?? last
  }
  return blocks
}

/** Returns the place of the block that has this offset, or the first later one. */
function blockOf(blocks: readonly PageAt[], offset: number): number {
  const next = blocks.findIndex(({ most }) => most === null || most >= offset)
  return next < 0 ? blocks.length - 1 : next
}

/** Fetches the pages that have the rows of neighbouring blocks. */
async function fetchBlocks(file: DataFile, group: RowGroupFacts, blocks: readonly PageAt[]): Promise<FetchedColumns> {
  const [first, last] = [blocks[0]!, blocks.at(-1)!]
  const [rowFrom, rowEnd] = [first.firstRow, last.firstRow + last.rows]
  const spans = await Promise.all(
    neededOf(file.metadata.row_groups[group.index]!.columns, group).map(async ({ id, chunk }) => {
      const pages = (await pagesOf(file, chunk, group.rows)).filter(
        ({ firstRow, rows }) => firstRow < rowEnd && firstRow + rows > rowFrom,
      )
      return { id, span: spanOfPages(pages), skippedRows: rowFrom - pages[0]!.firstRow }
    }),
  )
  return { kind: 'columns', rows: rowEnd - rowFrom, columns: await fetchColumns(file, spans) }
}

function spanOfPages(pages: readonly PageAt[]): ByteSpan {
  return { start: pages[0]!.start, end: pages.at(-1)!.end }
}

/** Columns that lie this close together are fetched at once. */
const GAP_BYTES = 32 * 1024

export interface ColumnSpan {
  readonly id: number
  readonly span: ByteSpan
  readonly skippedRows: number
}

/** Fetches columns; neighbours together. */
export async function fetchColumns(file: DataFile, columns: readonly ColumnSpan[]): Promise<ColumnBytes[]> {
  const sorted = [...columns].sort((a, b) => a.span.start - b.span.start)
  const requests: { start: number; end: number; columns: ColumnSpan[] }[] = []
  for (const column of sorted) {
    const last = requests.at(-1)
    if (last !== undefined && column.span.start - last.end <= GAP_BYTES) {
      last.end = column.span.end
      last.columns.push(column)
    } else requests.push({ ...column.span, columns: [column] })
  }
  const fetched = await Promise.all(
    requests.map(async request => {
      const here = file.tail.here(request)
      const bytes = here === null ? await fetchRange(file.read, request) : Uint8Array.from(here)
      return request.columns.map(({ id, span, skippedRows }) => ({
        id,
        bytes: bytes.subarray(span.start - request.start, span.end - request.start),
        skippedRows,
      }))
    }),
  )
  return fetched.flat()
}

/** Returns a chunk that every file of ours has. */
export function ownChunk(chunks: readonly ColumnChunk[], id: number): ColumnChunk {
  const chunk = chunkOf(chunks, id)
  if (chunk === undefined) throw new DamagedFile(`the file has no column ${id}`)
  return chunk
}

function isAllNull({ meta_data }: ColumnChunk): boolean {
  const nulls = meta_data?.statistics?.null_count
  return nulls !== undefined && nulls === meta_data!.num_values
}
