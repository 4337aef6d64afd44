// The fence of a table: a number in its properties that only grows. The holder of the storage worker's lease commits
// its own before anything else. A former holder, however long it was paused, then finds another number and stops.

import { type Change, commit, type Guard } from './commit.ts'
import { BadMetadata, type TableMetadata } from './metadata.ts'
import type { CommitDeps } from './put-once.ts'
import type { Table } from './table.ts'

export const FENCE = 'kafka.offload.fence'

/** Thrown if another holder committed its fence. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}

/** Returns the fence of the table; -1 if no holder has committed one. Throws BadMetadata. */
export function fenceOf({ properties, location }: TableMetadata): number {
  const text = properties[FENCE]
  if (text === undefined) return -1
  const fence = Number(text)
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(fence))
    throw new BadMetadata(`property ${FENCE} of ${location} is '${text}'; expected an integer from 0`)
  return fence
}

/**
 * Commits a new fence: the version of the takeover, or the table's fence + 1 if that is larger, as after the store was
 * restored from a copy. `guard` refuses if the lease is lost. Rejects as commit does.
 */
export async function takeFence(
  table: Table,
  takeoverVersion: number,
  guard: Guard,
  deps: CommitDeps,
): Promise<{ readonly table: Table; readonly fence: number }> {
  let fence = -1
  const change: Change = {
    properties: metadata => {
      fence = Math.max(takeoverVersion, fenceOf(metadata) + 1)
      return { [FENCE]: String(fence) }
    },
  }
  const committed = await commit(table, change, guard, deps)
  // The commit may have been found under the fence of a later holder.
  fenced(fence)(committed.table.metadata)
  return { table: committed.table, fence }
}

/** Returns a guard that throws Fenced unless the table has exactly this fence. */
export function fenced(fence: number): (metadata: TableMetadata) => void {
  return metadata => {
    const found = fenceOf(metadata)
    if (found !== fence)
      throw new Fenced(`the table ${metadata.location} has the fence ${found}; this broker committed ${fence}`)
  }
}
