// The lane under faults: its answers, and the content and order of the log. producers.test.ts tests sequences alone.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf, type LogWorld, openLogWorld, readAll, waitForNews } from '../../testing/sim/logs.ts'
import { createMemoryStore, type MemoryStore } from '../../testing/sim/memory-store.ts'
import { seededRandom } from '../base/random.ts'
import {
  INVALID_PRODUCER_EPOCH,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  NOT_LEADER_OR_FOLLOWER,
  OUT_OF_ORDER_SEQUENCE_NUMBER,
  REQUEST_TIMED_OUT,
  type Refusal,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { type BatchView, encodeBatch, readRecords, stamp, viewBatch } from '../protocol/records.ts'
import { streamId } from '../store/store.ts'
import type { Appended } from './lane.ts'
import type { Partition } from './partition.ts'
import { MOST_PRODUCERS } from './partition-state.ts'

type Answer = Appended | Refusal

const said = (answer: Answer) => (isRefusal(answer) ? answer.name : answer.baseOffset)

/** The answer of an append; null while the append is in progress. */
function watch(promise: Promise<Answer>): { answer: Answer | null } {
  const seen: { answer: Answer | null } = { answer: null }
  void promise.then(answer => {
    seen.answer = answer
  })
  return seen
}

function idempotent(baseSequence: number, records = 1, producerId = 7, producerEpoch = 0): BatchView {
  return batchOf(records, { producerId, producerEpoch, baseSequence })
}

test('appends get dense offsets in the order of their calls, stamped with the leader epoch', async t => {
  const { createPartition } = await openLogWorld(t)
  const partition = await createPartition()
  const answers = await Promise.all([3, 1, 5].map(records => partition.append(batchOf(records), 0)))
  assert.deepEqual(answers.map(said), [0, 3, 4])
  assert.equal(partition.highWatermark, 9)
  const batches = await readAll(partition)
  assert.deepEqual(
    batches.map(({ baseOffset, leaderEpoch }) => [baseOffset, leaderEpoch]),
    [0, 3, 4].map(offset => [offset, partition.leaderEpoch]),
  )
  const partitions = batches.map(batch => batch.bytes.length).reduce((a, b) => a + b)
  assert.equal(partition.sizeBytes, partitions)
})

test('batches that arrive together go together, and batches that arrive meanwhile go with the next append', async t => {
  const { createPartition, store } = await openLogWorld(t)
  const partition = await createPartition()
  const release = store.faults.hold('append')
  const first = [partition.append(batchOf(), 0), partition.append(batchOf(), 0)]
  await new Promise(resolve => setImmediate(resolve))
  const second = Array.from({ length: 20 }, () => partition.append(batchOf(), 0))
  release()
  assert.deepEqual(
    (await Promise.all([...first, ...second])).map(said),
    Array.from({ length: 22 }, (_, i) => i),
  )
  assert.equal(store.calls.append, 2)
})

test('one append carries at most 4 MiB, unless one batch is larger', async t => {
  const { createPartition, store } = await openLogWorld(t)
  const partition = await createPartition({ 'max.message.bytes': '10000000' })
  const batch = (size: number) => batchOf([{ value: Buffer.alloc(size) }])
  const sizes = [3_000_000, 1_000_000, 1_000_000, 6_000_000, 1]
  const answers = await Promise.all(sizes.map(size => partition.append(batch(size), 0)))
  assert.deepEqual(answers.map(said), [0, 1, 2, 3, 4])
  assert.equal(store.calls.append, 4)
})

test('with offset sequence bits offsets follow the clock and never go back', async t => {
  const { createPartition, clock } = await openLogWorld(t)
  const partition = await createPartition({ 'offset.sequence.bits': '4' })
  const base = clock.now() * 16
  assert.deepEqual((await Promise.all([partition.append(batchOf(20), 0), partition.append(batchOf(1), 0)])).map(said), [
    base,
    base + 20,
  ])
  await clock.advance(1)
  assert.equal(said(await partition.append(batchOf(1), 0)), base + 21)
  await clock.advance(1_000)
  assert.equal(said(await partition.append(batchOf(1), 0)), base + 1_001 * 16)
  assert.equal((await readAll(partition, 0)).length, 4)
})

test('log append time is stamped by the broker and answered, also to a repeat', async t => {
  const { createPartition, clock } = await openLogWorld(t)
  const partition = await createPartition({ 'message.timestamp.type': 'LogAppendTime' })
  const stampedAtMs = clock.now()
  const send = () =>
    partition.append(batchOf([{ value: 'x', timestamp: 5 }], { producerId: 1, producerEpoch: 0, baseSequence: 0 }), 0)
  assert.deepEqual(await send(), { baseOffset: 0, logAppendTimeMs: stampedAtMs, logStartOffset: 0 })
  await clock.advance(5_000)
  assert.deepEqual(await send(), { baseOffset: 0, logAppendTimeMs: stampedAtMs, logStartOffset: 0 })
  const [batch] = await readAll(partition)
  assert.equal((await readRecords(batch!.bytes))[0]!.timestamp, stampedAtMs)
})

test('a repeat is answered with the first offset of its original and not appended, within a group and after it', async t => {
  const { createPartition } = await openLogWorld(t)
  const partition = await createPartition()
  const answers = await Promise.all(
    [idempotent(0, 2), idempotent(0, 2), idempotent(2, 1)].map(batch => partition.append(batch, 0)),
  )
  assert.deepEqual(answers.map(said), [0, 0, 2])
  assert.equal(said(await partition.append(idempotent(2, 1), 0)), 2)
  assert.equal(partition.endOffset, 3)
})

test('a repeat that arrives while the original is with the store is answered only after it', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition()
  const release = store.faults.hold('append')
  const original = watch(partition.append(idempotent(0), 0))
  await clock.settle()
  const repeat = watch(partition.append(idempotent(0), 0))
  await clock.settle()
  assert.deepEqual([original.answer, repeat.answer], [null, null])
  release()
  await clock.settle()
  assert.deepEqual([said(original.answer!), said(repeat.answer!)], [0, 0])
  assert.equal(partition.endOffset, 1)
})

test('a repeat of a batch whose append was refused is appended', async t => {
  const { createPartition, store } = await openLogWorld(t)
  const partition = await createPartition()
  store.faults.failNext('append', 'unavailable')
  assert.equal(said(await partition.append(idempotent(0), 0)), KAFKA_STORAGE_ERROR.name)
  assert.equal(partition.endOffset, 0)
  assert.equal(said(await partition.append(idempotent(0), 0)), 0)
})

test('a later batch of a new producer is not accepted as its first one while its first batch is refused', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition()
  const release = store.faults.hold('append')
  store.faults.failNext('append', 'unavailable')
  const first = partition.append(idempotent(0), 0)
  await clock.settle()
  // These batches wait behind it. The store would accept each of them.
  const behind = [idempotent(1), idempotent(2), idempotent(5, 1, 8)].map(batch => partition.append(batch, 0))
  release()
  assert.equal(said(await first), KAFKA_STORAGE_ERROR.name)
  const { name } = OUT_OF_ORDER_SEQUENCE_NUMBER
  assert.deepEqual((await Promise.all(behind)).map(said), [name, name, 0])
  assert.equal(said(await partition.append(idempotent(1), 0)), name)
  const again = [idempotent(0), idempotent(1), idempotent(2)].map(batch => partition.append(batch, 0))
  assert.deepEqual((await Promise.all(again)).map(said), [1, 2, 3])
})

test('only batches with wrong sequences and fenced epochs are refused, the rest of the group is appended', async t => {
  const { createPartition } = await openLogWorld(t)
  const partition = await createPartition()
  const batches = [idempotent(0), idempotent(5), idempotent(1), idempotent(0, 1, 7, 1), idempotent(2), batchOf()]
  assert.deepEqual((await Promise.all(batches.map(batch => partition.append(batch, 0)))).map(said), [
    0,
    OUT_OF_ORDER_SEQUENCE_NUMBER.name,
    1,
    2,
    INVALID_PRODUCER_EPOCH.name,
    3,
  ])
})

test('a partition remembers a limited number of producers and forgets those idle for longest, in the store too', async t => {
  const world = await openLogWorld(t)
  await world.create('orders')
  const send = (of: Partition, producerId: number, baseSequence = 0) =>
    of.append(idempotent(baseSequence, 1, producerId), 0)
  const partition = world.partition('orders')
  const first = await send(partition, 1)
  await world.clock.advance(1)
  for (let from = 2; from <= MOST_PRODUCERS + 50; from += 1_000) {
    const to = Math.min(from + 999, MOST_PRODUCERS + 50)
    await Promise.all(Array.from({ length: to - from + 1 }, (_, i) => send(partition, from + i)))
    // Producer 1 appends all the time.
    assert.equal(said(await send(partition, 1, 1 + (from - 2) / 1_000)), partition.endOffset - 1)
    await world.clock.advance(1)
  }
  assert.equal(partition.state.producers.size, MOST_PRODUCERS)
  assert.deepEqual(
    [1, 2, 51, 52, MOST_PRODUCERS + 50].map(id => partition.state.producers.has(id)),
    [true, false, false, true, true],
  )
  // A forgotten producer may begin with any sequence, as after a long pause; a known one must keep its order.
  assert.equal(said(await send(partition, 2, 7)), partition.endOffset - 1)
  assert.equal(said(await send(partition, 52 + 1, 7)), OUT_OF_ORDER_SEQUENCE_NUMBER.name)
  assert.equal(said(first), 0)
  await partition.append(batchOf(), 0)
  const again = (await world.restart()).partition('orders')
  assert.deepEqual([...again.state.producers.keys()].sort(), [...partition.state.producers.keys()].sort())
  assert.equal([...again.state.producers.keys()].at(-1), 2, 'who appended last stands last')
})

test("producers' sequences survive a restart and trimming, and expire by the clock", async t => {
  const world = await openLogWorld(t, { overrides: { 'broker.producer-id-expiration': 60_000 } })
  const { name } = await world.create('orders')
  const before = world.partition(name)
  await before.append(idempotent(0, 3), 0)
  await before.append(idempotent(3, 3), 0)
  await before.trim(before.endOffset)

  const after = (await world.restart()).partition(name)
  assert.equal(said(await after.append(idempotent(0, 3), 0)), 0)
  assert.equal(said(await after.append(idempotent(9, 1), 0)), OUT_OF_ORDER_SEQUENCE_NUMBER.name)
  await world.clock.advance(60_000)
  assert.equal(said(await after.append(idempotent(9, 1), 0)), 6, 'forgotten, so it may begin anywhere')
})

test('an append that is in the log although its outcome was lost is acknowledged once', async t => {
  const { createPartition, store } = await openLogWorld(t)
  const partition = await createPartition()
  await partition.append(batchOf(), 0)
  const epoch = partition.leaderEpoch
  store.faults.failNext('append', 'unknown-done')
  const answers = await Promise.all([partition.append(batchOf(2), 0), partition.append(idempotent(0), 0)])
  assert.deepEqual(answers.map(said), [1, 3])
  assert.equal(partition.leaderEpoch, epoch + 1)
  assert.equal(said(await partition.append(idempotent(0), 0)), 3)
  assert.deepEqual(
    (await readAll(partition)).map(batch => batch.baseOffset),
    [0, 1, 3],
  )
})

test('an append that was lost is appended again under the new epoch, in bytes of its own', async t => {
  const { createPartition, store } = await openLogWorld(t)
  const partition = await createPartition()
  store.faults.failNext('append', 'unknown-lost')
  const batch = batchOf(2)
  const handedOver = batch.bytes
  assert.equal(said(await partition.append(batch, 0)), 0)
  const [stored] = await readAll(partition)
  assert.equal(stored!.leaderEpoch, partition.leaderEpoch)
  assert.notEqual(stored!.bytes.buffer, handedOver.buffer)
  assert.equal(viewBatch(handedOver).leaderEpoch, partition.leaderEpoch - 1, 'what the store was given does not change')
})

test('a lost batch stays before the batches that came meanwhile', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition()
  const release = store.faults.hold('append')
  store.faults.failNext('append', 'unknown-lost')
  const first = [1, 2].map(records => partition.append(batchOf(records), 0))
  await clock.settle()
  const second = [3, 4].map(records => partition.append(batchOf(records), 0))
  release()
  assert.deepEqual((await Promise.all([...first, ...second])).map(said), [0, 1, 3, 6])
})

test('the lane stays closed while an outcome is unknown; the caller gets its answer in time', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition()
  store.faults.failNext('append', 'unknown-done')
  store.faults.failNext('open', 'unknown-lost', 5)
  const first = watch(partition.append(batchOf(), 1_000))
  const second = watch(partition.append(batchOf(), 0))
  await clock.settle()
  const third = watch(partition.append(batchOf(), 500))
  await clock.advance(500)
  assert.deepEqual([first.answer, second.answer], [null, null])
  assert.equal(said(third.answer!), REQUEST_TIMED_OUT.name)
  assert.match((third.answer as Refusal).message, /was not appended/)
  await clock.advance(500)
  assert.equal(said(first.answer!), REQUEST_TIMED_OUT.name)
  assert.match((first.answer as Refusal).message, /may or may not/)
  assert.equal(second.answer, null)
  assert.equal(store.calls.append, 1)
  await clock.advance(60_000)
  assert.equal(said(second.answer!), 1)
  assert.equal(partition.endOffset, 2)
})

test('a batch that times out in the queue is never appended', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition()
  const release = store.faults.hold('append')
  const first = watch(partition.append(batchOf(), 0))
  await clock.settle()
  const late = watch(partition.append(batchOf(5), 100))
  const patient = watch(partition.append(batchOf(), 10_000))
  await clock.advance(100)
  assert.equal(said(late.answer!), REQUEST_TIMED_OUT.name)
  release()
  await clock.settle()
  assert.deepEqual([said(first.answer!), said(patient.answer!)], [0, 1])
  assert.equal(partition.endOffset, 2)
})

test('a caller behind others gets no timeout while the others are appended', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition({ 'max.message.bytes': '10000000' })
  const stallMs = 1_000
  // Each batch goes in an append of its own.
  const batches = Array.from({ length: 5 }, () => batchOf([{ value: Buffer.alloc(3_000_000) }]))
  store.faults.delay('append', stallMs - 100)
  const answers = batches.map(batch => watch(partition.append(batch, 30_000, stallMs)))
  const hasty = watch(partition.append(batchOf([{ value: Buffer.alloc(3_000_000) }]), 2 * stallMs, stallMs))
  await clock.advance(2 * stallMs)
  assert.equal(said(hasty.answer!), REQUEST_TIMED_OUT.name)
  assert.match((hasty.answer as Refusal).message, /waited 2000 ms/)
  await clock.advance(3 * stallMs)
  assert.deepEqual(
    answers.map(({ answer }) => said(answer!)),
    [0, 1, 2, 3, 4],
  )
})

test('a caller gets a timeout once no append has made progress for stallMs', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition({ 'max.message.bytes': '10000000' })
  const batch = () => batchOf([{ value: Buffer.alloc(3_000_000) }])
  store.faults.delay('append', 600)
  const first = watch(partition.append(batch(), 0, 1_000))
  const second = watch(partition.append(batch(), 0, 1_000))
  const third = watch(partition.append(batch(), 0, 1_000))
  await clock.advance(600)
  assert.equal(said(first.answer!), 0)
  const release = store.faults.hold('append')
  await clock.advance(999)
  assert.deepEqual([second.answer, third.answer], [null, null])
  await clock.advance(1)
  assert.match((second.answer as Refusal).message, /may or may not/)
  assert.match((third.answer as Refusal).message, /was not appended/)
  release()
  store.faults.delay('append', 0)
  assert.equal(said(await partition.append(batch(), 0, 1_000)), 2)
})

test('a later caller with a shorter timeout gets its answer before an earlier one with a longer timeout', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition()
  const release = store.faults.hold('append')
  const patient = watch(partition.append(batchOf(), 5_000))
  const hasty = watch(partition.append(batchOf(), 50))
  await clock.advance(60)
  assert.deepEqual([patient.answer, said(hasty.answer!)], [null, REQUEST_TIMED_OUT.name])
  await clock.advance(5_000)
  assert.equal(said(patient.answer!), REQUEST_TIMED_OUT.name)
  release()
})

test('another broker that took the lead is fenced in turn, and no batch is lost or doubled', async t => {
  const { createPartition, store, clock, metrics } = await openLogWorld(t)
  const partition = await createPartition()
  await partition.append(batchOf(), 0)
  const stream = streamId(partition.topicId, 0)
  const other = await store.open(stream, 0, 0)
  assert(other.kind === 'opened')
  const foreign = encodeBatch([{ value: 'foreign' }])
  stamp(foreign, 1, other.epoch)
  const appended = { baseOffset: 1, nextOffset: 2, recordCount: 1, maxTimestamp: -1, bytes: foreign }
  await store.append({ stream, epoch: other.epoch, at: 1, attempt: 'other', batches: [appended], rows: [] })
  const append = watch(partition.append(batchOf(), 0))
  await clock.settle()
  assert.equal(said(append.answer!), 2)
  assert.equal(metrics.total('svc.storage.append.refusals'), 1)
  assert.deepEqual(
    (await readAll(partition)).map(batch => [batch.baseOffset, batch.leaderEpoch]),
    [
      [0, 1],
      [1, other.epoch],
      [2, other.epoch + 1],
    ],
  )
})

for (const [whether, fault] of [
  ['arrived', 'unknown-done'],
  ['was lost', 'unknown-lost'],
] as const)
  test(`an append that ${whether} before another led and appended is in the log once`, async t => {
    const { createPartition, store, clock } = await openLogWorld(t)
    const partition = await createPartition()
    await partition.append(batchOf(), 0)
    const answer = await appendAroundAnother(partition, store, clock, fault)
    assert.equal(said(answer), fault === 'unknown-done' ? 1 : 2)
    const [one, other] = fault === 'unknown-done' ? ['mine', 'foreign'] : ['foreign', 'mine']
    const values: string[] = []
    for (const { bytes } of (await readAll(partition)).slice(1))
      values.push(...(await readRecords(bytes)).map(({ value }) => String(value)))
    assert.deepEqual(values, [one, other])
    assert.equal(said(await partition.append(batchOf(), 0)), 3)
  })

test('an append of unknown outcome whose offset retention has passed is neither acknowledged nor appended again', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition()
  await partition.append(batchOf(), 0)
  const trim = async (epoch: number) => void (await store.trim(streamId(partition.topicId, 0), epoch, 3, []))
  const answer = await appendAroundAnother(partition, store, clock, 'unknown-done', trim)
  assert.equal(said(answer), REQUEST_TIMED_OUT.name)
  assert.match((answer as Refusal).message, /may or may not/)
  assert.deepEqual(await readAll(partition, 3), [])
  assert.equal(said(await partition.append(batchOf(), 0)), 3)
})

/**
 * Before this broker knows the outcome of its append, another broker takes the lead, appends a batch and calls `does`.
 */
async function appendAroundAnother(
  partition: Partition,
  store: MemoryStore,
  clock: SimulatedClock,
  fault: 'unknown-done' | 'unknown-lost',
  does: (epoch: number) => Promise<void> = async () => {},
): Promise<Answer> {
  const stream = streamId(partition.topicId, 0)
  store.faults.failNext('append', fault)
  store.faults.failNext('open', 'unavailable')
  const append = watch(partition.append(batchOf([{ value: 'mine' }]), 0))
  await clock.settle()
  const another = store.beside()
  const opened = await another.open(stream, 0, 0)
  assert(opened.kind === 'opened')
  const { epoch, end } = opened
  const bytes = encodeBatch([{ value: 'foreign' }])
  stamp(bytes, end, epoch)
  const foreign = { baseOffset: end, nextOffset: end + 1, recordCount: 1, maxTimestamp: -1, bytes }
  await another.append({ stream, epoch, at: end, attempt: 'another', batches: [foreign], rows: [] })
  await does(epoch)
  assert.equal(append.answer, null)
  await clock.advance(60_000)
  assert(append.answer !== null, 'it is answered')
  return append.answer
}

test('a damaged stream refuses appends with its message, and is readable below the damage', async t => {
  const { createPartition, store, metrics } = await openLogWorld(t, {
    overrides: { 'storage.local.tail-cache-bytes': 0 },
  })
  const partition = await createPartition()
  for (let i = 0; i < 3; i++) await partition.append(batchOf(), 0)
  assert.equal(metrics.read('svc.storage.damaged_partitions', {}), 0)
  store.faults.damage(streamId(partition.topicId, 0), 2, 'file 3 ends in the middle of an entry')
  for (let i = 0; i < 2; i++) {
    const answer = await partition.append(batchOf(), 0)
    assert.equal(said(answer), KAFKA_STORAGE_ERROR.name)
    assert.match((answer as Refusal).message, /file 3 ends/)
  }
  assert.equal(metrics.read('svc.storage.damaged_partitions', {}), 1)
  const read = await partition.read(0, 1_000_000, true)
  assert.equal(!isRefusal(read) && read.batches.length, 2)
  assert.equal((await partition.read(2, 1_000_000, true)).kind, 'refusal')
})

/** No batch that is appended here is on enough replicas, except the batches below `covered`. */
function lagBehind(store: MemoryStore, covered = () => 0): MemoryStore {
  return {
    ...store,
    append: async append => {
      const outcome = await store.append(append)
      return outcome.kind === 'appended' ? { ...outcome, highWatermark: covered() } : outcome
    },
  }
}

test('a batch that is not on enough replicas is answered so, to a repeat too, until the high watermark covers it', async t => {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  let covered = 0
  const lagging = lagBehind(store, () => covered)
  const { createPartition, logs, metrics } = await openLogWorld(t, { clock, store: lagging })
  const partition = await createPartition()
  assert.equal(said(await partition.append(idempotent(0), 0)), NOT_ENOUGH_REPLICAS_AFTER_APPEND.name)
  assert.equal(said(await partition.append(idempotent(0), 0)), NOT_ENOUGH_REPLICAS_AFTER_APPEND.name)
  assert.match(await metrics.scrape(), /^svc_storage_ack_seconds_count{[^}]*result="error"[^}]*} 1$/m)
  assert.deepEqual([partition.endOffset, partition.highWatermark, (await readAll(partition)).length], [1, 0, 0])
  const waiting = waitForNews(logs, [partition])
  covered = 2
  assert.equal(said(await partition.append(idempotent(1), 0)), 1)
  assert.equal(said(await partition.append(idempotent(0), 0)), 0)
  assert.deepEqual(await waiting, [partition])
  assert.equal((await readAll(partition)).length, 2)
})

test('a batch that was not on enough replicas becomes visible when it is confirmed, without another append', async t => {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const lagging = lagBehind(store)
  const { createPartition, logs } = await openLogWorld(t, { clock, store: lagging })
  const partition = await createPartition()
  store.faults.failNext('confirm', 'unknown-lost', 2)
  assert.equal(said(await partition.append(idempotent(0), 0)), NOT_ENOUGH_REPLICAS_AFTER_APPEND.name)
  const waiting = waitForNews(logs, [partition])
  await clock.advance(1_000)
  assert.deepEqual(await waiting, [partition])
  assert.equal(said(await partition.append(idempotent(0), 0)), 0)
  assert.equal((await readAll(partition)).length, 1)
  assert.equal(store.calls.confirm, 3)
})

test('if the lead changes while the store is asked about it, the store is asked about the new lead', async t => {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const lagging: MemoryStore = {
    ...lagBehind(store),
    open: async (stream, known, floor) => {
      const outcome = await store.open(stream, known, floor)
      return outcome.kind === 'opened' ? { ...outcome, highWatermark: 0 } : outcome
    },
  }
  const { createPartition } = await openLogWorld(t, { clock, store: lagging })
  const partition = await createPartition()
  await partition.append(batchOf(), 0)
  const release = store.faults.hold('confirm')
  await clock.advance(50)
  partition.reopen()
  await clock.settle()
  release()
  await clock.advance(1_000)
  assert.deepEqual([partition.leaderEpoch, partition.highWatermark], [2, 1])
})

/** A partition that this broker leads. Another broker had the lead for one append of producer 7 in between. */
async function overtaken(t: TestContext) {
  const world = await openLogWorld(t)
  const partition = await world.createPartition()
  assert.equal(said(await partition.append(idempotent(0), 0)), 0)
  const other = await openLogWorld(t, { clock: world.clock, store: world.store })
  assert.equal(said(await other.partition(partition.topicName).append(idempotent(1), 0)), 1)
  return { ...world, partition }
}

test('a sequence that follows a batch of another broker is not refused as out of order', async t => {
  const { partition, clock } = await overtaken(t)
  assert.equal(said(await partition.append(idempotent(2), 0)), NOT_LEADER_OR_FOLLOWER.name)
  await clock.advance(1_000)
  assert.equal(said(await partition.append(idempotent(2), 0)), 2)
  assert.equal(said(await partition.append(idempotent(9), 0)), OUT_OF_ORDER_SEQUENCE_NUMBER.name)
})

test('batches of another broker become visible once it is known that it led', async t => {
  const { partition, clock, logs } = await overtaken(t)
  logs.regain(() => 1)
  await clock.advance(1_000)
  assert.deepEqual([partition.leaderEpoch, partition.highWatermark], [1, 1])
  logs.regain(() => 2)
  await clock.advance(1_000)
  assert.deepEqual([partition.leaderEpoch, partition.highWatermark, (await readAll(partition)).length], [3, 2, 2])
})

test('after a possible loss in the store its partitions are opened again, without their tails', async t => {
  const { createPartition, store, clock, lines } = await openLogWorld(t)
  const [partition, other] = [await createPartition(), await createPartition()]
  for (let i = 0; i < 3; i++) await partition.append(batchOf(), 0)
  const before = store.calls.open
  store.faults.renew([streamId(partition.topicId, 0)])
  await clock.settle()
  assert.equal(store.calls.open, before + 1)
  assert.deepEqual([partition.leaderEpoch, other.leaderEpoch, partition.highWatermark], [2, 1, 3])
  assert.match(lines.join(''), /may have lost/)
  const reads = store.calls.read
  assert.equal((await readAll(partition)).length, 3)
  assert.ok(store.calls.read > reads, 'the batches come from the store')
})

test('if the store is away while an outcome is settled, the waiting batches are refused at once', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition()
  store.faults.failNext('append', 'unknown-done')
  store.faults.failNext('open', 'unavailable')
  const unknown = watch(partition.append(batchOf(), 0))
  await Promise.resolve()
  const release = store.faults.hold('open')
  await clock.settle()
  const behind = watch(partition.append(batchOf(), 0))
  release()
  await clock.settle()
  assert.equal(said(behind.answer!), KAFKA_STORAGE_ERROR.name)
  assert.equal(unknown.answer, null)
  await clock.advance(100)
  assert.equal(said(unknown.answer!), 0)
})

test('rows that are added while an append is in flight go with the next append', async t => {
  const { createPartition, store, clock } = await openLogWorld(t)
  const partition = await createPartition()
  await partition.append(idempotent(0), 0)
  const release = store.faults.hold('append')
  const sent = watch(partition.append(batchOf(), 0))
  await clock.settle()
  partition.state.pendingRows.push({ key: 'p7', value: null })
  await partition.flushRows()
  release()
  await clock.settle()
  assert.equal(said(sent.answer!), 1)
  await partition.append(batchOf(), 0)
  const opened = await store.open(streamId(partition.topicId, 0), 0, 0)
  assert.deepEqual(opened.kind === 'opened' && [...opened.rows.keys()], ['o'])
})

test('when the topic is removed, waiting batches are refused and the batches in flight get their outcome', async t => {
  const { create, partition: find, catalogue, store, clock } = await openLogWorld(t)
  const topic = await create('orders')
  const partition = find('orders')
  const release = store.faults.hold('append')
  const sent = watch(partition.append(batchOf(), 0))
  await clock.settle()
  const queued = watch(partition.append(batchOf(), 0))
  await catalogue.remove([topic.id])
  assert.equal(said(queued.answer!), UNKNOWN_TOPIC_OR_PARTITION.name)
  release()
  await clock.settle()
  assert.equal(said(sent.answer!), UNKNOWN_TOPIC_OR_PARTITION.name)
  assert.equal(said(await partition.append(batchOf(), 0)), UNKNOWN_TOPIC_OR_PARTITION.name)
  assert.equal((await partition.read(0, 1_000, true)).kind, 'refusal')
})

test('closing waits for the append in flight and refuses the other batches', async t => {
  const { createPartition, store, logs, clock } = await openLogWorld(t)
  const partition = await createPartition()
  const release = store.faults.hold('append')
  const sent = watch(partition.append(batchOf(), 0))
  await clock.settle()
  const queued = watch(partition.append(batchOf(), 0))
  let closed = false
  const closing = logs.close().then(() => {
    closed = true
  })
  await clock.settle()
  assert.equal(said(queued.answer!), NOT_LEADER_OR_FOLLOWER.name)
  assert.equal(closed, false)
  release()
  await closing
  assert.equal(said(sent.answer!), 0)
})

test('closing ends a settlement that cannot succeed, and says that the outcome is unknown', async t => {
  const { createPartition, store, logs, clock } = await openLogWorld(t)
  const partition = await createPartition()
  store.faults.failNext('append', 'unknown-done')
  store.faults.failNext('open', 'unavailable', 1_000)
  const sent = watch(partition.append(batchOf(), 0))
  await clock.advance(10_000)
  assert.equal(sent.answer, null)
  await logs.close()
  assert.equal(said(sent.answer!), REQUEST_TIMED_OUT.name)
})

// ------------------------------------------------------------------------------------------------ many clients

interface Sent {
  readonly baseSequence: number
  readonly records: number
  answer: Answer | null
}

/**
 * An idempotent producer with a window. After a failure it sends the batches from there on again, in order, like
 * Java's.
 */
async function produce(
  partition: () => Partition,
  producerId: number,
  sizes: readonly number[],
  window: number,
): Promise<Sent[]> {
  let baseSequence = 0
  const all = sizes.map((records): Sent => {
    const sent = { baseSequence, records, answer: null }
    baseSequence += records
    return sent
  })
  let acknowledged = 0
  for (let round = 0; acknowledged < all.length && round < 1_000; round++) {
    const flight = all.slice(acknowledged, acknowledged + window)
    const answers = await Promise.all(
      flight.map(({ baseSequence, records }) =>
        partition().append(idempotent(baseSequence, records, producerId), 2_000),
      ),
    )
    for (const [i, answer] of answers.entries()) {
      if (isRefusal(answer)) break
      flight[i]!.answer = answer
      acknowledged++
    }
  }
  assert.equal(acknowledged, all.length, 'the producer never got through')
  return all
}

test('whatever the store does, each idempotent batch is in the log once, in order, at the offset of its answer', async () => {
  const fault = fc.constantFrom('unavailable', 'unknown-lost', 'unknown-done', 'slow', 'restart', 'trim', 'thief')
  const scenario = fc.record({
    seed: fc.nat(),
    producers: fc.array(
      fc.record({
        sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 12 }),
        window: fc.integer({ min: 1, max: 5 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    faults: fc.array(fault, { maxLength: 8 }),
  })
  await fc.assert(
    fc.asyncProperty(scenario, async ({ seed, producers, faults }) => {
      let world = await openLogWorld(null, { random: seededRandom(seed) })
      const { clock } = world
      await world.create('orders')
      const find = () => world.partition('orders')
      const working = producers.map(({ sizes, window }, i) => produce(find, i + 1, sizes, window))
      let finished = false
      const all = Promise.all(working).finally(() => {
        finished = true
      })
      const trimmed: { batches: BatchView[] } = { batches: [] }
      for (let step = 0; !finished && step < 2_000; step++) {
        const what = faults[step]
        if (what !== undefined) trimmed.batches.push(...(await disturb(world, what)))
        if (what === 'restart') world = await crash(world)
        await clock.advance(100)
      }
      const sent = await all
      const log = [...trimmed.batches, ...(await readAll(find()))]
      await world.logs.close()
      check(log, sent)
    }),
    { numRuns: 60 },
  )

  async function disturb({ store, partition, catalogue }: LogWorld, what: string): Promise<BatchView[]> {
    const orders = partition('orders')
    if (what === 'unavailable' || what === 'unknown-lost' || what === 'unknown-done')
      store.faults.failNext('append', what)
    else if (what === 'slow') store.faults.delay('append', 700)
    else if (what === 'thief') await store.open(streamId(catalogue.current().topics.get('orders')!.id, 0), 0, 0)
    else if (what === 'trim') {
      const batches = await readAll(orders)
      await orders.trim(batches.at(-1)?.baseOffset ?? 0)
      // A trim is fenced when another broker has the lead meanwhile.
      return batches.filter(batch => batch.lastOffset < orders.logStartOffset)
    }
    return []
  }

  /** The callers of the old broker lose their connections. The new broker uses the same store. */
  async function crash(world: LogWorld): Promise<LogWorld> {
    const next = await world.restart()
    void world.logs.close()
    return next
  }

  function check(log: readonly BatchView[], sent: readonly (readonly Sent[])[]): void {
    let end = 0
    let epoch = 0
    for (const batch of log) {
      assert.equal(batch.baseOffset, end, 'offsets are dense')
      assert(batch.leaderEpoch >= epoch, 'epochs do not go back')
      end = batch.lastOffset + 1
      epoch = batch.leaderEpoch
    }
    for (const [i, batches] of sent.entries()) {
      const stored = log.filter(batch => batch.producerId === i + 1)
      assert.deepEqual(
        stored.map(batch => [batch.baseSequence, batch.baseOffset]),
        batches.map(({ baseSequence, answer }) => [baseSequence, (answer as Appended).baseOffset]),
      )
    }
  }
})
