import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { encodeBatch, stamp } from '../src/protocol/records.ts'
import { exampleAppend, expectKind } from '../src/store/conformance.ts'
import { keysOf } from '../src/store/redis/keys.ts'
import type { Batch } from '../src/store/store.ts'
import { type RedisServer, noRedis as skip, startRedis } from './redis.ts'
import { auditRedis } from './redis-audit.ts'
import { openTestStore } from './redis-store.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const { batches, meta } = keysOf('svc').stream(A)
const RECORDS = 5

function batchAt(baseOffset: number, baseSequence: number): Batch {
  const records = Array.from({ length: RECORDS }, (_, at) => ({ value: `record ${at}`, timestamp: 1 }))
  const bytes = encodeBatch(records, { producerId: 7, producerEpoch: 0, baseSequence })
  stamp(bytes, baseOffset, 1)
  return { baseOffset, nextOffset: baseOffset + RECORDS, recordCount: RECORDS, maxTimestamp: 1, bytes }
}

let redis: RedisServer
before(async t => {
  if (skip === false) redis = await startRedis(t as never)
})

const problems = async () => (await auditRedis([redis])).problems

/**
 * Appends four batches, entries 1-1 to 1-16, with the store, then applies the damage. Returns the problems that the
 * audit finds.
 */
async function damaged(damage: () => Promise<unknown>): Promise<string> {
  await redis.ask('FLUSHALL')
  const ends: (() => Promise<void>)[] = []
  const { store } = await openTestStore({ after: end => void ends.push(end) }, { 'redis.uri': redis.uri })
  await store.create([A])
  expectKind(await store.open(A, 0, 0), 'opened')
  for (let at = 0; at < 4; at++) {
    const batch = batchAt(at * RECORDS, at * RECORDS)
    expectKind(await store.append(exampleAppend(A, 1, at * RECORDS, [batch])), 'appended')
  }
  for (const end of ends.reverse()) await end()
  assert.deepEqual(await problems(), [])
  const { streams } = await auditRedis([redis])
  assert.deepEqual(streams.get(A), { epoch: 1, start: 0, end: 20, covered: [[0, 20]], entries: 4 })
  await damage()
  return (await problems()).join('; ')
}

test('the audit names stray keys, unlisted streams and streams without meta', { skip }, async () => {
  assert.match(await damaged(() => redis.ask('SET', 'stray', '1')), /^stray belongs to no stream or document$/)
  assert.match(await damaged(() => redis.ask('SREM', 'svc:streams', A)), /has keys and is not listed/)
  assert.match(await damaged(() => redis.ask('DEL', meta)), /is listed and has no meta/)
})

test('the audit names entries that are missing, and a hole that no epoch explains', { skip }, async () => {
  const hole = await damaged(() => redis.ask('XDEL', batches, '1-6'))
  assert.match(hole, /nothing stands from 5 to 10, and no epoch began there/)
  assert.match(hole, /it has 3 entries and should have 4/)
  assert.match(hole, /producer 7 of epoch 0 continues at 10 and not at 5/)
  assert.match(await damaged(() => redis.ask('XDEL', batches, '1-16')), /its newest entry is 1-11 and should be 1-16/)
  assert.match(await damaged(() => redis.ask('XDEL', batches, '1-1')), /it starts at 0 and its first entry at 5/)
  assert.match(await damaged(() => redis.ask('HSET', meta, 'sealed', '25 25 4 1-16')), /end at 20 and it at 25/)
})

test('the audit names an entry above the newest sealed one, and offsets that are taken twice', { skip }, async () => {
  assert.match(
    await damaged(() => redis.ask('HSET', meta, 'sealed', '20 20 4 1-11')),
    /entry 1-16 lies above the newest sealed/,
  )
  const twice = await damaged(() => redis.ask('XADD', batches, '1-18', 'h', 'x', 'b', 'y'))
  assert.match(twice, /entry 1-18 begins at 17, where offsets up to 20 are taken/)
  assert.match(twice, /it is not in the form of this version/)
})

test('the audit names a meta hash that contradicts itself', { skip }, async () => {
  assert.match(
    await damaged(() => redis.ask('HSET', meta, 'sealed', '20 21 4 1-16')),
    /start 0, visible 21 and end 20 do not rise/,
  )
  assert.match(await damaged(() => redis.ask('HSET', meta, 'epochs', '2:0 1:5')), /epoch 1 from 5 follows 2 from 0/)
  assert.match(
    await damaged(() => redis.ask('HSET', meta, 'sealed', '20 20 5 1-16')),
    /it has 4 entries and should have 5/,
  )
})
