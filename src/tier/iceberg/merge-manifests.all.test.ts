import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import { archiveSegments, LOCATION, newTable, testDeps, unguarded, upload } from '../../../testing/iceberg-table.ts'
import { MemoryObjects, withHooks } from '../../../testing/memory-objects.ts'
import { ObjectStoreError } from '../objects/objects.ts'
import { commit } from './commit.ts'
import { loadManifest } from './manifest-lists.ts'
import { MERGE_AT } from './stage-snapshot.ts'
import { manifestsOf, type Table } from './table.ts'

async function commits(count: number) {
  const deps = testDeps()
  const memory = new MemoryObjects(deps.clock)
  let table: Table = await newTable(memory, deps)
  let most = 0
  for (let base = 0; base < count * 10; base += 10) {
    table = (await archiveSegments(table, [{ partition: 0, base, next: base + 10 }], deps)).table
    most = Math.max(most, (await manifestsOf(table)).length)
  }
  return { deps, memory, table, most }
}

test('manifests are merged when a list would have a hundred, and files keep their sequence numbers', async () => {
  const { memory, table, most } = await commits(MERGE_AT * 2)
  assert.equal(most, MERGE_AT - 1)
  const manifests = await manifestsOf(table)
  assert.ok(manifests.length < MERGE_AT)
  const files = (await Promise.all(manifests.map(each => loadManifest(memory, each)))).flatMap(({ entries }) => entries)
  const byOffset = files.sort((a, b) => (a.file.path < b.file.path ? -1 : 1))
  assert.deepEqual(
    byOffset.map(({ sequenceNumber }) => sequenceNumber),
    Array.from({ length: MERGE_AT * 2 }, (_, i) => i + 1),
  )
  const audit = await auditTable(memory, LOCATION, { nowMs: 0, graceMs: -1 })
  assert.deepEqual(audit.findings, [])
  assert.deepEqual([audit.files, audit.rows, audit.unreached.length], [MERGE_AT * 2, MERGE_AT * 20, 0])
})

test('a commit does not wait for a merge that the store does not let it make', async () => {
  const { deps, memory, table } = await commits(MERGE_AT - 1)
  const objects = withHooks(memory, {
    before({ verb, key }) {
      if (verb === 'read' && key.endsWith('-m0.avro')) throw new ObjectStoreError('away', 'no answer')
    },
  })
  const file = await upload(memory, { partition: 1, base: 0, next: 5 }, deps.random)
  const { table: after } = await commit({ ...table, objects }, { append: [file] }, unguarded, deps)
  assert.equal((await manifestsOf(after)).length, MERGE_AT)
  const next = await upload(memory, { partition: 1, base: 5, next: 9 }, deps.random)
  const { table: merged } = await commit({ ...after, objects: memory }, { append: [next] }, unguarded, deps)
  assert.equal((await manifestsOf(merged)).length, 2)
})
