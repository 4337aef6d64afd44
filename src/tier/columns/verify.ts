// Reads a data file back after its upload and compares it with the facts of its encoder: the length, the footer, and
// the batches of one row group, or of all. Each restored batch must match its own checksum. It does not compare with
// the segments: the encoder did that, batch by batch.

import { ahead } from '../../base/ahead.ts'
import { release } from '../../base/copied.ts'
import type { DataFileFacts } from './data-file.ts'
import type { ReadRange } from './file-bytes.ts'
import { type DataFile, factsIn, openDataFile, type RowGroupFacts } from './open-file.ts'
import { DamagedFile } from './page-cursors.ts'
import { type Fetched, fetchParts, restoreGroup } from './read.ts'

export interface GroupSummary {
  readonly batches: number
  /** Of the batches; both -1 if there are none. */
  readonly baseOffset: number
  readonly lastOffset: number
  readonly bytes: number
}

/** Restores a group, or a part of it, and counts its batches. It is work for a thread. */
export type SummarizeGroup = (fetched: Fetched) => Promise<GroupSummary>

/** Throws DamagedFile that names the difference, or MissingFile. `depth` says how many row groups are restored. */
export async function verifyFile(
  read: ReadRange,
  facts: DataFileFacts,
  depth: 'one-group' | 'everything',
  summarize: SummarizeGroup = summarizeGroup,
): Promise<void> {
  const file = await openDataFile(read, facts.size)
  compareFacts(file, facts)
  const last = file.groups.at(-1)
  const groups = depth === 'everything' ? file.groups : last === undefined ? [] : [last]
  let batches = 0
  let bytes = 0
  for (const group of groups) {
    const summaries: GroupSummary[] = []
    // The place is asked for the next part while a thread restores this one.
    for await (const part of ahead(fetchParts(file, group))) summaries.push(await summarize(part))
    const summary = joined(summaries)
    compareGroup(summary, group)
    batches += summary.batches
    bytes += summary.bytes
  }
  if (depth !== 'everything') return
  const expected = facts.segments.reduce((sum, segment) => sum + segment.batches, 0)
  expect('batches', batches, expected)
  if (facts.rawBytes > bytes) expect('bytes of batches', bytes, facts.rawBytes)
}

/** Restores on this thread. */
export async function summarizeGroup(fetched: Fetched): Promise<GroupSummary> {
  const batches = await restoreGroup(fetched)
  let end = -1
  for (const { baseOffset, lastOffset } of batches) {
    if (baseOffset <= end) throw new DamagedFile(`the batch at offset ${baseOffset} begins before ${end} ends`)
    end = lastOffset
  }
  const summary = {
    batches: batches.length,
    baseOffset: batches[0]?.baseOffset ?? -1,
    lastOffset: end,
    bytes: batches.reduce((sum, { bytes }) => sum + bytes.length, 0),
  }
  if (fetched.kind === 'columns') release(batches.map(({ bytes }) => bytes))
  return summary
}

function joined(parts: readonly GroupSummary[]): GroupSummary {
  const sum = (name: 'batches' | 'bytes') => parts.reduce((total, part) => total + part[name], 0)
  return {
    batches: sum('batches'),
    baseOffset: parts[0]?.baseOffset ?? -1,
    lastOffset: parts.at(-1)?.lastOffset ?? -1,
    bytes: sum('bytes'),
  }
}

const COMPARED = ['partition', 'base', 'next', 'firstOffset', 'lastOffset', 'rows', 'kafkaBytes', 'rawBytes'] as const

function compareFacts(file: DataFile, facts: DataFileFacts): void {
  const stored = factsIn(file)
  if (stored === null) throw new DamagedFile('the file read back was made by another writer')
  for (const name of COMPARED) expect(name, stored[name], facts[name])
  expect('row groups', file.groups.length, facts.splitOffsets.length)
  for (const [i, { byteRange }] of file.groups.entries())
    expect(`start of row group ${i}`, byteRange.start, facts.splitOffsets[i]!)
  const rows = file.groups.reduce((sum, group) => sum + group.rows, 0)
  expect('rows of the groups', rows, facts.rows)
}

function compareGroup(summary: GroupSummary, { index, firstOffset, lastOffset }: RowGroupFacts): void {
  const covers = summary.baseOffset <= firstOffset && lastOffset <= summary.lastOffset
  if (!covers)
    throw new DamagedFile(
      `row group ${index} has batches from ${summary.baseOffset} to ${summary.lastOffset}, expected ${firstOffset} to ${lastOffset}`,
    )
}

function expect(name: string, actual: number, expected: number): void {
  if (actual !== expected) throw new DamagedFile(`the file read back has ${name} ${actual}, expected ${expected}`)
}
