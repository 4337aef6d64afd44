import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteManifest, type TestDeletes } from '../../../testing/foreign-deletes.ts'
import { archiveSegments, newTable, testDeps, unguarded, upload } from '../../../testing/iceberg-table.ts'
import { MemoryObjects, withHooks } from '../../../testing/memory-objects.ts'
import { FIELD } from '../columns/table-schema.ts'
import { commit } from './commit.ts'
import { deleteFileOf, fileAt, filesBelow, filesMeeting, filesOf, OffsetIndexer } from './offset-index.ts'
import { removeBelow } from './retention.ts'

async function world() {
  const deps = testDeps()
  const memory = new MemoryObjects(deps.clock)
  let reads = 0
  const objects = withHooks(memory, {
    before({ verb, key }) {
      if (verb === 'read' && key.endsWith('.avro')) reads++
    },
  })
  const counted = () => {
    const before = reads
    reads = 0
    return before
  }
  return {
    deps,
    objects,
    counted,
    table: await newTable(objects, deps),
    indexer: new OffsetIndexer(deps.clock, objects),
  }
}

test('an offset is found in its file, a gap in the next one, and an offset above all files nowhere', async () => {
  const { deps, table, indexer } = await world()
  const segments = [
    { partition: 0, base: 30, next: 40 },
    { partition: 0, base: 0, next: 10 },
    { partition: 1, base: 5, next: 9 },
  ]
  const index = await indexer.index((await archiveSegments(table, segments, deps)).table)
  const at = (offset: number, partition = 0) => fileAt(index, partition, offset)?.lo ?? null
  assert.deepEqual(
    [0, 9, 10, 29, 30, 39, 40].map(offset => at(offset)),
    [0, 0, 30, 30, 30, 30, null],
  )
  assert.equal(at(7, 1), 5)
  assert.equal(at(0, 2), null)
  const [first] = filesOf(index, 0)
  assert.deepEqual([first!.hi, first!.rows, first!.size, first!.kafkaBytes], [9, 10, 64, 1000])
  assert.deepEqual(first!.epochs, [[3, 0]])
  assert.equal(first!.maxTimestamp! - first!.minTimestamp!, 9)
  assert.deepEqual(
    filesBelow(index, 0, 30).map(({ lo }) => lo),
    [0],
  )
})

test('each manifest is read once, and a commit by this process reads no list', async () => {
  const { deps, table, indexer, counted } = await world()
  const first = await archiveSegments(table, [{ partition: 0, base: 0, next: 10 }], deps)
  await indexer.index(first.table)
  assert.equal(counted(), 1)
  const second = await archiveSegments(first.table, [{ partition: 0, base: 10, next: 20 }], deps)
  assert.equal(filesOf(await indexer.index(second.table), 0).length, 2)
  assert.equal(counted(), 1)
  assert.equal(filesOf(await indexer.index({ ...second.table, manifests: null }), 0).length, 2)
  assert.equal(counted(), 1)
})

test('a file without bounds is unplaced until its footer is known, and keeps its place afterwards', async () => {
  const { deps, objects, table, indexer } = await world()
  const file = await upload(objects, { partition: 0, base: 0, next: 10 }, deps.random)
  const bare = { ...file, lowerBounds: new Map(), upperBounds: new Map() }
  let at = (await commit(table, { append: [bare] }, unguarded, deps)).table
  const before = await indexer.index(at)
  assert.deepEqual(
    before.unplaced.map(({ key, partition }) => [key, partition]),
    [[file.key, 0]],
  )
  assert.deepEqual(filesOf(before, 0), [])
  const bounds = { partition: 0, lo: 0, hi: 9, minTimestamp: null, maxTimestamp: null, epochs: null }
  indexer.learn(before.unplaced[0]!.path, bounds)
  at = (await archiveSegments(at, [{ partition: 0, base: 10, next: 20 }], deps)).table
  const after = await indexer.index(at)
  assert.deepEqual(after.unplaced, [])
  assert.deepEqual(
    filesOf(after, 0).map(({ lo, hi }) => [lo, hi]),
    [
      [0, 9],
      [10, 19],
    ],
  )
})

test('files of another writer whose ranges overlap are all found', async () => {
  const { deps, objects, table, indexer } = await world()
  const files = []
  for (const [base, next] of [
    [0, 100],
    [10, 20],
    [50, 60],
    [100, 110],
  ] as const)
    files.push(await upload(objects, { partition: 0, base, next }, deps.random))
  const index = await indexer.index((await commit(table, { append: files }, unguarded, deps)).table)
  assert.deepEqual(
    [5, 70, 99, 100].map(offset => fileAt(index, 0, offset)!.lo),
    [0, 0, 0, 100],
  )
  assert.deepEqual(
    [5, 15, 25, 70, 100, 110].map(offset => filesMeeting(index, 0, offset).map(({ lo }) => lo)),
    [[0, 10, 50], [0, 10, 50], [0, 50], [0], [100], []],
  )
})

test('a delete file touches the files that it may name, of its partition, and of earlier commits', async () => {
  const { deps, objects, table, indexer } = await world()
  const first = await archiveSegments(table, [{ partition: 0, base: 0, next: 10 }], deps)
  const { table: at } = await archiveSegments(first.table, [{ partition: 0, base: 10, next: 20 }], deps)
  const paths = filesOf(await indexer.index(at), 0).map(({ path }) => path)
  const touched = async (deletes: TestDeletes) => {
    const manifests = [...at.manifests!, await deleteManifest(at, deletes)]
    const index = await new OffsetIndexer(deps.clock, objects).index({ ...at, manifests })
    return filesOf(index, 0).map(file => deleteFileOf(index, file)?.kind ?? null)
  }
  assert.deepEqual(await touched({ kind: 'position', paths: [paths[1]!], sequenceNumber: 3 }), [null, 'position'])
  assert.deepEqual(await touched({ kind: 'position', sequenceNumber: 3 }), ['position', 'position'])
  assert.deepEqual(await touched({ kind: 'position', sequenceNumber: 3, partition: 1 }), [null, null])
  assert.deepEqual(await touched({ kind: 'equality', sequenceNumber: 3, partition: null }), ['equality', 'equality'])
  // Positions of the same commit count, and equality does not.
  assert.deepEqual(await touched({ kind: 'position', sequenceNumber: 1 }), ['position', null])
  assert.deepEqual(await touched({ kind: 'equality', sequenceNumber: 2 }), ['equality', null])
})

test('several epochs in a file are for its footer, and a partition without a tuple comes from its column', async () => {
  const { deps, objects, table, indexer } = await world()
  const file = await upload(objects, { partition: 0, base: 0, next: 10 }, deps.random)
  const upperBounds = new Map(file.upperBounds).set(FIELD.leaderEpoch, Buffer.from([9, 0, 0, 0]))
  const { table: at } = await commit(table, { append: [{ ...file, upperBounds }] }, unguarded, deps)
  assert.equal(filesOf(await indexer.index(at), 0)[0]!.epochs, null)
})

test('retention removes the files wholly below the log start, and moves the ranges', async () => {
  const { deps, table, indexer } = await world()
  const segments = [0, 10, 20].map(base => ({ partition: 0, base, next: base + 10 }))
  const { table: full } = await archiveSegments(table, segments, deps)
  const { table: cut } = await removeBelow(full, await indexer.index(full), new Map([[0, 15]]), unguarded, deps)
  assert.deepEqual(
    filesOf(await indexer.index(cut), 0).map(({ lo }) => lo),
    [10, 20],
  )
  assert.equal(cut.metadata.properties['kafka.offload.ranges'], '{"0":[[15,30]]}')
  assert.equal(cut.metadata.properties['kafka.offload.log-starts'], '{"0":15}')
})
