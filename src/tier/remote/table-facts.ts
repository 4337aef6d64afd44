// Puts what tables say into the shapes that the log, the routes and the catalog use. All functions are pure.

import type { ArchivedPiece, TableFacts } from '../../log/archive.ts'
import type { LoadedTable } from '../archive/tables.ts'
import { filesOf, type IndexedFile } from '../iceberg/offset-index.ts'
import { readDataFileName } from '../iceberg/table-files.ts'
import type { InspectedFile, TableDescription } from './remote-tier.ts'

const DAY_MS = 86_400_000

export const NO_TABLE: TableFacts = Object.freeze({
  version: 0,
  partition: () => ({ ranges: [], logStart: 0 }),
})

export function factsOf({ table, archived }: LoadedTable): TableFacts {
  return {
    version: table.version,
    partition: index => ({
      ranges: archived.ranges.get(index) ?? [],
      logStart: archived.logStarts.get(index) ?? 0,
    }),
  }
}

export function piecesOf({ index }: LoadedTable, partition: number): readonly ArchivedPiece[] {
  return filesOf(index, partition)
    .filter(({ hi }) => hi >= 0)
    .map(file => ({
      ...spanOf(file),
      bytes: file.kafkaBytes ?? file.size,
      maxTimestamp: file.maxTimestamp,
      appendedByMs: sealedByMs(file.path),
      epochs: file.epochs?.map(([epoch, startOffset]) => ({ epoch, startOffset })) ?? null,
    }))
}

/** A segment covers more offsets than its rows have: those of a file of ours are in its name. */
function spanOf({ path, lo, hi }: IndexedFile): { readonly base: number; readonly next: number } {
  const named = readDataFileName(path)
  return { base: Math.min(lo, named?.base ?? lo), next: Math.max(hi + 1, named?.next ?? 0) }
}

/** Returns the end of the UTC day in which the segments were sealed, as the path of a file of ours has it. */
function sealedByMs(path: string): number | null {
  const day = /\/ingested_at_day=(\d{4}-\d{2}-\d{2})\//.exec(path)?.[1]
  return day === undefined ? null : Date.parse(`${day}T00:00:00Z`) + DAY_MS
}

export function filesMeetingSpan(
  { index }: LoadedTable,
  partition: number,
  base: number,
  next: number,
): readonly InspectedFile[] {
  return filesOf(index, partition)
    .map(file => ({ ...spanOf(file), file }))
    .filter(span => span.base < next && base < span.next)
    .map(({ base: from, next: to, file: { path, rows, size, kafkaBytes, minTimestamp, maxTimestamp } }) => {
      return { path, base: from, next: to, rows, bytes: size, kafkaBytes, minTimestamp, maxTimestamp }
    })
}

export function descriptionOf({ table, index }: LoadedTable): TableDescription {
  const { metadata, version } = table
  const placed = [...index.partitions.values()].flatMap(({ files }) => files)
  const all = [...placed, ...index.unplaced]
  return {
    location: metadata.location,
    version,
    snapshots: metadata.snapshots.length,
    files: all.length,
    bytes: all.reduce((sum, { size }) => sum + size, 0),
    rows: all.reduce((sum, { rows }) => sum + rows, 0),
  }
}
