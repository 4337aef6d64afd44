// Stages a new snapshot: writes the manifests and the manifest list of a change onto a version of the table, and
// returns the metadata that makes them visible. It commits nothing (commit.ts).

import { aFewAtATime } from '../../base/a-few.ts'
import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { uuidText } from '../../base/random.ts'
import { ObjectStoreError, type Objects } from '../objects/objects.ts'
import { liveFiles, liveRows, loadManifest, type ManifestFile, writeManifestList } from './manifest-lists.ts'
import { type AddedFile, addedEntry, ManifestWriter, type Stamp } from './manifest-writer.ts'
import { type DataFile, type ManifestEntry, STATUS } from './manifests.ts'
import { isMergeable, mergeManifests } from './merge-manifests.ts'
import { BadMetadata, currentSnapshot, type Snapshot, type TableMetadata } from './metadata.ts'
import { manifestsOf, type Table } from './table.ts'
import { manifestListKey, uriOf } from './table-files.ts'

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
 * Resolves with the staged snapshot; null if the change would add and remove no file. Removed files must all be there
 * if the operation is 'replace': their rows would be doubled otherwise.
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
    ...changes(change.append, removed),
    ...(await totals(clock, table, manifests, parent, sum(change.append, 'size') - sum(removed, 'size'))),
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
 * Joins manifests when it is time. A commit must not wait for that: if the store does not answer, a later commit does
 * it.
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

/** Returns what the snapshot changes (Iceberg specification, "Snapshot Summary", optional fields). */
function changes(append: readonly AddedFile[], removed: readonly DataFile[]): Record<string, string> {
  const partitions = new Set([
    ...append.map(({ partition, ingestedDay }) => `${partition},${ingestedDay}`),
    ...removed.map(({ partition }) => [...partition.values()].join(',')),
  ])
  const counts: Record<string, number> = {
    'added-data-files': append.length,
    'added-records': sum(append, 'rows'),
    'added-files-size': sum(append, 'size'),
    'deleted-data-files': removed.length,
    'deleted-records': sum(removed, 'recordCount'),
    'removed-files-size': sum(removed, 'size'),
    'changed-partition-count': partitions.size,
  }
  return asTexts(Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)))
}

/**
 * Returns what the table has with the snapshot. ClickHouse writes nothing to a table without these totals, and the
 * snapshots of other writers may lack them, so they are counted again then.
 */
async function totals(
  clock: Clock,
  { objects }: Table,
  manifests: readonly ManifestFile[],
  parent: Snapshot | null,
  addedBytes: number,
): Promise<Record<string, string>> {
  const data = manifests.filter(({ content }) => content === 0)
  const deletes = manifests.filter(({ content }) => content !== 0)
  const before = (name: string) => (parent === null ? 0 : Number(parent.summary?.[name] ?? Number.NaN))
  const bytes = before('total-files-size') + addedBytes
  const deletedRows = (name: string) => (deletes.length === 0 ? { [name]: 0 } : known(name, before(name)))
  return asTexts({
    'total-data-files': data.reduce((total, each) => total + liveFiles(each), 0),
    'total-records': data.reduce((total, each) => total + liveRows(each), 0),
    'total-files-size': Number.isSafeInteger(bytes) ? bytes : await sizeOfAll(clock, objects, manifests),
    'total-delete-files': deletes.reduce((total, each) => total + liveFiles(each), 0),
    ...deletedRows('total-position-deletes'),
    ...deletedRows('total-equality-deletes'),
  })
}

const known = (name: string, count: number) => (Number.isSafeInteger(count) ? { [name]: count } : {})

async function sizeOfAll(clock: Clock, objects: Objects, manifests: readonly ManifestFile[]): Promise<number> {
  const sizes = await aFewAtATime(clock, manifests, async manifest => {
    const { entries } = await loadManifest(objects, manifest)
    return entries.reduce((total, { status, file }) => total + (status === STATUS.deleted ? 0 : file.size), 0)
  })
  return sizes.reduce((total, size) => total + size, 0)
}

const asTexts = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)]))

function sum<K extends string>(items: readonly { readonly [key in K]: number }[], key: K): number {
  return items.reduce((total, item) => total + item[key], 0)
}
