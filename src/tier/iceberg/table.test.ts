import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { archiveSegments, LOCATION, newest, newTable, testDeps, unguarded } from '../../../testing/iceberg-table.ts'
import { type Call, MemoryObjects, withHooks } from '../../../testing/memory-objects.ts'
import { ObjectStoreError } from '../objects/objects.ts'
import { commit } from './commit.ts'
import { createTable, loadTable, refreshTable, TableGone } from './table.ts'
import { hintKey, versionKey } from './table-files.ts'

function world() {
  const deps = testDeps()
  return { deps, memory: new MemoryObjects(deps.clock) }
}

async function withVersions(count: number) {
  const { deps, memory } = world()
  let table = await newTable(memory, deps)
  while (table.version < count) table = (await commit(table, {}, unguarded, deps)).table
  return { deps, memory, table }
}

test('a place without a table has none, and creating it twice gives the same table', async () => {
  const { deps, memory } = world()
  assert.equal(await loadTable(memory, LOCATION), null)
  const first = await newTable(memory, deps)
  const second = await newTable(memory, deps)
  assert.equal(first.version, 1)
  assert.equal(first.metadata['table-uuid'], second.metadata['table-uuid'])
  assert.equal(first.metadata.location, `${memory.uri}/${LOCATION}`)
})

test('one of several callers that create a table at once does it, also if answers are lost', async () => {
  const { memory } = world()
  const racing = Array.from({ length: 8 }, (_, i) => {
    let isLost = false
    const objects = withHooks(memory, {
      async after({ verb }: Call) {
        await new Promise(resolve => setImmediate(resolve))
        if (verb !== 'create' || isLost) return
        isLost = true
        throw new ObjectStoreError('unknown', 'the answer was lost')
      },
    })
    return createTable(objects, LOCATION, {}, testDeps(i + 1))
  })
  const uuids = (await Promise.all(racing)).map(({ metadata }) => metadata['table-uuid'])
  assert.equal(new Set(uuids).size, 1)
})

test('the newest version is found with a hint that is right, stale, too high, garbage, empty or missing', async () => {
  const { memory, table } = await withVersions(50)
  for (const hint of ['50', '7', '50\n', '999', 'garbage', '', '-1', '0', '1e3', null]) {
    if (hint === null) await memory.delete([hintKey(LOCATION)])
    else await memory.replace(hintKey(LOCATION), Buffer.from(hint))
    const found = await newest(memory)
    assert.equal(found.version, table.version, `with the hint ${hint}`)
  }
})

test('a refresh finds newer versions, and returns the same table if there is no newer one', async () => {
  const { deps, memory, table } = await withVersions(3)
  assert.equal(await refreshTable(table), table)
  await commit(table, {}, unguarded, deps)
  const refreshed = await refreshTable(table)
  assert.equal(refreshed.version, 4)
  await memory.delete([...memory.held.keys()])
  await assert.rejects(refreshTable(refreshed), TableGone)
})

test('a reader that slept while its version was removed finds the newest one, and not the end of the gap', async () => {
  const { memory, table } = await withVersions(9)
  const slept = { ...table, version: 3 }
  await memory.delete([1, 2, 3, 4, 5, 6].map(version => versionKey(LOCATION, version)))
  assert.equal((await refreshTable(slept)).version, 9)
})

test('a writer that slept while its version was removed does not create a removed version again', async () => {
  const { deps, memory, table } = await withVersions(9)
  const slept = { ...table, version: 3 }
  await memory.delete([1, 2, 3, 4, 5, 6].map(version => versionKey(LOCATION, version)))
  const committed = await commit(slept, {}, unguarded, deps)
  assert.equal(committed.table.version, 10)
  assert.equal(memory.held.has(versionKey(LOCATION, 4)), false)
})

test('compressed metadata of another writer is refused, because its version would be created a second time', async () => {
  const { memory } = await withVersions(2)
  await memory.delete([hintKey(LOCATION)])
  await memory.write(`${LOCATION}/metadata/v3.gz.metadata.json`, Buffer.from('x'))
  await assert.rejects(loadTable(memory, LOCATION), /v3\.gz\.metadata\.json is compressed metadata/)
})

test('metadata that is cut, no object, or of another format version is refused with its name', async () => {
  const { deps, memory } = world()
  const table = await archiveSegments(await newTable(memory, deps), [{ partition: 0, base: 0, next: 5 }], deps)
  const key = versionKey(LOCATION, table.table.version)
  const text = Buffer.from((await memory.read(key))!).toString()
  for (const [bytes, expected] of [
    [text.slice(0, -9), /v2\.metadata\.json cannot be read as JSON/],
    ['[]', /it is no JSON object/],
    [text.replace('"format-version":2', '"format-version":3'), /its format-version is 3; expected 2/],
    [text.replace(/"manifest-list":"[^"]*"/, '"manifest-list":7'), /a snapshot: manifest-list must be a string/],
    [text.replace('"schemas":[', '"x":['), /schemas must be an array of objects/],
  ] as const) {
    await memory.replace(key, Buffer.from(bytes))
    await assert.rejects(loadTable(memory, LOCATION), expected)
  }
})

test('metadata that would stop the broker while it is parsed is refused, also if it is packed', async () => {
  const { memory } = await withVersions(2)
  const blanks = Buffer.alloc(33 * 1024 ** 2, ' ')
  for (const bytes of [blanks, gzipSync(blanks)]) {
    await memory.replace(versionKey(LOCATION, 2), bytes)
    await assert.rejects(loadTable(memory, LOCATION), /v2\.metadata\.json cannot be read as JSON: .*(33554432|larger)/)
  }
})
