// A log over two tiers, on the simulated clock and with a remote tier in memory.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MemoryTier } from '../../testing/cold-tier.ts'
import { batchOf, type LogWorld, openLogWorld, readAll } from '../../testing/sim/logs.ts'
import { isRefusal } from '../protocol/errors.ts'
import { viewBatch } from '../protocol/records.ts'
import type { Partition } from './partition.ts'
import { UnreadableBatch } from './read-range.ts'
import { SEARCHES_AT_ONCE } from './time-search.ts'

const HOUR = 60 * 60_000
const DAY = 24 * HOUR

const CONFIGS = {
  'remote.storage.enable': 'true',
  // Each round seals everything, and drops every local copy.
  'segment.ms': '1',
  'local.retention.ms': '1',
  'retention.ms': '-1',
}

async function tieredWorld(t: TestContext, configs: Readonly<Record<string, string>> = {}) {
  const tier = new MemoryTier()
  const world = await openLogWorld(t, { coldTier: tier, overrides: { 'storage.worker.enabled': false } })
  const { id } = await world.create('orders', { ...CONFIGS, ...configs })
  await world.clock.advance(1_000)
  return { ...world, tier, id, orders: world.partition('orders') }
}

type Tiered = Awaited<ReturnType<typeof tieredWorld>>

async function append(partition: Partition, records = 1, timestamp = -1): Promise<number> {
  const values = Array.from({ length: records }, (_, i) => ({ value: `record ${i}`, timestamp }))
  const answer = await partition.append(batchOf(values), 0)
  assert(!isRefusal(answer), isRefusal(answer) ? answer.message : '')
  return answer.baseOffset
}

/** Seals everything, archives it, and lets local retention drop the local copy. */
async function offload(world: Tiered, partition = world.orders): Promise<void> {
  await world.clock.advance(1_000)
  assert.equal((await world.round()).failures, 0)
  await world.tier.offload(world.logs, world.id, partition.index)
  await world.clock.advance(1_000)
  assert.equal((await world.round()).failures, 0)
}

const offsets = async (partition: Partition, from?: number) =>
  (await readAll(partition, from)).map(({ baseOffset, lastOffset }) => [baseOffset, lastOffset])

test('what is archived is dropped from the store and read from the archive, byte for byte', async t => {
  const world = await tieredWorld(t)
  const { orders } = world
  for (let i = 0; i < 5; i++) await append(orders, 3)
  const before = await readAll(orders)
  await offload(world)
  assert.deepEqual([orders.logStartOffset, orders.localStartOffset, orders.highWatermark], [0, 15, 15])
  assert.deepEqual([orders.sizeBytes, orders.highestArchived, orders.isRemote], [0, 14, true])
  await append(orders, 2)
  const after = await readAll(orders)
  assert.deepEqual(
    after.slice(0, 5).map(({ bytes }) => bytes),
    before.map(({ bytes }) => bytes),
  )
  assert.deepEqual(await offsets(orders, 13), [
    [12, 14],
    [15, 16],
  ])
  assert.deepEqual(
    [0, 14, 15, 16, -1].map(offset => orders.isCold(offset)),
    [true, true, false, false, false],
  )
  const read = await orders.read(4, 1_000_000, true)
  assert.ok(!isRefusal(read) && read.highWatermark === 17 && read.logStartOffset === 0)
})

test('what is not archived stays, and the segments behind it wait', async t => {
  const world = await tieredWorld(t)
  const { orders, tier, clock } = world
  for (let i = 0; i < 3; i++) {
    await append(orders, 2)
    await clock.advance(1_000)
    await world.round()
  }
  await tier.offload(world.logs, world.id, 0, base => base !== 2)
  await world.round()
  assert.deepEqual([orders.localStartOffset, orders.highestArchived], [2, 5])
  await tier.offload(world.logs, world.id)
  await world.round()
  assert.equal(orders.localStartOffset, 6)
  assert.deepEqual(await offsets(orders), [
    [0, 1],
    [2, 3],
    [4, 5],
  ])
})

test('until the table was read a topic takes no records, and reads are served', async t => {
  const world = await tieredWorld(t)
  await append(world.orders, 3)
  world.tier.trouble = { kind: 'away', why: 'the bucket does not answer' }
  const next = await world.restart()
  const orders = next.partition('orders')
  await world.clock.advance(100)
  const refusal = await orders.append(batchOf(1), 0)
  assert.ok(isRefusal(refusal))
  assert.equal(refusal.name, 'KAFKA_STORAGE_ERROR')
  assert.match(refusal.message, /orders-0 takes no records until .* was read: the bucket does not answer/)
  assert.deepEqual(await offsets(orders), [[0, 2]])
  world.tier.trouble = null
  await world.clock.advance(60_000)
  assert.equal(await append(orders), 3)
})

test('one read of a table serves all partitions of its topic', async t => {
  const tier = new MemoryTier()
  const world = await openLogWorld(t, { coldTier: tier })
  await world.create('orders', CONFIGS, 50)
  await world.clock.advance(1_000)
  assert.equal(tier.tableReads, 1)
  for (let index = 0; index < 50; index++) await append(world.partition('orders', index))
})

test('a table that is older than the document of one partition knows is taken for none of its topic', async t => {
  const tier = new MemoryTier()
  const world = await openLogWorld(t, { coldTier: tier, overrides: { 'storage.worker.enabled': false } })
  const { id } = await world.create('orders', CONFIGS, 2)
  await world.clock.advance(1_000)
  const orders = world.partition('orders', 1)
  await append(orders, 3)
  await offload({ ...world, tier, id, orders }, orders)
  assert.equal((await world.logs.sealedSegments(id, 0)).remote?.version, 0)
  const without = { coldTier: new MemoryTier(), clock: world.clock, store: world.store.reopen() }
  const next = await openLogWorld(t, without)
  await world.clock.advance(1_000)
  for (const index of [0, 1]) {
    const refusal = await next.partition('orders', index).append(batchOf(1), 0)
    assert.match(isRefusal(refusal) ? refusal.message : '', /has version 0 of the table, and it had version 1/)
  }
})

test('an idle round reads no table and writes nothing', async t => {
  const world = await tieredWorld(t)
  await append(world.orders, 3)
  await offload(world)
  const { tableReads } = world.tier
  const { calls } = world.store
  const before = { ...calls }
  await world.round()
  assert.deepEqual({ ...calls }, before)
  assert.equal(world.tier.tableReads, tableReads)
})

test('a log that the store has lost in part goes on above the archived end, and what is archived is read', async t => {
  const world = await tieredWorld(t)
  const { orders, store, tier } = world
  for (let i = 0; i < 4; i++) await append(orders, 2)
  await world.clock.advance(1_000)
  await world.round()
  await tier.offload(world.logs, world.id)
  store.faults.lose(`${world.id}:0`)
  await store.create([`${world.id}:0`])
  const next = await world.restart()
  const after = next.partition('orders')
  await world.clock.advance(1_000)
  assert.deepEqual([after.logStartOffset, after.endOffset], [0, 8])
  assert.equal(await append(after, 2), 8)
  assert.deepEqual(await offsets(after), [
    [0, 1],
    [2, 3],
    [4, 5],
    [6, 7],
    [8, 9],
  ])
  assert.deepEqual(
    [0, 7, 8].map(offset => after.isCold(offset)),
    [true, true, false],
  )
})

test('the retention of the whole log counts both tiers; the log start moves first', async t => {
  const world = await tieredWorld(t, { 'retention.ms': String(HOUR) })
  const { orders, clock, store } = world
  await append(orders, 3, clock.now())
  await offload(world)
  await clock.advance(HOUR / 2)
  await append(orders, 3, clock.now())
  await offload(world)
  assert.deepEqual([orders.logStartOffset, orders.localStartOffset], [0, 6])
  await clock.advance(HOUR / 2)
  await world.round()
  assert.deepEqual([orders.logStartOffset, orders.localStartOffset], [3, 6])
  const below = await orders.read(2, 1_000, true)
  assert.ok(isRefusal(below) && below.name === 'OFFSET_OUT_OF_RANGE')
  await clock.advance(HOUR)
  await append(orders, 1, clock.now())
  store.faults.failNext('trim', 'unavailable')
  await world.round()
  assert.deepEqual([orders.logStartOffset, await offsets(orders)], [6, [[6, 6]]])
})

test('the retention of the whole log drops by bytes what is archived and what is not', async t => {
  const world = await tieredWorld(t, {
    'retention.bytes': '0',
    'local.retention.bytes': '-2',
    'local.retention.ms': '-2',
  })
  const { orders, clock } = world
  await append(orders, 3)
  await clock.advance(1_000)
  await world.round()
  assert.deepEqual([orders.logStartOffset, orders.localStartOffset, orders.highWatermark], [3, 3, 3])
})

test('DeleteRecords moves the log start in both tiers, and it stays there', async t => {
  const world = await tieredWorld(t)
  const { orders } = world
  for (let i = 0; i < 3; i++) await append(orders, 3)
  await offload(world)
  await append(orders, 3)
  assert.equal(await orders.deleteRecords(4), 4)
  assert.deepEqual([orders.logStartOffset, orders.localStartOffset], [4, 9])
  assert.deepEqual(await offsets(orders), [
    [3, 5],
    [6, 8],
    [9, 11],
  ])
  assert.equal(await orders.deleteRecords(2), 4)
  assert.equal(await orders.deleteRecords(10), 10)
  const next = await world.restart()
  await world.clock.advance(1_000)
  const after = next.partition('orders')
  assert.deepEqual([after.logStartOffset, after.localStartOffset], [10, 10])
  assert.equal(await after.deleteRecords(-1), 12)
})

test('a leader epoch that was trimmed is still known, with its end', async t => {
  const world = await tieredWorld(t)
  await append(world.orders, 2)
  let next: LogWorld = world
  for (let i = 0; i < 3; i++) {
    next = await next.restart()
    await world.clock.advance(1_000)
    await append(next.partition('orders'), 2)
  }
  const orders = next.partition('orders')
  const ends = [1, 2, 3, 4].map(epoch => orders.endOfEpoch(epoch))
  const epochs = [0, 1, 2, 5, 7].map(offset => orders.epochAt(offset))
  await orders.learnChunks()
  await offload({ ...world, ...next, tier: world.tier, id: world.id, orders })
  assert.equal(orders.localStartOffset, 8)
  assert.deepEqual(
    [1, 2, 3, 4].map(epoch => orders.endOfEpoch(epoch)),
    ends,
  )
  assert.deepEqual(
    [0, 1, 2, 5, 7].map(offset => orders.epochAt(offset)),
    epochs,
  )
  assert.deepEqual(epochs, [1, 1, 2, 3, 4])
})

test('searches by time find records in both tiers, and the largest timestamp of all', async t => {
  const world = await tieredWorld(t)
  const { orders } = world
  await append(orders, 2, 1_000)
  await append(orders, 2, 9_000)
  await offload(world)
  await append(orders, 2, 5_000)
  const found = async (timestamp: number) => {
    const first = await orders.offsetForTimestamp(timestamp)
    assert.ok(!isRefusal(first))
    return first?.offset ?? null
  }
  assert.deepEqual(await Promise.all([0, 1_000, 1_001, 9_000, 9_001].map(found)), [0, 0, 2, 2, null])
  await append(orders, 1, 20_000)
  assert.deepEqual([await found(9_001), (await orders.maxTimestampOffset()) !== null], [6, true])
  const largest = await orders.maxTimestampOffset()
  assert.ok(largest !== null && !isRefusal(largest) && largest.offset === 6)
  await orders.deleteRecords(1)
  assert.equal(await found(0), 1)
})

test('the faults of the archive are refusals that say what is wrong', async t => {
  const world = await tieredWorld(t)
  const { orders, tier } = world
  await append(orders, 2)
  await offload(world)
  const messageOf = async () => {
    const refusal = await orders.read(0, 1_000, true)
    assert.ok(isRefusal(refusal) && refusal.name === 'KAFKA_STORAGE_ERROR')
    return refusal.message
  }
  tier.trouble = { kind: 'busy' }
  assert.ok(isRefusal(orders.read(0, 1_000, true) as object), 'a full queue answers at once')
  assert.match(await messageOf(), /Too many reads/)
  tier.trouble = { kind: 'away', why: 'no answer' }
  assert.match(await messageOf(), /cannot read orders-0 at the moment: no answer/)
  tier.trouble = { kind: 'damaged', why: 'x.parquet is missing' }
  assert.match(await messageOf(), /archive of orders-0 cannot be read: x.parquet is missing/)
  const search = await orders.offsetForTimestamp(0)
  assert.ok(isRefusal(search) && search.name === 'KAFKA_STORAGE_ERROR')
})

test('a broker without a remote tier refuses cold reads and appends, and names the setting', async t => {
  const tier = new MemoryTier()
  const options = { coldTier: tier, overrides: { 'storage.worker.enabled': false } } as const
  const first = await openLogWorld(t, options)
  const { id } = await first.create('orders', CONFIGS)
  await first.clock.advance(1_000)
  const orders = first.partition('orders')
  await append(orders, 2)
  await offload({ ...first, tier, id, orders })
  const { coldTier: _, ...without } = options
  const next = await openLogWorld(t, { ...without, clock: first.clock, store: first.store.reopen() })
  await first.clock.advance(1_000)
  const partition = next.partition('orders')
  for (const refusal of [await partition.read(0, 1_000, true), await partition.append(batchOf(1), 0)]) {
    assert.ok(isRefusal(refusal) && refusal.name === 'KAFKA_STORAGE_ERROR')
    assert.match(refusal.message, /storage\.remote\.path/)
  }
  assert.match(next.lines.join(''), /WARN .*take no records topic=orders .*storage\.remote\.path must be set/)
})

test('a read that a trim overtakes goes on in the archive', async t => {
  const world = await tieredWorld(t)
  const { tier } = world
  for (let i = 0; i < 3; i++) await append(world.orders, 2)
  // Without the tail in memory the read needs the store.
  const next = await world.restart()
  const orders = next.partition('orders')
  await world.clock.advance(1_000)
  await orders.learnChunks()
  await next.round()
  await tier.offload(next.logs, world.id)
  const now = next.store
  const release = now.faults.hold('read')
  const reading = orders.read(1, 1_000_000, true)
  await next.round()
  assert.equal(orders.localStartOffset, 6)
  release()
  const read = await reading
  assert.ok(!isRefusal(read), isRefusal(read) ? read.message : '')
  assert.equal(viewBatch(read.batches[0]!).baseOffset, 0)
})

test('a search by time that a trim overtakes finds the records that have moved to the archive', async t => {
  const world = await tieredWorld(t)
  await world.create('others', {})
  await append(world.orders, 3, 1_000)
  await append(world.partition('others'), 1, 1_000)
  // Without the tail in memory a search needs the store.
  const next = await world.restart()
  const [orders, others] = [next.partition('orders'), next.partition('others')]
  await world.clock.advance(1_000)
  await orders.learnChunks()
  await others.learnChunks()
  await next.round()
  await append(orders, 3, 2_000)
  await world.tier.offload(next.logs, world.id)
  const release = next.store.faults.hold('read')
  const slots = Array.from({ length: SEARCHES_AT_ONCE }, () => others.offsetForTimestamp(0))
  const search = orders.offsetForTimestamp(0)
  await next.round()
  assert.equal(orders.localStartOffset, 3)
  release()
  await Promise.all(slots)
  const found = await search
  assert.ok(found !== null && !isRefusal(found))
  assert.equal(found.offset, 0)
})

test('a topic that leaves the remote tier begins at its local start, and comes back without its old records', async t => {
  const world = await tieredWorld(t)
  const { orders, catalogue, clock, logs } = world
  await append(orders, 3)
  await offload(world)
  await append(orders, 3)
  const { to } = logs.remoteNews(0)
  const change = (enable: string) =>
    catalogue.change([world.id], topic => ({
      configs: { ...topic.configs, 'remote.storage.enable': enable, 'remote.log.delete.on.disable': 'true' },
    }))
  await change('false')
  assert.equal(orders.logStartOffset, 3)
  await world.round()
  assert.deepEqual(logs.remoteNews(to).topics, [{ topicId: world.id, partitions: [0] }])
  assert.equal((await logs.sealedSegments(world.id, 0)).remote, null)
  await change('true')
  await clock.advance(1_000)
  assert.equal(await append(orders), 6)
  assert.deepEqual([orders.logStartOffset, orders.isCold(2)], [3, false])
})

test('a topic that is switched off and on within one round does not get back its old records', async t => {
  const world = await tieredWorld(t)
  const { orders, catalogue, clock } = world
  await append(orders, 3)
  await offload(world)
  await append(orders, 3)
  for (const enable of ['false', 'true']) {
    await catalogue.change([world.id], topic => ({
      configs: { ...topic.configs, 'remote.storage.enable': enable, 'remote.log.delete.on.disable': 'true' },
    }))
    assert.deepEqual([orders.logStartOffset, orders.isCold(2)], [3, false])
  }
  await clock.advance(1_000)
  assert.equal(await append(orders), 6)
  await world.round()
  assert.deepEqual([orders.logStartOffset, orders.isCold(2)], [3, false])
})

test('a topic of which the table has records stays readable when its pattern no longer names the remote tier', async t => {
  const world = await tieredWorld(t)
  const { orders, catalogue } = world
  await append(orders, 3)
  await offload(world)
  await append(orders, 3)
  await catalogue.change([world.id], topic => ({ configs: { ...topic.configs, 'remote.storage.enable': 'false' } }))
  await world.round()
  assert.deepEqual([orders.logStartOffset, orders.isCold(2), orders.isRemote], [0, true, true])
  assert.equal(await append(orders), 6)
})

test('news name the partitions whose documents have changed, and all of them to a holder that knows none', async t => {
  const world = await tieredWorld(t)
  await world.create('local')
  await append(world.partition('local'))
  const all = world.logs.remoteNews(0)
  assert.deepEqual(all.topics, [{ topicId: world.id, partitions: [0] }])
  assert.deepEqual(world.logs.remoteNews(all.to), { to: all.to, topics: [] })
  await append(world.orders)
  await world.clock.advance(1_000)
  await world.round()
  const { to, topics } = world.logs.remoteNews(all.to)
  assert.ok(to > all.to)
  assert.deepEqual(topics, all.topics)
})

test('a range is read without the lead, and a batch that fails its checksum is named', async t => {
  const world = await tieredWorld(t)
  const { orders, logs, store } = world
  for (let i = 0; i < 4; i++) await append(orders, 2)
  const read = async (base: number, next: number) => {
    const found: number[] = []
    for await (const batches of logs.readRange(world.id, 0, base, next)) {
      for (const batch of batches) found.push(viewBatch(batch).baseOffset)
    }
    return found
  }
  assert.deepEqual(await read(2, 6), [2, 4])
  store.faults.rot(`${world.id}:0`, 4)
  const error = await read(0, 8).catch((found: unknown) => found)
  assert.ok(error instanceof UnreadableBatch && error.offset === 4)
})

test('local batches wait for a day of records that the archive cannot count yet', async t => {
  const world = await tieredWorld(t, { 'retention.ms': String(DAY) })
  const { orders, clock, tier } = world
  await append(orders, 3, clock.now())
  await offload(world)
  await append(orders, 3, clock.now())
  tier.trouble = { kind: 'away', why: 'no answer' }
  await clock.advance(DAY / 2)
  await world.round()
  assert.deepEqual([orders.logStartOffset, orders.localStartOffset], [0, 3])
  await clock.advance(DAY)
  await world.round()
  assert.deepEqual([orders.logStartOffset, orders.localStartOffset], [6, 6], 'what is older goes with it')
})

test('a partition that the store has lost begins again above its archived records, which stay readable', async t => {
  const world = await tieredWorld(t)
  const { orders, store, logs, clock } = world
  await append(orders, 3)
  await offload(world)
  await append(orders, 2)
  store.faults.lose(`${world.id}:0`)
  await orders.append(batchOf(1), 0)
  await clock.advance(2_000)
  assert.ok(orders.isDamaged)
  assert.equal(await clock.passing(logs.remake(world.id, 0)), 0)
  await clock.advance(1_000)
  const fresh = world.partition('orders')
  assert.equal(await append(fresh, 1), 5)
  assert.deepEqual(await offsets(fresh), [
    [0, 2],
    [5, 5],
  ])
})

test('a document that goes back in time does not take the log start back while its leader leads on', async t => {
  const world = await tieredWorld(t)
  const { orders, store, clock } = world
  await append(orders, 6)
  await offload(world)
  const former = (await store.load('segments', `${world.id}:0`))!
  assert.equal(await orders.deleteRecords(4), 4)
  const { version } = (await store.load('segments', `${world.id}:0`))!
  const changes = [...former.fields].map(([key, value]) => ({ key, value }))
  await store.commit({ kind: 'segments', name: `${world.id}:0`, expect: version, changes })
  await append(orders, 1)
  await clock.advance(1_000)
  await world.round()
  assert.equal(orders.logStartOffset, 4)
  assert.equal((await world.logs.sealedSegments(world.id, 0)).remote?.logStart, 4)
})

test('with remote.log.copy.disable the local start moves although nothing is archived', async t => {
  const world = await tieredWorld(t, {
    'remote.log.copy.disable': 'true',
    'retention.ms': '1',
    'local.retention.ms': '-2',
  })
  const { orders, clock } = world
  await append(orders, 3, clock.now())
  await clock.advance(1_000)
  await world.round()
  await world.round()
  assert.deepEqual([orders.logStartOffset, orders.localStartOffset, orders.highestArchived], [3, 3, -1])
})
