import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf, openLogWorld, readAll } from '../../testing/sim/logs.ts'
import { isRefusal } from '../protocol/errors.ts'
import { streamId } from '../store/store.ts'
import { CleanerWork, type Work } from './cleaner/cleaner-work.ts'
import type { Partition } from './partition.ts'

const HOUR = 60 * 60_000
const DAY = 24 * HOUR

/** A batch of this size, with this record timestamp. */
async function append(partition: Partition, timestamp: number, size = 10): Promise<void> {
  const answer = await partition.append(batchOf([{ value: Buffer.alloc(size), timestamp }]), 0)
  assert(!isRefusal(answer), isRefusal(answer) ? answer.message : '')
}

test('data older than retention.ms is dropped, newer data stays', async t => {
  const { createPartition, clock, store } = await openLogWorld(t)
  const partition = await createPartition({ 'retention.ms': String(DAY) })
  for (let hour = 0; hour < 48; hour++) {
    await append(partition, clock.now())
    await clock.advance(HOUR)
  }
  const kept = partition.endOffset - partition.logStartOffset
  assert(kept >= 24 && kept <= 24 + 4, `${kept} of the last 24 hours are kept`)
  const batches = await readAll(partition)
  assert.equal(batches.length, kept)
  assert.equal(
    partition.sizeBytes,
    batches.reduce((sum, batch) => sum + batch.bytes.length, 0),
  )
  const opened = await store.open(streamId(partition.topicId, 0), 0, 0)
  assert.deepEqual(opened.kind === 'opened' && [opened.start, opened.bytes], [
    partition.logStartOffset,
    partition.sizeBytes,
  ])
})

test('the last data of a topic without producers expires too, and offsets go on', async t => {
  const { createPartition, clock } = await openLogWorld(t)
  const partition = await createPartition({ 'retention.ms': String(HOUR) })
  await append(partition, clock.now())
  await clock.advance(2 * HOUR)
  assert.deepEqual([partition.logStartOffset, partition.endOffset, partition.sizeBytes], [1, 1, 0])
  await append(partition, clock.now())
  assert.equal((await readAll(partition))[0]!.baseOffset, 1)
})

test('records stamped in the future expire by the time of their append', async t => {
  const { createPartition, clock } = await openLogWorld(t)
  const year = 365 * DAY
  const partition = await createPartition({
    'retention.ms': String(HOUR),
    'message.timestamp.after.max.ms': String(2 * year),
  })
  await append(partition, clock.now() + year)
  await clock.advance(HOUR / 2)
  assert.equal(partition.logStartOffset, 0)
  await clock.advance(HOUR)
  assert.equal(partition.logStartOffset, 1)
})

test('data that was appended before a restart expires as if there had been no restart', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'retention.ms': String(HOUR) })
  await append(world.partition('orders'), world.clock.now())
  await world.clock.advance(HOUR / 2)
  const next = await world.restart()
  await world.clock.advance(HOUR / 2 + 2 * 60_000)
  assert.equal(next.partition('orders').logStartOffset, 1)
})

test('data above retention.bytes is dropped, oldest first, and never more', async t => {
  const { createPartition, round } = await openLogWorld(t)
  const limit = 3 * 1024 * 1024
  const partition = await createPartition({ 'retention.bytes': String(limit) })
  for (let i = 0; i < 80; i++) await append(partition, -1, 100_000)
  await round()
  assert(partition.logStartOffset > 0)
  assert(
    partition.sizeBytes >= limit && partition.sizeBytes < limit + 2 * 1024 * 1024,
    `${partition.sizeBytes} bytes are kept`,
  )
  assert.equal((await readAll(partition))[0]!.baseOffset, partition.logStartOffset)
})

test('after a trim whose answer is lost no more is dropped than retention.bytes allows', async t => {
  const { createPartition, round, store, clock } = await openLogWorld(t)
  const limit = 3 * 1024 * 1024
  const partition = await createPartition({ 'retention.bytes': String(limit) })
  for (let i = 0; i < 80; i++) await append(partition, -1, 100_000)
  store.faults.failNext('trim', 'unknown-done')
  for (let i = 0; i < 4; i++) {
    await round()
    await clock.settle()
    const kept = (await readAll(partition)).reduce((sum, { bytes }) => sum + bytes.length, 0)
    assert.ok(kept >= limit, `${kept} bytes are kept`)
    if (i > 0) assert.equal(partition.sizeBytes, kept)
  }
  assert.ok(partition.logStartOffset > 0)
})

test('without limits nothing is dropped', async t => {
  const { createPartition, clock } = await openLogWorld(t)
  const partition = await createPartition({ 'retention.ms': '-1', 'retention.bytes': '-1' })
  for (let i = 0; i < 3; i++) await append(partition, 1_000, 1_000_000)
  await clock.advance(2 * HOUR)
  assert.equal(partition.logStartOffset, 0)
})

test('local retention does not drop data that has no remote copy', async t => {
  const { createPartition, clock } = await openLogWorld(t)
  const partition = await createPartition({
    'retention.ms': String(DAY),
    'max.message.bytes': '3000000',
    'local.retention.ms': '1000',
    'local.retention.bytes': '1',
  })
  await append(partition, clock.now(), 2_000_000)
  await append(partition, clock.now())
  await clock.advance(HOUR)
  assert.equal(partition.logStartOffset, 0)
})

test('the marks of dropped data are removed with it', async t => {
  const world = await openLogWorld(t, { overrides: { 'storage.worker.tick-interval': HOUR / 2 } })
  await world.create('orders', { 'retention.ms': String(DAY) })
  const partition = world.partition('orders')
  const stream = streamId(partition.topicId, 0)
  for (let day = 0; day < 4; day++) {
    for (let i = 0; i < 6; i++) {
      await append(partition, world.clock.now(), 500_000)
      await world.clock.advance(HOUR / 2)
    }
    await world.clock.advance(DAY)
  }
  await world.clock.advance(2 * DAY)
  assert.equal(partition.sizeBytes, 0)
  await append(partition, world.clock.now())
  const opened = await world.store.open(stream, 0, 0)
  const rows = opened.kind === 'opened' ? [...opened.rows.keys()] : []
  assert.deepEqual(rows, ['o'], 'only the row of the open chunk is left')
})

class JumpingClock extends SimulatedClock {
  jumpMs = 0

  override now(): number {
    return super.now() + this.jumpMs
  }
}

test('a segment is sealed after segment.ms although the clock has jumped forward', async t => {
  const clock = new JumpingClock()
  const { createPartition } = await openLogWorld(t, { clock })
  const partition = await createPartition({ 'segment.ms': String(HOUR) })
  clock.jumpMs = DAY
  await append(partition, clock.now())
  await clock.advance(HOUR / 2)
  assert.deepEqual(partition.segments, [])
  await clock.advance(HOUR)
  assert.deepEqual(
    partition.segments.map(({ base, next }) => [base, next]),
    [[0, 1]],
  )
})

test('a clock that jumps forward does not make the broker drop the log', async t => {
  const clock = new JumpingClock()
  const { createPartition, round, lines } = await openLogWorld(t, { clock })
  const partition = await createPartition({ 'retention.ms': String(DAY) })
  const producer = { producerId: 5, producerEpoch: 0, baseSequence: 0 }
  await partition.append(batchOf(1, producer), 0)
  for (let i = 0; i < 9; i++) await append(partition, clock.now(), 1_000_000)
  await round()
  clock.jumpMs = 365 * DAY
  await clock.advance(DAY / 2)
  await append(partition, clock.now())
  assert.equal(partition.logStartOffset, 0)
  assert.equal(lines.filter(line => line.includes('jumped')).length, 1)
  const repeat = await partition.append(batchOf(1, producer), 0)
  assert.equal(!isRefusal(repeat) && repeat.baseOffset, 0, 'a repeat is still known')
  await clock.advance(DAY / 2 + HOUR)
  assert.equal(partition.logStartOffset, 10, 'what is old by any clock goes in the end')
})

test('a producer that has been idle for long is forgotten, in memory and in the store', async t => {
  const { createPartition, store, clock } = await openLogWorld(t, {
    overrides: { 'broker.producer-id-expiration': HOUR },
  })
  const partition = await createPartition()
  await partition.append(batchOf(1, { producerId: 5, producerEpoch: 0, baseSequence: 0 }), 0)
  await clock.advance(HOUR / 2)
  await partition.append(batchOf(1, { producerId: 6, producerEpoch: 0, baseSequence: 0 }), 0)
  await clock.advance(HOUR / 2 + 60_000)
  assert.deepEqual([...partition.state.producers.keys()], [6])
  const opened = await store.open(streamId(partition.topicId, 0), 0, 0)
  assert.deepEqual(opened.kind === 'opened' && [...opened.rows.keys()].filter(key => key.startsWith('p')), ['p6'])
})

test('a producer that comes back while it is being forgotten is remembered, in the store too', async t => {
  const world = await openLogWorld(t, { overrides: { 'broker.producer-id-expiration': HOUR } })
  await world.create('orders')
  const partition = world.partition('orders')
  const send = (of: Partition, baseSequence: number) =>
    of.append(batchOf(1, { producerId: 5, producerEpoch: 0, baseSequence }), 0)
  await send(partition, 0)
  await world.clock.advance(HOUR - 1_000)
  const release = world.store.faults.hold('append')
  const sent = send(partition, 1)
  await world.clock.advance(60_000)
  assert.equal(partition.state.producers.size, 0, 'forgotten while its batch was with the store')
  release()
  await sent
  await append(partition, world.clock.now())
  await world.round()
  const again = (await world.restart()).partition('orders')
  const repeat = await send(again, 1)
  assert.equal(!isRefusal(repeat) && repeat.baseOffset, 1)
  assert.equal(again.endOffset, 3)
})

test('a batch that fails its checksum does not keep the log from ageing', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'retention.ms': String(HOUR) })
  const before = world.partition('orders')
  for (let i = 0; i < 3; i++) await append(before, world.clock.now())
  world.store.faults.rot(streamId(before.topicId, 0), 1)
  const partition = (await world.restart()).partition('orders')
  await world.clock.advance(2 * HOUR)
  assert.equal(partition.logStartOffset, 3)
})

test('a gap without records does not keep later data from ageing', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'retention.ms': String(HOUR) })
  await append(world.partition('orders'), world.clock.now())
  await world.clock.advance(HOUR / 2)
  await world.store.open(streamId(world.partition('orders').topicId, 0), 0, 100)
  const partition = (await world.restart()).partition('orders')
  await world.round()
  for (let i = 0; i < 2; i++) {
    await append(partition, world.clock.now())
    await world.clock.advance(2 * HOUR)
  }
  assert.equal(partition.logStartOffset, 102)
})

test('a store that fails is counted and tried again', async t => {
  const { createPartition, store, clock, metrics } = await openLogWorld(t)
  const partition = await createPartition({ 'retention.ms': String(HOUR) })
  await append(partition, clock.now())
  store.faults.failNext('trim', 'unavailable', 1_000)
  await clock.advance(HOUR + 5 * 60_000)
  assert.equal(partition.logStartOffset, 0)
  assert(metrics.total('svc.storage.worker.failures') > 0)
})

test('a leader whose lead another broker took drops nothing, and counts that', async t => {
  const world = await openLogWorld(t)
  const { clock, store, metrics } = world
  await world.create('orders', { 'retention.ms': String(HOUR) })
  const partition = world.partition('orders')
  await append(partition, clock.now())
  await store.beside().open(streamId(partition.topicId, 0), 0, 0)
  await clock.advance(2 * HOUR)
  assert.equal(partition.logStartOffset, 0)
  assert.match(await metrics.scrape(), /svc_storage_worker_refusals_total\{reason="fenced"\} [1-9]/)
})

test('with the worker off nothing is dropped, and producers are forgotten and chunks learned all the same', async t => {
  const world = await openLogWorld(t, {
    overrides: { 'storage.worker.enabled': false, 'broker.producer-id-expiration': HOUR },
  })
  await world.create('orders', { 'retention.ms': String(HOUR), 'retention.bytes': '1', 'max.message.bytes': '3000000' })
  const before = world.partition('orders')
  for (let i = 0; i < 3; i++) await append(before, world.clock.now(), 2_000_000)
  await before.append(batchOf(1, { producerId: 5, producerEpoch: 0, baseSequence: 0 }), 0)
  await world.clock.advance(HOUR / 2)
  const { clock, ...next } = await world.restart()
  const partition = next.partition('orders')
  const areKnown = () => partition.state.timeIndex.chunks.every(({ isKnown }) => isKnown)
  assert.deepEqual([[...partition.state.producers.keys()], areKnown()], [[5], false])
  await clock.advance(DAY)
  assert.deepEqual([[...partition.state.producers.keys()], areKnown()], [[], true])
  assert.deepEqual([partition.logStartOffset, partition.segments], [0, []])
})

/** Returns a cleaner's work that waits before it maps, until `release` is called. */
function heldWork(): { readonly cleanerWork: Work; release(): void } {
  const inner = new CleanerWork()
  const held = Promise.withResolvers<void>()
  const cleanerWork: Work = {
    begin: (bytes, from) => inner.begin(bytes, from),
    async map(batches, from, to) {
      await held.promise
      return inner.map(batches, from, to)
    },
    clean: (batches, terms) => inner.clean(batches, terms),
    end: () => inner.end(),
  }
  return { cleanerWork, release: held.resolve }
}

test('old data is dropped and segments are sealed while a pass of the cleaner goes on', async t => {
  const { cleanerWork, release } = heldWork()
  const { create, partition, clock } = await openLogWorld(t, { cleanerWork })
  await create('table', { 'cleanup.policy': 'compact', 'segment.ms': '1', 'min.cleanable.dirty.ratio': '0' })
  await create('old', { 'retention.ms': String(HOUR) })
  const table = partition('table')
  for (const value of ['one', 'two']) {
    const answer = await table.append(batchOf([{ key: 'key', value }]), 0)
    assert(!isRefusal(answer))
  }
  await clock.advance(HOUR)
  await append(partition('old'), clock.now())
  assert.equal(table.state.cleaned.cleanedTo, 0, 'the pass goes on')
  await clock.advance(2 * HOUR)
  assert.equal(partition('old').logStartOffset, 1)
  assert.equal(table.state.cleaned.cleanedTo, 0, 'the pass goes on')
  release()
  await clock.advance(HOUR)
  assert.equal(table.state.cleaned.cleanedTo, 2)
  assert.equal((await readAll(table)).length, 1)
})

/** Opens a world with two compacted topics that are due, and with the work of heldWork. */
async function twoDueTables(t: TestContext) {
  const { cleanerWork, release } = heldWork()
  const world = await openLogWorld(t, { cleanerWork, overrides: { 'storage.worker.enabled': false } })
  for (const name of ['one', 'two']) {
    await world.create(name, { 'cleanup.policy': 'compact', 'segment.ms': '1', 'min.cleanable.dirty.ratio': '0' })
    for (const value of ['1', '2']) {
      const answer = await world.partition(name).append(batchOf([{ key: 'key', value }]), 0)
      assert(!isRefusal(answer))
    }
  }
  await world.clock.advance(1_000)
  const cleanedTo = () => ['one', 'two'].map(name => world.partition(name).state.cleaned.cleanedTo)
  return { ...world, release, cleanedTo }
}

const MINUTE = 60_000

test('without rounds the cleaner ends, and the next round goes on', async t => {
  const { round, clock, release, cleanedTo } = await twoDueTables(t)
  const first = round({ isCleaningAllowed: true })
  await clock.advance(MINUTE)
  assert.equal((await first).cleaned, 0, 'the pass goes on')
  await clock.advance(10 * MINUTE)
  release()
  await clock.advance(MINUTE)
  assert.deepEqual(cleanedTo(), [0, 0])
  assert.equal((await round({ isCleaningAllowed: true })).cleaned, 2)
  assert.deepEqual(cleanedTo(), [2, 2])
})

test('a round that does not allow cleaning ends the pass in progress', async t => {
  const { round, clock, release, cleanedTo } = await twoDueTables(t)
  const first = round({ isCleaningAllowed: true })
  await clock.advance(MINUTE)
  await first
  const second = round({ isCleaningAllowed: false })
  release()
  await clock.advance(MINUTE)
  assert.deepEqual([(await second).cleaned, cleanedTo()], [0, [0, 0]])
})

test('a round ends before the next one is due, and shows how dirty the logs are, while a pass goes on', async t => {
  const { round, clock, metrics, partition, release } = await twoDueTables(t)
  const ageSeconds = () => metrics.read('svc.storage.cleaner.oldest_dirty_age_seconds', {})!
  for (let minute = 0; minute < 3; minute++) {
    let isOver = false
    const running = round({ isCleaningAllowed: true }).finally(() => {
      isOver = true
    })
    await clock.advance(MINUTE - 1)
    assert.equal(isOver, true)
    await running
    assert.ok(ageSeconds() >= minute * 59, `${ageSeconds()} s in minute ${minute}`)
  }
  release()
  await clock.advance(MINUTE)
  assert.equal(partition('two').state.cleaned.cleanedTo, 2)
})
