// The cleaner on the memory store and the simulated clock: random histories against a plain model, interrupted passes,
// and readers beside it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanAll } from '../../../testing/cleaning.ts'
import { fc } from '../../../testing/property.ts'
import { batchOf, type LogWorld, openLogWorld, readAll } from '../../../testing/sim/logs.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { type DecodedRecord, type NewRecord, readRecords, viewBatch } from '../../protocol/records.ts'
import { OutcomeUnknown } from '../../store/store.ts'
import type { Partition } from '../partition.ts'

const COMPACTED = { 'cleanup.policy': 'compact', 'delete.retention.ms': '1000' }
/** The newest record of a key, and the time of its append. */
interface Newest {
  readonly offset: number
  readonly value: string | null
  readonly atMs: number
}

/** A map of four keys. */
const TINY = { 'storage.worker.dedupe-buffer': 24 * 5 }

async function append(partition: Partition, records: readonly NewRecord[], compression: 'none' | 'lz4' = 'none') {
  const answer = await partition.append(batchOf(records, { compression }), 0)
  assert.ok(!isRefusal(answer), 'message' in answer ? answer.message : '')
  return answer.baseOffset
}

async function recordsOf(partition: Partition): Promise<DecodedRecord[]> {
  const all: DecodedRecord[] = []
  for (const { bytes } of await readAll(partition)) all.push(...(await readRecords(bytes)))
  return all
}

const shown = (records: readonly DecodedRecord[]) =>
  records.map(({ offset, key, value }) => `${offset} ${key}=${value}`).join(', ')

const failuresOf = (type: string) =>
  new RegExp(`svc_storage_worker_failures_total\\{phase="cleaning",error_type="${type}"\\} 1`)

/** Asserts that the state of the partition is what a new leader finds in the store. */
async function assertTrueState(world: LogWorld, name: string): Promise<LogWorld> {
  const { sizeBytes, logStartOffset, endOffset, state } = world.partition(name)
  const next = await world.restart()
  const after = next.partition(name)
  assert.deepEqual(
    [after.sizeBytes, after.logStartOffset, after.endOffset, after.state.cleaned, after.state.pass],
    [sizeBytes, logStartOffset, endOffset, state.cleaned, state.pass],
  )
  return next
}

test('the newest record of each key stays at its offset, and a second cleaning changes nothing', async t => {
  const world = await openLogWorld(t)
  await world.create('t', COMPACTED)
  const partition = world.partition('t')
  const { cleaner } = world.logs
  await append(partition, [
    { key: 'a', value: '1' },
    { key: 'b', value: '1' },
  ])
  await append(partition, [{ key: 'a', value: '2' }], 'lz4')
  await append(
    partition,
    [
      { key: 'b', value: '2' },
      { key: 'c', value: '1' },
    ],
    'lz4',
  )
  await append(partition, [{ key: 'a', value: '3' }])
  const report = await cleanAll(cleaner, partition, world.clock.now())
  assert.deepEqual(
    [report.outcome, report.passes, report.recordsKept, report.recordsDropped, report.keylessDropped],
    ['done', 1, 3, 3, 0],
  )
  assert.equal(shown(await recordsOf(partition)), '3 b=2, 4 c=1, 5 a=3')
  assert.equal((await cleanAll(cleaner, partition, world.clock.now())).recordsDropped, 0)
  // Offsets in a gap answer the next batch.
  for (const offset of [0, 1, 2]) {
    const read = await partition.read(offset, 1e6, true)
    assert.ok(!isRefusal(read))
    assert.equal(viewBatch(read.batches[0]!).baseOffset, 3)
  }
  const next = await assertTrueState(world, 't')
  assert.equal(shown(await recordsOf(next.partition('t'))), '3 b=2, 4 c=1, 5 a=3')
})

test('a log whose records are all gone keeps an empty newest batch until another one follows', async t => {
  const world = await openLogWorld(t)
  await world.create('t', COMPACTED)
  const partition = world.partition('t')
  await append(partition, [{ key: 'a', value: '1' }])
  await append(partition, [{ key: 'a' }])
  await cleanAll(world.logs.cleaner, partition, 0)
  await append(partition, [{ key: 'a' }])
  await cleanAll(world.logs.cleaner, partition, 0)
  assert.equal(shown(await recordsOf(partition)), '2 a=null')
  await append(partition, [{ key: 'b' }])
  await cleanAll(world.logs.cleaner, partition, 0)
  await cleanAll(world.logs.cleaner, partition, 0)
  await append(partition, [{ key: 'a', value: '9' }])
  await append(partition, [
    { key: 'a', value: '9' },
    { key: 'b', value: '9' },
  ])
  await cleanAll(world.logs.cleaner, partition, 0)
  assert.equal(shown(await recordsOf(partition)), '5 a=9, 6 b=9')
})

test('keys that do not fit the buffer are mapped by the next passes', async t => {
  const world = await openLogWorld(t, { overrides: TINY })
  await world.create('t', COMPACTED)
  const partition = world.partition('t')
  for (let round = 0; round < 3; round++) {
    const records = Array.from({ length: 10 }, (_, i) => ({ key: `k${i}`, value: `${round}` }))
    await append(partition, records.slice(0, 7))
    await append(partition, records.slice(7))
  }
  const { outcome, passes } = await cleanAll(world.logs.cleaner, partition, 0)
  assert.deepEqual([outcome, passes > 3], ['done', true])
  const left = await recordsOf(partition)
  assert.deepEqual(
    left.map(({ offset, key, value }) => `${offset} ${key}=${value}`),
    Array.from({ length: 10 }, (_, i) => `${20 + i} k${i}=2`),
  )
  await assertTrueState(world, 't')
})

test('records without a key from before the policy go, and are counted', async t => {
  const world = await openLogWorld(t)
  const topic = await world.create('t')
  const partition = world.partition('t')
  await append(partition, [{ value: 'no key' }, { key: 'a', value: '1' }])
  partition.reconfigure({ ...topic, resolved: { ...topic.resolved, cleanupPolicy: ['compact'] } })
  const refused = await partition.append(batchOf([{ key: 'a' }, { value: 'x' }]), 0)
  assert.ok(isRefusal(refused))
  assert.deepEqual(refused.recordErrors, [
    {
      batchIndex: 1,
      batchIndexErrorMessage: 'Compacted topic cannot accept message without key in topic partition t-0.',
    },
  ])
  const { keylessDropped } = await cleanAll(world.logs.cleaner, partition, 0)
  assert.equal(keylessDropped, 1)
  assert.equal(shown(await recordsOf(partition)), '1 a=1')
  assert.equal(world.metrics.total('svc.storage.cleaner.keyless_records'), 1)
})

test('a corrupt batch ends the cleaning of its partition until the topic changes, and readers go on', async t => {
  const world = await openLogWorld(t)
  const topic = await world.create('t', COMPACTED)
  const partition = world.partition('t')
  for (const value of ['1', '2', '3']) await append(partition, [{ key: 'a', value }])
  world.store.faults.rot(partition.state.stream, 1)
  const report = await cleanAll(world.logs.cleaner, partition, 0)
  assert.equal(report.outcome, 'uncleanable')
  assert.deepEqual(partition.uncleanable, {
    offset: 1,
    why: 'The batch at offset 1 of t-0 cannot be cleaned: it fails its checksum.',
  })
  assert.ok(world.lines.some(line => line.includes('no longer cleaned') && line.includes('t-0')))
  const scrape = await world.metrics.scrape()
  assert.match(scrape, /svc_storage_cleaner_uncleanable_partitions 1/)
  assert.match(scrape, failuresOf('UncleanableBatch'))
  const read = await partition.read(2, 1e6, true)
  assert.ok(!isRefusal(read) && read.batches.length === 1)
  partition.reconfigure(topic)
  assert.equal(partition.uncleanable, null)
  assert.equal((await cleanAll(world.logs.cleaner, partition, 0)).outcome, 'uncleanable')
  assert.notEqual(partition.uncleanable, null)
  const { epoch } = partition.state
  partition.reopen()
  await world.clock.advance(0)
  assert.ok(partition.state.epoch > epoch)
  assert.equal(partition.uncleanable, null, 'a store that had lost a part of the log may have caused it')
})

test('a store that wrongly finds no batch does not make the cleaner remove them', async t => {
  const world = await openLogWorld(t)
  await world.create('t', { ...COMPACTED, 'segment.ms': '1000' })
  const partition = world.partition('t')
  for (const value of ['1', '2', '3']) await append(partition, [{ key: 'a', value }])
  await world.clock.advance(5_000)
  await world.round({ isCleaningAllowed: false })
  const { read, calls } = world.store
  Object.assign(world.store, { read: async () => ({ kind: 'read', batches: [] }) })
  assert.equal((await cleanAll(world.logs.cleaner, partition, world.clock.now())).outcome, 'uncleanable')
  Object.assign(world.store, { read })
  assert.equal(calls.rewrite, 0)
  assert.match(partition.uncleanable!.why, /the store has not returned the \d+ bytes up to 3\.$/)
  assert.equal(shown(await recordsOf(partition)), '0 a=1, 1 a=2, 2 a=3')
})

test('rounds show how dirty the log is, and cleaning shows what it kept and dropped and how long it took', async t => {
  const world = await openLogWorld(t)
  const { metrics, clock } = world
  await world.create('t', { ...COMPACTED, 'segment.ms': '1000' })
  const partition = world.partition('t')
  for (const value of ['1', '2', '3']) await append(partition, [{ key: 'a', value }])
  const before = partition.sizeBytes
  const gauges = () =>
    (['svc.storage.cleaner.max_dirty_ratio', 'svc.storage.cleaner.oldest_dirty_age_seconds'] as const).map(name =>
      metrics.read(name, {}),
    )
  await clock.advance(5_000)
  await world.round({ isCleaningAllowed: false })
  const [ratio, ageSeconds] = gauges()
  assert.equal(ratio, 1)
  assert.ok(ageSeconds! >= 5 && ageSeconds! < 6, `${ageSeconds} s`)
  assert.equal(metrics.total('svc.storage.cleaner.passes'), 0)
  const { cleaned, cleanedBytes, failures } = await world.round({ isCleaningAllowed: true })
  assert.deepEqual([cleaned, cleanedBytes, failures], [1, before - partition.sizeBytes, 0])
  const counted = (name: 'svc.storage.cleaner.bytes' | 'svc.storage.cleaner.records') =>
    Array.from(metrics.series(name), ({ labels, value }) => [labels.result, value])
  assert.deepEqual(counted('svc.storage.cleaner.bytes'), [
    ['kept', partition.sizeBytes],
    ['dropped', before - partition.sizeBytes],
  ])
  assert.deepEqual(counted('svc.storage.cleaner.records'), [
    ['kept', 1],
    ['dropped', 2],
  ])
  await world.round({ isCleaningAllowed: true })
  assert.deepEqual(gauges(), [0, 0])
  const scrape = await metrics.scrape()
  for (const phase of ['roll', 'cleaning'])
    assert.match(scrape, new RegExp(`svc_storage_worker_phase_seconds_count\\{phase="${phase}"\\} [1-9]`))
})

test('a round counts a partition that could not be cleaned as a failure, and not as cleaned', async t => {
  const world = await openLogWorld(t)
  await world.create('t', { ...COMPACTED, 'segment.ms': '1000' })
  const partition = world.partition('t')
  for (const value of ['1', '2', '3']) await append(partition, [{ key: 'a', value }])
  await world.clock.advance(5_000)
  const round = async () => {
    const { cleaned, failures } = await world.round({ isCleaningAllowed: true })
    return { cleaned, failures }
  }
  world.store.faults.failNext('rewrite', 'unavailable')
  assert.deepEqual(await round(), { cleaned: 0, failures: 1 })
  world.store.faults.rot(partition.state.stream, 1)
  assert.deepEqual(await round(), { cleaned: 0, failures: 1 })
  assert.deepEqual(await round(), { cleaned: 0, failures: 0 })
})

test('while the store takes no writes the cleaner waits, says so, and finishes the pass later', async t => {
  const world = await openLogWorld(t)
  await world.create('t', COMPACTED)
  const partition = world.partition('t')
  for (const value of ['1', '2', '3']) await append(partition, [{ key: 'a', value }])
  world.store.faults.failNext('rewrite', 'unavailable')
  assert.equal((await cleanAll(world.logs.cleaner, partition, 0)).outcome, 'waits')
  assert.ok(world.lines.some(line => line.includes('the cleaner waits until the next round')))
  assert.match(await world.metrics.scrape(), failuresOf('StoreUnavailable'))
  assert.equal(shown(await recordsOf(partition)), '0 a=1, 1 a=2, 2 a=3')
  assert.equal((await cleanAll(world.logs.cleaner, partition, 0)).outcome, 'done')
  assert.equal(shown(await recordsOf(partition)), '2 a=3')
})

for (const fault of ['unknown-lost', 'unknown-done', 'unavailable'] as const) {
  test(`a pass that ends between two pieces (${fault}) is finished with the same map`, async t => {
    let world = await openLogWorld(t, { overrides: { 'storage.local.tail-cache-bytes': 0 } })
    await world.create('t', COMPACTED)
    const big = 'x'.repeat(400_000)
    for (let round = 0; round < 2; round++) {
      for (const key of ['a', 'b', 'c', 'd', 'e', 'f'])
        await append(world.partition('t'), [{ key, value: round + big }])
    }
    // The third call of the pass fails.
    const { store } = world
    const rewrite = store.rewrite.bind(store)
    let calls = 0
    store.rewrite = piece => {
      if (++calls === 3) store.faults.failNext('rewrite', fault)
      return rewrite(piece)
    }
    const done = await cleanAll(world.logs.cleaner, world.partition('t'), 0).then(
      ({ outcome }) => outcome,
      (error: Error) => error.name,
    )
    assert.equal(done, fault === 'unavailable' ? 'waits' : 'OutcomeUnknown')
    await world.clock.advance(1_000)
    const { cleaned } = world.partition('t').state
    assert.deepEqual(cleaned, { cleanedTo: 0, passFrom: 0, passTo: 12 })
    // A record that is appended meanwhile must not enter the map.
    await append(world.partition('t'), [{ key: 'a', value: 'new' }])
    world = await assertTrueState(world, 't')
    assert.equal(world.logs.cleaner.candidates([world.partition('t')], 0).length, 1)
    const { outcome, passes } = await cleanAll(world.logs.cleaner, world.partition('t'), 0)
    assert.deepEqual([outcome, passes], ['done', 2])
    assert.deepEqual(
      (await recordsOf(world.partition('t'))).map(({ offset, key }) => `${offset} ${key}`),
      ['7 b', '8 c', '9 d', '10 e', '11 f', '12 a'],
    )
    await assertTrueState(world, 't')
  })
}

test('a new leader finishes a pass only when it knows that the replicas have all that was mapped', async t => {
  const former = await openLogWorld(t)
  await former.create('t', COMPACTED)
  for (const value of ['1', '2', '3']) await append(former.partition('t'), [{ key: 'a', value: value.repeat(500_000) }])
  const rewrite = former.store.rewrite.bind(former.store)
  former.store.rewrite = piece => {
    const outcome = rewrite(piece)
    // The second call of the pass fails.
    former.store.faults.failNext('rewrite', 'unavailable')
    return outcome
  }
  assert.equal((await cleanAll(former.logs.cleaner, former.partition('t'), 0)).outcome, 'waits')
  const store = former.store.reopen()
  const open = store.open.bind(store)
  store.open = async (...of) => {
    const outcome = await open(...of)
    return outcome.kind === 'opened' ? { ...outcome, highWatermark: 0 } : outcome
  }
  const release = store.faults.hold('confirm')
  const { logs, clock, partition } = await openLogWorld(t, { clock: former.clock, store })
  assert.equal((await cleanAll(logs.cleaner, partition('t'), 0)).outcome, 'ended')
  assert.equal(store.calls.rewrite, 0)
  release()
  await clock.advance(1_000)
  assert.equal((await cleanAll(logs.cleaner, partition('t'), 0)).outcome, 'done')
  assert.deepEqual(
    (await recordsOf(partition('t'))).map(({ offset }) => offset),
    [2],
  )
})

test('after a rewrite with an unknown outcome nothing is rewritten until the stream is open again', async t => {
  const world = await openLogWorld(t)
  await world.create('t', COMPACTED)
  const partition = world.partition('t')
  const { store, logs, clock } = world
  for (const value of ['1', '2']) await append(partition, [{ key: 'a', value }])
  const release = store.faults.hold('append')
  const appended = append(partition, [{ key: 'a', value: '3' }])
  await clock.settle()
  store.faults.failNext('rewrite', 'unknown-done')
  await assert.rejects(cleanAll(logs.cleaner, partition, clock.now()), OutcomeUnknown)
  const { rewrite } = store.calls
  assert.equal((await cleanAll(logs.cleaner, partition, clock.now())).outcome, 'ended')
  assert.equal(store.calls.rewrite, rewrite)
  release()
  await appended
  await clock.advance(1_000)
  assert.equal((await cleanAll(logs.cleaner, partition, clock.now())).outcome, 'done')
  assert.equal(shown(await recordsOf(partition)), '2 a=3')
})

test('after any history each key has its newest record, once below the cleaned point', {
  timeout: 120_000,
}, async t => {
  const record = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
    value: fc.constantFrom('x', 'y', null),
    headers: fc.constantFrom([], [{ key: 'h', value: '1' }]),
    timestamp: fc.nat(1e6),
  })
  const step = fc.oneof(
    fc.record({ kind: fc.constant('append' as const), records: fc.array(record, { minLength: 1, maxLength: 5 }) }),
    fc.record({ kind: fc.constant('clean' as const) }),
    fc.record({
      kind: fc.constant('fail' as const),
      fault: fc.constantFrom('unavailable' as const, 'unknown-lost' as const, 'unknown-done' as const),
    }),
    fc.record({ kind: fc.constant('trim' as const), share: fc.double({ min: 0, max: 0.5, noNaN: true }) }),
    fc.record({ kind: fc.constant('later' as const), ms: fc.nat(900) }),
    fc.record({ kind: fc.constant('restart' as const) }),
  )
  const steps = fc.array(step, { minLength: 5, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (list, isTiny) => {
      let world = await openLogWorld(null, isTiny ? { overrides: TINY } : {})
      const worlds = [world]
      await world.create('t', COMPACTED)
      const newest = new Map<string, Newest>()
      for (const each of list) {
        const partition = world.partition('t')
        if (each.kind === 'append') {
          const base = await world.clock.passing(append(partition, each.records))
          for (const [i, { key, value }] of each.records.entries()) {
            newest.set(key, { offset: base + i, value, atMs: world.clock.now() })
          }
        } else if (each.kind === 'clean') {
          await world.clock.passing(cleanAll(world.logs.cleaner, partition, world.clock.now()).catch(() => {}))
          await world.clock.advance(100)
        } else if (each.kind === 'fail') world.store.faults.failNext('rewrite', each.fault)
        else if (each.kind === 'trim') {
          await world.clock.passing(partition.deleteRecords(Math.floor(partition.highWatermark * each.share)))
        } else if (each.kind === 'later') await world.clock.advance(each.ms)
        else {
          world = await assertTrueState(world, 't')
          worlds.push(world)
        }
        await check(world.partition('t'), newest, world.clock.now())
      }
      await assertTrueState(world, 't')
      for (const { logs } of worlds) await logs.close()
    }),
    { numRuns: 40 },
  )
  t.diagnostic('40 histories')

  async function check(partition: Partition, newest: ReadonlyMap<string, Newest>, nowMs: number): Promise<void> {
    const { logStartOffset, state } = partition
    const all = (await recordsOf(partition)).filter(({ offset }) => offset >= logStartOffset)
    assert.deepEqual(
      all.map(({ offset }) => offset),
      all.map(({ offset }) => offset).toSorted((a, b) => a - b),
    )
    for (const [key, { offset, value, atMs }] of newest) {
      if (offset < logStartOffset) continue
      const found = all.findLast(each => each.key?.toString() === key)
      if (value === null && found === undefined && nowMs >= atMs + 1_000) continue
      assert.deepEqual([found?.offset, found?.value?.toString() ?? null], [offset, value], `${key} at ${nowMs}`)
    }
    const clean = all.filter(({ offset }) => offset < state.cleaned.cleanedTo).map(({ key }) => key?.toString())
    assert.equal(new Set(clean).size, clean.length, `keys below ${state.cleaned.cleanedTo}: ${clean.join(' ')}`)
  }
})

test('a tombstone stays for delete.retention.ms after the first cleaning that found it newest', async t => {
  const world = await openLogWorld(t)
  await world.create('t', COMPACTED)
  const partition = world.partition('t')
  const { cleaner } = world.logs
  await append(partition, [{ key: 'a', value: '1' }])
  await append(partition, [{ key: 'a' }])
  await append(partition, [{ key: 'other', value: '1' }])
  const clean = async (nowMs: number) => {
    // A pass needs something dirty.
    await append(partition, [{ key: 'dirty', value: String(nowMs) }])
    await cleanAll(cleaner, partition, nowMs)
    return (await recordsOf(partition)).some(({ key }) => key?.toString() === 'a')
  }
  assert.equal(await clean(5_000), true)
  assert.equal(await clean(5_999), true)
  assert.equal(await clean(6_000), false)
  assert.equal(shown(await recordsOf(partition)), '2 other=1, 5 dirty=6000')
})

test('a tombstone that the second of several passes finds stays for delete.retention.ms after that pass', async t => {
  const world = await openLogWorld(t, { overrides: TINY })
  await world.create('t', { ...COMPACTED, 'delete.retention.ms': '1000000' })
  const partition = world.partition('t')
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) await append(partition, [{ key }])
  let nowMs = 0
  const { passes } = await cleanAll(world.logs.cleaner, partition, () => (nowMs += 5_000))
  assert.equal(passes, 2)
  const horizons = (await readAll(partition)).map(({ deleteHorizonMs }) => deleteHorizonMs)
  assert.deepEqual(horizons, [1_005_000, 1_005_000, 1_005_000, 1_005_000, 1_010_000, 1_010_000])
})

test('searches by time and the tail in memory follow a cleaning', async t => {
  const world = await openLogWorld(t)
  await world.create('t', COMPACTED)
  const partition = world.partition('t')
  for (let i = 0; i < 6; i++)
    await append(partition, [{ key: i === 5 ? 'b' : 'a', value: String(i), timestamp: 100 - i }])
  await cleanAll(world.logs.cleaner, partition, 0)
  const first = await partition.offsetForTimestamp(90)
  const largest = await partition.maxTimestampOffset()
  assert.deepEqual(first, { offset: 4, timestamp: 96, leaderEpoch: 1 })
  assert.deepEqual(largest, { offset: 4, timestamp: 96, leaderEpoch: 1 })
  assert.equal(await partition.offsetForTimestamp(97), null)
  const read = partition.read(0, 1e6, true)
  assert.ok(read instanceof Promise, 'the tail no longer has the rewritten part')
})
