// Removes old versions of a table's metadata, and drops whole tables. A version may be created only once, and that
// holds only as long as its file exists: a writer that was paused for long could create a removed version again. So
// versions stay for a week, which is longer than any change may be tried, and they go one by one from the oldest on, so
// that the successors of an existing version exist too (table.ts relies on both).

import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Objects } from '../objects/objects.ts'
import { LOGGED_VERSIONS } from './new-table.ts'
import { deleteAll, mayCollect } from './reachable.ts'
import { storeNow } from './store-clock.ts'
import { loadTable } from './table.ts'
import { hintKey, metadataPrefix, versionKey, versionOfKey } from './table-files.ts'

export const VERSION_AGE_MS = 7 * 24 * 3_600_000
/** Versions that one call removes. They go one after the other, and the next round goes on. */
const MOST_AT_ONCE = 1000

/** Resolves with the number of removed versions. Keeps the last 100, and those of the last seven days. */
export async function removeOldMetadata(
  objects: Objects,
  location: string,
  { random }: { readonly clock: Clock; readonly random: Random },
): Promise<number> {
  const table = await loadTable(objects, location)
  if (table === null || !mayCollect(table.metadata)) return 0
  const found: { readonly version: number; readonly changedAtMs: number }[] = []
  for await (const { key, changedAtMs } of objects.list(metadataPrefix(location))) {
    const version = versionOfKey(location, key)
    if (version !== null && version < table.version - LOGGED_VERSIONS) found.push({ version, changedAtMs })
  }
  if (found.length === 0) return 0
  const nowMs = await storeNow(objects, location, random)
  found.sort((a, b) => a.version - b.version)
  const firstYoung = found.findIndex(({ changedAtMs }) => nowMs - changedAtMs <= VERSION_AGE_MS)
  const old = (firstYoung < 0 ? found : found.slice(0, firstYoung)).slice(0, MOST_AT_ONCE)
  if (old.length === 0) return 0
  // A reader must not begin its search at a version whose successors are gone.
  await objects.replace(hintKey(location), Buffer.from(String(table.version)))
  for (const { version } of old) await objects.delete([versionKey(location, version)])
  return old.length
}

/**
 * Deletes everything below the location. Versions of the metadata go last and from the oldest on: a crash leaves a
 * table that the next call drops. With `gc.enabled=false` only the metadata goes, as other tables share the files.
 * `confirm` is called before each request that deletes, and rejects if this process must not go on.
 */
export async function dropTable(
  objects: Objects,
  location: string,
  confirm: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const table = await loadTable(objects, location)
  const isShared = table !== null && !mayCollect(table.metadata)
  const versions: number[] = []
  let others: string[] = []
  for await (const { key } of objects.list(`${location}/`)) {
    const version = versionOfKey(location, key)
    if (version !== null) versions.push(version)
    else if (!isShared) others.push(key)
    if (others.length < 1000) continue
    await confirm()
    await deleteAll(objects, others)
    others = []
  }
  await confirm()
  await deleteAll(objects, others)
  for (const version of versions.sort((a, b) => a - b)) {
    await confirm()
    await objects.delete([versionKey(location, version)])
  }
}
