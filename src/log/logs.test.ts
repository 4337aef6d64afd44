import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf, openLogWorld, readAll, waitForNews } from '../../testing/sim/logs.ts'
import {
  isRefusal,
  KAFKA_STORAGE_ERROR,
  NOT_LEADER_OR_FOLLOWER,
  OFFSET_OUT_OF_RANGE,
  type Refusal,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { streamId } from '../store/store.ts'

test('a partition is found only by an existing topic id and index', async t => {
  const { create, logs } = await openLogWorld(t)
  const { id } = await create('orders', {}, 2)
  assert.deepEqual(
    [0, 1, 2, -1, 0.5].map(index => logs.partition(id, index)?.index ?? null),
    [0, 1, null, null, null],
  )
  assert.equal(logs.partition('AAAAAAAAAAAAAAAAAAAAAQ', 0), null)
})

test('acknowledged records are still there after a restart, under a higher epoch', async t => {
  const world = await openLogWorld(t)
  await world.create('orders')
  const before = world.partition('orders')
  for (let i = 1; i <= 5; i++) await before.append(batchOf(i), 0)
  const after = (await world.restart()).partition('orders')
  assert.deepEqual(
    [after.logStartOffset, after.highWatermark, after.endOffset, after.sizeBytes],
    [0, 15, 15, before.sizeBytes],
  )
  assert.equal(after.leaderEpoch, before.leaderEpoch + 1)
  assert.deepEqual(await readAll(after), await readAll(before))
  const answer = await after.append(batchOf(), 0)
  assert.equal(!isRefusal(answer) && answer.baseOffset, 15)
})

test('a topic becomes visible only when its partitions take records', async t => {
  const { catalogue, create, logs, store, clock } = await openLogWorld(t)
  const release = store.faults.hold('open')
  const creating = create('orders')
  await clock.settle()
  assert.equal(catalogue.current().topics.size, 0)
  release()
  const { id } = await creating
  assert.equal(logs.partition(id, 0)?.leaderEpoch, 1)
})

test('a partition that cannot be opened is tried again while others work; until then its offsets are not answered', async t => {
  const { create, partition, store, clock } = await openLogWorld(t)
  store.faults.failNext('open', 'unavailable', 2)
  await create('orders')
  const orders = partition('orders')
  const appended = await orders.append(batchOf(), 0)
  const answers = [appended, orders.checkEpoch(-1), await orders.deleteRecords(-1), await orders.read(7, 1e6, true)]
  for (const answer of answers) assert.equal((answer as Refusal).name, KAFKA_STORAGE_ERROR.name)
  await create('payments')
  assert(!isRefusal(await partition('payments').append(batchOf(), 0)))
  await clock.advance(1_000)
  assert(!isRefusal(await orders.append(batchOf(), 0)))
})

test('a partition whose stream is gone from the store is refused, and the other partitions work', async t => {
  const world = await openLogWorld(t)
  const { id } = await world.create('orders', {}, 2)
  await world.store.remove([streamId(id, 0)])
  const next = await world.restart()
  await next.clock.settle()
  assert.equal(next.partition('orders', 0).refusal?.code, KAFKA_STORAGE_ERROR.code)
  assert(next.lines.some(line => line.includes('orders-0') && line.includes('ERROR')))
  assert(!isRefusal(await next.partition('orders', 1).append(batchOf(), 0)))
})

test('a partition that the store has lost refuses everything, and remake lets it begin again at its old end', async t => {
  const world = await openLogWorld(t)
  const { id } = await world.create('orders', {}, 2)
  const lost = world.partition('orders', 1)
  await lost.append(batchOf(7), 0)
  assert.equal(await world.logs.remake(id, 0).then(answer => (answer as Refusal).name), NOT_LEADER_OR_FOLLOWER.name)
  world.store.faults.lose(streamId(id, 1))
  const gone = await lost.append(batchOf(), 0)
  assert.equal(isRefusal(gone) && gone.name, UNKNOWN_TOPIC_OR_PARTITION.name)
  await world.clock.settle()
  for (const answer of [await lost.append(batchOf(), 0), await lost.read(7, 1e6, true), await lost.deleteRecords(-1)])
    assert.match(
      (answer as Refusal).message,
      /has lost orders-1; it begins again, empty, once all of its records are deleted/,
    )
  assert.equal(world.lines.filter(line => /ERROR .*lost a partition: bring its keys back/.test(line)).length, 1)
  assert.ok(lost.isDamaged)

  assert.equal(await world.logs.remake(id, 1), 7)
  const anew = world.partition('orders', 1)
  assert.deepEqual([anew.isDamaged, anew.logStartOffset, anew.endOffset, anew.sizeBytes], [false, 7, 7, 0])
  assert.ok(anew.leaderEpoch > lost.leaderEpoch)
  const below = await anew.read(3, 1e6, true)
  assert.equal(isRefusal(below) && below.name, OFFSET_OUT_OF_RANGE.name)
  const appended = await anew.append(batchOf(), 0)
  assert.equal(!isRefusal(appended) && appended.baseOffset, 7)
  assert.equal((await readAll(anew)).length, 1)
})

test('a partition that was removed with its topic does not count as lost', async t => {
  const world = await openLogWorld(t)
  const { id } = await world.create('orders')
  const partition = world.partition('orders')
  await world.catalogue.remove([id])
  assert.equal(((await partition.append(batchOf(), 0)) as Refusal).name, UNKNOWN_TOPIC_OR_PARTITION.name)
  assert.equal(((await world.logs.remake(id, 0)) as Refusal).name, NOT_LEADER_OR_FOLLOWER.name)
  assert.ok(!partition.isDamaged)
  assert.doesNotMatch(world.lines.join(), /ERROR/)
})

test('an append wakes a fetch that waits, a removal does too', async t => {
  const { create, catalogue, logs, partition } = await openLogWorld(t)
  const { id } = await create('orders', {}, 2)
  const both = [partition('orders', 0), partition('orders', 1)]
  const first = waitForNews(logs, both)
  await both[1]!.append(batchOf(), 0)
  assert.deepEqual(await first, [both[1]])
  const second = waitForNews(logs, both)
  await catalogue.remove([id])
  const [woken] = await second
  assert.equal(woken?.refusal?.code, UNKNOWN_TOPIC_OR_PARTITION.code)
})

test('draining ends the wait of every fetch', async t => {
  const { createPartition, logs } = await openLogWorld(t)
  const partition = await createPartition()
  const waiting = waitForNews(logs, [partition])
  logs.releaseWaiters()
  assert.deepEqual(await waiting, [])
})

test('the tails of all partitions share one budget, and a removed topic frees its part', async t => {
  const world = await openLogWorld(t, { overrides: { 'storage.local.tail-cache-bytes': 50_000 } })
  const { create, partition, catalogue, metrics } = world
  const gauge = async (name: string) =>
    Number(
      (await metrics.scrape())
        .split('\n')
        .find(line => line.startsWith(name) && !line.startsWith('#'))
        ?.split(' ')
        .at(-1),
    )
  const topics = [await create('a'), await create('b')]
  const value = Buffer.alloc(5_000)
  for (let i = 0; i < 10; i++) for (const name of ['a', 'b']) await partition(name).append(batchOf([{ value }]), 0)
  const full = await gauge('svc_storage_cache_bytes')
  assert(full > 40_000 && full <= 50_000, `${full} bytes`)
  await catalogue.remove([topics[0]!.id])
  assert((await gauge('svc_storage_cache_bytes')) <= 30_000)
  assert.equal(await gauge('svc_storage_live_bytes'), partition('b').sizeBytes)
  await catalogue.remove([topics[1]!.id])
  assert.equal(await gauge('svc_storage_cache_bytes'), 0)
  assert(!(await metrics.scrape()).includes('topic="a"'))
})

test('an append that ends after its topic was removed takes no memory', async t => {
  const { createPartition, logs, store, clock, metrics } = await openLogWorld(t)
  const partition = await createPartition()
  const release = store.faults.hold('append')
  const sent = partition.append(batchOf(), 0)
  await clock.settle()
  const closing = logs.close()
  release()
  await closing
  assert(!isRefusal(await sent))
  assert.match(await metrics.scrape(), /^svc_storage_cache_bytes(\{[^}]*\})? 0$/m)
})

test('reads and writes of the store are counted', async t => {
  const { createPartition, metrics } = await openLogWorld(t, { overrides: { 'storage.local.tail-cache-bytes': 0 } })
  const partition = await createPartition()
  await partition.append(batchOf(7), 0)
  await partition.read(0, 1_000, true)
  const scraped = await metrics.scrape()
  assert.match(scraped, /^svc_storage_write_messages_sum{[^}]*tier="local"[^}]*} 7$/m)
  assert.match(scraped, /^svc_storage_read_messages_sum{[^}]*tier="local"[^}]*} 7$/m)
  assert.match(scraped, /^svc_storage_ack_seconds_count{[^}]*result="success"[^}]*} 1$/m)
  assert.match(scraped, /^svc_storage_write_seconds_count{tier="local",result="success"} 1$/m)
  assert.match(scraped, /^svc_storage_read_seconds_count{tier="local",result="success",mode="stream"} 1$/m)
})

test('a write that was refused counts as not acknowledged', async t => {
  const { createPartition, store, metrics } = await openLogWorld(t)
  const partition = await createPartition()
  store.faults.failNext('append', 'unavailable')
  assert(isRefusal(await partition.append(batchOf(1), 0)))
  assert.match(await metrics.scrape(), /^svc_storage_ack_seconds_count{[^}]*result="error"[^}]*} 1$/m)
})

test('the acknowledged records of a store that was emptied count as lost', async t => {
  const world = await openLogWorld(t)
  const partition = await world.createPartition()
  for (const records of [7, 13]) assert(!isRefusal(await partition.append(batchOf(records), 0)))
  world.store.faults.empty()
  await world.catalogue.catchUp()
  const lost = () => world.metrics.total('svc.broker.lossy_records')
  assert.equal(lost(), 20)
  await world.catalogue.catchUp()
  assert.equal(lost(), 20, 'once')
})
