import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pattern } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { batchOf, type FetchInput, fetchFrom, type Ground, produceTo, startGround } from '../../../testing/kafka.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { openLogWorld, batchOf as recordsOf } from '../../../testing/sim/logs.ts'
import type { Wire } from '../../../testing/wire.ts'
import { systemRandom } from '../../base/random.ts'
import type { ReadResult } from '../../log/partition.ts'
import { createWaiters } from '../../log/waiters.ts'
import {
  FENCED_LEADER_EPOCH,
  FETCH_SESSION_ID_NOT_FOUND,
  FETCH_SESSION_TOPIC_ID_ERROR,
  INVALID_FETCH_SESSION_EPOCH,
  isRefusal,
  NONE,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { deleteTopics } from '../../protocol/messages/delete-topics.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import type { RequestOf, ResponseOf } from '../../protocol/schema.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { FetchRow } from './row.ts'
import { createFetchSessions, epochAfter } from './sessions.ts'

type Answer = ResponseOf<typeof fetch>

/** Rows of `t`, each a partition and its offset. */
const at = (...rows: readonly (readonly [number, number, number?])[]) =>
  rows.map(([partition, fetchOffset, partitionMaxBytes = 1_000_000]) => ({ partition, fetchOffset, partitionMaxBytes }))

/** Partition, records and high watermark of each row of an answer. */
const said = ({ responses }: Answer) =>
  responses.flatMap(({ partitions }) =>
    partitions.map(({ partitionIndex, errorCode, highWatermark, records }) =>
      errorCode === NONE ? [partitionIndex, records!.length, highWatermark] : [partitionIndex, errorCode],
    ),
  )

interface Side {
  readonly ground: Ground
  readonly wire: Wire
  readonly producer: Wire
  ask(body: Partial<FetchInput>, version?: number): Promise<Answer>
}

/** A broker where `t` has four partitions. */
async function begin(t: Parameters<typeof startGround>[0], overrides = {}): Promise<Side> {
  const ground = await startGround(t, {
    'broker.fetch-max-wait': 60_000,
    topics: [pattern('*', { partitions: 4 })],
    ...overrides,
  })
  const [wire, producer] = [await ground.connect(), await ground.connect()]
  const ask = (body: Partial<FetchInput>, version = 12) =>
    wire.send(fetch, version, { maxWaitMs: 0, minBytes: 1, topics: [], ...body })
  return { ground, wire, producer, ask }
}

test('a session answers in full once, and then only what is new', async t => {
  const { producer, ask } = await begin(t)
  const batch = batchOf(['a'])
  const first = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 0], [1, 0], [2, 0]) }] })
  assert.ok(first.sessionId > 0)
  assert.deepEqual(said(first), [
    [0, 0, 0],
    [1, 0, 0],
    [2, 0, 0],
  ])
  const { sessionId } = first
  assert.deepEqual(said(await ask({ sessionId, sessionEpoch: 1 })), [])
  await produceTo(producer, batch, { index: 1 })
  const second = await ask({ sessionId, sessionEpoch: 2 })
  assert.deepEqual([second.sessionId, said(second)], [sessionId, [[1, batch.length, 1]]])
  // A client that does not move its offset gets the records again.
  assert.deepEqual(said(await ask({ sessionId, sessionEpoch: 3 })), [[1, batch.length, 1]])
  const topics = [{ topic: 't', partitions: at([1, 1]) }]
  assert.deepEqual(said(await ask({ sessionId, sessionEpoch: 4, topics })), [])
  assert.deepEqual(said(await ask({ sessionId, sessionEpoch: 5 })), [])
})

test('an answer has a high watermark that moved, even if the client has the records', async t => {
  const { producer, ask } = await begin(t)
  const { sessionId } = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 0]) }] })
  await produceTo(producer, batchOf(['a']))
  const answer = await ask({ sessionId, sessionEpoch: 1, topics: [{ topic: 't', partitions: at([0, 1]) }] })
  assert.deepEqual(said(answer), [[0, 0, 1]])
  assert.deepEqual(said(await ask({ sessionId, sessionEpoch: 2 })), [])
})

test('a log start that moved is news', async t => {
  const world = await openLogWorld(t)
  const partition = await world.createPartition()
  for (let i = 0; i < 2; i++) await partition.append(recordsOf(), 0)
  const row = new FetchRow({ topic: 'topic-0' } as never, at([0, 2])[0] as never)
  const list = world.logs.watchlist<FetchRow>()
  list.mark(row)
  row.resolve(world as never, 'name', null)
  row.found = (await partition.read(2, 1, false)) as ReadResult
  row.tell()
  row.found = (await partition.read(2, 1, false)) as ReadResult
  assert.deepEqual([row.isNews, row.isQuiet], [false, true])
  list.rest(row, partition.waits)
  await partition.trim(1)
  assert.deepEqual([list.ready(), row.isQuiet], [[row], false])
  row.found = (await partition.read(2, 1, false)) as ReadResult
  assert.deepEqual([row.isNews, row.isQuiet], [true, true])
})

test('a fetch of a session waits, and an append to any of its partitions wakes it with that one alone', async t => {
  const { ground, producer, ask } = await begin(t)
  const { sessionId } = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 0], [1, 0], [2, 0]) }] })
  const before = await ground.received('Fetch')
  const batch = batchOf(['a'])
  const waiting = ask({ sessionId, sessionEpoch: 1, maxWaitMs: 60_000 })
  await eventually('the fetch is in flight', async () => (await ground.received('Fetch')) > before)
  await produceTo(producer, batch, { index: 2 })
  assert.deepEqual(said(await waiting), [[2, batch.length, 1]])
})

test('a fetch of a session waits for its minimum of bytes, of all partitions together', async t => {
  const { ground, producer, ask } = await begin(t)
  const batch = batchOf([Buffer.alloc(400)])
  const { sessionId } = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 0], [1, 0]) }] })
  await produceTo(producer, batch, { index: 1 })
  const before = await ground.received('Fetch')
  const waiting = ask({ sessionId, sessionEpoch: 1, maxWaitMs: 60_000, minBytes: 3 * batch.length })
  await eventually('the fetch is in flight', async () => (await ground.received('Fetch')) > before)
  await produceTo(producer, batch, { index: 0 })
  await produceTo(producer, batch, { index: 1 })
  assert.deepEqual(said(await waiting), [
    [1, 2 * batch.length, 2],
    [0, batch.length, 1],
  ])
})

test('a partition that was served goes behind those that were not, so that small limits starve none of them', async t => {
  const { producer, ask } = await begin(t)
  const batch = batchOf([Buffer.alloc(5000)])
  const { sessionId } = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 0], [1, 0], [2, 0]) }] })
  for (const index of [0, 1, 2]) for (let i = 0; i < 3; i++) await produceTo(producer, batch, { index })
  const served: number[] = []
  for (let epoch = 1; epoch <= 6; epoch++) {
    const rows = said(await ask({ sessionId, sessionEpoch: epoch, maxBytes: 1 }))
    served.push(...rows.filter(([, bytes]) => bytes! > 0).map(([index]) => index!))
  }
  assert.deepEqual(served, [0, 1, 2, 0, 1, 2])
})

test('partitions are added to a session and forgotten, and forgetting the last ends it', async t => {
  const { ground, producer, ask } = await begin(t)
  const batch = batchOf(['a'])
  const { sessionId } = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 0]) }] })
  const added = await ask({ sessionId, sessionEpoch: 1, topics: [{ topic: 't', partitions: at([3, 0]) }] })
  assert.deepEqual(said(added), [[3, 0, 0]])
  assert.equal(await ground.sample('svc_broker_fetch_session_partitions'), 2)
  await ask({ sessionId, sessionEpoch: 2, forgottenTopicsData: [{ topic: 't', partitions: [0, 77] }] })
  for (const index of [0, 3]) await produceTo(producer, batch, { index })
  assert.deepEqual(said(await ask({ sessionId, sessionEpoch: 3 })), [[3, batch.length, 1]])
  const last = await ask({ sessionId, sessionEpoch: 4, forgottenTopicsData: [{ topic: 't', partitions: [3] }] })
  assert.deepEqual([last.errorCode, last.sessionId, said(last)], [NONE, 0, []])
  const gone = await ask({ sessionId, sessionEpoch: 5 })
  assert.equal(gone.errorCode, FETCH_SESSION_ID_NOT_FOUND.code)
  assert.equal(await ground.sample('svc_broker_fetch_sessions'), 0)
  assert.equal(await ground.sample('svc_broker_fetch_session_partitions'), 0)
})

test('a session is known by its id and its epoch, and uses either topic names or topic ids', async t => {
  const { wire, ask } = await begin(t)
  const { topics } = await wire.send(metadata, 12, { topics: [{ name: 't' }] })
  const { topicId } = topics[0]!
  const { sessionId } = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 0]) }] })
  const codeOf = async (body: Partial<FetchInput>, version?: number) => {
    const answer = await ask(body, version)
    assert.deepEqual([answer.sessionId, said(answer)], [0, []])
    return answer.errorCode
  }
  for (const id of [0, sessionId + 1, -5]) {
    assert.equal(await codeOf({ sessionId: id, sessionEpoch: 1 }), FETCH_SESSION_ID_NOT_FOUND.code)
  }
  for (const sessionEpoch of [2, -2, 0x7fffffff]) {
    assert.equal(await codeOf({ sessionId, sessionEpoch }), INVALID_FETCH_SESSION_EPOCH.code)
  }
  assert.equal(await codeOf({ sessionId, sessionEpoch: 1 }, 13), FETCH_SESSION_TOPIC_ID_ERROR.code)
  assert.equal((await ask({ sessionId, sessionEpoch: 1 })).errorCode, NONE)
  const byId = await ask({ sessionEpoch: 0, topics: [{ topicId, partitions: at([0, 0]) }] }, 13)
  assert.equal(await codeOf({ sessionId: byId.sessionId, sessionEpoch: 1 }, 12), FETCH_SESSION_TOPIC_ID_ERROR.code)
  assert.equal((await ask({ sessionId: byId.sessionId, sessionEpoch: 1 }, 18)).errorCode, NONE)
})

test('a full request ends the session that it names, and gets a new one only when it asks', async t => {
  const { ground, ask } = await begin(t)
  const topics = [{ topic: 't', partitions: at([0, 0]) }]
  const first = await ask({ sessionEpoch: 0, topics })
  const second = await ask({ sessionId: first.sessionId, sessionEpoch: 0, topics })
  assert.notEqual(second.sessionId, first.sessionId)
  assert.equal(await ground.sample('svc_broker_fetch_sessions'), 1)
  const last = await ask({ sessionId: second.sessionId, sessionEpoch: -1, topics })
  assert.deepEqual([last.sessionId, said(last)], [0, [[0, 0, 0]]])
  assert.equal(await ground.sample('svc_broker_fetch_sessions'), 0)
  assert.equal((await ask({ sessionEpoch: 0 })).sessionId, 0)
  assert.equal((await ask(fetchFrom(0, { maxWaitMs: 0 }), 6)).sessionId, 0)
})

test('an error is in every answer of a session until it is over, and then the partition is named again', async t => {
  const { wire, ask } = await begin(t)
  const topics = [
    { topic: 't', partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1, currentLeaderEpoch: 0 }] },
  ]
  const { sessionId } = await ask({ sessionEpoch: 0, topics: [{ topic: 'later', partitions: at([0, 0]) }] })
  const missing = [[0, UNKNOWN_TOPIC_OR_PARTITION.code]]
  for (const sessionEpoch of [1, 2]) {
    assert.deepEqual(said(await ask({ sessionId, sessionEpoch, maxWaitMs: 60_000 })), missing)
  }
  await wire.send(metadata, 4, { topics: [{ name: 'later' }] })
  assert.deepEqual(said(await ask({ sessionId, sessionEpoch: 3 })), [[0, 0, 0]])
  assert.deepEqual(said(await ask({ sessionId, sessionEpoch: 4 })), [])
  const fenced = said(await ask({ sessionId, sessionEpoch: 5, topics }))
  assert.deepEqual(fenced, [[0, FENCED_LEADER_EPOCH.code]])
})

test('deleting a topic ends the wait of its sessions, and a topic that is created again is read by its name', async t => {
  const { ground, wire, producer, ask } = await begin(t)
  const { topics } = await wire.send(metadata, 12, { topics: [{ name: 't' }] })
  const { topicId } = topics[0]!
  const { sessionId } = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 0]) }] })
  const byId = await ask({ sessionEpoch: 0, topics: [{ topicId, partitions: at([0, 0]) }] }, 13)
  const before = await ground.received('Fetch')
  const waiting = ask({ sessionId, sessionEpoch: 1, maxWaitMs: 60_000 })
  await eventually('the fetch is in flight', async () => (await ground.received('Fetch')) > before)
  await producer.send(deleteTopics, 5, { topicNames: ['t'], timeoutMs: 10_000 })
  assert.deepEqual(said(await waiting), [[0, UNKNOWN_TOPIC_OR_PARTITION.code]])
  const unknown = await ask({ sessionId: byId.sessionId, sessionEpoch: 1, maxWaitMs: 60_000 }, 13)
  assert.deepEqual(said(unknown), [[0, UNKNOWN_TOPIC_ID.code]])
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  const batch = batchOf(['new'])
  await produceTo(producer, batch)
  assert.deepEqual(said(await ask({ sessionId, sessionEpoch: 2 })), [[0, batch.length, 1]])
})

test('if two requests of one session run at the same time, the earlier gets the error that its epoch is over', async t => {
  const { ground, producer, ask } = await begin(t)
  const { sessionId } = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 0]) }] })
  const before = await ground.received('Fetch')
  const waiting = ask({ sessionId, sessionEpoch: 1, maxWaitMs: 60_000 })
  await eventually('the fetch is in flight', async () => (await ground.received('Fetch')) > before)
  const batch = batchOf(['a'])
  const other = await ground.connect()
  const later = other.send(fetch, 12, { maxWaitMs: 60_000, minBytes: 1, sessionId, sessionEpoch: 2, topics: [] })
  const superseded = await waiting
  assert.deepEqual([superseded.errorCode, superseded.sessionId], [INVALID_FETCH_SESSION_EPOCH.code, sessionId])
  await produceTo(producer, batch)
  assert.deepEqual(said(await later), [[0, batch.length, 1]])
})

test('requests of one session that read from the store at the same time do not mix their results', async t => {
  const { ground, producer, wire, ask } = await begin(t, { 'storage.local.tail-cache-bytes': 0 })
  const batch = batchOf(['a'])
  for (const index of [0, 1]) await produceTo(producer, batch, { index })
  const { sessionId } = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 1], [1, 1]) }] })
  const topics = [{ topic: 't', partitions: at([0, 0], [1, 0]) }]
  const other = await ground.connect()
  // Its speed is known: it gets memory for more than one partition at a time beside the first.
  await other.send(fetch, 12, { maxWaitMs: 0, minBytes: 1, topics })
  assert.equal(ground.store.calls.read, 2)
  const release = ground.store.faults.hold('read')
  const first = ask({ sessionId, sessionEpoch: 1, topics })
  await eventually('the first reads', async () => ground.store.calls.read === 4)
  const second = other.send(fetch, 12, { maxWaitMs: 0, minBytes: 1, sessionId, sessionEpoch: 2, topics: [] })
  await eventually('both read', async () => ground.store.calls.read === 6)
  release()
  assert.equal((await first).errorCode, INVALID_FETCH_SESSION_EPOCH.code)
  assert.deepEqual(said(await second), [
    [0, batch.length, 1],
    [1, batch.length, 1],
  ])
  assert.equal((await wire.send(fetch, 12, fetchFrom(0))).errorCode, NONE)
})

test('if other fetches have the memory, a partition with news is answered later, and not as missing', async t => {
  const { ground, producer, ask } = await begin(t, {
    'storage.local.tail-cache-bytes': 0,
    'broker.global-max-pending-bytes': 8 << 20,
    'broker.global-resume-pending-bytes': 4_000_000,
  })
  const session = { sessionId: (await ask(fetchFrom(0, { sessionEpoch: 0, maxWaitMs: 0 }))).sessionId }
  await ask({ ...session, sessionEpoch: 1, topics: [{ topic: 't', partitions: at([1, 0]) }] })
  const before = ground.store.calls.read
  await produceTo(producer, batchOf(['a']))
  const patient = ask({ ...session, sessionEpoch: 2, minBytes: 1000, maxWaitMs: 1000 })
  await eventually('it has read what there is', () => ground.store.calls.read > before)
  const release = ground.store.faults.hold('read')
  const others = Array.from({ length: 8 }, async () =>
    (await ground.connect()).send(fetch, 12, fetchFrom(0, { maxWaitMs: 10_000 })),
  )
  await eventually(
    'the memory is taken',
    async () => (await ground.sample('svc_broker_fetch_granted_bytes')) > 2_000_000,
  )
  await produceTo(producer, batchOf(['b']), { index: 1 })
  const first = await patient
  release()
  await Promise.all(others)
  const rest = await ask({ ...session, sessionEpoch: 3, topics: [{ topic: 't', partitions: at([0, 1]) }] })
  assert.deepEqual([said(first), said(rest)], [[[0, batchOf(['a']).length, 1]], [[1, batchOf(['b']).length, 1]]])
})

test('an append while the store is read for a session is not missed', async t => {
  const { ground, producer, ask } = await begin(t, { 'storage.local.tail-cache-bytes': 0 })
  const batch = batchOf(['a'])
  await produceTo(producer, batch)
  const release = ground.store.faults.hold('read')
  const topics = [{ topic: 't', partitions: at([0, 0], [1, 0]) }]
  const waiting = ask({ sessionEpoch: 0, maxWaitMs: 60_000, minBytes: 2 * batch.length, topics })
  await eventually('it reads', async () => ground.store.calls.read === 1)
  await produceTo(producer, batch, { index: 0 })
  release()
  assert.deepEqual(said(await waiting), [
    [0, 2 * batch.length, 2],
    [1, 0, 0],
  ])
})

test('without slots every fetch is a full one', async t => {
  const { ask } = await begin(t, { 'broker.fetch-session-cache-slots': 0 })
  const answer = await ask({ sessionEpoch: 0, topics: [{ topic: 't', partitions: at([0, 0]) }] })
  assert.deepEqual([answer.sessionId, said(answer)], [0, [[0, 0, 0]]])
})

test('the epoch after the largest is 1', () => {
  assert.deepEqual([epochAfter(0), epochAfter(0x7ffffffe), epochAfter(0x7fffffff)], [1, 0x7fffffff, 1])
})

test('a full cache evicts a session that is unused for two minutes, or is old and smaller', async () => {
  const clock = new SimulatedClock()
  const sessions = createFetchSessions({ clock, random: systemRandom, metrics: createMetrics() }, 2)
  const waiters = createWaiters(clock)
  const open = (size: number) => {
    const rows = at(...Array.from({ length: size }, (_, index) => [index, 0] as const)).map(
      asked => new FetchRow({ topic: 't' } as never, asked as never),
    )
    return sessions.open(rows, 'name', waiters.watchlist(), null)
  }
  const use = (id: number, sessionEpoch: number) => {
    const body = { sessionId: id, sessionEpoch, topics: [], forgottenTopicsData: [] } as unknown as RequestOf<
      typeof fetch
    >
    return !isRefusal(sessions.next(body, 'name', null))
  }
  const [small, large] = [open(1)!, open(3)!]
  assert.equal(open(9), null, 'both are young')
  await clock.advance(119_000)
  assert.ok(use(small.id, 1) && use(large.id, 1))
  await clock.advance(2000)
  assert.equal(open(1), null, 'none is smaller')
  const third = open(2)!
  assert.ok(!use(small.id, 2) && use(large.id, 2) && use(third.id, 1))
  assert.equal(open(3), null, 'the larger is not smaller, the smaller is young')
  await clock.advance(120_001)
  assert.ok(use(third.id, 2))
  const fourth = open(1)!
  assert.ok(!use(large.id, 3) && use(third.id, 3) && use(fourth.id, 1), 'the unused one went, though it is large')
})

test('a session that was too large to be evicted makes room when it has shrunk', async () => {
  const clock = new SimulatedClock()
  const sessions = createFetchSessions({ clock, random: systemRandom, metrics: createMetrics() }, 1)
  const waiters = createWaiters(clock)
  const open = (size: number) => {
    const asked = at(...Array.from({ length: size }, (_, index) => [index, 0] as const))
    const rows = asked.map(row => new FetchRow({ topic: 't' } as never, row as never))
    return sessions.open(rows, 'name', waiters.watchlist(), null)
  }
  const first = open(3)!
  for (let time = 1; time <= 2; time++) {
    await clock.advance(100_000)
    sessions.next(
      { sessionId: first.id, sessionEpoch: time, topics: [], forgottenTopicsData: [] } as never,
      'name',
      null,
    )
  }
  for (let time = 0; time < 2; time++) assert.equal(open(3), null)
  const forgottenTopicsData = [{ topic: 't', topicId: '', partitions: [2] }]
  sessions.next({ sessionId: first.id, sessionEpoch: 3, topics: [], forgottenTopicsData } as never, 'name', null)
  assert.equal(open(2), null)
  assert.ok(open(3))
  assert.ok(first.isClosed)
})

test('all sessions together have a limited number of partitions, and a session that grows beyond the limit ends', async () => {
  const clock = new SimulatedClock()
  const sessions = createFetchSessions({ clock, random: systemRandom, metrics: createMetrics() }, 10, 100)
  const waiters = createWaiters(clock)
  const asked = (from: number, to: number) =>
    at(...Array.from({ length: to - from }, (_, index) => [from + index, 0] as const))
  const open = (size: number) => {
    const rows = asked(0, size).map(row => new FetchRow({ topic: 't' } as never, row as never))
    return sessions.open(rows, 'name', waiters.watchlist(), null)
  }
  const grow = (session: { id: number }, sessionEpoch: number, from: number, to: number) => {
    const topics = [{ topic: 't', partitions: asked(from, to) }]
    const next = sessions.next(
      { sessionId: session.id, sessionEpoch, topics, forgottenTopicsData: [] } as never,
      'name',
      null,
    )
    return next !== null && isRefusal(next) ? next.name : null
  }
  const [one, other] = [open(60)!, open(39)!]
  assert.equal(open(2), null, 'who finds no room has no session')
  assert.equal(grow(other, 1, 39, 40), null)
  assert.equal(open(1), null)
  assert.equal(grow(one, 1, 60, 61), 'FETCH_SESSION_ID_NOT_FOUND')
  assert.ok(one.isClosed)
  assert.ok(open(60), 'what it held is free')
  assert.equal(open(1), null)
})
