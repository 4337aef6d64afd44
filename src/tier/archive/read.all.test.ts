// Batches come back from the tables as clients saw them, with few requests to the store.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  archiveWorld,
  offsetsOf,
  PLACE,
  plainBatch,
  plainBatches,
  type StoreHooks,
} from '../../../testing/archive-table.ts'
import { openBytes } from '../../../testing/data-files.ts'
import type { ArchiveRead } from '../../log/archive.ts'
import { viewBatch } from '../../protocol/records.ts'
import { partsOf } from '../columns/read.ts'
import { ObjectStoreError } from '../objects/objects.ts'

const isData = ({ key }: { readonly key: string }) => key.endsWith('.parquet')

test('a read begins with the batch that has the offset, or with the next one in a gap, and ends below the limit', async t => {
  const { add, read } = await archiveWorld(t)
  const first = [plainBatch(0, 10), plainBatch(10, 10), plainBatch(30, 10)]
  await add(first, {}, { next: 40 })
  await add([plainBatch(40, 5)])
  const all = await read(0)
  assert.ok(all.kind === 'read')
  assert.deepEqual(offsetsOf(all), [
    [0, 9],
    [10, 19],
    [30, 39],
    [40, 44],
  ])
  for (const [i, batch] of first.entries()) assert.ok(batch.equals(all.batches[i]!), `batch ${i}`)
  assert.equal(
    all.bytes,
    all.batches.reduce((sum, { length }) => sum + length, 0),
  )
  assert.deepEqual(offsetsOf(await read(19, 1)), [[10, 19]])
  assert.deepEqual(offsetsOf(await read(20, 1)), [[30, 39]])
  assert.deepEqual(offsetsOf(await read(5, 1 << 20, true, 30)), [
    [0, 9],
    [10, 19],
  ])
  assert.deepEqual(offsetsOf(await read(5, 1 << 20, true, 19)), [[0, 9]])
  assert.equal(offsetsOf(await read(20, 1 << 20, true, 30)), 'nothing')
  assert.equal(offsetsOf(await read(45)), 'nothing')
})

test('a first batch that is too large comes all the same, unless the reader does without', async t => {
  const { add, read } = await archiveWorld(t)
  const batches = [plainBatch(0, 10), plainBatch(10, 10)]
  await add(batches)
  assert.deepEqual(offsetsOf(await read(0, 5)), [[0, 9]])
  assert.deepEqual(offsetsOf(await read(0, 5, false)), [])
  assert.deepEqual(offsetsOf(await read(0, batches[0]!.length, false)), [[0, 9]])
  assert.deepEqual(offsetsOf(await read(0, batches[0]!.length + 1)), [[0, 9]])
})

test('another partition has nothing, and a topic without a table cannot be read', async t => {
  const { archive, add } = await archiveWorld(t)
  await add([plainBatch(0, 10)])
  assert.deepEqual(await archive.read({ ...PLACE, partition: 1 }, 0, 100, true, 50), { kind: 'nothing' })
  const { archive: other } = await archiveWorld(t, { locationOf: () => 'default/other-AAAAAAAAAAAAAAAAAAAAAg' })
  // The log asks for what is archived: nothing would tell it to go on at its local start.
  for (let i = 0; i < 2; i++) {
    const found = await other.read(PLACE, 0, 100, true, 50)
    assert.ok(found.kind === 'damaged' && /no table of the topic/.test(found.why), found.kind)
  }
})

/** Reads from an offset to the end of the archive, as a client does. */
async function readAll(read: (offset: number) => Promise<ArchiveRead>, from = 0): Promise<number> {
  let bytes = 0
  for (let offset = from; ; ) {
    const answer = await read(offset)
    if (answer.kind === 'nothing') return bytes
    assert.ok(answer.kind === 'read' && answer.batches.length > 0, JSON.stringify(answer).slice(0, 300))
    bytes += answer.bytes
    const first = viewBatch(answer.batches[0]!)
    assert.ok(first.baseOffset <= offset && offset <= first.lastOffset, `offset ${offset}`)
    offset = viewBatch(answer.batches.at(-1)!).lastOffset + 1
  }
}

test('a sequential reader fetches at most 1.3 of the stored bytes, of small groups and of large ones', async t => {
  for (const rowGroupBytes of [1e6, 128e6]) {
    const world = await archiveWorld(t)
    let stored = 0
    let sent = 0
    for (let file = 0; file < 2; file++) {
      const batches = plainBatches(file * 4500, 450)
      stored += (await world.add(batches, { rowGroupBytes })).size
      sent += batches.reduce((sum, { length }) => sum + length, 0)
    }
    world.taken()
    assert.equal(await readAll(world.read), sent)
    const fetched = world.taken().filter(isData)
    const bytes = fetched.reduce((sum, each) => sum + each.bytes, 0)
    t.diagnostic(`groups of ${rowGroupBytes}: ${(bytes / stored).toFixed(3)} in ${fetched.length} requests`)
    assert.ok(bytes <= stored * 1.3, `${bytes} of ${stored}`)
  }
})

test('a random read of 1 MiB fetches at most 4 MB in 40 requests, and again nothing', async t => {
  for (const rowGroupBytes of [16e6, 128e6]) {
    const world = await archiveWorld(t)
    const file = await world.add(plainBatches(0, 2400), { rowGroupBytes })
    assert.ok(file.size > 20e6)
    await world.read(24_000)
    world.taken()
    for (const offset of [11_111, 23_990, 0]) {
      const other = await archiveWorld(t)
      for (const [key, held] of world.memory.held) other.memory.held.set(key, held)
      const ask = async () => {
        let bytes = 0
        for (let at = offset; bytes < 1e6 && at < 24_000; ) {
          const answer = await other.read(at)
          assert.ok(answer.kind === 'read')
          bytes += answer.bytes
          at = viewBatch(answer.batches.at(-1)!).lastOffset + 1
        }
      }
      other.taken()
      await ask()
      const fetched = other.taken()
      const bytes = fetched.reduce((sum, each) => sum + each.bytes, 0)
      t.diagnostic(`offset ${offset} of groups of ${rowGroupBytes}: ${bytes} bytes in ${fetched.length} requests`)
      assert.ok(bytes <= 4e6 && fetched.length <= 40, `${bytes} in ${fetched.length}`)
      await ask()
    }
  }
})

test('a warm read costs no request and answers at once', async t => {
  const { archive, add, read, taken } = await archiveWorld(t)
  await add(plainBatches(0, 100), { rowGroupBytes: 1e6 })
  await read(500)
  taken()
  const again = archive.read(PLACE, 500, 1000, true, Number.MAX_SAFE_INTEGER)
  assert.ok(!(again instanceof Promise))
  assert.deepEqual(offsetsOf(again), [[500, 509]])
  assert.deepEqual(taken(), [])
})

test('eight equal reads at once cost one, also beside a queue that takes one', async t => {
  const alone = await archiveWorld(t)
  await alone.add(plainBatches(0, 100), { rowGroupBytes: 1e6 })
  await alone.read(500)
  const cost = alone.taken().length
  const together = await archiveWorld(t, { threads: 1, queueCapacity: 0 })
  for (const [key, held] of alone.memory.held) together.memory.held.set(key, held)
  const answers = await Promise.all(Array.from({ length: 8 }, () => together.read(500)))
  assert.deepEqual(
    answers.map(({ kind }) => kind),
    Array.from({ length: 8 }, () => 'read'),
  )
  assert.equal(together.taken().length, cost)
})

test('the batches of an answer stay until it is released, whatever the cache drops, and go then', async t => {
  const { archive, add, read } = await archiveWorld(t, { cacheBytes: 400e3 })
  const batches = plainBatches(0, 300)
  await add(batches, { rowGroupBytes: 200e3 })
  const [answer, late] = [await read(0, 1), await read(0, 1)]
  assert.ok(answer.kind === 'read' && late.kind === 'read')
  const end = viewBatch(batches.at(-1)!).lastOffset
  for (let offset = 500; offset <= end; offset += 100) await read(offset, 1)
  assert.ok(archive.bytes <= 400e3)
  assert.ok(batches[0]!.equals(answer.batches[0]!))
  answer.release!()
  // The second answer has the same memory.
  answer.release!()
  assert.ok(batches[0]!.equals(late.batches[0]!))
  late.release!()
  assert.deepEqual([answer.batches[0]!.length, late.batches[0]!.length], [0, 0])
  // Nothing of it is missed: the archive reads it again.
  const again = await read(0, 1)
  assert.ok(again.kind === 'read' && batches[0]!.equals(again.batches[0]!))
})

test('callers that share one read have an answer that is not released', async t => {
  const { add, read } = await archiveWorld(t)
  await add(plainBatches(0, 10))
  const answers = await Promise.all([read(0), read(0)])
  assert.deepEqual(
    answers.map(each => each.kind === 'read' && each.release),
    [null, null],
  )
  const alone = await read(0)
  assert.ok(alone.kind === 'read' && alone.release !== null)
})

test('readers of one part at different offsets fetch it once', async t => {
  const { add, read, taken } = await archiveWorld(t)
  await add(plainBatches(0, 100), { rowGroupBytes: 1e9 })
  await read(999)
  taken()
  const world = await archiveWorld(t)
  await world.add(plainBatches(0, 100), { rowGroupBytes: 1e9 })
  await Promise.all([0, 100, 200, 300].map(offset => world.read(offset)))
  const data = world.taken().filter(isData)
  assert.equal(data.length, 2, JSON.stringify(data))
})

/** A gate before reads of data. */
function gate(): StoreHooks & { open(): void; readonly asked: number } {
  const { promise, resolve } = Promise.withResolvers<void>()
  let asked = 0
  return {
    before(key) {
      if (!key.endsWith('.parquet')) return
      asked++
      return promise
    },
    open: resolve,
    get asked() {
      return asked
    },
  }
}

test('reads beyond the queue are turned away at once, and those in the queue get their answer', async t => {
  const hooks = gate()
  const lengths: number[] = []
  const watch = { queueLength: (waiting: number) => void lengths.push(waiting) }
  const world = await archiveWorld(t, { threads: 2, queueCapacity: 3, watch }, hooks)
  await world.add(plainBatches(0, 100))
  const reads = Array.from({ length: 8 }, (_, i) => world.read(i * 10, 100))
  const busy = await Promise.all(reads.slice(5))
  assert.deepEqual(busy, [{ kind: 'busy' }, { kind: 'busy' }, { kind: 'busy' }])
  hooks.open()
  assert.deepEqual(
    (await Promise.all(reads.slice(0, 5))).map(offsetsOf),
    [0, 1, 2, 3, 4].map(i => [[i * 10, i * 10 + 9]]),
  )
  assert.equal(Math.max(...lengths), 3)
  assert.equal(lengths.at(-1), 0)
})

test('the memory of many readers stays within the bound', async t => {
  const world = await archiveWorld(t, { cacheBytes: 8e6, threads: 8 })
  for (let file = 0; file < 4; file++) await world.add(plainBatches(file * 6000, 600), { rowGroupBytes: 128e6 })
  let most = 0
  await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      for (let offset = i * 2500, n = 0; n < 8 && offset < 24_000; n++) {
        const answer = await world.read(offset)
        most = Math.max(most, world.archive.bytes)
        assert.ok(answer.kind === 'read')
        offset = viewBatch(answer.batches.at(-1)!).lastOffset + 1
      }
    }),
  )
  t.diagnostic(`${most} bytes`)
  assert.ok(most <= 8e6, `${most}`)
})

test('a reader that goes on finds the next parts in memory, over the ends of groups and files', async t => {
  const world = await archiveWorld(t)
  for (let file = 0; file < 3; file++) await world.add(plainBatches(file * 1000, 100), { rowGroupBytes: 600e3 })
  let offset = 0
  let waited = 0
  for (let reads = 0; offset < 3000; reads++) {
    const answer = world.archive.read(PLACE, offset, 400e3, true, 3000)
    if (reads >= 2 && answer instanceof Promise) waited++
    const done = await answer
    assert.ok(done.kind === 'read')
    offset = viewBatch(done.batches.at(-1)!).lastOffset + 1
    // The reader works on its answer, for long enough that a busy machine can read ahead.
    await new Promise(resolve => setTimeout(resolve, 250))
  }
  assert.ok(waited <= 2, `waited ${waited} times`)
})

type ArchiveWorld = Awaited<ReturnType<typeof archiveWorld>>

/** A place whose data files can be made to wait, with the number of requests for them since it was closed. */
function gateOfParts() {
  const opened = Promise.withResolvers<void>()
  let passing = Number.POSITIVE_INFINITY
  const gate = {
    asked: 0,
    async before(key: string) {
      if (key.endsWith('.parquet') && ++gate.asked > passing) await opened.promise
    },
    close(most: { readonly passing: number }) {
      gate.asked = 0
      passing = most.passing
    },
    open: () => opened.resolve(),
  }
  return gate
}

/** Resolves with the offset at which the reader goes on. */
async function readOn({ archive }: ArchiveWorld, offset: number, maxBytes: number): Promise<number> {
  const answer = await archive.read(PLACE, offset, maxBytes, true, 4000)
  assert.ok(answer.kind === 'read')
  return viewBatch(answer.batches.at(-1)!).lastOffset + 1
}

test('a reader that goes on takes the next parts into its turn, and is answered before they are here', async t => {
  const gate = gateOfParts()
  // With one thread nothing is read ahead while the reader has its turn.
  const world = await archiveWorld(t, { threads: 1 }, gate)
  await world.add(plainBatches(0, 400), { rowGroupBytes: 600e3 })
  const second = await readOn(world, 0, 400e3)
  // The part of the reader itself comes, those behind it do not.
  gate.close({ passing: 1 })
  assert.ok((await readOn(world, second, 400e3)) > second)
  assert.equal(gate.asked, 3, 'one for the reader, and two for the parts behind it')
  gate.open()
})

test('what is read ahead comes several parts a task, with one task for each thread that is left', async t => {
  const gate = gateOfParts()
  const world = await archiveWorld(t, { threads: 3, cacheBytes: 64e6 }, gate)
  await world.add(plainBatches(0, 400), { rowGroupBytes: 100e3 })
  const second = await readOn(world, 0, 1)
  gate.close({ passing: 0 })
  await readOn(world, second, 1)
  await new Promise(resolve => setImmediate(resolve))
  // The third thread is left for a reader.
  assert.equal(gate.asked, 2 * 4)
  gate.open()
})

test('a reader that finds nothing sees a newer version, but asks for it once a second at most', async t => {
  const { archive, add, read, taken } = await archiveWorld(t)
  await add([plainBatch(0, 10)])
  assert.equal(offsetsOf(await read(10)), 'nothing')
  await add([plainBatch(10, 10)])
  taken()
  assert.equal(offsetsOf(await read(10)), 'nothing')
  assert.deepEqual(taken(), [])
  archive.refresh(PLACE.topicId)
  assert.deepEqual(offsetsOf(await read(10)), [[10, 19]])
})

test('offsets that were archived out of turn are looked for before a reader passes over them', async t => {
  const { add, archive, read } = await archiveWorld(t)
  await add([plainBatch(0, 10)])
  await add([plainBatch(20, 10)])
  assert.deepEqual(offsetsOf(await read(0, 1)), [[0, 9]])
  await add([plainBatch(10, 10)])
  assert.deepEqual(offsetsOf(await read(0)), [[0, 9]])
  assert.deepEqual(offsetsOf(await read(10, 1)), [[10, 19]])
  // A range that was never archived is passed over.
  await add([plainBatch(50, 10)])
  archive.refresh(PLACE.topicId)
  assert.deepEqual(offsetsOf(await read(30)), [[50, 59]])
})

test('a missing file is looked for in a newer version, and is damage if that names it too', async t => {
  const { add, archive, memory, read } = await archiveWorld(t)
  const { key } = await add([plainBatch(0, 10)])
  assert.deepEqual(offsetsOf(await read(0)), [[0, 9]])
  await memory.delete([key])
  assert.deepEqual(offsetsOf(await read(0)), [[0, 9]])
  const { key: second } = await add([plainBatch(10, 10)])
  await memory.delete([second])
  archive.refresh(PLACE.topicId)
  const answer = await read(10)
  assert.ok(answer.kind === 'damaged')
  assert.match(answer.why, /00000000000000000010-.*the data file is missing/)
})

test('a store that is away is not remembered, and a damaged file is named', async t => {
  let isAway = false
  const hooks = {
    before() {
      if (isAway) throw new ObjectStoreError('away', 'cannot reach the store')
    },
  }
  const { add, memory, read } = await archiveWorld(t, {}, hooks)
  const { key } = await add([plainBatch(0, 10)])
  isAway = true
  assert.deepEqual(await read(0), { kind: 'away', why: 'cannot reach the store' })
  isAway = false
  assert.deepEqual(offsetsOf(await read(0)), [[0, 9]])
  await add([plainBatch(10, 10)])
  memory.held.get(key)!.bytes.fill(7, 4, 400)
  const other = await archiveWorld(t)
  for (const [name, held] of memory.held) other.memory.held.set(name, held)
  const answer = await other.read(0)
  assert.ok(answer.kind === 'damaged')
  assert.match(answer.why, /\.parquet: column \d+ of the data file is damaged/)
  assert.deepEqual(offsetsOf(await other.read(10)), [[10, 19]])
})

test('wrong bounds in a page index are damage for a reader that comes by', async t => {
  const world = await archiveWorld(t)
  const { key } = await world.add(plainBatches(0, 400), { rowGroupBytes: 128e6 })
  const bytes = world.memory.held.get(key)!.bytes
  const { file } = await openBytes(bytes)
  const parts = await partsOf(file, file.groups[0]!)
  const { column_index_offset: start } = file.metadata.row_groups[0]!.columns[1]!
  const most = Buffer.alloc(8)
  most.writeBigInt64LE(BigInt(parts[0]!.lastOffset))
  const at = bytes.indexOf(most, Number(start))
  assert.ok(at > 0, 'the index has the last offset of a page')
  bytes.writeBigInt64LE(BigInt(parts[0]!.lastOffset - 15), at)
  const answer = await world.read(parts[0]!.lastOffset - 50)
  assert.ok(answer.kind === 'damaged', answer.kind)
  assert.match(answer.why, /a part should have the offsets 0 to \d+ and has 0 to \d+/)
})

test('a snapshot that upkeep removes while its table is loaded is no damage', async t => {
  let remove: ((list: string) => Promise<void>) | null = null
  const hooks = {
    async before(key: string) {
      const removing = remove
      if (!key.includes('/snap-') || removing === null) return
      remove = null
      await removing(key)
    },
  }
  const world = await archiveWorld(t, {}, hooks)
  await world.add([plainBatch(0, 10)])
  remove = async list => {
    await world.add([plainBatch(10, 10)])
    await world.memory.delete([list])
  }
  assert.equal(offsetsOf(await world.read(0)).length, 2)
})

test('closing answers the reads in flight and those that wait', async t => {
  const hooks = gate()
  const world = await archiveWorld(t, { threads: 1 }, hooks)
  await world.add([plainBatch(0, 10)])
  const reads = [world.read(0), world.read(1), world.read(2)]
  while (hooks.asked === 0) await new Promise(resolve => setImmediate(resolve))
  await world.archive.close()
  const away = { kind: 'away', why: 'the archive is closed' }
  assert.deepEqual(await Promise.all(reads), [away, away, away])
  assert.deepEqual(await world.read(0), away)
  hooks.open()
})
