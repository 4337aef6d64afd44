// Delete files as another engine adds them to a table: a manifest that names them, in a version of its own.

import { type ManifestFile, writeManifestList } from '../src/tier/iceberg/manifest-lists.ts'
import { CONTENT, type DataFile, writeManifest } from '../src/tier/iceberg/manifests.ts'
import { manifestsOf, type Table } from '../src/tier/iceberg/table.ts'
import { uriOf } from '../src/tier/iceberg/table-files.ts'
import type { Objects } from '../src/tier/objects/objects.ts'
import { foreignCommit, LOCATION, newest } from './iceberg-table.ts'

const SYNC = Buffer.alloc(16, 5)
const FILE_PATH = 2147483546

export interface TestDeletes {
  readonly kind: 'position' | 'equality'
  /** The data files that it names, by their URIs; without them nothing says which. */
  readonly paths?: readonly string[]
  /** By default 0; null: the spec of its files has no partition. */
  readonly partition?: number | null
  readonly sequenceNumber: number
}

/** Writes the manifest of a delete file. */
export async function deleteManifest({ objects }: Pick<Table, 'objects'>, deletes: TestDeletes): Promise<ManifestFile> {
  const { kind, paths, partition = 0, sequenceNumber } = deletes
  const bounds = (path: string | undefined) => (path === undefined ? null : new Map([[FILE_PATH, Buffer.from(path)]]))
  const sorted = paths?.toSorted()
  const key = `${LOCATION}/metadata/deletes-${kind}-${sequenceNumber}.avro`
  const file: DataFile = {
    content: kind === 'position' ? CONTENT.positionDeletes : CONTENT.equalityDeletes,
    path: uriOf(objects, `${LOCATION}/data/deletes-${sequenceNumber}.parquet`),
    format: 'PARQUET',
    partition: new Map<number, unknown>([[1000, partition]]),
    recordCount: 1,
    size: 100,
    columnSizes: null,
    valueCounts: null,
    nullValueCounts: null,
    nanValueCounts: null,
    lowerBounds: bounds(sorted?.[0]),
    upperBounds: bounds(sorted?.at(-1)),
    keyMetadata: null,
    splitOffsets: null,
    equalityIds: kind === 'equality' ? [2] : null,
    sortOrderId: null,
    referencedDataFile: null,
  }
  const partitionFields = [{ id: 1000, name: 'partition', type: 'int' }]
  const entry = { status: 1, snapshotId: 5, sequenceNumber: null, fileSequenceNumber: null, file }
  const specFields = [{ 'source-id': 1, 'field-id': 1000, transform: 'identity', name: 'partition' }]
  const header = { schema: { 'schema-id': 0 }, specId: 0, specFields }
  const bytes = writeManifest({ partitionFields, entries: [entry] }, header, SYNC)
  await objects.write(key, bytes)
  return {
    path: uriOf(objects, key),
    length: bytes.length,
    specId: 0,
    content: 1,
    sequenceNumber,
    minSequenceNumber: sequenceNumber,
    addedSnapshotId: 5,
    addedFiles: 1,
    existingFiles: 0,
    deletedFiles: 0,
    addedRows: 1,
    existingRows: 0,
    deletedRows: 0,
    partitions: null,
    keyMetadata: null,
  }
}

/** Commits delete files as another engine would. */
export async function commitDeletes(objects: Objects, deletes: Omit<TestDeletes, 'sequenceNumber'>): Promise<void> {
  const table = await newest(objects)
  const sequenceNumber = table.metadata['last-sequence-number'] + 1
  const manifests = [...(await manifestsOf(table)), await deleteManifest(table, { ...deletes, sequenceNumber })]
  const key = `${LOCATION}/metadata/snap-deletes-${sequenceNumber}.avro`
  const header = { snapshotId: 5, parentSnapshotId: null, sequenceNumber }
  await objects.write(key, writeManifestList(manifests, header, SYNC))
  await foreignCommit(objects, uriOf(objects, key))
}
