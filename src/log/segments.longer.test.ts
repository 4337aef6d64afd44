// Segments of a living partition: their document, a new leader, a stale one, and a store that lost the tail of a
// stream. segments.test.ts tests the rule by which a segment ends.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CleanUp } from '../../testing/broker.ts'
import { type OpenedLogs, openLogsOn } from '../../testing/open-logs.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf, openLogWorld, readAll } from '../../testing/sim/logs.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { systemClock } from '../base/clock.ts'
import { seededRandom } from '../base/random.ts'
import { isRefusal } from '../protocol/errors.ts'
import { BATCH_HEADER_BYTES, rebuildBatch, viewBatch } from '../protocol/records.ts'
import { openEmbeddedStore } from '../store/embedded/embedded-store.ts'
import { type Store, streamId } from '../store/store.ts'
import { createLogger } from '../telemetry/logger.ts'
import { type Leadership, SOLE_LEADERSHIP } from './leadership.ts'
import type { Partition } from './partition.ts'
import { cleanDue, tendAll } from './round.ts'
import { SegmentDocuments } from './segment-documents.ts'

const MIB = 1024 * 1024
const HOUR = 60 * 60_000
const DAY = 24 * HOUR
const SHARE = { concurrency: 8, isCleaningAllowed: false }

async function append(partition: Partition, bytes: number, timestamp = -1): Promise<void> {
  const answer = await partition.append(batchOf([{ value: Buffer.alloc(bytes), timestamp }]), 0)
  assert(!isRefusal(answer), isRefusal(answer) ? answer.message : '')
}

const rangesOf = ({ segments }: Partition) => segments.map(({ base, next }) => [base, next])

async function documentOf({ store }: { readonly store: Store }, { topicId, index }: Partition) {
  return await store.load('segments', streamId(topicId, index))
}

test('segments follow each other, know what they hold, and are the same after a restart', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'segment.bytes': String(2 * MIB), 'retention.ms': '-1' })
  const partition = world.partition('orders')
  for (let i = 0; i < 60; i++) await append(partition, 100_000, 1_000 + i)
  const { rolled } = await world.round()
  const ranges = rangesOf(partition)
  assert.equal(rolled, ranges.length)
  assert.ok(ranges.length >= 2)
  assert.deepEqual(
    ranges.map(([base]) => base),
    [0, ...ranges.map(([, next]) => next).slice(0, -1)],
  )
  assert.equal(partition.activeFrom, ranges.at(-1)![1])
  const batches = await readAll(partition)
  for (const segment of partition.segments) {
    const own = batches.filter(({ baseOffset }) => baseOffset >= segment.base && baseOffset < segment.next)
    const bytes = own.reduce((sum, batch) => sum + batch.bytes.length, 0)
    assert.ok(bytes >= 2 * MIB && bytes < 3.2 * MIB, `${bytes} bytes`)
    assert.deepEqual(
      [segment.bytes, segment.plainBytes, segment.batches, segment.records],
      [bytes, bytes, own.length, own.length],
    )
    assert.deepEqual([segment.minTimestamp, segment.maxTimestamp], [1_000 + segment.base, 1_000 + segment.next - 1])
    assert.deepEqual(segment.epochs, [{ epoch: 1, startOffset: 0 }])
  }
  const listed = partition.listSegments()
  assert.deepEqual(
    listed.segments.map(({ isActive }) => isActive),
    [...ranges.map(() => false), true],
  )
  assert.deepEqual([listed.areReadable, listed.segments.at(-1)!.next], [true, 60])
  assert.equal(world.metrics.total('svc.storage.worker.rolled_segments'), rolled)

  const again = (await world.restart()).partition('orders')
  assert.deepEqual(again.segments, partition.segments)
})

test('a chunk that is learned again does not take a delete horizon for the timestamp of a record', async t => {
  const timestamp = 1_000
  const batch = batchOf([{ key: 'a', value: null, timestamp }])
  const payload = batch.bytes.subarray(BATCH_HEADER_BYTES)
  const horizonMs = 9_000_000_000_000
  const rest = { payload, recordCount: 1, maxTimestamp: timestamp }
  const stamped = rebuildBatch(batch, { ...rest, baseTimestamp: horizonMs, deleteHorizonMs: horizonMs })
  for (const [sent, known] of [
    [batch, timestamp],
    [viewBatch(stamped), null],
  ] as const) {
    const world = await openLogWorld(t)
    await world.create('orders', { 'retention.ms': '-1' })
    assert(!isRefusal(await world.partition('orders').append(sent, 0)))
    const again = await world.restart()
    // The upkeep reads chunks that have no mark.
    await again.clock.advance(2 * 60_000)
    const [active] = again.partition('orders').listSegments().segments
    assert.deepEqual([active!.records, active!.minTimestamp, active!.maxTimestamp], [1, known, timestamp])
  }
})

test('the numbers of the active segment are unknown, not zero, until a new leader has learned them', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'segment.ms': String(HOUR), 'retention.ms': '-1' })
  await append(world.partition('orders'), 10)
  await world.clock.advance(2 * HOUR)
  const timestamp = world.clock.now()
  await append(world.partition('orders'), 10, timestamp)
  const again = await world.restart()
  const activeNow = () => {
    const active = again.partition('orders').listSegments().segments.at(-1)!
    const { base, next, bytes, plainBytes, batches, records, minTimestamp, maxTimestamp } = active
    assert.deepEqual([base, next], [1, 2])
    return [bytes, plainBytes, batches, records, minTimestamp, maxTimestamp]
  }
  assert.deepEqual(activeNow(), [null, null, null, null, null, null])
  // The upkeep reads chunks that have no mark.
  await again.clock.advance(2 * 60_000)
  const bytes = again.partition('orders').sizeBytes / 2
  assert.deepEqual(activeNow(), [bytes, bytes, 1, 1, timestamp, timestamp])
})

test('segment.ms counts from the first append, whichever leader saw it', async t => {
  let world = await openLogWorld(t)
  await world.create('orders', { 'segment.ms': String(HOUR), 'retention.ms': '-1' })
  // The batch has no timestamp, so only the stored time of its append tells its age.
  await append(world.partition('orders'), 10)
  await world.clock.advance(HOUR / 3)
  world = await world.restart()
  await world.clock.advance(HOUR / 3)
  await append(world.partition('orders'), 10)
  assert.deepEqual(rangesOf(world.partition('orders')), [])
  await world.clock.advance(HOUR / 3 + 2 * 60_000)
  assert.deepEqual(rangesOf(world.partition('orders')), [[0, 2]])
})

test('an idle round sends the store nothing', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'segment.ms': String(HOUR) }, 20)
  for (let i = 0; i < 20; i++) await append(world.partition('orders', i), 10)
  await world.clock.advance(3 * HOUR)
  assert.deepEqual(rangesOf(world.partition('orders', 19)), [[0, 1]])
  const before = { ...world.store.calls }
  assert.deepEqual(await world.round(), {
    partitions: 20,
    rolled: 0,
    droppedBytes: 0,
    due: 0,
    cleaned: 0,
    cleanedBytes: 0,
    failures: 0,
  })
  assert.deepEqual({ ...world.store.calls }, before)
})

test('a round counts the segments and bytes of all partitions that it works on at the same time', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'segment.ms': '1', 'retention.bytes': '0' }, 20)
  for (let i = 0; i < 20; i++) await append(world.partition('orders', i), 10)
  const bytes = world.partition('orders').sizeBytes
  await world.clock.advance(10)
  const { rolled, droppedBytes } = await world.round()
  assert.deepEqual([rolled, droppedBytes], [20, 20 * bytes])
})

test('dropped segments leave the document, the end stays, and the document goes with its topic', async t => {
  const world = await openLogWorld(t)
  const { id } = await world.create('orders', { 'segment.bytes': String(MIB), 'retention.ms': String(HOUR) })
  const partition = world.partition('orders')
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 11; j++) await append(partition, 100_000, world.clock.now())
    await world.clock.advance(HOUR / 4)
  }
  await append(partition, 10, world.clock.now())
  assert.ok(partition.segments.length >= 2)
  const { end } = partition.state.sealed
  await world.clock.advance(2 * HOUR)
  assert.deepEqual([partition.logStartOffset, rangesOf(partition), partition.activeFrom], [34, [], 34])
  assert.ok(end < 34, 'the rest of the active segment was sealed before it was dropped')
  const document = await documentOf(world, partition)
  assert.deepEqual([...document!.fields.keys()], ['sealed'])
  assert.deepEqual(JSON.parse(String(document!.fields.get('sealed'))), { format: 1, epoch: 1, end: 34 })
  await world.catalogue.remove([id])
  await world.clock.settle()
  assert.equal(await documentOf(world, partition), null)
})

test('a start sweeps the document of a topic that is gone, and no other', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'segment.ms': '1', 'retention.ms': '-1' })
  const partition = world.partition('orders')
  await append(partition, 10)
  await world.clock.advance(HOUR)
  const orphan = streamId('AAAAAAAAAAAAAAAAAAAAbQ', 0)
  const changes = [{ key: 'sealed', value: Buffer.from('{"format":1,"epoch":1,"end":1}') }]
  await world.store.commit({ kind: 'segments', name: orphan, expect: 0, changes })
  const next = await world.restart()
  await next.clock.settle()
  assert.deepEqual(
    (await next.store.list('segments')).map(({ name }) => name),
    [streamId(partition.topicId, 0)],
  )
})

test('retention goes on while the document cannot be written, and the failure is counted by its phase', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'retention.ms': String(HOUR) })
  const partition = world.partition('orders')
  await append(partition, 10, world.clock.now())
  world.store.faults.failNext('commit', 'unavailable', 1_000)
  await world.clock.advance(2 * HOUR)
  assert.equal(partition.logStartOffset, 1)
  assert.match(
    await world.metrics.scrape(),
    /svc_storage_worker_failures_total\{(?=[^}]*phase="roll")[^}]*error_type="StoreUnavailable"/,
  )
})

test('after a commit with an unknown outcome, segments still follow each other without a gap', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'segment.ms': String(HOUR), 'retention.ms': '-1' })
  const partition = world.partition('orders')
  for (const fault of ['unknown-done', 'unknown-lost'] as const) {
    await append(partition, 10)
    world.store.faults.failNext('commit', fault)
    await world.clock.advance(2 * HOUR)
  }
  assert.deepEqual(rangesOf(partition), [
    [0, 1],
    [1, 2],
  ])
})

test('a leader whose lead another broker took changes no segment', async t => {
  const clock = new SimulatedClock()
  const contents = createMemoryStore(clock)
  const asked: number[] = []
  const stale: Leadership = {
    ...SOLE_LEADERSHIP,
    async stillLeads(_topicId, index) {
      asked.push(index)
      return false
    },
  }
  const world = await openLogWorld(t, { clock, store: contents, leadership: stale })
  await world.create('orders', { 'segment.ms': String(HOUR), 'retention.ms': '-1' })
  const partition = world.partition('orders')
  await append(partition, 10)
  await contents.beside().open(streamId(partition.topicId, 0), 0, 0)
  await clock.advance(2 * HOUR)
  assert.equal(await documentOf(world, partition), null)
  assert.ok(asked.length > 0, 'it asks whether it still leads')
})

test('a leader seals segments although the document names an epoch that the store has lost', async t => {
  const world = await openLogWorld(t)
  const partition = await world.createPartition({ 'segment.ms': String(HOUR) })
  const sealed = (epoch: number, end: number) => ({ format: 1, epoch, end })
  const name = streamId(partition.topicId, 0)
  const changes = [{ key: 'sealed', value: Buffer.from(JSON.stringify(sealed(9, 0))) }]
  await world.store.commit({ kind: 'segments', name, expect: 0, changes })
  await append(partition, 10, world.clock.now())
  await world.clock.advance(2 * HOUR)
  assert.deepEqual(rangesOf(partition), [[0, 1]])
  const document = await documentOf(world, partition)
  assert.deepEqual(JSON.parse(String(document!.fields.get('sealed'))), sealed(9, 1))
})

test('a broker adopts the segments that another leader has sealed, and goes on behind them', async t => {
  const world = await openLogWorld(t)
  await world.create('orders', { 'segment.ms': String(HOUR), 'retention.ms': '-1' })
  const partition = world.partition('orders')
  await append(partition, 10)
  await world.clock.advance(2 * HOUR)
  const { version, fields } = (await documentOf(world, partition))!
  const members = JSON.parse(String(fields.get('0')))
  await append(partition, 10)
  await append(partition, 10)
  const changes = [
    { key: '1', value: Buffer.from(JSON.stringify({ ...members, next: 2 })) },
    { key: 'sealed', value: Buffer.from(JSON.stringify({ format: 1, epoch: 1, end: 2 })) },
  ]
  await world.store.commit({ kind: 'segments', name: partition.state.stream, expect: version, changes })
  await world.clock.advance(2 * HOUR)
  assert.deepEqual(rangesOf(partition), [
    [0, 1],
    [1, 2],
    [2, 3],
  ])
})

test('the cleaner has its turn after the other phases, and its segments say when they were cleaned', async t => {
  const world = await openLogWorld(t)
  const { store, clock } = world
  await world.create('orders', { 'segment.bytes': String(MIB), 'retention.ms': '-1' }, 2)
  for (const index of [0, 1]) {
    for (let i = 0; i < 25; i++) await append(world.partition('orders', index), 100_000)
  }
  const partitions = [0, 1].map(index => world.partition('orders', index))
  const seen: string[] = []
  const timed: string[] = []
  const rooms = {
    clock,
    leadership: SOLE_LEADERSHIP,
    documents: new SegmentDocuments({
      store,
      clock,
      random: seededRandom(7),
      leadership: SOLE_LEADERSHIP,
      logger: createLogger({ clock, write: () => {}, format: 'plain', levels: new Map([['root', 'OFF']]) }),
    }),
    failed: (phase: string, { index }: Partition) => void seen.push(`${phase} of ${index} failed`),
    timed: (phase: string) => void timed.push(phase),
    tier: null,
    trustedNow: () => clock.now(),
    cleaner: {
      async clean(partition: Partition) {
        seen.push(`${partition.index} has ${partition.segments.length} segments`)
        if (partition.index === 0) throw new Error('its first batch is damaged')
        partition.state.cleaned = { ...partition.state.cleaned, cleanedTo: partition.segments[0]!.next }
        return { outcome: 'done' as const, bytesDropped: 7 }
      },
    },
  }
  const nowMs = clock.now()
  const share = { partitions, concurrency: 2, nowMs, leastChunkMs: HOUR, isStopped: () => false }
  assert.equal((await tendAll(rooms, share)).rolled, 4)
  const due = partitions.toReversed()
  const nothing = { cleaned: 0, cleanedBytes: 0, failures: 0 }
  assert.deepEqual(await cleanDue(rooms, { due, nowMs, isOver: () => true }), nothing)
  assert.deepEqual([seen, timed], [[], ['roll', 'roll']])
  const cleaning = await cleanDue(rooms, { due, nowMs, isOver: () => false })
  assert.deepEqual(cleaning, { cleaned: 1, cleanedBytes: 7, failures: 1 })
  assert.deepEqual(timed.slice(2), ['cleaning', 'cleaning'])
  assert.deepEqual(seen, ['1 has 2 segments', '0 has 2 segments', 'cleaning of 0 failed'])
  const cleanedAt = partitions.map(({ segments }) => segments.map(({ cleanedAtMs }) => cleanedAtMs))
  assert.deepEqual(cleanedAt, [
    [null, null],
    [nowMs, null],
  ])
})

/** Opens the log room with the clock of the machine. The timers of its rounds do not fire in a test. */
function openOn(t: TestContext, store: Store): Promise<OpenedLogs> {
  const overrides = { 'storage.worker.tick-interval': DAY, 'storage.worker.lease-duration': 2 * DAY }
  return openLogsOn(t as CleanUp, store, { clock: systemClock, overrides })
}

const stores: readonly {
  readonly name: string
  readonly skip: string | false
  /** Resolves with a function that opens the store, as after a restart. */
  make(t: TestContext): Promise<() => Promise<Store>>
}[] = [
  {
    name: 'the embedded store',
    skip: false,
    async make(t) {
      const path = await temporaryFolder(t, 'ketch-')
      const rest = { fsync: 'always', fsyncIntervalMs: 50, journalFileBytes: 1 << 24, clock: systemClock } as const
      return () => openEmbeddedStore({ path, ...rest, report: () => {} })
    },
  },
  {
    name: 'Redis',
    skip: noRedis,
    async make(t) {
      const { uri } = await startRedis(t)
      return async () => (await openTestStore(t, { 'redis.uri': uri })).store
    },
  },
]

for (const { name, skip, make } of stores) {
  test(`a store that lost its tail never gives the offsets of sealed segments again: ${name}`, { skip }, async t => {
    const open = await make(t)
    const store = await open()
    const first = await openOn(t, store)
    const configs = { 'segment.bytes': String(MIB), 'retention.ms': '-1' }
    const [topic] = await first.catalogue.add([{ name: 'orders', partitions: 1, configs }])
    assert(topic !== undefined && !isRefusal(topic))
    const partition = first.logs.partition(topic.id, 0)!
    for (let i = 0; i < 25; i++) await append(partition, 100_000, 1_000)
    const { rolled, failures } = await first.logs.runRound(SHARE)
    assert.deepEqual([rolled, failures], [2, 0])
    const { activeFrom } = partition
    const { segments } = partition
    assert.ok(activeFrom > 20)
    await first.logs.close()
    // The store has lost all of the stream and has no trace of the loss.
    const stream = streamId(topic.id, 0)
    await store.remove([stream])
    await store.create([stream])
    await store.close()

    const next = await openOn(t, await open())
    const again = next.logs.partition(topic.id, 0)!
    assert.deepEqual(again.segments, segments)
    const answer = await again.append(batchOf(1), 0)
    assert(!isRefusal(answer))
    assert.ok(answer.baseOffset >= activeFrom, `${answer.baseOffset} is not above ${activeFrom}`)
    await next.logs.close()
    await next.store.close()
  })
}
