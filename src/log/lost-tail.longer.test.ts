// Segments, retention and cleaning after a leader that did not know that it was deposed, and after a store that went
// back in time: the streams, the documents, or both. A run takes every third loss of a tail, as the seed draws, and
// with KETCH_LONG=1 each.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as systemSleep } from 'node:timers/promises'
import { isLong } from '../../testing/at-length.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { startForgetfulRedis } from '../../testing/forgetful-redis.ts'
import { type OpenedLogs, openLogsOn } from '../../testing/open-logs.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { auditRedis } from '../../testing/redis-audit.ts'
import { openTestLinks } from '../../testing/redis-links.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { seed } from '../../testing/seed.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf, readAll } from '../../testing/sim/logs.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { ReplicatedServer } from '../../testing/sim/replicated-server.ts'
import { connectReplicatedStore, type Wire } from '../../testing/sim/replicated-store.ts'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { isRefusal } from '../protocol/errors.ts'
import { readRecords } from '../protocol/records.ts'
import { testSettings, type Values } from '../settings/settings.ts'
import { openRedisStore } from '../store/redis/redis-store.ts'
import type { Store } from '../store/store.ts'
import { isInterrupted } from './cleaner/place.ts'
import type { Partition } from './partition.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const SHARE = { concurrency: 8, isCleaningAllowed: true }
/** Each round seals everything. */
const CONFIGS = {
  'cleanup.policy': 'compact,delete',
  'segment.ms': '1',
  'retention.ms': String(HOUR),
  'min.cleanable.dirty.ratio': '0',
}
const OVERRIDES: Partial<Values> = { 'storage.worker.dedupe-buffer': 24 * 100 }

async function create({ catalogue }: OpenedLogs): Promise<string> {
  const [topic] = await catalogue.add([{ name: 'orders', partitions: 1, configs: CONFIGS }])
  assert(topic !== undefined && !isRefusal(topic))
  return topic.id
}

function partitionOf({ logs }: OpenedLogs, topicId: string): Partition {
  const partition = logs.partition(topicId, 0)
  assert(partition !== null)
  return partition
}

/** Appends a record and returns its offset. */
async function append(partition: Partition, key: string, value: string, timestamp = -1): Promise<number> {
  const answer = await partition.append(batchOf([{ key, value, timestamp }]), 0)
  assert(!isRefusal(answer), isRefusal(answer) ? answer.message : '')
  return answer.baseOffset
}

async function recordsOf(partition: Partition) {
  const records: { offset: number; key: string; value: string }[] = []
  for (const { bytes } of await readAll(partition)) {
    for (const { offset, key, value } of await readRecords(bytes))
      records.push({ offset, key: String(key), value: String(value).trimEnd() })
  }
  return records
}

const rangesOf = ({ segments }: Partition) => segments.map(({ base, next }) => [base, next])

/** Asserts that segments and chunks follow each other, and that no place lies above the end. */
function assertConsistent({ state, segments, activeFrom, endOffset }: Partition): void {
  const { sealed, cleaned, pass, start, timeIndex } = state
  for (const [i, { next }] of segments.entries()) assert.equal(next, segments[i + 1]?.base ?? sealed.end)
  assert.ok(activeFrom <= endOffset, `the active segment begins at ${activeFrom}, the log ends at ${endOffset}`)
  for (const [name, place] of Object.entries({ ...cleaned, pass: pass.to, until: pass.until }))
    assert.ok(place <= endOffset, `${name} is ${place}, the log ends at ${endOffset}`)
  let at = Math.min(start, timeIndex.chunks[0]!.from)
  for (const { from, next } of timeIndex.chunks) {
    assert.equal(from, at)
    at = next
  }
  assert.equal(at, endOffset)
}

/** Asserts that each key stands once below the cleaned part, and that each newest record of `before` is there. */
async function assertCleaned(partition: Partition, before: readonly { key: string; value: string }[]): Promise<void> {
  const records = await recordsOf(partition)
  const { cleanedTo } = partition.state.cleaned
  const clean = records.filter(({ offset }) => offset < cleanedTo).map(({ key }) => key)
  assert.equal(new Set(clean).size, clean.length, `${JSON.stringify(records)} below ${cleanedTo}`)
  const newest = (all: typeof before) => new Map(all.map(({ key, value }) => [key, value]))
  assert.deepEqual(new Map([...newest(records)].sort()), new Map([...newest(before)].sort()))
}

for (const moment of ['before the new leader rolls', 'while the new leader rolls'] as const) {
  test(`a segment that a deposed leader seals ${moment} is one of the list`, async t => {
    const clock = new SimulatedClock()
    // Cleaned segments would be joined.
    const share = { ...SHARE, isCleaningAllowed: false }
    const options = { clock, overrides: OVERRIDES }
    const contents = createMemoryStore(clock)
    const beside = contents.beside()
    t.after(() => {
      contents.faults.release()
      beside.faults.release()
    })
    const stale = await openLogsOn(t as CleanUp, contents, options)
    const id = await create(stale)
    const old = partitionOf(stale, id)
    const acknowledged = [await append(old, 'a', '1'), await append(old, 'b', '1')]
    await clock.advance(MINUTE)
    const { commit } = contents.calls
    const wake = contents.faults.hold('commit')
    const round = stale.logs.runRound(share)
    await clock.settle()
    assert.equal(contents.calls.commit, commit + 1, 'its lead is confirmed, and it goes on to commit')

    const next = await openLogsOn(t as CleanUp, beside, options)
    const partition = partitionOf(next, id)
    assert.deepEqual([partition.leaderEpoch, rangesOf(partition)], [2, []])
    for (const value of ['2', '3']) acknowledged.push(await append(partition, 'a', value))
    await clock.advance(MINUTE)
    if (moment === 'while the new leader rolls') {
      const go = beside.faults.hold('commit')
      const rolling = next.logs.runRound(share)
      await clock.settle()
      wake()
      await round
      go()
      assert.equal((await clock.passing(rolling)).failures, 0)
    } else {
      wake()
      await round
      const { failures } = await clock.passing(next.logs.runRound(share))
      assert.equal(failures, 0)
    }
    assert.deepEqual(rangesOf(partition), [
      [0, 2],
      [2, 4],
    ])
    assert.deepEqual([partition.activeFrom, partition.state.sealed.epoch], [4, 2])
    assertConsistent(partition)
    // The deposed leader changes nothing more.
    await clock.advance(MINUTE)
    await clock.passing(stale.logs.runRound(share))
    assert.deepEqual(partition.state.sealed, (await loadedBy(t as CleanUp, contents.beside(), clock, id)).state.sealed)

    const last = await loadedBy(t as CleanUp, contents.beside(), clock, id)
    acknowledged.push(await append(last, 'b', '4'))
    assert.deepEqual(acknowledged, [0, 1, 2, 3, 4])
    assert.deepEqual(rangesOf(last), rangesOf(partition))
    assert.deepEqual((await recordsOf(last)).map(({ key, value }) => key + value).slice(-2), ['a3', 'b4'])
  })
}

async function loadedBy(cleanUp: CleanUp, store: Store, clock: SimulatedClock, id: string): Promise<Partition> {
  return partitionOf(await openLogsOn(cleanUp, store, { clock, overrides: OVERRIDES }), id)
}

/** Returns a store over two servers: one with the streams, and one with the documents. */
function connect(clock: SimulatedClock, streams: ReplicatedServer, documents: ReplicatedServer): Store {
  const wire: Wire = {
    fate: () => 'answered',
    toServer: queueMicrotask,
    toBroker: queueMicrotask,
    later: (ms, due) => clock.timer(ms, due).cancel,
    delayMs: () => 10,
  }
  const on = (server: ReplicatedServer) =>
    connectReplicatedStore({ server, wire, waitReplicas: 0, waitTimeoutMs: 1_000, lookEveryMs: MINUTE })
  const store = on(streams)
  if (documents === streams) return store
  const { load, version, list, commit, close } = on(documents)
  return {
    ...store,
    load,
    version,
    list,
    commit,
    close: async () => void (await Promise.all([store.close(), close()])),
  }
}

interface History {
  readonly clock: SimulatedClock
  readonly streams: ReplicatedServer
  readonly documents: ReplicatedServer
  readonly opened: OpenedLogs
  readonly id: string
  /** The effects that both servers had when the history began. */
  readonly from: { readonly streams: number; readonly documents: number }
  readonly offsets: readonly number[]
}

/** Values of this size make passes of several pieces. */
const LARGE = 400_000

/** Appends keys again and again, and lets the storage worker roll, clean and drop between. */
async function history(cleanUp: CleanUp, areApart: boolean): Promise<History> {
  const clock = new SimulatedClock()
  const streams = new ReplicatedServer(0)
  const documents = areApart ? new ReplicatedServer(0) : streams
  const opened = await openLogsOn(cleanUp, connect(clock, streams, documents), { clock, overrides: OVERRIDES })
  const id = await create(opened)
  const partition = partitionOf(opened, id)
  const from = { streams: streams.position, documents: documents.position }
  const offsets: number[] = []
  for (let i = 0; i < 10; i++) {
    offsets.push(await append(partition, 'abcd'[i % 4]!, String(i).padEnd(LARGE), clock.now()))
    if (i % 2 === 1) await clock.advance(MINUTE)
    if (i % 2 === 1) assert.equal((await clock.passing(opened.logs.runRound(SHARE))).failures, 0)
  }
  assertConsistent(partition)
  assert.ok(partition.state.cleaned.cleanedTo === 10 && partition.activeFrom === 10)
  return { clock, streams, documents, opened, id, from, offsets }
}

for (const what of ['streams', 'documents', 'both'] as const) {
  for (const who of ['the leader', 'a new leader'] as const) {
    test(`after losses of the tail of ${what}, ${who} goes on with new offsets, rolls, cleans and drops`, async t => {
      const first = await history(t as CleanUp, what !== 'both')
      const server = what === 'documents' ? 'documents' : 'streams'
      const [least, most] = [first.from[server], first[server].position]
      assert.ok(most - least > 5)
      let interrupted = 0
      const step = isLong ? 1 : 3
      for (let keep = least + (seed % step); keep <= most; keep += step)
        if (await loseTail(t as CleanUp, { what, server, who, keep })) interrupted++
      if (server === 'streams') assert.ok(interrupted > 0, 'some losses end between two pieces of a pass')
    })
  }
}

interface Loss {
  readonly what: 'streams' | 'documents' | 'both'
  readonly server: 'streams' | 'documents'
  readonly who: 'the leader' | 'a new leader'
  /** The number of effects that the server keeps. */
  readonly keep: number
}

/** Resolves with whether the loss ended between two pieces of a pass. */
async function loseTail(cleanUp: CleanUp, { what, server, who, keep }: Loss): Promise<boolean> {
  const { clock, streams, documents, opened, id, offsets } = await history(cleanUp, what !== 'both')
  let now = opened
  if (who === 'a new leader') {
    await clock.passing(now.logs.close())
    await clock.passing(now.store.close())
  }
  const servers = { streams, documents }
  servers[server].restart(keep)
  const where = `${keep} effects are left`
  if (who === 'a new leader') {
    const opening = openLogsOn(cleanUp, connect(clock, streams, documents), { clock, overrides: OVERRIDES })
    now = await clock.passing(opening)
  }
  await clock.advance(2 * MINUTE)
  const partition = partitionOf(now, id)
  assertConsistent(partition)
  let wasInterrupted = isInterrupted(partition.state)
  // A leader that goes on knows every offset. A new one knows those of sealed segments, if the documents are all there.
  const used = offsets.at(-1)!
  const isKnown = who === 'the leader' || what !== 'both'
  const before = await recordsOf(partition)
  const offset = await clock.passing(append(partition, 'd', 'new', clock.now()))
  const least = isKnown ? used : (before.at(-1)?.offset ?? -1)
  assert.ok(offset > least, `${offset} is not above ${least}; ${where}`)

  wasInterrupted ||= isInterrupted(partition.state)

  before.push({ offset, key: 'd', value: 'new' })
  for (let i = 0; i < 3; i++) {
    await clock.advance(2 * MINUTE)
    assert.equal((await clock.passing(now.logs.runRound(SHARE))).failures, 0, where)
    assertConsistent(partition)
    await assertCleaned(partition, before)
    before.push({ offset: await append(partition, 'a', `after ${i}`, clock.now()), key: 'a', value: `after ${i}` })
  }
  assert.equal(partition.state.cleaned.cleanedTo, partition.activeFrom, where)
  // A reader finds a next place from every offset on.
  for (let from = partition.logStartOffset; from < partition.endOffset; from++) {
    const read = await partition.read(from, 1e6, true)
    assert.ok(!isRefusal(read) && read.batches.length > 0, `${from}; ${where}`)
  }
  await clock.advance(2 * HOUR)
  for (let i = 0; i < 2; i++) assert.equal((await clock.passing(now.logs.runRound(SHARE))).failures, 0, where)
  assert.deepEqual([partition.logStartOffset, partition.sizeBytes], [partition.endOffset, 0], where)
  assert.deepEqual(rangesOf(partition), [])
  assertConsistent(partition)
  await clock.passing(now.logs.close())
  await clock.passing(now.store.close())
  return wasInterrupted
}

for (const what of ['streams', 'both'] as const) {
  test(`a Redis that lost the tail of ${what} below a sealed segment: the log goes on`, { skip: noRedis }, async t => {
    const cleanUp = t as CleanUp
    const { redis, remember, forget } = await startForgetfulRedis(cleanUp)
    const { uri } = what === 'both' ? redis : await startRedis(cleanUp)
    const open = async () => {
      const settings = testSettings()
      const linksOf = async (to: string) => (await openTestLinks(cleanUp, { 'redis.uri': to })).links
      const storage = await linksOf(redis.uri)
      const store = await openRedisStore({
        links: { storage, broker: what === 'both' ? storage : await linksOf(uri) },
        namespace: settings.get('namespace'),
        waitReplicas: 0,
        waitTimeoutMs: 1_000,
        vouchMs: 0,
        clock: systemClock,
        random: systemRandom,
        report: message => t.diagnostic(message),
        onLostEnd: () => {},
      })
      cleanUp.after(() => store.close())
      return await openLogsOn(cleanUp, store, { clock: systemClock, overrides: OVERRIDES })
    }
    const round = async ({ logs }: OpenedLogs) => {
      await systemSleep(5)
      const report = await logs.runRound(SHARE)
      assert.equal(report.failures, 0)
    }
    const first = await open()
    const id = await create(first)
    const leader = partitionOf(first, id)
    const offsets: number[] = []
    for (let i = 0; i < 12; i++) {
      offsets.push(await append(leader, 'abc'[i % 3]!, String(i), Date.now()))
      if (i % 3 === 2) await round(first)
      if (i === 5) await remember()
    }
    assert.deepEqual([leader.activeFrom, leader.state.cleaned.cleanedTo], [12, 12])
    await first.logs.close()
    await first.store.close()
    await forget()

    const next = await open()
    const partition = partitionOf(next, id)
    assertConsistent(partition)
    const before = await recordsOf(partition)
    assert.deepEqual(
      before.map(({ offset }) => offset),
      [3, 4, 5],
    )
    const offset = await append(partition, 'd', 'new', Date.now())
    if (what === 'streams') assert.equal(offset, 12)
    else assert.ok(offset >= 6)
    before.push({ offset, key: 'd', value: 'new' })
    for (let i = 0; i < 3; i++) {
      await round(next)
      assertConsistent(partition)
      await assertCleaned(partition, before)
      before.push({ offset: await append(partition, 'a', `after ${i}`), key: 'a', value: `after ${i}` })
    }
    assert.equal(partition.state.cleaned.cleanedTo, partition.activeFrom)
    assert.equal(await partition.deleteRecords(-1), partition.endOffset)
    await round(next)
    assert.deepEqual(rangesOf(partition), [])
    assertConsistent(partition)
  })
}

test('a Redis that loses its functions again and again is given them, and every partition is cleaned', {
  skip: noRedis,
}, async t => {
  const redis = await startRedis(t as CleanUp)
  const { store } = await openTestStore(t as CleanUp, { 'redis.uri': redis.uri })
  let calls = 0
  /** Flushes before each second call of these verbs, so that the repeated one finds the functions. */
  const flushing = async <T>(call: () => Promise<T>): Promise<T> => {
    if (calls++ % 2 === 0) await redis.ask('FUNCTION', 'FLUSH')
    return await call()
  }
  const flushed: Store = {
    ...store,
    rewrite: piece => flushing(() => store.rewrite(piece)),
    trim: (...of) => flushing(() => store.trim(...of)),
    commit: commit => flushing(() => store.commit(commit)),
    confirm: (...of) => flushing(() => store.confirm(...of)),
  }
  const opened = await openLogsOn(t as CleanUp, flushed, { clock: systemClock, overrides: OVERRIDES })
  const partition = partitionOf(opened, await create(opened))
  const before: { offset: number; key: string; value: string }[] = []
  for (let i = 0; i < 12; i++) {
    const key = 'abc'[i % 3]!
    before.push({ offset: await append(partition, key, String(i), Date.now()), key, value: String(i) })
    await systemSleep(5)
    await opened.logs.runRound(SHARE)
  }
  await eventually('all is cleaned', async () => {
    const { failures } = await opened.logs.runRound(SHARE)
    return failures === 0 && partition.state.cleaned.cleanedTo === 12
  })
  assertConsistent(partition)
  await assertCleaned(partition, before)
  assert.ok(calls > 40, `${calls} calls`)
  assert.deepEqual((await auditRedis([redis])).problems, [])
})
