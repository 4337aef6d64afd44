// Finds the part of a data file where the batches of an offset are. Files of this broker lie one behind the other, and
// one part has the answer. Files of other writers can have the rows of neighbours in turns: then several parts have it
// together, and their batches are merged. Nothing is fetched here: a caller gets what must be opened first.

import type { RowGroupFacts } from '../columns/open-file.ts'
import { DamagedFile } from '../columns/page-cursors.ts'
import type { GroupPart } from '../columns/read.ts'
import type { RestoredBatch } from '../columns/restore.ts'
import { deleteFileOf, filesMeeting, type IndexedFile, type OffsetIndex } from '../iceberg/offset-index.ts'
import { FileTrouble, type OpenFile, type OpenFiles } from './open-files.ts'
import type { LoadedTable } from './tables.ts'

/** The table is in a state that readers do not support. */
export class DamagedTable extends Error {
  override readonly name = 'DamagedTable'
}

/**
 * Returns the error for a topic without a table. A log asks only for what it knows to be archived, so a reader must not
 * pass over these offsets.
 */
export function tableAbsent(): DamagedTable {
  return new DamagedTable(
    'the place has no table of the topic: the table was removed, or storage.remote.path names another place',
  )
}

export interface PartAt {
  /** Names the part among all files of the place. */
  readonly key: string
  readonly open: OpenFile
  readonly part: GroupPart
}

export interface Spot {
  /** One, or those that overlap. */
  readonly parts: readonly PartAt[]
  /** The parts have all rows up to this offset. */
  readonly horizon: number
}

export type Located =
  | { readonly kind: 'spot'; readonly spot: Spot }
  /** No row is at the offset or above it, below the limit. */
  | { readonly kind: 'none' }
  | { readonly kind: 'open'; readonly open: () => Promise<unknown> }

/** Throws DamagedTable if rows of the partition may be in a file that cannot be placed. */
export function checkLost({ lost }: LoadedTable, partition: number): void {
  const found = lost.find(each => each.partition === null || each.partition === partition)
  if (found !== undefined) throw new DamagedTable(found.why)
}

/** Throws DamagedTable if another writer removed rows of the file with a delete file. */
export function checkDeletes(index: OffsetIndex, file: IndexedFile): void {
  const found = deleteFileOf(index, file)
  if (found === null) return
  throw new DamagedTable(
    `rows of ${file.path} are removed by ${found.path}, a file of ${found.kind} deletes of another writer; ` +
      'expected a table without such files, which a rewrite of its data files gives',
  )
}

/** Finds the place of the first row at the offset or above it. Throws DamagedTable and FileTrouble. */
export function locate(
  files: OpenFiles,
  { index }: LoadedTable,
  partition: number,
  from: number,
  until: number,
): Located {
  for (let offset = from; ; ) {
    const candidates = filesMeeting(index, partition, offset)
    if (candidates.length === 0 || candidates[0]!.lo >= until) return { kind: 'none' }
    const groups: GroupAt[] = []
    for (const file of candidates) {
      checkDeletes(index, file)
      const open = files.get(file)
      if (open === undefined) return { kind: 'open', open: () => files.open(file) }
      for (const group of open.groups) if (group.lastOffset >= offset) groups.push({ open, group })
    }
    if (groups.length > 0) return locateIn(files, groups, offset, until)
    // The bounds in a manifest may be wider than the rows.
    offset = candidates.reduce((most, { hi }) => Math.max(most, hi), offset) + 1
  }
}

interface GroupAt {
  readonly open: OpenFile
  readonly group: RowGroupFacts
}

function locateIn(files: OpenFiles, groups: readonly GroupAt[], offset: number, until: number): Located {
  const parts: PartAt[] = []
  for (const { open, group } of overlapping(groups, ({ group }) => group)) {
    const known = open.parts.get(group)
    if (known === undefined) return { kind: 'open', open: () => files.parts(open, group) }
    const at = known.findIndex(({ lastOffset }) => lastOffset >= offset)
    if (at < 0)
      throw new FileTrouble(open.path, new DamagedFile(`the page index ends before offset ${group.lastOffset}`))
    parts.push({ key: `${open.path}#${group.index}#${at}`, open, part: known[at]! })
  }
  const meeting = overlapping(parts, ({ part }) => part)
  if (meeting[0]!.part.firstOffset >= until) return { kind: 'none' }
  const horizon = meeting.reduce((least, { part }) => Math.min(least, part.lastOffset), Number.POSITIVE_INFINITY)
  return { kind: 'spot', spot: { parts: meeting, horizon } }
}

/** Returns the item with the lowest first offset and those that begin before its end, in order. */
function overlapping<T>(
  items: readonly T[],
  of: (item: T) => { readonly firstOffset: number; readonly lastOffset: number },
): readonly T[] {
  if (items.length === 1) return items
  const sorted = items.toSorted((a, b) => of(a).firstOffset - of(b).firstOffset)
  const end = of(sorted[0]!).lastOffset
  return sorted.filter(item => of(item).firstOffset <= end)
}

/** Returns the batches of a spot in order. Throws DamagedTable if their offsets overlap. */
export function mergeBatches(
  { parts, horizon }: Spot,
  batches: readonly (readonly RestoredBatch[])[],
): readonly RestoredBatch[] {
  if (batches.length === 1) return batches[0]!
  const sorted = batches
    .flat()
    .filter(({ baseOffset }) => baseOffset <= horizon)
    .sort((a, b) => a.baseOffset - b.baseOffset || a.lastOffset - b.lastOffset)
  return sorted.filter((batch, i) => {
    const former = sorted[i - 1]
    if (former === undefined || former.lastOffset < batch.baseOffset) return true
    // Another writer may have written the same rows twice.
    if (Buffer.compare(former.bytes, batch.bytes) === 0) return false
    throw new DamagedTable(
      `the files ${parts.map(({ open }) => open.path).join(' and ')} of another writer have the records of ` +
        `offsets ${batch.baseOffset} to ${former.lastOffset} in turns; expected each record batch in one file`,
    )
  })
}
