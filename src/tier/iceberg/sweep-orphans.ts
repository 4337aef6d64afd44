// Deletes files that no snapshot reaches: uploads whose commit never came, and leftovers of crashes. Only files that
// are older than a day, so that a commit in progress keeps its own: put-once.ts commits nothing that was staged half a
// day ago. Versions of the metadata are not orphans (old-metadata.ts).

import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Objects } from '../objects/objects.ts'
import { deleteAll, keysInTable, liveFilesOf, manifestsOfAll, mayCollect, statisticsFiles } from './reachable.ts'
import { storeNow } from './store-clock.ts'
import { loadTable } from './table.ts'
import { hintKey, metadataPrefix, versionOfKey } from './table-files.ts'

export const ORPHAN_AGE_MS = 24 * 3_600_000

export interface Sweep {
  readonly deleted: readonly string[]
  /** Objects that may be orphans, but are not old enough. */
  readonly young: number
}

/**
 * Resolves when the orphans of the table are deleted. Does nothing if there is no table, or with `gc.enabled=false`.
 * Rejects, and deletes nothing, if a file that a snapshot needs cannot be read.
 */
export async function sweepOrphans(
  objects: Objects,
  location: string,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  ageMs = ORPHAN_AGE_MS,
): Promise<Sweep> {
  const nowMs = await storeNow(objects, location, random)
  const old: string[] = []
  const young: string[] = []
  for (const prefix of [`${location}/data/`, metadataPrefix(location)])
    for await (const { key, changedAtMs } of objects.list(prefix)) {
      if (versionOfKey(location, key) !== null || key.endsWith('.metadata.json') || key === hintKey(location)) continue
      if (nowMs - changedAtMs > ageMs) old.push(key)
      else young.push(key)
    }
  if (old.length === 0) return { deleted: [], young: young.length }
  // The table is read after the list: a file that was committed in between is then seen as reached.
  const table = await loadTable(objects, location)
  if (table === null || !mayCollect(table.metadata)) return { deleted: [], young: 0 }
  const { lists, manifests } = await manifestsOfAll(clock, objects, table.metadata.snapshots)
  const files = await liveFilesOf(clock, objects, [...manifests.values()])
  const paths = [...lists, ...manifests.keys(), ...files, ...statisticsFiles(table.metadata, () => true)]
  const reached = new Set(keysInTable(objects, location, paths))
  const deleted = old.filter(key => !reached.has(key))
  await deleteAll(objects, deleted)
  return { deleted, young: young.filter(key => !reached.has(key)).length }
}
