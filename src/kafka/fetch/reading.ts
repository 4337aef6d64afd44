// Reads the rows of a fetch, within an allowance of bytes. It decides which rows are read, in which order, and how
// much of a result a client of the request's version can take. It waits only for the store, and decides nothing about
// answers.
//
// The batch that has the requested offset is always read whole. The first row with records returns at least one
// batch, even if the byte limits are smaller (KIP-74).

import type { Isolation, ReadResult } from '../../log/partition.ts'
import { because, isRefusal, type Refusal, UNSUPPORTED_COMPRESSION_TYPE } from '../../protocol/errors.ts'
import { viewBatch } from '../../protocol/records.ts'
import type { FetchRow } from './row.ts'
import type { Asking } from './share.ts'

const FIRST_WITH_EMPTY_BATCHES = 5
const FIRST_WITH_ZSTD = 10

/**
 * The request whose rows are read. Another request may take over the same rows meanwhile. Each result belongs to one
 * request.
 */
export interface Reader {
  readonly request: { readonly apiVersion: number }
  readonly isolation: Isolation
}

/** The bytes that one pass over rows may still take. */
export interface Allowance {
  leftBytes: number
  /** True if no records have been found yet: then the next batch is read whole. */
  isFirst: boolean
  /** True if this fetch gets less than it could use, because other fetches have part of the memory for answers. */
  readonly isShort: boolean
}

export type Wanted = Pick<Asking, 'mostBytes' | 'leastBytes'>

export interface RowReading {
  /** Returns the memory that reading these rows may take, at most maxBytes; null if there is nothing to read. */
  wanted(rows: readonly FetchRow[], isolation: Isolation, maxBytes: number): Wanted | null
  /**
   * Reads the rows from `from` on, which `reader` has claimed, and stores the result in each row. Returns null if the
   * log had all of it in memory. Rows that must be read from the store are read at the same time, because their
   * batches lie close together on the disk. These are as many rows as fit if each takes its maximum.
   */
  read(reader: Reader, rows: readonly FetchRow[], allowance: Allowance, from?: number): Promise<void> | null
}

/** Makes the reading. `usualBytes` is the most bytes of a partition if the request does not give a size for it. */
export function createRowReading(usualBytes: number): RowReading {
  const partitionBytesOf = ({ partitionMaxBytes }: FetchRow) => (partitionMaxBytes > 0 ? partitionMaxBytes : usualBytes)

  /**
   * Returns false if the next batch might not fit. The store reads whole batches, so it would read such a batch in
   * vain. Only the batch's largest possible size is known here.
   */
  function mayFit(row: FetchRow, isolation: Isolation, leftBytes: number): boolean {
    return Math.min(row.batchBytes(isolation), partitionBytesOf(row)) <= leftBytes
  }

  function read(
    reader: Reader,
    rows: readonly FetchRow[],
    allowance: Allowance,
    from = 0,
  ): ReturnType<RowReading['read']> {
    const asked: FetchRow[] = []
    const results: Promise<ReadResult | Refusal>[] = []
    let asideBytes = 0
    let at = from
    for (; at < rows.length && (asked.length === 0 || asideBytes < allowance.leftBytes); at++) {
      const row = rows[at]!
      const leftBytes = allowance.leftBytes - asideBytes
      const isFirst = allowance.isFirst && asked.length === 0
      const isRead = isFirst || !allowance.isShort || mayFit(row, reader.isolation, leftBytes)
      const mostBytes = isRead ? Math.min(partitionBytesOf(row), leftBytes) : 0
      const result = row.read(mostBytes, isFirst, reader.isolation)
      if (result instanceof Promise) {
        asked.push(row)
        results.push(result)
        asideBytes += mostBytes
      } else {
        take(reader, row, result, allowance)
      }
    }
    if (asked.length === 0) return null
    return Promise.all(results).then(found => {
      for (const [i, row] of asked.entries()) take(reader, row, found[i]!, allowance)
      // The first row had no records after all, so the batch of another row must be read whole.
      const again = allowance.isFirst ? read(reader, asked.slice(1), allowance) : null
      return (again ?? Promise.resolve()).then(() => read(reader, rows, allowance, at) ?? undefined)
    })
  }

  return {
    wanted(rows, isolation, maxBytes) {
      let mostBytes = 0
      let leastBytes = 0
      for (const row of rows) {
        const batchBytes = row.batchBytes(isolation)
        if (batchBytes === 0) continue
        leastBytes = Math.max(leastBytes, batchBytes)
        mostBytes += Math.max(partitionBytesOf(row), batchBytes)
      }
      return leastBytes === 0 ? null : { leastBytes, mostBytes: Math.min(mostBytes, maxBytes) }
    },
    read,
  }
}

function take(reader: Reader, row: FetchRow, result: ReadResult | Refusal, allowance: Allowance): void {
  if (row.reader !== reader) return
  const { apiVersion } = reader.request
  const found = apiVersion < FIRST_WITH_ZSTD ? readable(result, apiVersion) : result
  row.found = found
  if (isRefusal(found) || found.bytes === 0) return
  allowance.leftBytes = Math.max(0, allowance.leftBytes - found.bytes)
  allowance.isFirst = false
}

const NO_ZSTD = because(
  UNSUPPORTED_COMPRESSION_TYPE,
  `Fetch must have version ${FIRST_WITH_ZSTD} or later for a batch that is compressed with zstd.`,
)

/** Returns the part of the result that a client of an early version can read. */
function readable(found: ReadResult | Refusal, apiVersion: number): ReadResult | Refusal {
  if (isRefusal(found)) return found
  const [first] = found.batches
  if (apiVersion < FIRST_WITH_EMPTY_BATCHES && first !== undefined && viewBatch(first).recordCount === 0)
    return { ...found, batches: [], bytes: 0 }
  const count = found.batches.findIndex(bytes => viewBatch(bytes).compression === 'zstd')
  if (count < 0) return found
  if (count === 0) {
    found.release?.()
    return NO_ZSTD
  }
  const batches = found.batches.slice(0, count)
  return { ...found, batches, bytes: batches.reduce((sum, { length }) => sum + length, 0) }
}
