import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factsOf, LOCATION, newTable, testDeps } from '../../../testing/iceberg-table.ts'
import { MemoryObjects } from '../../../testing/memory-objects.ts'
import { writeAvro } from './avro.ts'
import { loadManifest, type ManifestFile, MissingFile, readManifestList, writeManifestList } from './manifest-lists.ts'
import { addedEntry, ManifestWriter } from './manifest-writer.ts'
import { type ManifestEntry, readManifest, STATUS } from './manifests.ts'
import { uriOf } from './table-files.ts'

const SYNC = Buffer.alloc(16, 's')

async function written(change: (entry: ManifestEntry) => ManifestEntry = entry => entry) {
  const deps = testDeps()
  const objects = new MemoryObjects(deps.clock)
  const table = await newTable(objects, deps)
  const stamp = { snapshotId: 42, nowMs: 0, random: deps.random }
  const file = factsOf({ partition: 3, base: 100, next: 110 }, `${LOCATION}/data/f.parquet`)
  const entry = change(addedEntry(table, file, 42))
  const manifest = await new ManifestWriter(table, stamp, 9).write([entry])
  return { objects, table, entry, manifest }
}

test('a manifest comes back with all metrics, and new files inherit their sequence number from the list', async () => {
  const { objects, entry, manifest } = await written()
  const { entries, partitionFields } = await loadManifest(objects, { ...manifest, sequenceNumber: 12 })
  assert.deepEqual(entries, [{ ...entry, sequenceNumber: 12, fileSequenceNumber: 12 }])
  assert.deepEqual(
    partitionFields.map(({ id, name }) => [id, name]),
    [
      [1000, 'partition'],
      [1001, 'ingested_at_day'],
    ],
  )
  assert.deepEqual(manifest.partitions![0]!.lowerBound, Buffer.from([3, 0, 0, 0]))
  const { addedFiles, existingFiles, deletedFiles, addedRows } = manifest
  assert.deepEqual([addedFiles, existingFiles, deletedFiles, addedRows], [1, 0, 0, 10])
})

test('a file that is not new keeps its own snapshot and sequence numbers, also 63-bit ids', async () => {
  const old = { status: STATUS.existing, snapshotId: 7397555330850519247n, sequenceNumber: 4, fileSequenceNumber: 3 }
  const { objects, entry, manifest } = await written(each => ({ ...each, ...old }))
  const { entries } = await loadManifest(objects, manifest)
  assert.deepEqual(entries, [{ ...entry, ...old }])
  assert.equal(manifest.minSequenceNumber, 4)
})

test('a manifest list comes back to the digit', async () => {
  const { manifest } = await written()
  const foreign: ManifestFile = { ...manifest, addedSnapshotId: 7397555330850519247n, content: 1, partitions: null }
  const header = { snapshotId: 1, parentSnapshotId: null, sequenceNumber: 9 }
  const bytes = writeManifestList([manifest, foreign], header, SYNC)
  assert.deepEqual(await readManifestList(bytes, 'a list'), [manifest, foreign])
})

test('a manifest of another writer is read by field ids, and may lack metrics', async () => {
  const field = (id: number, name: string, type: unknown) => ({ name, type, 'field-id': id })
  const partition = { type: 'record', name: 'p', fields: [field(1000, 'col_1', ['null', 'int'])] }
  const file = {
    type: 'record',
    name: 'f',
    fields: [
      field(100, 'path', 'string'),
      field(101, 'kind', 'string'),
      field(102, 'tuple', partition),
      field(103, 'n', 'long'),
      field(104, 'bytes', 'long'),
    ],
  }
  const schema = { type: 'record', name: 'e', fields: [field(0, 'state', 'int'), field(2, 'file', file)] }
  const row = { state: 1, file: { path: 's3://b/f', kind: 'PARQUET', tuple: { col_1: 5 }, n: 3, bytes: 9 } }
  const { entries } = await readManifest(writeAvro(schema, {}, [row], SYNC), 'a manifest')
  assert.equal(entries[0]!.snapshotId, null)
  assert.equal(entries[0]!.file.path, 's3://b/f')
  assert.equal(entries[0]!.file.partition.get(1000), 5)
  assert.equal(entries[0]!.file.lowerBounds, null)
  const renamed = { ...schema, fields: [field(0, 'state', 'string'), field(2, 'file', file)] }
  await assert.rejects(
    readManifest(writeAvro(renamed, {}, [{ ...row, state: 'x' }], SYNC), 'm.avro'),
    /m\.avro: the field with id 0 must be an integer; found string/,
  )
})

test('a manifest that is missing, or in another place, is named', async () => {
  const { objects, manifest } = await written()
  await objects.delete([...objects.held.keys()])
  await assert.rejects(loadManifest(objects, manifest), (error: MissingFile) => {
    assert.ok(error instanceof MissingFile)
    assert.equal(error.path, manifest.path)
    return true
  })
  const elsewhere = loadManifest(objects, { ...manifest, path: 's3://other/m.avro' })
  await assert.rejects(elsewhere, /s3:\/\/other\/m\.avro is not in s3:\/\/bucket\/tier/)
  assert.equal(uriOf(objects, 'a/b'), 's3://bucket/tier/a/b')
})
