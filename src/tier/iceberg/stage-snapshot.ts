// Stages a new snapshot: writes the manifests and the manifest list of a change onto a version of the table, and returns
// the metadata that makes them visible. It commits nothing (commit.ts).

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { ObjectStoreError } from '../objects/objects.ts'
import { liveFiles, liveRows, loadManifest, type ManifestFile, writeManifestList } from './manifest-lists.ts'
import { type AddedFile, addedEntry, ManifestWriter, type Stamp } from './manifest-writer.ts'
import { type DataFile, type ManifestEntry, STATUS } from './manifests.ts'
import { isMergeable, mergeManifests } from './merge-manifests.ts'
import { BadMetadata, currentSnapshot, type Snapshot, type TableMetadata } from './metadata.ts'
import { manifestsOf, type Table } from './table.ts'
import { manifestListKey, uriOf, uuidText } from './table-files.ts'

export type Operation = 'append' | 'delete' | 'overwrite' | 'replace'

export interface SnapshotChange {
  readonly append: readonly AddedFile[]
  /** Paths as the metadata names them. Those that the table does not have are left out. */
  readonly remove: ReadonlySet<string>
  readonly operation: Operation
  /** Added to the summary of the snapshot. */
  readonly summary: Readonly<Record<string, string>>
}

export interface StagedSnapshot {
  readonly metadata: TableMetadata
  readonly manifests: readonly ManifestFile[]
  /** Keys of the files that only this attempt uses. */
  readonly attemptKeys: readonly string[]
}

/** The manifest of the appended files, which is the same in all attempts of one change. */
export interface AppendedManifest {
  manifest: ManifestFile | null
}

/**
 * Resolves with the staged snapshot; null if the change would add and remove no file. Removed files must all be there if
 * the operation is 'replace': their rows would be doubled otherwise.
 */
export async function stageSnapshot(
  clock: Clock,
  table: Table,
  change: SnapshotChange,
  stamp: Stamp,
  appended: AppendedManifest,
): Promise<StagedSnapshot | null> {
  const { objects, location, metadata } = table
  const { snapshotId, random } = stamp
  const parent = currentSnapshot(metadata)
  const sequenceNumber = metadata['last-sequence-number'] + 1
  const writer = new ManifestWriter(table, stamp, sequenceNumber)

  const before = (await manifestsOf(table)).filter(manifest => liveFiles(manifest) > 0)
  const { kept, rewritten, removed } = await removeFiles(table, before, change.remove, writer)
  if (change.operation === 'replace' && removed.length < change.remove.size)
    throw new BadMetadata(`${metadata.location} lacks some of the files that a rewrite would replace`)
  if (change.append.length === 0 && removed.length === 0) return null

  const merged = await merge(clock, table, kept, writer)
  if (change.append.length > 0 && appended.manifest?.specId !== writer.specId)
    appended.manifest = await writer.write(change.append.map(file => addedEntry(table, file, snapshotId)))
  // An added manifest is written before its sequence number is known. The list tells it.
  const added = appended.manifest === null ? [] : [{ ...appended.manifest, ...sequenceOf(sequenceNumber) }]
  const manifests = [...added, ...rewritten, ...merged]

  const listKey = manifestListKey(location, snapshotId, uuidText(random))
  const header = { snapshotId, parentSnapshotId: parent?.['snapshot-id'] ?? null, sequenceNumber }
  await objects.write(listKey, writeManifestList(manifests, header, random.bytes(16)))

  const summary = {
    operation: change.operation,
    ...counters(change.append, removed, manifests, parent),
    ...change.summary,
  }
  const snapshot: Snapshot = {
    'snapshot-id': snapshotId,
    ...(parent === null ? {} : { 'parent-snapshot-id': parent['snapshot-id'] }),
    'sequence-number': sequenceNumber,
    'timestamp-ms': stamp.nowMs,
    'manifest-list': uriOf(objects, listKey),
    summary,
    'schema-id': metadata['current-schema-id'],
  }
  const attemptKeys = [listKey, ...writer.keys.filter(key => uriOf(objects, key) !== appended.manifest?.path)]
  return { metadata: withSnapshot(metadata, snapshot), manifests, attemptKeys }
}

/**
 * Joins manifests when it is time. A commit must not wait for that: if the store does not answer, a later commit does it.
 */
async function merge(
  clock: Clock,
  table: Table,
  manifests: readonly ManifestFile[],
  writer: ManifestWriter,
): Promise<readonly ManifestFile[]> {
  if (manifests.filter(each => isMergeable(each, writer.specId)).length + 1 < MERGE_AT) return manifests
  try {
    return await mergeManifests(clock, table, manifests, writer)
  } catch (error) {
    if (error instanceof ObjectStoreError && error.kind === 'away') return manifests
    throw error
  }
}

/** The list is merged when it would have this many small manifests. */
export const MERGE_AT = 100

const sequenceOf = (sequenceNumber: number) => ({ sequenceNumber, minSequenceNumber: sequenceNumber })

function withSnapshot(metadata: TableMetadata, snapshot: Snapshot): TableMetadata {
  const id = snapshot['snapshot-id']
  const timestamp = snapshot['timestamp-ms']
  assert(!metadata.snapshots.some(each => each['snapshot-id'] === id), `the table already has a snapshot ${id}`)
  return {
    ...metadata,
    'last-sequence-number': snapshot['sequence-number'],
    'current-snapshot-id': id,
    snapshots: [...metadata.snapshots, snapshot],
    'snapshot-log': [...metadata['snapshot-log'], { 'snapshot-id': id, 'timestamp-ms': timestamp }],
    refs: { ...metadata.refs, main: { type: 'branch', ...metadata.refs.main, 'snapshot-id': id } },
  }
}

interface Removal {
  readonly kept: readonly ManifestFile[]
  /** Manifests of this snapshot that say which files it deleted. */
  readonly rewritten: readonly ManifestFile[]
  readonly removed: readonly DataFile[]
}

async function removeFiles(
  table: Table,
  manifests: readonly ManifestFile[],
  remove: ReadonlySet<string>,
  writer: ManifestWriter,
): Promise<Removal> {
  const kept: ManifestFile[] = []
  const rewritten: ManifestFile[] = []
  const removed: DataFile[] = []
  for (const manifest of manifests) {
    if (remove.size === removed.length || manifest.content !== 0) {
      kept.push(manifest)
      continue
    }
    const { entries, partitionFields } = await loadManifest(table.objects, manifest)
    const live = entries.filter(({ status }) => status !== STATUS.deleted)
    const hits = live.filter(({ file }) => remove.has(file.path))
    if (hits.length === 0) {
      kept.push(manifest)
      continue
    }
    removed.push(...hits.map(({ file }) => file))
    const changed = live.map(
      (entry): ManifestEntry =>
        remove.has(entry.file.path)
          ? { ...entry, status: STATUS.deleted, snapshotId: writer.snapshotId }
          : { ...entry, status: STATUS.existing },
    )
    rewritten.push(await writer.write(changed, { specId: manifest.specId, partitionFields }))
  }
  return { kept, rewritten, removed }
}

/** Returns the counters of a snapshot's summary (Iceberg specification, "Snapshot Summary", optional fields). */
function counters(
  append: readonly AddedFile[],
  removed: readonly DataFile[],
  manifests: readonly ManifestFile[],
  parent: Snapshot | null,
): Record<string, string> {
  const added = { files: append.length, rows: sum(append, 'rows'), bytes: sum(append, 'size') }
  const deleted = { files: removed.length, rows: sum(removed, 'recordCount'), bytes: sum(removed, 'size') }
  const data = manifests.filter(({ content }) => content === 0)
  const partitions = new Set([
    ...append.map(({ partition, ingestedDay }) => `${partition},${ingestedDay}`),
    ...removed.map(({ partition }) => [...partition.values()].join(',')),
  ])
  const before = parent === null ? 0 : Number(parent.summary?.['total-files-size'] ?? Number.NaN)
  const totalBytes = before + added.bytes - deleted.bytes
  const named: Record<string, number> = {
    'added-data-files': added.files,
    'added-records': added.rows,
    'added-files-size': added.bytes,
    'deleted-data-files': deleted.files,
    'deleted-records': deleted.rows,
    'removed-files-size': deleted.bytes,
    'changed-partition-count': partitions.size,
  }
  const totals: Record<string, number> = {
    'total-data-files': data.reduce((total, each) => total + liveFiles(each), 0),
    'total-records': data.reduce((total, each) => total + liveRows(each), 0),
    // A parent of another writer may not say it. Then it stays unknown.
    ...(Number.isSafeInteger(totalBytes) ? { 'total-files-size': totalBytes } : {}),
    'total-delete-files': manifests.reduce((total, each) => total + (each.content === 0 ? 0 : liveFiles(each)), 0),
  }
  const shown = Object.entries(named).filter(([, value]) => value > 0)
  return Object.fromEntries([...shown, ...Object.entries(totals)].map(([name, value]) => [name, String(value)]))
}

function sum<K extends string>(items: readonly { readonly [key in K]: number }[], key: K): number {
  return items.reduce((total, item) => total + item[key], 0)
}
