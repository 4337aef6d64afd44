// Removes files whose records retention has passed, in one snapshot that only changes metadata. The files themselves go
// when the last snapshot that names them expires. A file that is passed in part stays whole; the broker hides the rest.

import { type Committed, commit, type Guard } from './commit.ts'
import type { TableMetadata } from './metadata.ts'
import { filesBelow, type OffsetIndex } from './offset-index.ts'
import type { CommitDeps } from './put-once.ts'
import { moveLogStart, readArchived, writeArchived } from './ranges.ts'
import type { Table } from './table.ts'

/**
 * Moves the log starts of partitions in the properties of the table, and removes the files wholly below them. The index
 * must be one of this table; files that another writer replaced since then stay. Rejects as commit does.
 */
export function removeBelow(
  table: Table,
  index: OffsetIndex,
  logStarts: ReadonlyMap<number, number>,
  guard: Guard,
  deps: CommitDeps,
): Promise<Committed> {
  const remove = [...logStarts].flatMap(([partition, logStart]) =>
    filesBelow(index, partition, logStart).map(({ path }) => path),
  )
  const properties = (metadata: TableMetadata) => {
    let archived = readArchived(metadata.properties)
    for (const [partition, logStart] of logStarts) archived = moveLogStart(archived, partition, logStart)
    return writeArchived(archived)
  }
  return commit(table, { remove, properties, operation: 'delete' }, guard, deps)
}
