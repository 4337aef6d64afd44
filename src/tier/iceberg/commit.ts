// Commits a change to a table: stages it onto the newest version, creates the next version, and stages it again onto
// what another writer committed meanwhile. put-once.ts decides whether a version is ours. A change has one snapshot id
// and one commit id in all of its attempts, so that it is found in a table wherever it got in.

import { assert } from '../../base/assert.ts'
import { uuidText } from '../../base/random.ts'
import { ObjectStoreError } from '../objects/objects.ts'
import type { ManifestFile } from './manifest-lists.ts'
import type { AddedFile } from './manifest-writer.ts'
import { metadataBytes, type TableMetadata, withProperties } from './metadata.ts'
import { LOGGED_VERSIONS } from './new-table.ts'
import { type CommitDeps, pauseBefore, putOnce } from './put-once.ts'
import { type AppendedManifest, type Operation, stageSnapshot } from './stage-snapshot.ts'
import { isStillThere, loadTable, refreshTable, type Table, TableGone, tableOf } from './table.ts'
import { hintKey, uriOf, versionKey } from './table-files.ts'

/** The property that names the last commit without a snapshot, and the member of a summary that names one with it. */
export const COMMIT_ID = 'kafka.commit-id'

export interface Change {
  /** Files with at least one row. */
  readonly append?: readonly AddedFile[]
  /** Paths as the metadata names them. A path that the table no longer has is left out. */
  readonly remove?: readonly string[]
  /** Called for each attempt with the table as it is; a null takes a property away. May throw to refuse. */
  readonly properties?: (metadata: TableMetadata) => Readonly<Record<string, string | null>>
  /** By default 'append', or 'delete' if files are only removed. 'replace': all removed files must be there. */
  readonly operation?: Operation
  /** Added to the summary of the snapshot. */
  readonly summary?: Readonly<Record<string, string>>
  /** Called last for each attempt; changes members that the others do not, such as the list of snapshots. */
  readonly edit?: (metadata: TableMetadata) => Promise<TableMetadata>
}

/** Throws, or rejects, to refuse a commit onto this metadata. It is called before each request that may commit. */
export type Guard = (metadata: TableMetadata) => void | Promise<void>

export interface Committed {
  /** The version that the change made. */
  readonly table: Table
  /** The version that it was made from. */
  readonly base: Table
  /** Attempts that another writer was faster than. */
  readonly conflicts: number
  /**
   * Errors that did no harm: the hint was not written, or files of a lost attempt stay until the orphan sweep. The
   * caller logs them.
   */
  readonly leftovers: readonly Error[]
}

/**
 * Resolves when the change is committed. Rejects with CommitUnknown if the caller must look into the table later, and
 * with any other error if the change is certain not to be in the table. Files that a change appends stay in all cases.
 */
export async function commit(table: Table, change: Change, guard: Guard, deps: CommitDeps): Promise<Committed> {
  const { objects, location } = table
  const { random } = deps
  const commitId = uuidText(random)
  const snapshotId = newSnapshotId(table.metadata, random.bytes(7))
  const appended: AppendedManifest = { manifest: null }
  const leftovers: Error[] = []
  let conflicts = 0

  let base = await withoutGap(table)
  for (;;) {
    await guard(base.metadata)
    const nowMs = Math.max(deps.clock.now(), base.metadata['last-updated-ms'])
    const staged = await stage(base, nowMs)
    const bytes = metadataBytes(staged.metadata)
    const version = base.version + 1
    const confirm = () => guard(base.metadata)
    const outcome = await putOnce(objects, versionKey(location, version), bytes, confirm, deps)
    if (outcome.kind === 'ours') {
      await objects.replace(hintKey(location), Buffer.from(String(version))).catch(error => leftovers.push(error))
      const { metadata, manifests } = staged
      return { table: { objects, location, version, metadata, manifests }, base, conflicts, leftovers }
    }
    // The version has other bytes: no request of ours can create it any more, so its files are certain to be unused.
    if (staged.attemptKeys.length > 0) await objects.delete(staged.attemptKeys).catch(error => leftovers.push(error))
    await pauseBefore(conflicts++, deps)
    base = await reload(tableOf(objects, location, version, outcome.found), deps)
    if (isIn(base.metadata)) return { table: base, base, conflicts, leftovers }
  }

  interface Staged {
    readonly metadata: TableMetadata
    readonly manifests: readonly ManifestFile[] | null
    readonly attemptKeys: readonly string[]
  }

  async function stage(onto: Table, nowMs: number): Promise<Staged> {
    const { append = [], remove = [], properties, operation, summary = {}, edit } = change
    const snapshotChange = {
      append,
      remove: new Set(remove),
      operation: operation ?? (append.length === 0 ? 'delete' : remove.length === 0 ? 'append' : 'overwrite'),
      summary: { ...summary, [COMMIT_ID]: commitId },
    }
    for (const { key, rows } of append) assert(rows > 0, `${key} has no row, so it has no bounds to be found by`)
    // The properties may refuse, so they come before anything is written.
    const changed = properties?.(onto.metadata) ?? {}
    const stamp = { snapshotId, nowMs, random }
    const snapshot =
      append.length + remove.length === 0
        ? null
        : await stageSnapshot(deps.clock, onto, snapshotChange, stamp, appended)
    const named = snapshot === null ? { ...changed, [COMMIT_ID]: commitId } : changed
    const metadata = withProperties(logged(snapshot?.metadata ?? onto.metadata, onto, nowMs), named)
    return {
      metadata: edit === undefined ? metadata : await edit(metadata),
      manifests: snapshot?.manifests ?? onto.manifests,
      attemptKeys: snapshot?.attemptKeys ?? [],
    }
  }

  /** An earlier attempt of this change may be in the table although this one was lost. */
  function isIn({ snapshots, properties }: TableMetadata): boolean {
    return snapshots.some(each => each['snapshot-id'] === snapshotId) || properties[COMMIT_ID] === commitId
  }
}

/** Returns the table, or the newest one if its successor may have been removed as an old version. */
async function withoutGap(table: Table): Promise<Table> {
  if (await isStillThere(table)) return table
  const loaded = await loadTable(table.objects, table.location)
  if (loaded === null) throw new TableGone(table)
  return loaded
}

/** Resolves with the newest version from this one on. While the store is away, tries as long as the patience lasts. */
async function reload(from: Table, deps: CommitDeps): Promise<Table> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await refreshTable(from)
    } catch (error) {
      if (!(error instanceof ObjectStoreError) || error.kind !== 'away' || deps.patience.isOver) throw error
      await pauseBefore(attempt, deps)
    }
  }
}

/** Returns the metadata with the version that it replaces in its log. */
function logged(metadata: TableMetadata, base: Table, nowMs: number): TableMetadata {
  const file = uriOf(base.objects, versionKey(base.location, base.version))
  const entry = { 'metadata-file': file, 'timestamp-ms': base.metadata['last-updated-ms'] }
  return {
    ...metadata,
    'last-updated-ms': nowMs,
    'metadata-log': [...metadata['metadata-log'], entry].slice(-LOGGED_VERSIONS),
  }
}

/** Returns a positive id below 2^53, which no snapshot of the table has. Readers that take ids for numbers keep it. */
function newSnapshotId({ snapshots }: TableMetadata, bytes: Buffer): number {
  let id = Number(bytes.readUIntBE(0, 6)) * 32 + (bytes[6]! & 31)
  while (id === 0 || snapshots.some(each => each['snapshot-id'] === id)) id++
  return id
}
