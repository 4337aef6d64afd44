// Finds a record of a data file by its time, as ListOffsets asks for it: the first record at or after a time, or the
// one with the largest timestamp. The page index says which block has the record, and only the times and offsets of
// that block are fetched. The column is limited to the years 1 to 9999; times beyond are looked up in the batches
// themselves.

import {
  type BatchView,
  codecOf,
  InvalidRecords,
  MAX_UNPACKED_BYTES,
  payloadOf,
  RecordWalk,
  viewBatch,
} from '../../protocol/records.ts'
import { unpackSync } from '../../protocol/unpacking.ts'
import { MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS } from './data-file.ts'
import type { PageAt } from './file-bytes.ts'
import type { DataFile, RowGroupFacts } from './open-file.ts'
import { DamagedFile, NumbersCursor, toMs } from './page-cursors.ts'
import { pagesOf } from './page-index.ts'
import { parsing } from './parsing.ts'
import { type Fetched, fetchColumns, fetchParts, ownChunk, restoreGroup } from './read.ts'
import { FIELD } from './table-schema.ts'

export interface FoundRecord {
  readonly offset: number
  /** The record's own timestamp, in ms. */
  readonly timestamp: number
  readonly leaderEpoch: number
}

export interface TimeQuery {
  /** The first record at or after this time, in ms; null: the first record that has the largest timestamp. */
  readonly since: number | null
  /** Earlier offsets do not count: they are below the log start. */
  readonly from: number
  /** Offsets from here on do not count; by default all do. */
  readonly until?: number
}

/** Looks into the batches of a group. It is work for a thread. */
export type SearchBatches = (fetched: Fetched, query: TimeQuery) => Promise<FoundRecord | null>

/**
 * Resolves with the first record from `from` on whose timestamp is at or after this one; null if the file has none.
 */
export async function findByTime(
  file: DataFile,
  since: number,
  from = 0,
  search: SearchBatches = searchBatches,
): Promise<FoundRecord | null> {
  let earliest: FoundRecord | null = null
  for (const group of groupsFrom(file, from)) {
    // Groups of other writers can overlap, so that a later one has an earlier record.
    if (earliest !== null && group.firstOffset > earliest.offset) break
    if (!mayHave(group, since)) continue
    const isExact = file.isOurs && since > MIN_TIMESTAMP_MS && since <= MAX_TIMESTAMP_MS
    const first = isExact ? await firstTimeOf(file, group, since, from) : null
    if (isExact && first === null) continue
    const found =
      first !== null && first.timestamp < MAX_TIMESTAMP_MS
        ? withEpoch(file, first)
        : await searchGroup(file, group, { since, from }, search)
    if (found !== null && (earliest === null || found.offset < earliest.offset)) earliest = found
  }
  return earliest
}

/**
 * Resolves with the record of the offsets [from, until) that has the largest timestamp, the first if several have it;
 * null if no record has a timestamp.
 */
export async function findLargestTime(
  file: DataFile,
  from = 0,
  search: SearchBatches = searchBatches,
  until = Number.POSITIVE_INFINITY,
): Promise<FoundRecord | null> {
  let best: FoundRecord | null = null
  for (const group of groupsFrom(file, from)) {
    const { maxTimestamp, firstOffset, lastOffset } = group
    if (firstOffset >= until) break
    const isExact = file.isOurs && maxTimestamp < MAX_TIMESTAMP_MS
    if (maxTimestamp < 0 || (isExact && best !== null && best.timestamp >= maxTimestamp)) continue
    const isWhole = from <= firstOffset && lastOffset < until
    const first = isExact && isWhole ? await firstTimeOf(file, group, maxTimestamp, from) : null
    const found: FoundRecord | null =
      first === null ? await searchGroup(file, group, { since: null, from, until }, search) : withEpoch(file, first)
    if (found !== null && (best === null || found.timestamp > best.timestamp)) best = found
  }
  return best
}

/** Looks into the batches of a group, a part after the other. */
async function searchGroup(
  file: DataFile,
  group: RowGroupFacts,
  query: TimeQuery,
  search: SearchBatches,
): Promise<FoundRecord | null> {
  let best: FoundRecord | null = null
  for await (const part of fetchParts(file, group, query.from)) {
    const found = await search(part, query)
    if (found !== null && query.since !== null) return found
    if (found !== null && (best === null || found.timestamp > best.timestamp)) best = found
  }
  return best
}

/** Looks into every record of what was fetched. */
export async function searchBatches(fetched: Fetched, query: TimeQuery): Promise<FoundRecord | null> {
  let best: FoundRecord | null = null
  for (const { bytes } of await restoreGroup(fetched, query.from)) {
    const least: number = best?.timestamp ?? -1
    const found: FoundRecord | null = parsing('a record batch', () => searchBatch(viewBatch(bytes), query, least))
    if (found === null) continue
    if (query.since !== null) return found
    best = found
  }
  return best
}

/** Returns the first record at or after `since`, or the first of those with the largest timestamp above `least`. */
function searchBatch(batch: BatchView, query: TimeQuery, least: number): FoundRecord | null {
  const { since, from, until = Number.POSITIVE_INFINITY } = query
  const { leaderEpoch } = batch
  let best: FoundRecord | null = null
  try {
    const payload = unpackSync(codecOf(batch), payloadOf(batch), MAX_UNPACKED_BYTES)
    for (const walk = new RecordWalk(batch, payload); walk.next(); ) {
      const { offset, timestamp } = walk
      if (offset >= until) break
      if (offset < from || timestamp < (since ?? 0) || (since === null && timestamp <= (best?.timestamp ?? least)))
        continue
      best = { offset, timestamp, leaderEpoch }
      if (since !== null) return best
    }
    return best
  } catch (error) {
    if (!(error instanceof InvalidRecords)) throw error
    // A timestamp that is no number of 64 bits. The offset of the whole batch makes sure that a reader skips nothing.
    const { baseOffset, maxTimestamp } = batch
    const isFound = baseOffset < until && maxTimestamp >= (since ?? least + 1)
    return isFound ? { offset: Math.max(baseOffset, from), timestamp: maxTimestamp, leaderEpoch } : null
  }
}

function groupsFrom({ groups }: DataFile, from: number): RowGroupFacts[] {
  return groups
    .filter(({ rows, lastOffset }) => rows > 0 && lastOffset >= from)
    .sort((a, b) => a.firstOffset - b.firstOffset)
}

/** A group whose largest time is the limit of the column can have any later one. */
function mayHave({ maxTimestamp }: RowGroupFacts, since: number): boolean {
  return maxTimestamp >= since || maxTimestamp >= MAX_TIMESTAMP_MS
}

interface FoundTime {
  readonly offset: number
  readonly timestamp: number
}

/** The footer has the first offset of each epoch. */
function withEpoch(file: DataFile, { offset, timestamp }: FoundTime): FoundRecord {
  const epoch = file.epochs.findLast(([, firstOffset]) => firstOffset <= offset)
  return { offset, timestamp, leaderEpoch: epoch?.[0] ?? -1 }
}

/** Finds the first row whose column `timestamp` is at or after this time, by the times of the pages. */
async function firstTimeOf(
  file: DataFile,
  group: RowGroupFacts,
  since: number,
  from: number,
): Promise<FoundTime | null> {
  const chunks = file.metadata.row_groups[group.index]!.columns
  const [times, offsets] = await Promise.all(
    [FIELD.timestamp, FIELD.offset].map(id => pagesOf(file, ownChunk(chunks, id), group.rows)),
  )
  for (const [i, page] of times!.entries()) {
    const offsetsOfPage = offsets![i]
    if (offsetsOfPage?.firstRow !== page.firstRow || offsetsOfPage.rows !== page.rows)
      throw new DamagedFile('the pages of the timestamps and those of the offsets have different rows')
    if ((page.most ?? since) < since || (offsetsOfPage.most ?? from) < from) continue
    const found = await firstTimeIn(file, page, offsetsOfPage, since, from)
    if (found !== null) return found
  }
  return null
}

/** Both columns have their pages at the same rows. */
async function firstTimeIn(
  file: DataFile,
  times: PageAt,
  offsets: PageAt,
  since: number,
  from: number,
): Promise<FoundTime | null> {
  const fetched = await fetchColumns(file, [
    { id: FIELD.timestamp, span: times, skippedRows: 0 },
    { id: FIELD.offset, span: offsets, skippedRows: 0 },
  ])
  const cursor = (id: number) => new NumbersCursor(fetched.find(column => column.id === id)!)
  const [timestamps, numbers] = [cursor(FIELD.timestamp), cursor(FIELD.offset)]
  try {
    for (let row = 0; row < times.rows; row++) {
      const timestamp = toMs(timestamps.next())
      const offset = numbers.next()
      if (timestamp >= since && offset >= from) return { offset, timestamp }
    }
    return null
  } finally {
    timestamps.end()
    numbers.end()
  }
}
