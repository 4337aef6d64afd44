import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { encodeBatch, stamp } from '../src/protocol/records.ts'
import { exampleAppend, expectKind } from '../src/store/examples.ts'
import { keysOf } from '../src/store/redis/keys.ts'
import type { Batch, Rewrite } from '../src/store/store.ts'
import { type RedisServer, noRedis as skip, startRedis } from './redis.ts'
import { auditRedis } from './redis-audit.ts'
import { openTestStore } from './redis-store.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const { batches, meta, cleaned } = keysOf('svc').stream(A)
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
 * Appends four batches, entries 1-1 to 1-16, with the store, makes the rewrites, then applies the damage. Returns the
 * problems that the audit finds.
 */
async function damaged(damage: () => Promise<unknown>, rewrites: readonly Partial<Rewrite>[] = []): Promise<string> {
  await redis.ask('FLUSHALL')
  const ends: (() => Promise<void>)[] = []
  const { store } = await openTestStore({ after: end => void ends.push(end) }, { 'redis.uri': redis.uri })
  await store.create([A])
  expectKind(await store.open(A, 0, 0), 'opened')
  for (let at = 0; at < 4; at++) {
    const batch = batchAt(at * RECORDS, at * RECORDS)
    expectKind(await store.append(exampleAppend(A, 1, at * RECORDS, [batch])), 'appended')
  }
  for (const rewrite of rewrites) {
    const whole = { stream: A, epoch: 1, from: 0, to: 5, batches: [], rows: [], ...rewrite }
    expectKind(await store.rewrite(whole), 'rewritten')
  }
  for (const end of ends.reverse()) await end()
  assert.deepEqual(await problems(), [])
  const { streams } = await auditRedis([redis])
  if (rewrites.length === 0)
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

/** A whole pass that keeps the second and the last batch, and a pass that has come to 10. */
const REWRITES: readonly Partial<Rewrite>[] = [
  { to: 15, batches: [batchAt(5, 5)] },
  { from: 15, to: 20, batches: [batchAt(15, 15)] },
  { from: 0, to: 10, batches: [batchAt(5, 5)] },
]

test('the audit knows the streams of rewritten entries', { skip }, async () => {
  assert.equal(await damaged(async () => {}, REWRITES), '')
  const { streams } = await auditRedis([redis])
  assert.deepEqual(streams.get(A), {
    epoch: 1,
    start: 0,
    end: 20,
    covered: [
      [5, 10],
      [15, 20],
    ],
    entries: 2,
  })
  assert.match(
    await damaged(() => redis.ask('XADD', cleaned[0], '1-1', 'h', 'x')),
    /cleaned0 exists, and the partition/,
  )
})

test('the audit names what is wrong in the streams of rewritten entries', { skip }, async () => {
  const found = (...command: string[]) => damaged(() => redis.ask(...command), REWRITES)
  assert.match(await found('DEL', cleaned[0]), /cleaned0 is missing.*cleaned0: it has 0 entries and should have 1/)
  assert.match(await found('XDEL', cleaned[0], '1-6'), /cleaned0: it has 0 entries and should have 1/)
  assert.match(await found('XDEL', cleaned[1], '1-16'), /its entries end at 10 and it at 20/)
  assert.match(await found('XADD', cleaned[0], '1-9', 'h', 'x', 'b', 'y'), /1-9 lies above the newest sealed one, 1-6/)
  assert.match(await found('XADD', batches, '1-30', 'h', 'x', 'b', 'y'), /it has 1 entries and should have 0/)
  const whole = REWRITES.slice(0, 2)
  const stray = await damaged(() => redis.ask('XADD', cleaned[0], '1-9', 'h', 'x', 'b', 'y'), whole)
  assert.match(stray, /cleaned0 has 1 entries that no pass needs/)
  const unfinished = await damaged(async () => {
    const text = String(await redis.ask('HGET', meta, 'cleaned'))
    await redis.ask('HSET', meta, 'cleaned', text.replace(' 1 ', ' 0 '))
  }, REWRITES)
  assert.match(unfinished, /the entries below 10 that were rewritten are not deleted/)
  const bytes = await damaged(() => redis.ask('HSET', meta, 'sizes', '1000 0 1 0 0'), REWRITES)
  assert.match(bytes, /its batches have \d+ bytes and should have \d+/)
})
