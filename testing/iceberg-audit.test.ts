import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditTable } from './iceberg-audit.ts'
import { archiveSegments, LOCATION, newTable, testDeps, upload } from './iceberg-table.ts'
import { MemoryObjects } from './memory-objects.ts'

async function world() {
  const deps = testDeps()
  const memory = new MemoryObjects(deps.clock)
  let { table } = await archiveSegments(await newTable(memory, deps), [{ partition: 0, base: 0, next: 10 }], deps)
  table = (await archiveSegments(table, [{ partition: 0, base: 10, next: 20 }], deps)).table
  const find = (pattern: RegExp) => [...memory.held.keys()].find(key => pattern.test(key))!
  const audit = async (graceMs = Number.POSITIVE_INFINITY) =>
    (await auditTable(memory, LOCATION, { nowMs: deps.clock.now() + 1, graceMs })).findings.join('\n')
  const rewrite = (from: string | RegExp, to: string) => {
    const held = memory.held.get(`${LOCATION}/metadata/v3.metadata.json`)!
    const text = held.bytes.toString()
    assert.notEqual(text.replace(from, to), text)
    memory.held.set(`${LOCATION}/metadata/v3.metadata.json`, { ...held, bytes: Buffer.from(text.replace(from, to)) })
  }
  return { deps, memory, table, find, audit, rewrite }
}

test('a sound table has no finding', async () => {
  const { audit } = await world()
  assert.equal(await audit(-1), '')
})

test('a missing or changed file of each kind is found', async () => {
  for (const pattern of [/\.parquet$/, /-m0\.avro$/, /\/snap-/]) {
    const { memory, find, audit } = await world()
    const key = find(pattern)
    memory.held.delete(key)
    assert.match(await audit(), new RegExp(`${key.slice(-20)} is missing`))
  }
  const { memory, find, audit } = await world()
  const key = find(/\.parquet$/)
  memory.held.set(key, { ...memory.held.get(key)!, bytes: Buffer.alloc(3) })
  assert.match(await audit(), /has 3 bytes and not 64/)
})

test('wrong totals, sequence numbers, ids and versions are found', async () => {
  for (const [from, to, finding] of [
    ['"total-records":"20"', '"total-records":"21"', /total-records is 21, its manifests have 20/],
    ['"total-files-size":"128"', '"total-files-size":"1"', /total-files-size is 1/],
    ['"sequence-number":2,', '"sequence-number":1,', /its sequence number does not grow/],
    [/"current-snapshot-id":\d+/, '"current-snapshot-id":5', /the current snapshot 5 is missing/],
    [/"table-uuid":"[^"]*"/, '"table-uuid":"x"', /v3: another table-uuid/],
    ['"last-sequence-number":2', '"last-sequence-number":0', /last-sequence-number goes back/],
    [/"snapshots":\[\{.*?"schema-id":0\},/, '"snapshots":[', /v3: snapshot \d+, .* has vanished/],
  ] as const) {
    const { audit, rewrite } = await world()
    rewrite(from, to)
    assert.match(await audit(), finding)
  }
  const { memory, audit } = await world()
  memory.held.delete(`${LOCATION}/metadata/v2.metadata.json`)
  assert.match(await audit(), /the versions 1 3 have gaps/)
})

test('an old orphan and an offset that is in the table twice are found', async () => {
  const { deps, memory, audit, table } = await world()
  await upload(memory, { partition: 0, base: 20, next: 30 }, deps.random)
  assert.equal(await audit(10), '')
  assert.match(await audit(0), /no snapshot reaches it, and it is old/)
  const file = await upload(memory, { partition: 0, base: 15, next: 30 }, deps.random)
  const { commit } = await import('../src/tier/iceberg/commit.ts')
  await commit(table, { append: [file] }, () => {}, deps)
  assert.match(await audit(), /partition 0 has offset 15 twice/)
})
