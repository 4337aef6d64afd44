// Finds a record of a partition by its time, file by file. The bounds in the metadata say which files can have it.

import type { FoundOffset } from '../../log/time-search.ts'
import { MAX_TIMESTAMP_MS } from '../columns/data-file.ts'
import { findByTime, findLargestTime, type SearchBatches } from '../columns/time-search.ts'
import { filesOf, type IndexedFile } from '../iceberg/offset-index.ts'
import { naming, type OpenFiles } from './open-files.ts'
import { checkDeletes, checkLost } from './spots.ts'
import type { LoadedTable } from './tables.ts'

export interface TimeAsk {
  readonly partition: number
  /** Only the offsets [from, until) count. */
  readonly from: number
  readonly until: number
}

/** Searches the batches that were fetched; it rejects with TooLate when the caller no longer waits. */
export interface Searcher {
  readonly files: OpenFiles
  readonly search: SearchBatches
}

/** Resolves with the first record at or after this time (ms); null if no record is. */
export async function firstSince(
  { files, search }: Searcher,
  loaded: LoadedTable,
  ask: TimeAsk,
  timestamp: number,
): Promise<FoundOffset | null> {
  let earliest: FoundOffset | null = null
  for (const file of filesIn(loaded, ask)) {
    // Files of other writers can overlap, so that a later one has an earlier record.
    if (earliest !== null && file.lo > earliest.offset) break
    if (mostOf(file) < timestamp) continue
    checkDeletes(loaded.index, file)
    const { file: data } = await files.open(file)
    const found = await naming(file.path, () => findByTime(data, timestamp, ask.from, search))
    if (found !== null && found.offset < ask.until && (earliest === null || found.offset < earliest.offset))
      earliest = found
  }
  return earliest
}

/** Resolves with the record that has the largest timestamp, the first one if several have it; null if none has one. */
export async function largest(
  { files, search }: Searcher,
  loaded: LoadedTable,
  ask: TimeAsk,
): Promise<FoundOffset | null> {
  let best: FoundOffset | null = null
  const likelyFirst = filesIn(loaded, ask).toSorted((a, b) => mostOf(b) - mostOf(a) || a.lo - b.lo)
  for (const file of likelyFirst) {
    const most = mostOf(file)
    if (most < 0 || (best !== null && most < best.timestamp)) break
    if (best !== null && most === best.timestamp && file.lo > best.offset) continue
    checkDeletes(loaded.index, file)
    const { file: data } = await files.open(file)
    const found = await naming(file.path, () => findLargestTime(data, ask.from, search, ask.until))
    if (found !== null && (best === null || isBetter(found, best))) best = found
  }
  return best
}

function isBetter(a: FoundOffset, b: FoundOffset): boolean {
  return a.timestamp > b.timestamp || (a.timestamp === b.timestamp && a.offset < b.offset)
}

function filesIn(loaded: LoadedTable, { partition, from, until }: TimeAsk): IndexedFile[] {
  checkLost(loaded, partition)
  return filesOf(loaded.index, partition).filter(({ lo, hi }) => hi >= from && lo < until)
}

/** Returns the largest time that the file can have. At the limit of the column it can be any later one. */
function mostOf({ maxTimestamp }: IndexedFile): number {
  return maxTimestamp === null || maxTimestamp >= MAX_TIMESTAMP_MS ? Number.MAX_SAFE_INTEGER : maxTimestamp
}
