// Files and delete files of other writers: every record that can be read comes back, and the rest is damage that says
// which file it is about.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { archiveWorld, offsetsOf, PLACE, plainBatch } from '../../../testing/archive-table.ts'
import { encodeFile } from '../../../testing/data-files.ts'
import { commitDeletes } from '../../../testing/foreign-deletes.ts'
import { rewriteFile } from '../../../testing/foreign-file.ts'
import { LOCATION, newest, unguarded } from '../../../testing/iceberg-table.ts'
import { ENDLESS } from '../../base/patience.ts'
import { commit } from '../iceberg/commit.ts'
import { uriOf } from '../iceberg/table-files.ts'

type World = Awaited<ReturnType<typeof archiveWorld>>

let files = 0

/** Commits a file with the rows of these batches as another engine writes it; without bounds in its manifest. */
async function addForeign(world: World, batches: readonly Buffer[], isBare = true, rowGroupSize = 1000) {
  const { bytes, facts } = encodeFile(batches, { partition: 0 })
  const written = await rewriteFile(bytes, { rowGroupSize })
  const key = `${LOCATION}/data/other-${files++}.parquet`
  await world.memory.write(key, written)
  const bounds = isBare ? { lowerBounds: new Map(), upperBounds: new Map() } : {}
  const append = [{ ...facts, ...bounds, key, size: written.length, splitOffsets: [4] }]
  await commit(await newest(world.memory), { append }, unguarded, world.deps)
  return key
}

test('a file that another writer replaced is found under its new name', async t => {
  const world = await archiveWorld(t)
  const { key } = await world.add(batches(0))
  await world.add(batches(10))
  assert.deepEqual(offsetsOf(await world.read(10)), [[10, 19]])
  await addForeign(world, batches(0))
  const remove = [uriOf(world.memory, key)]
  await commit(await newest(world.memory), { remove }, unguarded, world.deps)
  await world.memory.delete([key])
  assert.deepEqual(offsetsOf(await world.read(0, 1)), [[0, 9]])
  assert.equal(world.taken().filter(read => read.key === key).length, 1)
})

const batches = (...bases: number[]) => bases.map(base => plainBatch(base, 10))

test('a file without bounds gets its place from its footer', async t => {
  const world = await archiveWorld(t)
  await world.add(batches(20))
  const [first, second] = batches(0, 10)
  await addForeign(world, [first!, second!])
  const answer = await world.read(5)
  assert.deepEqual(offsetsOf(answer), [
    [0, 9],
    [10, 19],
    [20, 29],
  ])
  assert.ok(answer.kind === 'read' && first!.equals(answer.batches[0]!))
  const found = await world.archive.firstSince(PLACE, 1_700_000_000_015, 0, 30, ENDLESS)
  assert.equal(found !== null && 'offset' in found && found.offset, 15)
})

test('files whose batches come in turns are read in the order of their offsets', async t => {
  for (const isBare of [true, false]) {
    const world = await archiveWorld(t)
    await addForeign(world, batches(0, 20, 50), isBare)
    await addForeign(world, batches(10, 40), isBare, 10)
    await world.add(batches(60))
    const all = [0, 10, 20, 40, 50, 60].map(base => [base, base + 9])
    const seen: (readonly [number, number])[] = []
    for (let offset = 0; offset < 70; offset = seen.at(-1)![1] + 1) {
      const answer = offsetsOf(await world.read(offset))
      assert.ok(Array.isArray(answer) && answer.length > 0, `${answer}`)
      seen.push(...answer)
    }
    assert.deepEqual(seen, all)
    for (const offset of [0, 9, 10, 19, 25, 30, 45, 50, 69]) {
      const expected = all.find(([, last]) => last! >= offset)
      assert.deepEqual(offsetsOf(await world.read(offset, 1)), [expected], `offset ${offset}`)
    }
  }
})

test('a file that meets only the second of two files in turns is not passed over', async t => {
  const world = await archiveWorld(t)
  await addForeign(world, batches(0, 20), false)
  await addForeign(world, batches(10, 40), false)
  await addForeign(world, batches(30, 50), false)
  assert.deepEqual(
    offsetsOf(await world.read(0)),
    [0, 10, 20, 30, 40, 50].map(base => [base, base + 9]),
  )
})

test('the same rows in two files come once, and rows of one range in turns are damage', async t => {
  const twice = await archiveWorld(t)
  await twice.add(batches(0, 10))
  await addForeign(twice, batches(10, 20))
  assert.deepEqual(offsetsOf(await twice.read(0)), [
    [0, 9],
    [10, 19],
    [20, 29],
  ])
  const torn = await archiveWorld(t)
  await addForeign(torn, [plainBatch(0, 10)])
  await addForeign(torn, [plainBatch(5, 10)])
  const answer = await torn.read(0)
  assert.ok(answer.kind === 'damaged')
  assert.match(answer.why, /other-\d+\.parquet and .*offsets 5 to 9 in turns; expected each record batch in one file/)
})

test('a file without bounds that cannot be read is damage for its partition only', async t => {
  const world = await archiveWorld(t)
  await world.add(batches(0))
  const key = await addForeign(world, batches(10))
  await world.memory.write(key, Buffer.alloc(world.memory.held.get(key)!.bytes.length))
  const answer = await world.read(0)
  assert.ok(answer.kind === 'damaged')
  assert.match(answer.why, /other-\d+\.parquet: the file does not end as a Parquet file does/)
  assert.deepEqual(await world.archive.read({ ...PLACE, partition: 1 }, 0, 100, true, 9), { kind: 'nothing' })
})

test('delete files are damage for the files that they touch, and for no others', async t => {
  const world = await archiveWorld(t)
  const { key } = await world.add(batches(0))
  await world.add(batches(10))
  await commitDeletes(world.memory, { kind: 'position', paths: [uriOf(world.memory, key)] })
  await world.add(batches(20))
  const answer = await world.read(0)
  assert.ok(answer.kind === 'damaged')
  assert.match(
    answer.why,
    /rows of s3:.*0-.*\.parquet are removed by s3:.*deletes-3\.parquet, a file of position deletes/,
  )
  assert.deepEqual(offsetsOf(await world.read(10)), [
    [10, 19],
    [20, 29],
  ])
})

test('equality deletes are damage for all earlier files of their partition, for searches too', async t => {
  const world = await archiveWorld(t)
  await world.add(batches(0))
  await commitDeletes(world.memory, { kind: 'equality' })
  await world.add(batches(10))
  const found = await world.archive.firstSince(PLACE, 0, 0, 20, ENDLESS)
  assert.ok(found !== null && 'kind' in found && found.kind === 'damaged')
  assert.match(found.why, /a file of equality deletes of another writer/)
  assert.deepEqual(offsetsOf(await world.read(10)), [[10, 19]])
  const largest = await world.archive.largest(PLACE, 10, 20, ENDLESS)
  assert.ok(largest !== null && 'offset' in largest && largest.offset === 19)
})
