import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openColdFetches } from '../../../testing/sim/cold-fetches.ts'
import { batchOf } from '../../../testing/sim/logs.ts'
import type { Partition, ReadResult } from '../../log/partition.ts'
import {
  INVALID_FETCH_SESSION_EPOCH,
  KAFKA_STORAGE_ERROR,
  OFFSET_OUT_OF_RANGE,
  UNKNOWN_SERVER_ERROR,
} from '../../protocol/errors.ts'
import { ArchiveReads } from './archive-reads.ts'
import type { FetchRow } from './row.ts'

/** Half of broker.response-queue-timeout. */
const LIMIT_MS = 5_000

const to = (from: number, next: number) => Array.from({ length: next - from }, (_, i) => from + i)

for (const maxWaitMs of [0, 500]) {
  test(`a fetch with a wait of ${maxWaitMs} ms waits for the archive, and is answered when the archive answers`, async t => {
    const { chill, ask, archive, clock } = await openColdFetches(t)
    chill(0, 6)
    const asked = ask([[0, 2]], { maxWaitMs })
    await clock.advance(LIMIT_MS - 1)
    assert.equal(asked.isAnswered, false)
    archive.started[0]!.finish()
    assert.deepEqual((await asked.answer).rows, { 0: to(2, 6) })
    assert.equal(archive.asked, 1)
  })
}

for (const maxWaitMs of [0, 500, 60_000]) {
  test(`after half of the response timeout a fetch with a wait of ${maxWaitMs} ms is empty, and the next one finds what its read has brought`, async t => {
    const { chill, ask, archive, clock } = await openColdFetches(t, {
      overrides: { 'broker.fetch-max-wait': 60_000 },
    })
    chill(0, 6)
    const asked = ask([[0, 0]], { maxWaitMs })
    await clock.advance(LIMIT_MS - 1)
    assert.equal(asked.isAnswered, false)
    await clock.advance(1)
    assert.deepEqual((await asked.answer).rows, { 0: [] })
    archive.started[0]!.finish()
    await clock.settle()
    assert.deepEqual((await ask([[0, 0]]).answer).rows, { 0: to(0, 6) })
    assert.equal(archive.started.length, 1)
  })
}

test('a fetch that comes while the read of the one before goes on shares it', async t => {
  const { chill, ask, archive, clock } = await openColdFetches(t)
  chill(0, 6)
  const first = ask([[0, 0]])
  await clock.advance(LIMIT_MS)
  assert.deepEqual((await first.answer).rows, { 0: [] })
  const second = ask([[0, 0]])
  await clock.advance(1_000)
  archive.started[0]!.finish()
  assert.deepEqual((await second.answer).rows, { 0: to(0, 6) })
  assert.equal(archive.started.length, 1)
})

test('a fetch with local records does not wait for the archive, and the next one has the records of both', async t => {
  const { chill, ask, archive, clock } = await openColdFetches(t)
  chill(0, 6)
  const asked = await ask([
    [0, 0],
    [1, 0],
  ]).answer
  assert.deepEqual(asked.rows, { 0: [], 1: to(0, 10) })
  archive.started[0]!.finish()
  await clock.settle()
  const next = await ask([
    [0, 0],
    [1, 9],
  ]).answer
  assert.deepEqual(next.rows, { 0: to(0, 6), 1: [9] })
})

test('a fetch with local records of the store takes along what the archive brings while the store is read', async t => {
  const { chill, ask, archive, clock, store } = await openColdFetches(t, {
    overrides: { 'storage.local.tail-cache-bytes': 0 },
  })
  chill(0, 6)
  const go = store.faults.hold('read')
  const asked = ask([
    [0, 0],
    [1, 0],
  ])
  await clock.settle()
  const { bytes } = batchOf(3)
  const offsets = { highWatermark: 10, lastStableOffset: 10, logStartOffset: 0 }
  archive.started[0]!.settle({ kind: 'read', batches: [bytes], bytes: bytes.length, ...offsets, release: null })
  await clock.settle()
  assert.equal(asked.isAnswered, false)
  go()
  assert.deepEqual((await asked.answer).rows, { 0: [0], 1: to(0, 10) })
})

test('an append to a local partition ends the wait for the archive', async t => {
  const { chill, ask, clock, partition } = await openColdFetches(t)
  chill(0, 6)
  const asked = ask([
    [0, 0],
    [1, 10],
  ])
  await clock.advance(2_000)
  assert.equal(asked.isAnswered, false)
  await partition('t', 1).append(batchOf(1), 0)
  assert.deepEqual((await asked.answer).rows, { 0: [], 1: [10] })
})

test('a fetch that waits for more bytes of local records takes what the archive brings, and waits no longer than its own wait', async t => {
  const { chill, ask, clock, archive } = await openColdFetches(t)
  chill(0, 6)
  const rows = [
    [0, 0],
    [1, 9],
  ] as const
  const late = ask(rows, { minBytes: 100_000 })
  await clock.advance(499)
  assert.equal(late.isAnswered, false)
  await clock.advance(1)
  assert.deepEqual((await late.answer).rows, { 0: [], 1: [9] })
  const early = ask(rows, { minBytes: 100_000 })
  await clock.advance(100)
  archive.started[0]!.finish()
  assert.deepEqual((await early.answer).rows, { 0: to(0, 6), 1: [9] })
})

test('appends to a partition do not wake a fetch that reads its archive', async t => {
  const { chill, ask, clock, archive, partition } = await openColdFetches(t)
  chill(0, 6)
  const asked = ask([[0, 0]])
  await clock.settle()
  assert.equal(partition('t', 0).waits.size, 0)
  await partition('t', 0).append(batchOf(1), 0)
  await clock.settle()
  assert.equal(asked.isAnswered, false)
  archive.started[0]!.finish()
  assert.deepEqual((await asked.answer).rows, { 0: to(0, 6) })
})

test('a fetch starts as many reads as read.threads; its other cold partitions are empty, and the next ones of the session get theirs', async t => {
  const { chill, ask, archive, clock } = await openColdFetches(t, {
    partitions: 5,
    overrides: { 'storage.remote.iceberg.read.threads': 2 },
  })
  for (const index of to(0, 5)) chill(index, 6)
  const first = ask(
    to(0, 5).map(index => [index, 0] as const),
    { sessionEpoch: 0 },
  )
  await clock.advance(10)
  assert.deepEqual(
    archive.started.map(({ index }) => index),
    [0, 1],
  )
  for (const read of archive.started) read.finish()
  const { sessionId, rows } = await first.answer
  assert.deepEqual(rows, { 0: to(0, 6), 1: to(0, 6), 2: [], 3: [], 4: [] })
  // The client goes on where it is, with the local records of both; so it does not wait for the others.
  const second = ask(
    [
      [0, 6],
      [1, 6],
    ],
    { sessionId, sessionEpoch: 1 },
  )
  assert.deepEqual((await second.answer).rows, { 0: to(6, 10), 1: to(6, 10) })
  assert.deepEqual(
    archive.started.slice(2).map(({ index }) => index),
    [2, 3],
  )
  const third = ask(
    [
      [0, 10],
      [1, 10],
    ],
    { sessionId, sessionEpoch: 2 },
  )
  await clock.settle()
  for (const read of archive.started) read.finish()
  assert.deepEqual((await third.answer).rows, { 2: to(0, 6), 3: to(0, 6) })
})

for (const full of ['at once', 'soon'] as const) {
  test(`with a queue that is full and says so ${full} a partition is KAFKA_STORAGE_ERROR, the others are served, and few reads are tried`, async t => {
    const { chill, ask, archive, clock } = await openColdFetches(t, {
      partitions: 5,
      overrides: { 'storage.remote.iceberg.read.threads': 2 },
    })
    for (const index of to(0, 4)) chill(index, 6)
    archive.full = full
    const { rows } = await ask(to(0, 5).map(index => [index, 0] as const)).answer
    assert.deepEqual(rows, { 0: KAFKA_STORAGE_ERROR.code, 1: KAFKA_STORAGE_ERROR.code, 2: [], 3: [], 4: to(0, 10) })
    assert.equal(archive.asked, 2)
    archive.full = 'no'
    const asked = ask([
      [0, 0],
      [1, 0],
    ])
    await clock.settle()
    archive.full = full
    archive.started[0]!.finish()
    assert.deepEqual((await asked.answer).rows, { 0: to(0, 6), 1: [] })
  })
}

test('what the archive has in memory is served at once, and does not count as a read', async t => {
  const { chill, ask, archive, clock } = await openColdFetches(t, {
    overrides: { 'storage.remote.iceberg.read.threads': 1 },
  })
  for (const index of to(0, 4)) chill(index, 6)
  for (const index of to(0, 3)) {
    const asked = ask([[index, 0]])
    await clock.settle()
    archive.started[index]!.finish()
    await asked.answer
  }
  const { rows } = await ask(to(0, 4).map(index => [index, 0] as const)).answer
  assert.deepEqual(rows, { 0: to(0, 6), 1: to(0, 6), 2: to(0, 6), 3: [] })
})

test('an error of the archive is the answer of its row', async t => {
  const { chill, ask, archive, clock } = await openColdFetches(t)
  chill(0, 6)
  chill(1, 6)
  const asked = ask([
    [0, 0],
    [1, 0],
  ])
  await clock.advance(100)
  archive.started[0]!.settle(KAFKA_STORAGE_ERROR)
  assert.deepEqual((await asked.answer).rows, { 0: KAFKA_STORAGE_ERROR.code, 1: [] })
})

test('a read that fails because of a defect is UNKNOWN_SERVER_ERROR in its row and a line of the log, even after the fetch', async t => {
  const { chill, ask, archive, clock, lines } = await openColdFetches(t)
  chill(0, 6)
  const asked = ask([[0, 0]])
  await clock.settle()
  archive.started[0]!.fail(new Error('a broken promise'))
  assert.deepEqual((await asked.answer).rows, { 0: UNKNOWN_SERVER_ERROR.code })
  assert.match(lines.join(''), /ERROR.*a read of the archive failed.*a broken promise/s)
  const late = ask([[0, 0]])
  await clock.advance(LIMIT_MS)
  await late.answer
  await clock.advance(10_000)
  archive.started[1]!.fail(new Error('a late one'))
  await clock.settle()
  assert.match(lines.join(''), /a late one/)
})

test('a fetch that waits for the archive holds no memory, and its answer holds what its records need until it is sent', async t => {
  const { chill, ask, archive, clock, granted, client } = await openColdFetches(t, { batches: 4 })
  for (const index of to(0, 4)) chill(index, 4)
  const waiting = to(0, 4).map(index => ask([[index, 0]], { from: client() }))
  await clock.settle()
  assert.equal(await granted(), 0)
  for (const read of archive.started) read.finish()
  for (const [index, { answer }] of waiting.entries()) assert.deepEqual((await answer).rows, { [index]: to(0, 4) })
  const bytes = await granted()
  assert.ok(bytes > 0 && bytes < 4_000, `${bytes}`)
  assert.equal(archive.released, 0)
  for (const each of waiting) each.sent()
  assert.deepEqual([await granted(), archive.released], [0, 4])
})

test('results that an answer has no room for are cut, or given back and found by the next fetch', async t => {
  const { chill, ask, archive, clock } = await openColdFetches(t)
  chill(0, 6)
  chill(1, 6)
  const rows = [
    [0, 0],
    [1, 0],
  ] as const
  const asked = ask(rows, { maxBytes: 200 })
  await clock.settle()
  for (const read of archive.started) read.finish()
  const found = (await asked.answer).rows
  assert.deepEqual([found[0], found[1]], [[0, 1], []])
  asked.sent()
  assert.equal(archive.released, 2, 'each result is given back once')
  const small = ask(rows, { maxBytes: 1 })
  assert.deepEqual((await small.answer).rows, { 0: [0], 1: [] })
})

test('the results of a fetch whose client has gone are given back, and its read goes on', async t => {
  const { chill, ask, archive, clock, client, granted } = await openColdFetches(t)
  chill(0, 6)
  const from = client()
  const asked = ask([[0, 0]], { from })
  await clock.settle()
  from.closing.abort()
  assert.deepEqual((await asked.answer).rows, { 0: [] })
  archive.started[0]!.finish()
  await clock.settle()
  assert.deepEqual([archive.released, await granted()], [1, 0])
  assert.deepEqual((await ask([[0, 0]]).answer).rows, { 0: to(0, 6) })
})

test('the next request of a session ends a fetch that waits for the archive, and shares its read', async t => {
  const { chill, ask, archive, clock } = await openColdFetches(t)
  chill(0, 6)
  const opening = ask([[0, 0]], { sessionEpoch: 0 })
  await clock.advance(LIMIT_MS)
  const { sessionId } = await opening.answer
  const first = ask([], { sessionId, sessionEpoch: 1 })
  await clock.settle()
  const second = ask([], { sessionId, sessionEpoch: 2 })
  assert.deepEqual((await first.answer).rows, { [-1]: INVALID_FETCH_SESSION_EPOCH.code })
  assert.equal(second.isAnswered, false)
  archive.started[0]!.finish()
  assert.deepEqual((await second.answer).rows, { 0: to(0, 6) })
  assert.equal(archive.started.length, 1)
})

test('a session names a cold partition again when its records come, and not while it is empty', async t => {
  const { chill, ask, archive, clock } = await openColdFetches(t)
  chill(0, 6)
  const opening = ask([[0, 0]], { sessionEpoch: 0 })
  await clock.advance(LIMIT_MS)
  const { sessionId, rows } = await opening.answer
  assert.deepEqual(rows, { 0: [] })
  const empty = ask([], { sessionId, sessionEpoch: 1 })
  await clock.advance(LIMIT_MS)
  assert.deepEqual((await empty.answer).rows, {})
  const full = ask([], { sessionId, sessionEpoch: 2 })
  archive.started[0]!.finish()
  assert.deepEqual((await full.answer).rows, { 0: to(0, 6) })
})

test('records from the archive are answered without waiting for minBytes', async t => {
  const { chill, ask, archive, clock } = await openColdFetches(t)
  chill(0, 6)
  const asked = ask([[0, 0]], { minBytes: 1_000_000, maxWaitMs: 500 })
  await clock.settle()
  archive.started[0]!.finish()
  assert.deepEqual((await asked.answer).rows, { 0: to(0, 6) })
})

test('a log start that passes the offset while the archive is read is OFFSET_OUT_OF_RANGE', async t => {
  const { chill, ask, clock, partition } = await openColdFetches(t)
  chill(0, 6)
  const asked = ask([
    [0, 0],
    [1, 10],
  ])
  await clock.settle()
  await partition('t', 0).deleteRecords(8)
  await partition('t', 1).append(batchOf(1), 0)
  assert.deepEqual((await asked.answer).rows, { 0: OFFSET_OUT_OF_RANGE.code, 1: [10] })
})

test('a read of the store that retention overtakes is a read of the archive from the limit on', async t => {
  const { chill, ask, clock, partition, store } = await openColdFetches(t, {
    overrides: { 'storage.local.tail-cache-bytes': 0 },
  })
  Object.defineProperty(partition('t', 0), 'isRemote', { value: true })
  const go = store.faults.hold('read')
  const asked = ask([[0, 0]])
  await clock.advance(1_000)
  chill(0, 6)
  await clock.advance(LIMIT_MS - 1_001)
  assert.equal(asked.isAnswered, false)
  await clock.advance(1)
  assert.deepEqual((await asked.answer).rows, { 0: [] })
  go()
})

test('a slow read of the store is waited for as long as ever, with remote storage too', async t => {
  const { ask, clock, partition, store } = await openColdFetches(t, {
    overrides: { 'storage.local.tail-cache-bytes': 0 },
  })
  Object.defineProperty(partition('t', 0), 'isRemote', { value: true })
  const go = store.faults.hold('read')
  const asked = ask([[0, 0]])
  await clock.advance(LIMIT_MS + 1_000)
  assert.equal(asked.isAnswered, false)
  go()
  assert.deepEqual((await asked.answer).rows, { 0: to(0, 10) })
})

test('a result of a topic that was made again meanwhile is not served, and is given back', async () => {
  let released = 0
  const reads = new ArchiveReads({ most: 4, failed: () => UNKNOWN_SERVER_ERROR })
  const offsets = { highWatermark: 10, lastStableOffset: 10, logStartOffset: 0 }
  const result: ReadResult = { kind: 'read', batches: [], bytes: 0, ...offsets, release: () => void released++ }
  const row = { partition: {} } as FetchRow
  const begin = () => {
    const { promise, resolve } = Promise.withResolvers<ReadResult>()
    reads.start(row, promise)
    return async () => {
      resolve(result)
      await promise
    }
  }
  const endFirst = begin()
  assert.equal(reads.resultOf(row), null)
  row.partition = {} as Partition
  assert.equal(reads.resultOf(row), undefined)
  const endSecond = begin()
  await endFirst()
  assert.deepEqual([released, reads.resultOf(row), reads.isPending], [1, null, true])
  await endSecond()
  assert.equal(reads.resultOf(row), result)
  begin()
  assert.deepEqual([released, reads.resultOf(row)], [2, null])
})
