// Expires snapshots: readers can no longer travel back to them, and files that only they reach are deleted. The order
// is: compute which files those are, commit the metadata without the snapshots, delete. A crash in between leaves
// orphans for the sweep (sweep-orphans.ts), and never metadata that names a missing file.

import type { Clock } from '../../base/clock.ts'
import type { Objects } from '../objects/objects.ts'
import { commit, type Guard } from './commit.ts'
import { currentSnapshot, type Properties, type Ref, type Snapshot, type TableMetadata } from './metadata.ts'
import type { CommitDeps } from './put-once.ts'
import { deleteAll, keysInTable, liveFilesOf, manifestsOfAll, mayCollect, statisticsFiles } from './reachable.ts'
import type { Table } from './table.ts'

const DAY_MS = 86_400_000
const KEEP_AT_LEAST = 10
/** Each snapshot adds 0.7 KB to the metadata, which each commit writes and each reader reads. */
export const MOST_SNAPSHOTS = 200

export interface Expiry {
  readonly table: Table
  readonly expired: number
  readonly deletedFiles: number
  /** Errors that did no harm; the caller logs them. */
  readonly leftovers: readonly Error[]
}

/**
 * Expires what the table's `history.expire.*` properties and its refs allow, and beyond `mostSnapshots` the oldest ones
 * that no ref keeps. Does nothing with `gc.enabled=false`. Rejects as commit does, and if a manifest cannot be read.
 */
export async function expireSnapshots(
  table: Table,
  guard: Guard,
  deps: CommitDeps,
  mostSnapshots = MOST_SNAPSHOTS,
): Promise<Expiry> {
  const { objects, location } = table
  const { clock } = deps
  const { metadata } = table
  if (!mayCollect(metadata) || expiredOf(metadata, clock.now(), mostSnapshots).length === 0)
    return { table, expired: 0, deletedFiles: 0, leftovers: [] }

  let expired: readonly Snapshot[] = []
  let unreachable: readonly string[] = []
  const edit = async (before: TableMetadata) => {
    expired = mayCollect(before) ? expiredOf(before, clock.now(), mostSnapshots) : []
    const after = withoutSnapshots(before, expired, clock.now())
    const statistics = statisticsFiles(before, id => expired.some(snapshot => snapshot['snapshot-id'] === id))
    const only = await reachedOnlyBy(clock, objects, expired, after.snapshots)
    unreachable = keysInTable(objects, location, [...only, ...statistics])
    return after
  }
  const committed = await commit(table, { edit }, guard, deps)
  const leftovers = [...committed.leftovers]
  // A commit that was found later was made from another version than the last one that was computed with.
  if (committed.table === committed.base) unreachable = []
  await deleteAll(objects, unreachable).catch(error => leftovers.push(error))
  return { table: committed.table, expired: expired.length, deletedFiles: unreachable.length, leftovers }
}

/** Returns the snapshots that may go, in the order of the metadata. The current one always stays. */
export function expiredOf(metadata: TableMetadata, nowMs: number, mostSnapshots: number): readonly Snapshot[] {
  const byId = new Map(metadata.snapshots.map(snapshot => [snapshot['snapshot-id'], snapshot]))
  const kept = new Set<Snapshot>()
  const { properties, refs } = metadata
  const maxAgeMs = amount(properties, 'history.expire.max-snapshot-age-ms', DAY_MS)
  const least = Math.max(1, amount(properties, 'history.expire.min-snapshots-to-keep', KEEP_AT_LEAST))
  const current = currentSnapshot(metadata)
  if (current !== null) keepBranch(current, least, maxAgeMs, mostSnapshots)
  for (const [name, ref] of Object.entries(refs)) {
    const head = byId.get(ref['snapshot-id'])
    if (name === 'main' || head === undefined || isRefOver(ref, head, nowMs)) continue
    if (ref.type === 'branch')
      keepBranch(head, ref['min-snapshots-to-keep'] ?? least, ref['max-snapshot-age-ms'] ?? maxAgeMs, mostSnapshots)
    else kept.add(head)
  }
  // A snapshot that no ref reaches was rolled back, or waits to be picked by the writer that staged it.
  const heads = [current, ...Object.values(refs).map(ref => byId.get(ref['snapshot-id']) ?? null)]
  const reached = new Set(heads.flatMap(head => (head === null ? [] : ancestors(head))))
  const young = metadata.snapshots.filter(each => !reached.has(each) && nowMs - each['timestamp-ms'] <= maxAgeMs)
  for (const snapshot of young.reverse()) if (kept.size < mostSnapshots) kept.add(snapshot)
  return metadata.snapshots.filter(snapshot => !kept.has(snapshot))

  function ancestors(from: Snapshot): Snapshot[] {
    const found: Snapshot[] = []
    const seen = new Set<Snapshot>()
    for (let each: Snapshot | undefined = from; each !== undefined && !seen.has(each); ) {
      seen.add(each)
      found.push(each)
      const parent: Snapshot['snapshot-id'] | null = each['parent-snapshot-id'] ?? null
      each = parent === null ? undefined : byId.get(parent)
    }
    return found
  }

  function keepBranch(head: Snapshot, atLeast: number, ageMs: number, atMost: number): void {
    for (const [i, snapshot] of ancestors(head).entries()) {
      if (i > 0 && (i >= atMost || (i >= atLeast && nowMs - snapshot['timestamp-ms'] > ageMs))) break
      kept.add(snapshot)
    }
  }
}

function amount(properties: Properties, name: string, byDefault: number): number {
  const value = Number(properties[name] ?? byDefault)
  // A value that is no number must not expire everything.
  return Number.isFinite(value) && value >= 0 ? value : byDefault
}

const isRefOver = (ref: Ref, head: Snapshot, nowMs: number) =>
  nowMs - head['timestamp-ms'] > (ref['max-ref-age-ms'] ?? Number.POSITIVE_INFINITY)

/** Returns the metadata without the snapshots, and without refs that are too old or lead to one of them. */
function withoutSnapshots(metadata: TableMetadata, expired: readonly Snapshot[], nowMs: number): TableMetadata {
  const gone = new Set(expired.map(snapshot => snapshot['snapshot-id']))
  const byId = new Map(metadata.snapshots.map(snapshot => [snapshot['snapshot-id'], snapshot]))
  // The log must have no gaps (Iceberg specification): what is before an expired snapshot goes too.
  const last = metadata['snapshot-log'].findLastIndex(entry => gone.has(entry['snapshot-id']))
  const statistics = ['statistics', 'partition-statistics'].flatMap(member => {
    const files = metadata[member]
    return Array.isArray(files) ? [[member, files.filter(file => !gone.has(file['snapshot-id']))]] : []
  })
  return {
    ...metadata,
    ...Object.fromEntries(statistics),
    snapshots: metadata.snapshots.filter(snapshot => !gone.has(snapshot['snapshot-id'])),
    'snapshot-log': metadata['snapshot-log'].slice(last + 1),
    refs: Object.fromEntries(
      Object.entries(metadata.refs).filter(([name, ref]) => {
        const head = byId.get(ref['snapshot-id'])
        return name === 'main' || (head !== undefined && !gone.has(ref['snapshot-id']) && !isRefOver(ref, head, nowMs))
      }),
    ),
  }
}

/** Returns the paths of manifest lists, manifests and files that the first snapshots reach and the others do not. */
async function reachedOnlyBy(
  clock: Clock,
  objects: Objects,
  expired: readonly Snapshot[],
  kept: readonly Snapshot[],
): Promise<readonly string[]> {
  const ofExpired = await manifestsOfAll(clock, objects, expired)
  const ofKept = await manifestsOfAll(clock, objects, kept)
  const onlyExpired = [...ofExpired.manifests.values()].filter(({ path }) => !ofKept.manifests.has(path))
  const candidates = await liveFilesOf(clock, objects, onlyExpired)
  // Manifests that both reach need no look: their files cannot be unreachable, and a candidate that is in one of them
  // was written into a second manifest by another writer.
  const stillThere =
    candidates.size === 0 ? candidates : await liveFilesOf(clock, objects, [...ofKept.manifests.values()])
  return [
    ...[...candidates].filter(path => !stillThere.has(path)),
    ...onlyExpired.map(({ path }) => path),
    ...[...ofExpired.lists].filter(path => !ofKept.lists.has(path)),
  ]
}
