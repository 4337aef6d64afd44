// The holder's rounds over a folder, with a log that the test fills by hand. The rounds of real brokers are tested in
// src/tier/remote/broker.longer.test.ts.

import assert from 'node:assert/strict'
import { cp, rename, rm } from 'node:fs/promises'
import { test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { type HolderWorldOptions, inBucket, openHolderWorld, TOPIC_ID } from '../../../testing/holder-world.ts'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import { assertArchived, TOPIC } from '../../../testing/offloading.ts'
import { everyNth, startS3Stub } from '../../../testing/s3-stub.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { openDataFile } from '../columns/open-file.ts'
import { fenceOf } from '../iceberg/fence.ts'
import { readArchived } from '../iceberg/ranges.ts'
import { jobId, type OffloadJob, retry } from '../offload/jobs.ts'

const DAY_MS = 86_400_000

const brief = (jobs: readonly OffloadJob[]) =>
  jobs.map(({ partition, base, status, attempts }) => [partition, base, status, attempts])

/** A clock whose durations the test moves. The wall clock goes on as it does. */
function shiftedClock(): Clock & { shiftMs: number } {
  const clock = { ...systemClock, shiftMs: 0, monotonic: () => systemClock.monotonic() + clock.shiftMs }
  return clock
}

/** A wall clock that the test moves. Durations pass as they do. */
function movedClock(): Clock & { shiftMs: number } {
  const clock = { ...systemClock, shiftMs: 0, now: () => systemClock.now() + clock.shiftMs }
  return clock
}

test('a round offloads what the leaders have sealed, once, and tells all brokers', async t => {
  const world = await openHolderWorld(t)
  const all = [world.seal(0, 0), world.seal(0, 6), world.seal(1, 0)]
  const { tier, holder } = await world.openTier()
  await world.round(holder)
  const table = (await world.table())!
  await assertArchived(table, all)
  assert.equal(fenceOf(table.metadata), 7)
  assert.deepEqual(brief(await world.jobs(tier)), [
    [0, 0, 'done', 1],
    [0, 6, 'done', 1],
    [1, 0, 'done', 1],
  ])
  assert.equal(tier.noticed(TOPIC_ID), table.version)
  const bytes = all.reduce((sum, { segment }) => sum + segment.bytes, 0)
  assert.deepEqual(holder.report(), { segments: 3, bytes, failures: 0, waitingSegments: 0, waitingBytes: 0 })
  assert.equal(world.metrics.total('svc.storage.archive.segments'), 3)
  const { segments, segmentsPerMin, oldestSealedAtMs } = tier.backlog()!
  assert.deepEqual([segments, segmentsPerMin, oldestSealedAtMs], [0, 3, null])

  await world.round(holder)
  assert.equal((await world.table())!.version, table.version, 'a round without news commits nothing')
  const later = world.seal(0, 12)
  await world.round(holder)
  await assertArchived((await world.table())!, [...all, later])
})

test('brokers know the rates while each minute offloads the same, and no rate when a minute offloads nothing', async t => {
  const clock = shiftedClock()
  const world = await openHolderWorld(t, { clock })
  const { tier, holder } = await world.openTier()
  const rates = () => [tier.backlog()!.segmentsPerMin, tier.backlog()!.bytesPerMin]
  for (let minute = 0; minute < 3; minute++) {
    const { segment } = world.seal(0, minute * 6)
    await world.round(holder)
    assert.deepEqual(rates(), [1, segment.bytes], `minute ${minute}`)
    clock.shiftMs += 61_000
  }
  assert.deepEqual(rates(), [0, 0])
  await world.round(holder)
  assert.deepEqual(rates(), [0, 0])
})

test('data files keep to row-group-size and target-file-size', async t => {
  /** Offloads three segments of 43,510 bytes of one partition. Returns the number of row groups of each file. */
  async function groupsOfFiles(values: HolderWorldOptions['values'] = {}): Promise<readonly number[]> {
    const world = await openHolderWorld(t, { values })
    for (let at = 0; at < 3; at++) world.seal(0, at * 120, 40, 1_000)
    const { holder } = await world.openTier()
    await world.round(holder)
    const groups: number[] = []
    for await (const { key, size } of world.objects.list(`${world.location}/data/`)) {
      const file = await openDataFile((start, end) => world.objects.read(key, { start, end }), size)
      groups.push(file.groups.length)
    }
    return groups
  }
  assert.deepEqual(await groupsOfFiles(), [1])
  assert.deepEqual(await groupsOfFiles({ 'storage.remote.iceberg.target-file-size': 80_000 }), [1, 1, 1])
  const [groups, ...others] = await groupsOfFiles({ 'storage.remote.iceberg.row-group-size': 20_000 })
  assert.deepEqual(others, [])
  assert.ok(groups! >= 6, `${groups} row groups of at most 20 KB in 130 KB`)
})

test('a broker that follows the notices learns of the new version and reads the table', async t => {
  const world = await openHolderWorld(t)
  const all = [world.seal(0, 0, 3)]
  const { holder } = await world.openTier()
  const { tier } = await world.openTier(2)
  assert.equal(tier.noticed(TOPIC_ID), 0)
  assert.equal((await tier.table({ id: TOPIC_ID, name: 'orders' })).version, 0)
  await world.round(holder)
  await tier.follow()
  assert.ok(tier.noticed(TOPIC_ID) > 0)
  const facts = await tier.table({ id: TOPIC_ID, name: 'orders' })
  assert.equal(facts.version, tier.noticed(TOPIC_ID))
  assert.deepEqual(facts.partition(0), { ranges: [[0, 9]], logStart: 0 })
  const place = { topicId: TOPIC_ID, topicName: 'orders', partition: 0 }
  const pieces = await tier.pieces(place)
  assert(!('kind' in pieces))
  assert.deepEqual(
    pieces.map(({ base, next, bytes }) => [base, next, bytes]),
    [[0, 9, all[0]!.segment.bytes]],
  )
  const read = await tier.archive.read(place, 0, 1e6, true, 9)
  assert(read.kind === 'read')
  assert.deepEqual(Buffer.concat(read.batches), Buffer.concat(all[0]!.batches))
  const described = await tier.describeTable(TOPIC_ID)
  assert.deepEqual([described!.files, described!.rows, described!.snapshots], [1, 9, 1])
  assert.deepEqual(tier.tables(), [{ topicId: TOPIC_ID, topicName: 'orders' }])
  const { text, location } = (await tier.metadata(TOPIC_ID))!
  assert.equal(JSON.parse(text).location, location)
  const files = await tier.inspect(place, 4, 5)
  assert(!('kind' in files) && files.length === 1 && files[0]!.rows === 9)
})

test('a damaged batch fails its job with its offset and suspends it; a retry goes on', async t => {
  const world = await openHolderWorld(t)
  const all = [world.seal(0, 0), world.seal(0, 6), world.seal(0, 12)]
  world.damaged.add(6)
  const { tier, holder } = await world.openTier()
  await world.round(holder)
  const [, failed] = await world.jobs(tier)
  assert.deepEqual(
    [failed!.status, failed!.isSuspended, failed!.attempts, failed!.failure?.offset],
    ['failed', false, 1, 6],
  )
  await assertArchived((await world.table())!, [all[0]!, all[2]!])
  await world.round(holder)
  await world.round(holder)
  const [, suspended] = await world.jobs(tier)
  assert.deepEqual([suspended!.isSuspended, suspended!.attempts], [true, 2])
  assert.equal(tier.state().suspended, 1)
  assert.equal(holder.report().waitingSegments, 1)
  assert.match(world.log(), /a segment was not offloaded.*fails its checksum/)

  world.damaged.clear()
  await tier.jobs.change(TOPIC, jobs => {
    const move = retry(jobs.get(jobId(suspended!))!)
    assert(move.kind === 'moved')
    return { answer: null, put: [move.job] }
  })
  await world.round(holder)
  await assertArchived((await world.table())!, all)
  assert.deepEqual([tier.state().suspended, holder.report().waitingSegments], [0, 0])
})

test('while the place is away no attempt is spent, what waits grows, and it drains by itself', async t => {
  const world = await openHolderWorld(t)
  const all = [world.seal(0, 0)]
  const { tier, holder } = await world.openTier()
  await world.round(holder)
  await rename(world.folder, `${world.folder}.away`)
  for (let round = 0; round < 3; round++) {
    all.push(world.seal(0, 6 + round * 6))
    await world.round(holder)
    assert.equal(tier.state().breaker, 'open')
    assert.match(tier.state().why!, /does not exist/)
    assert.equal(tier.backlog()!.segments, round + 1)
  }
  const waiting = (await world.jobs(tier)).filter(({ status }) => status !== 'done')
  assert.deepEqual(
    waiting.map(({ status, attempts }) => [status, attempts]),
    [
      ['pending', 0],
      ['pending', 0],
      ['pending', 0],
    ],
  )
  await rename(`${world.folder}.away`, world.folder)
  await world.round(holder)
  assert.equal(tier.state().breaker, 'closed')
  await assertArchived((await world.table())!, all)
  assert.equal(tier.backlog()!.segments, 0)
})

test('a holder that starts while the place is away plans by the documents, and claims nothing', async t => {
  const stub = await startS3Stub(t)
  const world = await openHolderWorld(t, inBucket(stub))
  const first = world.seal(0, 0)
  const one = await world.openTier()
  await world.round(one.holder)
  await one.close()
  world.setRemote(0, { ranges: [[0, 6]], version: (await world.table())!.version })
  const second = world.seal(0, 6)
  stub.faultOf = () => 'reset'
  world.lease.fence = 9
  const two = await world.openTier(2)
  await world.round(two.holder)
  await world.round(two.holder)
  assert.deepEqual(brief(await world.jobs(two.tier)), [
    [0, 0, 'done', 1],
    [0, 6, 'pending', 0],
  ])
  stub.faultOf = () => null
  await world.round(two.holder)
  const table = (await world.table())!
  await assertArchived(table, [first, second])
  assert.equal(fenceOf(table.metadata), 9)
})

test('a place that has lost a table gets no new one in its stead', async t => {
  const world = await openHolderWorld(t)
  const all = [world.seal(0, 0)]
  const one = await world.openTier()
  await world.round(one.holder)
  await one.close()
  await rename(world.folder, `${world.folder}.away`)
  // As when a disk is not mounted: the broker creates the folder when it starts.
  const { tier, holder } = await world.openTier(2)
  all.push(world.seal(0, 6))
  await world.round(holder)
  assert.equal(await world.table(), null)
  assert.match(tier.state().foreign[0]!.why, /has no table, and it had version/)
  await assert.rejects(tier.table({ id: TOPIC_ID, name: 'orders' }), { name: 'TierAway', kind: 'damaged' })
  await rm(world.folder, { recursive: true })
  await rename(`${world.folder}.away`, world.folder)
  await world.round(holder)
  assert.deepEqual(tier.state().foreign, [])
  await assertArchived((await world.table())!, all)
})

test('an older copy of a table is not taken for the table', async t => {
  const world = await openHolderWorld(t)
  const all = [world.seal(0, 0)]
  const one = await world.openTier()
  await world.round(one.holder)
  const copy = `${world.folder}.copy`
  await cp(world.folder, copy, { recursive: true })
  all.push(world.seal(0, 6))
  await world.round(one.holder)
  await one.close()
  await rename(world.folder, `${world.folder}.newer`)
  await rename(copy, world.folder)
  const { tier, holder } = await world.openTier(2)
  all.push(world.seal(0, 12))
  await world.round(holder)
  assert.match(tier.state().foreign[0]!.why, /has version \d+ of its table, and it had version \d+/)
  await assert.rejects(tier.table({ id: TOPIC_ID, name: 'orders' }), { name: 'TierAway', kind: 'damaged' })
  await rm(world.folder, { recursive: true })
  await rename(`${world.folder}.newer`, world.folder)
  await world.round(holder)
  assert.deepEqual(tier.state().foreign, [])
  await assertArchived((await world.table())!, all)
})

test('a table whose metadata is damaged says why its segments wait, and goes on when it is mended', async t => {
  const world = await openHolderWorld(t)
  const all = [world.seal(0, 0)]
  const one = await world.openTier()
  await world.round(one.holder)
  await one.close()
  const key = `${world.location}/metadata/v99.metadata.json`
  await world.objects.write(key, Buffer.from('{'))
  await world.objects.replace(`${world.location}/metadata/version-hint.text`, Buffer.from('99'))
  const { tier, holder } = await world.openTier(2)
  all.push(world.seal(0, 6))
  await world.round(holder)
  assert.match(tier.state().foreign[0]!.why, /v99\.metadata\.json/)
  const { status, attempts } = (await world.jobs(tier))[1]!
  assert.deepEqual([status, attempts], ['pending', 0])
  await world.objects.delete([key])
  await world.round(holder)
  assert.deepEqual(tier.state().foreign, [])
  await assertArchived((await world.table())!, all)
})

test('every third answer of a bucket is lost: nothing is lost or doubled', async t => {
  const stub = await startS3Stub(t)
  const world = await openHolderWorld(t, inBucket(stub))
  const all = [world.seal(0, 0)]
  const { holder } = await world.openTier()
  stub.faultOf = everyNth(3, 'lost')
  for (let round = 1; round < 8; round++) {
    all.push(world.seal(0, round * 6))
    await world.round(holder)
  }
  stub.faultOf = () => null
  await world.round(holder)
  await world.round(holder)
  await assertArchived((await world.table())!, all)
})

test('a bucket that lets two creates win gets no commit', async t => {
  const stub = await startS3Stub(t, { conditional: 'ignored' })
  const world = await openHolderWorld(t, inBucket(stub))
  world.seal(0, 0)
  const { tier, holder } = await world.openTier()
  await world.round(holder)
  assert.equal(tier.state().createOnly, 'broken')
  assert.equal(await world.table(), null)
  assert.deepEqual(brief(await world.jobs(tier)), [[0, 0, 'pending', 0]])
  assert.match(world.log(), /does not create an object only once/)
})

test('a holder that lost the lease between upload and commit commits nothing, and the next one does', async t => {
  const world = await openHolderWorld(t)
  const first = world.seal(0, 0)
  const one = await world.openTier()
  await world.round(one.holder)
  const { version } = (await world.table())!
  const second = world.seal(0, 6)
  world.hooks.read = async () => {
    world.lease.isHeld = false
  }
  await world.round(one.holder)
  assert.equal((await world.table())!.version, version)
  const [, job] = await world.jobs(one.tier)
  assert.deepEqual([job!.status, job!.attempts], ['pending', 0])

  world.hooks.read = async () => {}
  Object.assign(world.lease, { isHeld: true, fence: 12 })
  const two = await world.openTier(2)
  await world.round(two.holder)
  const table = (await world.table())!
  await assertArchived(table, [first, second])
  assert.equal(fenceOf(table.metadata), 12)
  // The former holder wakes up and still believes in its term.
  world.seal(0, 12)
  world.lease.fence = 7
  one.holder.begin(7)
  await world.round(one.holder)
  const after = (await world.table())!
  assert.ok(fenceOf(after.metadata) >= 12, 'a fence never falls')
})

test('a job that a dead holder left running counts as an attempt and is done once', async t => {
  const world = await openHolderWorld(t)
  const only = world.seal(0, 0)
  const one = await world.openTier()
  const stuck = Promise.withResolvers<void>()
  const reading = Promise.withResolvers<void>()
  world.hooks.read = async () => {
    reading.resolve()
    await stuck.promise
  }
  const dying = world.round(one.holder)
  await reading.promise
  assert.deepEqual(brief(await world.jobs(one.tier)), [[0, 0, 'running', 1]])
  world.hooks.read = async () => {}
  world.lease.fence = 8
  const two = await world.openTier(2)
  await world.round(two.holder)
  assert.deepEqual(brief(await world.jobs(two.tier)), [[0, 0, 'done', 2]])
  stuck.resolve()
  await dying
  await assertArchived((await world.table())!, [only])
  assert.deepEqual(brief(await world.jobs(two.tier)), [[0, 0, 'done', 2]])
})

test('retention moves the log start, removes the files below it, and cancels what it has passed', async t => {
  const world = await openHolderWorld(t)
  const all = [world.seal(0, 0), world.seal(1, 0)]
  const { tier, holder } = await world.openTier()
  await world.round(holder)
  world.damaged.add(6)
  world.seal(0, 6)
  const last = world.seal(0, 12)
  await world.round(holder)
  assert.deepEqual(
    (await world.jobs(tier)).map(({ status }) => status),
    ['done', 'failed', 'done', 'done'],
  )
  world.setRemote(0, { logStart: 12 })
  await world.round(holder)
  const table = (await world.table())!
  const archived = readArchived(table.metadata.properties)
  assert.deepEqual([archived.logStarts.get(0), archived.ranges.get(0)], [12, [[12, 18]]])
  await assertArchived(table, [all[1]!, last])
  const [, passed] = await world.jobs(tier)
  assert.equal(passed!.status, 'cancelled')
  assert.match(passed!.failure!.why, /has passed the segment/)
  assert.deepEqual([tier.state().passed, tier.state().suspended, tier.backlog()!.segments], [1, 0, 0])
  assert.equal(tier.noticed(TOPIC_ID), table.version)
  world.touch()
  await world.round(holder)
  const [, still] = await world.jobs(tier)
  assert.equal(still!.status, 'cancelled', 'the log start in the table does not make it done')
})

test('retention that passes a segment during its attempt fails nothing and spends nothing', async t => {
  const world = await openHolderWorld(t)
  world.seal(0, 0)
  const all = [world.seal(0, 6), world.seal(1, 0)]
  const { tier, holder } = await world.openTier()
  world.hooks.read = async base => {
    if (base !== 0) return
    // The document names the log start before the batches go.
    world.setRemote(0, { logStart: 6 })
    world.drop(0, 6)
  }
  await world.round(holder)
  assert.equal(world.metrics.total('svc.storage.archive.failures'), 0)
  await world.round(holder)
  await assertArchived((await world.table())!, all)
  assert.deepEqual(brief(await world.jobs(tier)), [
    [0, 0, 'cancelled', 0],
    [0, 6, 'done', 1],
    [1, 0, 'done', 1],
  ])
  assert.equal(world.metrics.total('svc.storage.archive.failures'), 0)
})

test('a topic with remote.log.copy.disable gets no new jobs and no attempts', async t => {
  const world = await openHolderWorld(t, { configs: { 'remote.log.copy.disable': 'true' } })
  world.seal(0, 0)
  const { tier, holder } = await world.openTier()
  await world.round(holder)
  assert.deepEqual([await world.table(), (await world.jobs(tier)).length], [null, 0])
  world.setTopic()
  world.touch()
  await world.round(holder)
  assert.equal((await world.jobs(tier))[0]!.status, 'done')
})

test('a missing file stops the commits of its table until the table no longer names it', async t => {
  const world = await openHolderWorld(t)
  const all = [world.seal(0, 0)]
  const { tier, holder } = await world.openTier()
  await world.round(holder)
  const [file] = await Array.fromAsync(world.objects.list(`${world.location}/data/`))
  const bytes = (await world.objects.read(file!.key))!
  await world.objects.delete([file!.key])
  const place = { topicId: TOPIC_ID, topicName: 'orders', partition: 0 }
  const read = await tier.archive.read(place, 0, 1e6, true, 6)
  assert.equal(read.kind, 'damaged')
  await until(() => tier.state().foreign.length === 1)
  assert.match(tier.state().foreign[0]!.why, /parquet/)
  const { version } = (await world.table())!
  all.push(world.seal(0, 6))
  await world.round(holder)
  await world.round(holder)
  assert.equal((await world.table())!.version, version)
  assert.deepEqual(brief(await world.jobs(tier)).at(-1), [0, 6, 'pending', 0])
  await world.objects.write(file!.key, bytes)
  await world.round(holder)
  assert.deepEqual(tier.state().foreign, [])
  await assertArchived((await world.table())!, all)
})

test('the table of a deleted topic goes after a day, and stays if the setting keeps it', async t => {
  const dropped = async (options: HolderWorldOptions) => {
    const clock = movedClock()
    const world = await openHolderWorld(t, { ...options, clock })
    world.seal(0, 0)
    const { tier, holder } = await world.openTier()
    await world.round(holder)
    world.topics.clear()
    await world.round(holder)
    assert.deepEqual([(await world.jobs(tier)).length, tier.tables()], [0, []])
    clock.shiftMs = DAY_MS - 60_000
    await world.round(holder)
    assert.notEqual(await world.table(), null)
    clock.shiftMs = DAY_MS + 60_000
    await world.round(holder)
    return await world.table()
  }
  assert.equal(await dropped({}), null)
  assert.notEqual(await dropped({ values: { 'storage.remote.iceberg.keep-deleted-tables': true } }), null)
})

test('a topic that is there again keeps its table', async t => {
  const clock = movedClock()
  const world = await openHolderWorld(t, { clock })
  world.seal(0, 0)
  const { holder } = await world.openTier()
  await world.round(holder)
  // A broker whose catalogue is late sees a topic of another one as deleted for a moment.
  world.topics.clear()
  await world.round(holder)
  world.setTopic()
  world.touch()
  await world.round(holder)
  clock.shiftMs = 2 * DAY_MS
  await world.round(holder)
  assert.notEqual(await world.table(), null)
})

test('switching the remote tier off with remote.log.delete.on.disable drops the table at once', async t => {
  const world = await openHolderWorld(t)
  world.seal(0, 0)
  const { tier, holder } = await world.openTier()
  await world.round(holder)
  world.setTopic({ 'remote.storage.enable': 'false', 'remote.log.delete.on.disable': 'true' })
  await world.round(holder)
  assert.deepEqual([await world.table(), tier.noticed(TOPIC_ID), (await world.jobs(tier)).length], [null, 0, 0])
  world.setTopic()
  world.touch()
  await world.round(holder)
  assert.notEqual(await world.table(), null, 'switched on again, it begins anew')
})

test('a drop that a holder leaves half done is finished before the topic begins anew', async t => {
  const world = await openHolderWorld(t)
  const all = [world.seal(0, 0)]
  const one = await world.openTier()
  await world.round(one.holder)
  world.setTopic({ 'remote.storage.enable': 'false', 'remote.log.delete.on.disable': 'true' })
  const { look } = world.lease
  let looks = 0
  world.lease.look = async () => {
    await look()
    // Before the first deletion, and after the notice of the drop.
    if (++looks === 2) world.lease.isHeld = false
  }
  await world.round(one.holder)
  assert.notEqual(await world.table(), null)
  world.setTopic()
  Object.assign(world.lease, { look, isHeld: true, fence: 12 })
  const two = await world.openTier(2)
  await assert.rejects(two.tier.table({ id: TOPIC_ID, name: 'orders' }), /is being dropped/)
  assert.deepEqual(two.tier.tables(), [])
  await world.round(two.holder)
  assert.equal(await world.table(), null)
  world.touch()
  await world.round(two.holder)
  await assertArchived((await world.table())!, all)
})

test('a topic that is switched on again while its table is dropped gets a new and whole table', async t => {
  const stub = await startS3Stub(t)
  const world = await openHolderWorld(t, inBucket(stub))
  const all = [world.seal(0, 0), world.seal(0, 6)]
  const { holder } = await world.openTier()
  await world.round(holder)
  world.setTopic({ 'remote.storage.enable': 'false', 'remote.log.delete.on.disable': 'true' })
  let deletions = 0
  stub.faultOf = ({ operation }) => (operation.startsWith('Delete') && deletions++ === 0 ? { delayMs: 500 } : null)
  const dropping = world.round(holder)
  await eventually('the table is being dropped', () => deletions > 0)
  world.setTopic()
  all.push(world.seal(0, 12))
  await world.round(holder)
  await dropping
  await world.round(holder)
  await assertArchived((await world.table())!, all)
  const { findings } = await auditTable(world.objects, world.location, { nowMs: systemClock.now(), graceMs: DAY_MS })
  assert.deepEqual(findings, [])
})

test('done jobs beyond the retention count are forgotten', async t => {
  const world = await openHolderWorld(t, { values: { 'storage.worker.offload-jobs.retention-count': 2 } })
  const all = [world.seal(0, 0), world.seal(0, 6), world.seal(0, 12), world.seal(0, 18)]
  const { tier, holder } = await world.openTier()
  await world.round(holder)
  assert.deepEqual(
    (await world.jobs(tier)).map(({ base }) => base),
    [12, 18],
  )
  world.touch()
  await world.round(holder)
  await assertArchived((await world.table())!, all)
})

test('once a day orphans of a table are swept, and young ones stay', async t => {
  const clock = movedClock()
  const world = await openHolderWorld(t, { clock })
  const all = [world.seal(0, 0)]
  const { holder } = await world.openTier()
  await world.round(holder)
  await world.objects.write(`${world.location}/data/lost.parquet`, new Uint8Array(3))
  clock.shiftMs = 2 * DAY_MS
  await world.round(holder)
  // The age of an object is by the clock of the place, which has not moved.
  assert.notEqual(await world.objects.stat(`${world.location}/data/lost.parquet`), null)
  await assertArchived((await world.table())!, all)
})

test('closing ends an offload in progress without spending its attempt', async t => {
  const world = await openHolderWorld(t)
  world.seal(0, 0, 2)
  const { tier, holder } = await world.openTier()
  const reading = Promise.withResolvers<void>()
  world.hooks.read = async () => reading.resolve()
  const slow = Promise.withResolvers<void>()
  world.hooks.read = async () => {
    reading.resolve()
    await slow.promise
  }
  const round = world.round(holder)
  await reading.promise
  holder.release()
  slow.resolve()
  await round
  assert.deepEqual(brief(await world.jobs(tier)), [[0, 0, 'pending', 0]])
  assert.equal((await world.table())?.metadata.snapshots.length, 0)
})

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise<void>(resolve => systemClock.soon(resolve))
}
