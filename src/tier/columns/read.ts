// Reads a data file: its footer once, then what the caller asks for. Fetching and restoring are two steps, because
// restoring takes a processor and runs in a thread, and fetching waits for a store. Groups up to 8 MiB are fetched whole;
// of larger ones only the pages of the wanted rows. Pages of our files begin between batches, so that any page of the
// offsets is a place to begin.

import type { ColumnChunk } from 'hyparquet'
import { BLOCK_BYTES } from './data-file.ts'
import { type ByteSpan, fetchRange } from './file-bytes.ts'
import { type FetchedForeign, restoreForeign } from './foreign-rows.ts'
import { chunkOf, type DataFile, type RowGroupFacts, spanOf } from './open-file.ts'
import { type ColumnBytes, DamagedFile } from './page-cursors.ts'
import { type PageAt, pagesOf } from './page-index.ts'
import { type FetchedColumns, type RestoredBatch, restoreBatches } from './restore.ts'
import { FIELD } from './table-schema.ts'

/** What of a large group is wanted; a small one is read whole. */
export interface Wanted {
  /** The first batch has this offset or a later one. */
  readonly from: number
  /** About as many bytes of batches, at least one batch. */
  readonly maxBytes: number
}

export type Fetched = FetchedColumns | FetchedForeign

export const WHOLE_GROUP_BYTES = 8 * 1024 * 1024
const WHOLE_GROUP_PLAIN_BYTES = 32 * 1024 * 1024

/** Fetches the bytes from which a group, or the wanted part of it, can be restored. */
export async function fetchGroup(file: DataFile, group: RowGroupFacts, wanted?: Wanted): Promise<Fetched> {
  const chunks = file.metadata.row_groups[group.index]!.columns
  if (!file.isOurs) {
    const bytes = await fetchRange(file.read, group.byteRange)
    return { kind: 'foreign', footer: file.footer, group: group.index, start: group.byteRange.start, bytes }
  }
  const needed = (group.hasRaw ? [FIELD.batchRaw] : RESTORED_FROM).flatMap(id => {
    const chunk = ownChunk(chunks, id)
    return isAllNull(chunk) ? [] : [{ id, chunk }]
  })
  const isSmall = group.bytes <= WHOLE_GROUP_BYTES && group.plainBytes <= WHOLE_GROUP_PLAIN_BYTES
  if (isSmall || wanted === undefined) {
    const spans = needed.map(({ id, chunk }) => ({ id, span: spanOf(chunk), skippedRows: 0 }))
    return { kind: 'columns', rows: group.rows, columns: await fetchColumns(file, spans) }
  }
  return await fetchPages(file, group, needed, wanted)
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

/** Fetches only the pages that the wanted offsets need. */
async function fetchPages(
  file: DataFile,
  group: RowGroupFacts,
  needed: readonly Needed[],
  { from, maxBytes }: Wanted,
): Promise<FetchedColumns> {
  const chunks = file.metadata.row_groups[group.index]!.columns
  const blocks = await pagesOf(file, ownChunk(chunks, FIELD.offset), group.rows)
  const first = Math.max(
    0,
    blocks.findLastIndex(({ least }) => least !== null && least <= from),
  )
  // The first block may end with the wanted offset.
  const last = Math.min(blocks.length - 1, first + Math.ceil(maxBytes / BLOCK_BYTES))
  const [rowFrom, rowEnd] = [blocks[first]!.firstRow, blocks[last]!.firstRow + blocks[last]!.rows]
  const spans = await Promise.all(
    needed.map(async ({ id, chunk }) => {
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
      const bytes = await fetchRange(file.read, request)
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
