// The cleaner of a whole broker on the embedded store, in its thread, with the raw client: produced twice over,
// cleaned, consumed.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startCleaningBroker } from '../../../testing/cleaning.ts'
import { fetchOne } from '../../../testing/kafka.ts'
import { createTopic } from '../../../testing/topic.ts'
import type { Wire } from '../../../testing/wire.ts'
import { systemClock } from '../../base/clock.ts'
import type { Codec } from '../../protocol/compression.ts'
import { INVALID_RECORD } from '../../protocol/errors.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { type DecodedRecord, encodeBatch, type NewRecord, readRecords, splitBatches } from '../../protocol/records.ts'
import { openEmbeddedStore } from '../../store/embedded/embedded-store.ts'
import { type Store, StoreUnavailable } from '../../store/store.ts'
import { CleanerThread } from './cleaner-thread.ts'

const COMPACTED = { 'cleanup.policy': 'compact', 'max.message.bytes': '20000000' }
const KEYS = 300

async function send(wire: Wire, records: readonly NewRecord[], compression: Codec = 'none') {
  const batch = encodeBatch(records, { compression })
  const topicData = [{ name: 't', partitionData: [{ index: 0, records: batch }] }]
  const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 30_000, topicData })
  return responses[0]!.partitionResponses[0]!
}

/** Reads everything as a consumer does. Asserts that the offsets rise. */
async function consume(wire: Wire): Promise<DecodedRecord[]> {
  const all: DecodedRecord[] = []
  for (let next = 0; ; ) {
    const row = await fetchOne(wire, next, { maxWaitMs: 0 })
    assert.equal(row.errorCode, 0)
    const batches = splitBatches(row.records ?? Buffer.alloc(0))
    if (batches.length === 0) return all
    for (const batch of batches) {
      for (const record of await readRecords(batch.bytes)) {
        if (record.offset < next) continue
        assert.ok(record.offset > (all.at(-1)?.offset ?? -1))
        all.push(record)
      }
      next = batch.lastOffset + 1
    }
  }
}

const headersOf = (i: number) => [
  { key: 'trace', value: `trace-${i}` },
  { key: 'none', value: null },
]

/** Produces KEYS keys `rounds` times, ten records to a batch. Returns the expected newest records by key. */
async function produceRounds(wire: Wire, rounds: number, compression: Codec): Promise<Map<string, string>> {
  const newest = new Map<string, string>()
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < KEYS; i += 10) {
      const records = Array.from({ length: 10 }, (_, n) => {
        const value = `${round} ${compression} ${'lorem ipsum '.repeat(20)}${i + n}`
        newest.set(`key-${i + n}`, value)
        return { key: `key-${i + n}`, value, timestamp: 1_000 * round + i + n, headers: headersOf(i + n) }
      })
      assert.equal((await send(wire, records, compression)).errorCode, 0)
    }
  }
  return newest
}

function assertNewest(records: readonly DecodedRecord[], newest: ReadonlyMap<string, string>, isClean: boolean): void {
  const found = new Map(records.map(each => [String(each.key), each]))
  if (isClean) assert.equal(records.length, newest.size)
  for (const [key, value] of newest) {
    const record = found.get(key)
    assert.equal(String(record?.value), value)
    const expected = headersOf(Number(key.slice('key-'.length)))
    assert.deepEqual(
      record!.headers.map(header => ({ key: header.key, value: header.value === null ? null : String(header.value) })),
      expected,
    )
  }
}

for (const [compression, storage] of [
  ['none', 'none'],
  ['gzip', 'none'],
  ['snappy', 'none'],
  ['lz4', 'none'],
  ['zstd', 'none'],
  ['none', 'zstd'],
  ['none', 'lz4'],
] as const) {
  test(`produced three times over, cleaned and consumed: ${compression}, storage.compression.type ${storage}`, async t => {
    const broker = await startCleaningBroker(t)
    await createTopic(broker, 't', 1, { ...COMPACTED, 'storage.compression.type': storage })
    const wire = await broker.connect()
    const newest = await produceRounds(wire, 3, compression)
    assertNewest(await consume(wire), newest, false)
    const [report] = await broker.clean('t')
    assert.deepEqual([report?.outcome, report?.recordsKept, report?.recordsDropped], ['done', KEYS, 2 * KEYS])
    const left = await consume(wire)
    assertNewest(left, newest, true)
    assert.equal(left[0]!.offset, 2 * KEYS)
    // A second history on top, cleaned again.
    const again = await produceRounds(wire, 1, compression)
    await broker.clean('t')
    assertNewest(await consume(wire), again, true)
  })
}

test('a cleaned log is the same after a restart', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'ketch-clean-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const first = await startCleaningBroker(t, {}, { dir })
  await createTopic(first, 't', 1, COMPACTED)
  const wire = await first.connect()
  const newest = await produceRounds(wire, 5, 'none')
  await first.clean('t')
  const before = await consume(wire)
  assertNewest(before, newest, true)
  await wire.close()
  await first.broker.close()
  const second = await startCleaningBroker(t, {}, { dir })
  assert.deepEqual(await consume(await second.connect()), before)
})

test('a pass that ended between two pieces is finished after a restart of the embedded store', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'ketch-clean-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  let pieces = 0
  const open = async () =>
    await openEmbeddedStore({
      path: dir,
      fsync: 'always',
      fsyncIntervalMs: 0,
      clock: systemClock,
      report: message => t.diagnostic(message),
    })
  const cut = async () => {
    const store = await open()
    const rewrite: Store['rewrite'] = piece => {
      if (pieces++ >= 2) throw new StoreUnavailable('the third piece does not reach the disk')
      return store.rewrite(piece)
    }
    return { ...store, rewrite }
  }
  const first = await startCleaningBroker(t, {}, { dir, openStore: cut })
  await createTopic(first, 't', 1, COMPACTED)
  const wire = await first.connect()
  for (let i = 0; i < 20; i++) {
    const value = `${i}`.padEnd(300_000, '.')
    assert.equal((await send(wire, [{ key: `k${i % 10}`, value }])).errorCode, 0)
  }
  assert.equal((await first.clean('t'))[0]?.outcome, 'waits')
  assert.equal(pieces, 3)
  await wire.close()
  await first.broker.close()
  const second = await startCleaningBroker(t, {}, { dir, openStore: open })
  const again = await second.connect()
  assert.equal((await send(again, [{ key: 'k0', value: 'last' }])).errorCode, 0)
  const [report] = await second.clean('t')
  assert.deepEqual([report?.outcome, report?.passes], ['done', 2])
  assert.deepEqual(
    (await consume(again)).map(({ offset, key }) => `${offset} ${key}`),
    [...Array.from({ length: 9 }, (_, i) => `${11 + i} k${1 + i}`), '20 k0'],
  )
})

test('a batch of ten megabytes is cleaned as one piece', async t => {
  const broker = await startCleaningBroker(t)
  await createTopic(broker, 't', 1, COMPACTED)
  const wire = await broker.connect()
  const records = Array.from({ length: 100 }, (_, i) => ({ key: `k${i % 50}`, value: String(i).padEnd(100_000, '.') }))
  for (const compression of ['none', 'lz4'] as const)
    assert.equal((await send(wire, records, compression)).errorCode, 0)
  const [report] = await broker.clean('t')
  assert.deepEqual([report?.outcome, report?.recordsKept, report?.recordsDropped], ['done', 50, 150])
  assert.deepEqual(
    (await consume(wire)).map(({ offset, value }) => `${offset} ${String(value).split('.')[0]}`),
    Array.from({ length: 50 }, (_, i) => `${150 + i} ${50 + i}`),
  )
})

test('readers beside a cleaning see rising offsets and never an error', async t => {
  const broker = await startCleaningBroker(t)
  await createTopic(broker, 't', 1, COMPACTED)
  const wire = await broker.connect()
  const newest = await produceRounds(wire, 20, 'none')
  const reader = await broker.connect()
  let isCleaning = true
  const cleaning = broker.clean('t').finally(() => {
    isCleaning = false
  })
  let rounds = 0
  for (; isCleaning || rounds < 2; rounds++) assertNewest(await consume(reader), newest, false)
  await cleaning
  assertNewest(await consume(reader), newest, true)
  t.diagnostic(`${rounds} rounds beside the cleaning`)
})

test('Produce answers which record has no key', async t => {
  const broker = await startCleaningBroker(t)
  await createTopic(broker, 't', 1, COMPACTED)
  const wire = await broker.connect()
  const refused = await send(wire, [{ key: 'a', value: '1' }, { value: '2' }], 'lz4')
  assert.equal(refused.errorCode, INVALID_RECORD.code)
  assert.deepEqual(refused.recordErrors, [
    {
      batchIndex: 1,
      batchIndexErrorMessage: 'Compacted topic cannot accept message without key in topic partition t-0.',
    },
  ])
  assert.match(refused.errorMessage ?? '', /1 of 2 records have no key/)
  assert.deepEqual(await consume(wire), [])
})

test('a broker without compacted topics has no thread, and the thread ends when it is idle or stopped', async () => {
  const timers: (() => void)[] = []
  const clock = {
    ...systemClock,
    timer(_delayMs: number, fn: () => void) {
      timers.push(fn)
      return { cancel: () => {} }
    },
  }
  const thread = new CleanerThread(clock)
  assert.equal(thread.isRunning, false)
  await thread.begin(1_000, 0)
  assert.equal(thread.isRunning, true)
  const batch = encodeBatch([
    { key: 'a', value: '1' },
    { key: 'a', value: '2' },
  ])
  assert.deepEqual(await thread.map([batch], 0, 10), { kind: 'mapped', fullAt: null })
  const terms = { mapTo: 10, nowMs: 0, deleteRetentionMs: 0, newestFrom: 100 }
  const cleaned = await thread.clean([batch], terms)
  assert.ok(cleaned.kind === 'cleaned')
  assert.deepEqual([cleaned.batches[0]!.kept, cleaned.batches[0]!.dropped], [1, 1])
  const broken = Buffer.from(batch)
  broken[broken.length - 1]! ^= 1
  assert.deepEqual(await thread.map([broken], 0, 10), { kind: 'unreadable', offset: 0, why: 'it fails its checksum' })
  await thread.end()
  timers.at(-1)!()
  assert.equal(thread.isRunning, false)
  // A call in progress fails when the thread ends.
  await thread.begin(1_000, 0)
  const many = encodeBatch(Array.from({ length: 100_000 }, (_, i) => ({ key: `key-${i}`, value: '1' })))
  const pending = thread.map(new Array(20).fill(many), 0, 1e6)
  await Promise.all([assert.rejects(pending, /ended with status/), thread.stop()])
})
