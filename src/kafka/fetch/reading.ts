// Reads the rows of a fetch, within an allowance of bytes. It decides which rows are read, in which order, and how
// much of a result a client of the request's version can take. It waits only for the store, and decides nothing about
// answers.
//
// The batch that has the requested offset is always read whole. The first row with records returns at least one
// batch, even if the byte limits are smaller (KIP-74).
//
// A row whose offset only the archive has is cold. The archive returns at once the batches that it has in memory.
// Otherwise the row has no records in this pass, and its read goes on beside the fetch (archive-reads.ts): a later pass
// finds its result. Meanwhile it takes nothing from the allowance: the other rows are served as if it had no records.

import { type Clock, within } from '../../base/clock.ts'
import type { Isolation, ReadResult } from '../../log/partition.ts'
import { because, isRefusal, type Refusal, UNSUPPORTED_COMPRESSION_TYPE } from '../../protocol/errors.ts'
import { viewBatch } from '../../protocol/records.ts'
import { type ArchiveReadOptions, ArchiveReads } from './archive-reads.ts'
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
  /** The reads of the archive; null until there is a cold row. */
  cold: ArchiveReads | null
  /** The request waits for the archive until then, on Clock.monotonic(). */
  readonly coldUntilMs: number
}

/** The bytes that one pass over rows may still take. */
export interface Allowance {
  leftBytes: number
  /** True if no records have been found yet: then the next batch is read whole. */
  isFirst: boolean
  /** True if this fetch gets less than it could use, because other fetches have part of the memory for answers. */
  readonly isShort: boolean
}

/** The room that a row has in a pass. */
interface Room {
  /** The most bytes to read. */
  readonly mostBytes: number
  /** The bytes that the rows after it may still take. */
  readonly leftBytes: number
  /** True if its first batch is served even if it is larger. */
  readonly isFirst: boolean
}

export type Wanted = Pick<Asking, 'mostBytes' | 'leastBytes'>

export interface RowReading {
  /**
   * Returns the memory that reading these rows may take, at most maxBytes; null if there is nothing to read. A row that
   * waits for the archive needs none.
   */
  wanted(reader: Reader, rows: readonly FetchRow[], maxBytes: number): Wanted | null
  /**
   * Reads the rows, which `reader` has claimed, and stores the result in each row. Returns null if all of it was in
   * memory. Rows that must be read from the store are read at the same time, because their batches lie close together
   * on the disk. These are as many rows as fit if each takes its maximum.
   */
  read(reader: Reader, rows: readonly FetchRow[], allowance: Allowance): Promise<void> | null
}

/** Makes the reading. `usualBytes` is the most bytes of a partition if the request does not give a size for it. */
export function createRowReading(clock: Clock, usualBytes: number, archiveOptions: ArchiveReadOptions): RowReading {
  const partitionBytesOf = ({ partitionMaxBytes }: FetchRow) => (partitionMaxBytes > 0 ? partitionMaxBytes : usualBytes)

  /**
   * Returns false if the next batch might not fit. The store reads whole batches, so it would read such a batch in
   * vain. Only the batch's largest possible size is known here.
   */
  function mayFit(row: FetchRow, isolation: Isolation, leftBytes: number): boolean {
    return Math.min(row.batchBytes(isolation), partitionBytesOf(row)) <= leftBytes
  }

  function readFrom(
    reader: Reader,
    rows: readonly FetchRow[],
    allowance: Allowance,
    from: number,
  ): Promise<void> | null {
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
      if (row.isCold) {
        readCold(reader, row, allowance, { mostBytes, leftBytes, isFirst })
        continue
      }
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
    const isRemote = asked.some(({ partition }) => partition?.isRemote === true)
    const all = isRemote ? unlessOvertaken(reader, asked, results) : Promise.all(results)
    return all.then(found => {
      for (const [i, row] of asked.entries()) take(reader, row, found[i]!, allowance)
      // The first row had no records after all, so the batch of another row must be read whole.
      const again = allowance.isFirst ? readFrom(reader, asked.slice(1), allowance, 0) : null
      return (again ?? Promise.resolve()).then(() => readFrom(reader, rows, allowance, at) ?? undefined)
    })
  }

  /** Serves what is there of a cold row. It has no records while its read is pending, or if it may not be read. */
  function readCold(reader: Reader, row: FetchRow, allowance: Allowance, room: Room): void {
    reader.cold ??= new ArchiveReads(archiveOptions)
    const { cold, isolation } = reader
    const known = cold.resultOf(row)
    if (known !== undefined && known !== null) {
      serveKept(reader, cold, row, known, allowance, room)
      return
    }
    const mayStart = known === undefined && cold.mayTry && (room.mostBytes > 0 || room.isFirst)
    // Always with one batch, so that the read is the same one in the next fetch.
    const result = mayStart ? row.read(room.mostBytes, true, isolation) : row.readNothing(isolation)
    if (result instanceof Promise) {
      cold.start(row, result)
      take(reader, row, row.readNothing(isolation), allowance)
      return
    }
    if (mayStart && isRefusal(result)) cold.refused()
    const served = fit(result, room)
    if (served === null && !isRefusal(result)) result.release?.()
    take(reader, row, served ?? row.readNothing(isolation), allowance)
  }

  /** Serves a result that came beside the fetch. It stays where it is if there is no room for it. */
  function serveKept(
    reader: Reader,
    cold: ArchiveReads,
    row: FetchRow,
    result: ReadResult | Refusal,
    allowance: Allowance,
    room: Pick<Room, 'leftBytes' | 'isFirst'>,
  ): void {
    const served = fit(result, room)
    if (served !== null) cold.taken(row)
    take(reader, row, served ?? row.readNothing(reader.isolation), allowance)
  }

  /**
   * Waits for reads of the store. A read goes on in the archive if retention overtakes it. Then it may take longer than
   * the fetch waits for the archive, and becomes a cold read.
   */
  async function unlessOvertaken(
    reader: Reader,
    asked: readonly FetchRow[],
    results: readonly Promise<ReadResult | Refusal>[],
  ): Promise<(ReadResult | Refusal)[]> {
    const found = asked.map((): ReadResult | Refusal | null => null)
    const all = Promise.all(
      results.map(async (result, i) => {
        found[i] = await result
      }),
    )
    await within(clock, reader.coldUntilMs - clock.monotonic(), all, () => null)
    return await Promise.all(
      asked.map(async (row, i) => {
        const result = found[i] ?? null
        if (result !== null || !row.isCold) return result ?? (await results[i]!)
        reader.cold ??= new ArchiveReads(archiveOptions)
        reader.cold.start(row, results[i]!)
        return row.readNothing(reader.isolation)
      }),
    )
  }

  return {
    wanted(reader, rows, maxBytes) {
      const { cold, isolation } = reader
      let mostBytes = 0
      let leastBytes = 0
      for (const row of rows) {
        const batchBytes = row.batchBytes(isolation)
        if (batchBytes === 0) continue
        if (cold !== null && row.isCold) {
          const result = cold.resultOf(row)
          if (result === null || (result === undefined && !cold.mayTry)) continue
          if (result !== undefined) {
            if (isRefusal(result)) continue
            leastBytes = Math.max(leastBytes, result.batches[0]?.length ?? 0)
            mostBytes += result.bytes
            continue
          }
        }
        leastBytes = Math.max(leastBytes, batchBytes)
        mostBytes += Math.max(partitionBytesOf(row), batchBytes)
      }
      return leastBytes === 0 ? null : { leastBytes, mostBytes: Math.min(mostBytes, maxBytes) }
    },
    read(reader, rows, allowance) {
      if (reader.cold !== null) {
        reader.cold.hasNews = false
        reader.cold.isFresh = false
      }
      const later = readFrom(reader, rows, allowance, 0)
      const { cold } = reader
      if (cold === null || (later === null && !cold.isFresh)) return later
      return takeAlong(reader, cold, allowance, later)
    },
  }

  /**
   * Serves results of the archive that come while the store is read, or within a turn of the event loop. So a full
   * queue is an error of the row, and what is nearly in memory is served, even if the fetch does not wait.
   */
  async function takeAlong(
    reader: Reader,
    cold: ArchiveReads,
    allowance: Allowance,
    later: Promise<void> | null,
  ): Promise<void> {
    const turn = cold.isFresh ? new Promise<void>(resolve => clock.soon(resolve)) : null
    await later
    await turn
    cold.hasNews = false
    for (const row of cold.settled()) {
      const result = row.reader === reader && row.isCold ? cold.resultOf(row) : undefined
      if (result !== undefined && result !== null) serveKept(reader, cold, row, result, allowance, allowance)
    }
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

/** Returns the batches of the result for which there is room; null if there are none. */
function fit(
  result: ReadResult | Refusal,
  { leftBytes, isFirst }: Pick<Room, 'leftBytes' | 'isFirst'>,
): ReadResult | Refusal | null {
  if (isRefusal(result)) return result
  let bytes = 0
  let count = 0
  for (const batch of result.batches) {
    if (bytes + batch.length > leftBytes && !(isFirst && count === 0)) break
    bytes += batch.length
    count++
  }
  if (count === 0) return null
  return count === result.batches.length ? result : { ...result, batches: result.batches.slice(0, count), bytes }
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
