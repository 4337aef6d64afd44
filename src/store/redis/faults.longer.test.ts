// Tests streams and documents with faults of Redis, its operator and the network, against real servers. The names H1
// to H33 are the problems that docs/decisions/0025 lists; each test names the one that it covers.

import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { CleanUp } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { startForgetfulRedis } from '../../../testing/forgetful-redis.ts'
import { startProxy } from '../../../testing/proxy.ts'
import { type RedisServer, noRedis as skip, startRedis, startReplicated } from '../../../testing/redis.ts'
import { openTestStore, type TestStore } from '../../../testing/redis-store.ts'
import type { Values } from '../../settings/settings.ts'
import { exampleAppend, exampleBatch, expectKind } from '../examples.ts'
import { StoreOpenError } from '../open-error.ts'
import { type Append, type Opened, OutcomeUnknown, type Read, type Store, StoreUnavailable } from '../store.ts'
import { fcall } from './functions.ts'
import { keysOf } from './keys.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const B = 'AAAAAAAAAAAAAAAAAAAAAQ:1'
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }
const KEYS = keysOf('svc').stream(A)

function at(server: RedisServer, more: Partial<Values> = {}): Partial<Values> {
  return { 'redis.uri': server.uri, ...more }
}

async function led(store: Store, stream = A): Promise<Opened> {
  await store.create([stream])
  return expectKind(await store.open(stream, 0, 0), 'opened')
}

async function reopened(store: Store, known: number, floor = 0): Promise<Opened> {
  return expectKind(await store.open(A, known, floor), 'opened')
}

async function offsetsOf(store: Store, from = 0): Promise<number[]> {
  const read: Read = expectKind(await store.read(A, from, EVERYTHING), 'read')
  return read.batches.map(({ baseOffset }) => baseOffset)
}

async function appended(store: Store, append: Append): Promise<number> {
  return expectKind(await store.append(append), 'appended').end
}

interface Standing extends TestStore {
  readonly redis: RedisServer
}

async function standing(t: TestContext, more: Partial<Values> = {}): Promise<Standing> {
  const redis = await startRedis(t as CleanUp)
  return { redis, ...(await openTestStore(t as CleanUp, at(redis, more))) }
}

test('an append above the end is refused and leaves no entry, and the next append succeeds', { skip }, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  await appended(store, exampleAppend(A, 1, 0, [exampleBatch(0, 10)]))
  assert.deepEqual(await store.append(exampleAppend(A, 1, 500)), { kind: 'misplaced', end: 10 })
  assert.deepEqual(await store.append(exampleAppend(A, 1, 5)), { kind: 'misplaced', end: 10 })
  assert.equal(await redis.ask('XLEN', KEYS.batches), 1)
  assert.equal(await appended(store, exampleAppend(A, 1, 10)), 11)
  assert.deepEqual(await offsetsOf(store), [0, 10])
})

test('eight writers that jump, fall behind and take the lead from each other leave one log', { skip }, async t => {
  const { redis, store: first } = await standing(t)
  await first.create([A])
  const stores = [first]
  for (let i = 1; i < 4; i++) stores.push((await openTestStore(t as CleanUp, at(redis))).store)
  const acknowledged = new Map<number, string>()
  const write = async (store: Store, seed: number) => {
    let { epoch, end } = await reopened(store, 0)
    for (let i = 0; i < 60; i++) {
      const chance = (i * 7 + seed * 13) % 10
      const place = chance === 0 ? end + 40 : chance === 1 ? Math.max(0, end - 3) : end
      const append = exampleAppend(A, epoch, place, [exampleBatch(place, 3, 80, epoch), exampleBatch(place + 3, 2, 80)])
      const outcome = await store.append(append).catch(error => {
        assert(error instanceof OutcomeUnknown)
        return null
      })
      if (outcome?.kind === 'appended') {
        for (const batch of append.batches) {
          assert(!acknowledged.has(batch.baseOffset), `${batch.baseOffset} was given twice`)
          acknowledged.set(batch.baseOffset, Buffer.from(batch.bytes).toString('hex'))
        }
        end = outcome.end
      } else if (outcome?.kind === 'misplaced') end = outcome.end
      else ({ epoch, end } = await reopened(store, 0))
    }
  }
  await Promise.all([...stores, ...stores].map((store, seed) => write(store, seed)))
  await reopened(first, 0)
  const { batches } = expectKind(await first.read(A, 0, EVERYTHING), 'read')
  assert.deepEqual(
    batches.map(({ baseOffset, bytes }) => [baseOffset, Buffer.from(bytes).toString('hex')]),
    [...acknowledged].sort(([one], [other]) => one - other),
  )
  let end = 0
  for (const batch of batches) {
    assert.equal(batch.baseOffset, end)
    end = batch.nextOffset
  }
})

test('an append in flight at an end that the store has lost is refused after the end is raised', {
  skip,
}, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  await appended(store, exampleAppend(A, 1, 0))
  await redis.ask(...fcall('raise', [KEYS.meta], [5, 'another process', 0]).map(String))
  assert.deepEqual(await store.append(exampleAppend(A, 1, 5)), { kind: 'misplaced', end: 1 })
  assert.deepEqual(await store.append(exampleAppend(A, 1, 1)), { kind: 'misplaced', end: 1 })
  const opened = await reopened(store, 1)
  assert.deepEqual([opened.end, opened.epochs.at(-1)], [5, { epoch: 2, startOffset: 5 }])
  await appended(store, exampleAppend(A, 2, 5))
  assert.deepEqual(await offsetsOf(store), [0, 5])
})

test('if the sealed state has changed without its leader, one append is refused and the next one succeeds', {
  skip,
}, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  for (const at of [0, 1, 2]) await appended(store, exampleAppend(A, 1, at))
  const { store: other } = await openTestStore(t as CleanUp, at(redis))
  assert.equal((await other.trim(A, 1, 2, [])).kind, 'trimmed')
  assert.deepEqual(await store.append(exampleAppend(A, 1, 3)), { kind: 'misplaced', end: 3 })
  assert.equal(await redis.ask('XLEN', KEYS.batches), 1)
  await appended(store, exampleAppend(A, 1, 3))
  assert.deepEqual([await offsetsOf(store, 2), (await store.usage([A]))[0]?.entries], [[2, 3], 2])
})

test('a damaged meta hash is named in the error, and only calls on its stream are refused', { skip }, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  await led(store, B)
  await appended(store, exampleAppend(A, 1, 0))
  const { store: other } = await openTestStore(t as CleanUp, at(redis))
  for (const break_ of [
    ['HDEL', KEYS.meta, 'sealed'],
    ['HSET', KEYS.meta, 'sealed', 'x'],
  ]) {
    await redis.ask(...break_)
    const refused = { name: 'StoreUnavailable', message: /the field sealed is/ }
    await assert.rejects(store.append(exampleAppend(A, 1, 1)), refused)
    await assert.rejects(other.open(A, 1, 0), refused)
    await assert.rejects(other.read(A, 0, EVERYTHING), refused)
  }
  await appended(store, exampleAppend(B, 1, 0))
})

test('an append whose answer is lost is unknown, and open shows that it happened exactly once', { skip }, async t => {
  const redis = await startRedis(t as CleanUp)
  const proxy = await startProxy({ target: redis })
  t.after(() => proxy.close())
  const { store } = await openTestStore(t as CleanUp, { 'redis.host': '127.0.0.1', 'redis.port': proxy.port })
  await led(store)
  const append = exampleAppend(A, 1, 0)
  proxy.swallowNextReply()
  await assert.rejects(store.append(append), OutcomeUnknown)
  let opened: Opened | null = null
  await eventually('the store can be asked again', async () => {
    opened = await reopened(store, 1).catch(() => null)
    return opened !== null
  })
  assert.deepEqual([opened!.lastAttempt, opened!.end], [append.attempt, 1])
  assert.deepEqual(await offsetsOf(store), [0])
})

test('the appends of one turn share one WAIT, which blocks until the replicas have them', { skip }, async t => {
  const { primary } = await startReplicated(t as CleanUp, { replicas: 1 })
  const values = at(primary, { 'storage.local.write.wait-replicas': 1, 'storage.local.write.connections': 1 })
  const { store } = await openTestStore(t as CleanUp, values)
  const streams = Array.from({ length: 20 }, (_, i) => `AAAAAAAAAAAAAAAAAAAAAQ:${i}`)
  await store.create(streams)
  for (const stream of streams) await store.open(stream, 0, 0)
  await primary.ask('CONFIG', 'RESETSTAT')
  const outcomes = await Promise.all(streams.map(stream => store.append(exampleAppend(stream, 1, 0))))
  for (const outcome of outcomes) assert.equal(expectKind(outcome, 'appended').highWatermark, 1)
  const stats = String(await primary.ask('INFO', 'commandstats'))
  assert.match(stats, /cmdstat_exec:calls=20,/)
  assert.match(stats, /cmdstat_wait:calls=1,/)
})

test('no broker acknowledges or shows data that no replica has', { skip }, async t => {
  const { primary, replicas } = await startReplicated(t as CleanUp, { replicas: 1 })
  const [replica] = replicas as [RedisServer]
  const values = at(primary, { 'storage.local.write.wait-replicas': 1 })
  const { store: patient } = await openTestStore(t as CleanUp, values)
  await patient.create([A])
  const { version } = expectKind(await patient.commit({ kind: 'k', name: 'n', expect: 0, changes: [] }), 'committed')
  // A WAIT that fails takes this long. On a busy machine a replica may not answer in this time.
  const brisk = { ...values, 'storage.local.write.wait-timeout': 500 }
  const { store } = await openTestStore(t as CleanUp, brisk)
  const { store: other } = await openTestStore(t as CleanUp, brisk)
  expectKind(await store.open(A, 0, 0), 'opened')
  expectKind(await store.append(exampleAppend(A, 1, 0)), 'appended')
  await eventually('the first one is confirmed', async () => {
    return expectKind(await store.confirm(A, 1), 'confirmed').highWatermark === 1
  })
  replica.pause()
  assert.deepEqual(await store.append(exampleAppend(A, 1, 1)), { kind: 'appended', end: 2, highWatermark: 1 })
  assert.deepEqual(await store.confirm(A, 1), { kind: 'confirmed', highWatermark: 1 })
  assert.deepEqual([await offsetsOf(store), await offsetsOf(other)], [[0], [0]])
  await assert.rejects(store.commit({ kind: 'k', name: 'n', expect: version, changes: [] }), OutcomeUnknown)
  await assert.rejects(other.load('k', 'n'), StoreUnavailable)
  const unconfirmed = await reopened(other, 1)
  assert.deepEqual([unconfirmed.end, unconfirmed.highWatermark], [2, 1])
  replica.resume()
  await eventually('it is confirmed', async () => {
    return expectKind(await other.confirm(A, 2), 'confirmed').highWatermark === 2
  })
  assert.deepEqual(await offsetsOf(other), [0, 1])
  assert.equal((await other.load('k', 'n'))?.version, version + 1)
})

test('an append to a stream that was removed is gone, and makes no key again', { skip }, async t => {
  const { redis, store } = await standing(t)
  const { store: remover } = await openTestStore(t as CleanUp, at(redis))
  await led(store)
  await remover.remove([A])
  assert.deepEqual(await store.append(exampleAppend(A, 1, 0, undefined, [{ key: 'p', value: Buffer.of(1) }])), {
    kind: 'gone',
  })
  assert.deepEqual(await redis.ask('KEYS', '*stream:*'), [])
})

test('a read that retention overtakes returns the log start, and never skips offsets', { skip }, async t => {
  const { redis, store } = await standing(t)
  const { store: reader } = await openTestStore(t as CleanUp, at(redis))
  await led(store)
  for (let i = 0; i < 200; i += 10) {
    await appended(
      store,
      exampleAppend(
        A,
        1,
        i,
        Array.from({ length: 10 }, (_, k) => exampleBatch(i + k)),
      ),
    )
  }
  const trimming = (async () => {
    for (let start = 0; start <= 200; start += 5) await store.trim(A, 1, start, [])
  })()
  for (let next = 0; next < 200; ) {
    const outcome = await reader.read(A, next, { maxBytes: 700, until: 200 })
    if (outcome.kind === 'trimmed') {
      assert.ok(outcome.start > next)
      next = outcome.start
      continue
    }
    for (const batch of expectKind(outcome, 'read').batches) {
      assert.equal(batch.baseOffset, next)
      next = batch.nextOffset
    }
  }
  await trimming
})

test('the functions are loaded again on a server that has lost them, and nothing is stored twice', {
  skip,
}, async t => {
  const { redis, store, reports } = await standing(t)
  await led(store)
  await appended(store, exampleAppend(A, 1, 0))
  await redis.ask('FUNCTION', 'FLUSH')
  const append = exampleAppend(A, 1, 1)
  await assert.rejects(store.append(append), OutcomeUnknown)
  assert.deepEqual(await offsetsOf(store), [0], 'what was not sealed is not seen')
  const opened = await reopened(store, 1)
  assert.deepEqual([opened.epoch, opened.end], [2, 1])
  assert.notEqual(opened.lastAttempt, append.attempt)
  assert.match(reports.join('\n'), /1 entries .* never acknowledged are swept/)
  await appended(store, exampleAppend(A, 2, 1))
  assert.deepEqual(await offsetsOf(store), [0, 1])
  for (const verb of [
    () => store.trim(A, 2, 1, []),
    () => store.open(A, 2, 0),
    () => store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] }),
    () => store.create(['x:1']),
    () => store.confirm(A, 3),
  ]) {
    await redis.ask('FUNCTION', 'FLUSH')
    await verb()
  }
})

test('an entry of another program is never counted as an entry of a refused append', { skip }, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  await appended(store, exampleAppend(A, 1, 0))
  // Its id is above all ids of the broker: one entry too many before, and none added by the append.
  await redis.ask('XADD', KEYS.batches, '9999999-1', 'who', 'me')
  const append = exampleAppend(A, 1, 1)
  await assert.rejects(store.append(append), OutcomeUnknown)
  const opened = await reopened(store, 1)
  assert.equal(opened.end, 1)
  assert.notEqual(opened.lastAttempt, append.attempt)
})

test('a write of another program to a stream is repaired once; the second time the partition stops', {
  skip,
}, async t => {
  const { redis, store, reports } = await standing(t)
  await led(store)
  await appended(store, exampleAppend(A, 1, 0))
  await redis.ask('XADD', KEYS.batches, '*', 'who', 'me')
  assert.deepEqual(await offsetsOf(store), [0])
  await assert.rejects(store.append(exampleAppend(A, 1, 1)), /another program wrote to .*:batches/)
  assert.equal((await reopened(store, 1)).end, 1)
  assert.equal(await redis.ask('XLEN', KEYS.batches), 1)
  await redis.ask('XADD', KEYS.batches, '*', 'who', 'me')
  assert.equal((await store.append(exampleAppend(A, 2, 1))).kind, 'damaged')
  assert.equal(reports.filter(line => /another program wrote/.test(line)).length, 1)
  await reopened(store, 2)
  await appended(store, exampleAppend(A, 3, 1))
  assert.deepEqual(await offsetsOf(store), [0, 1])
})

test('a deleted entry is reported and the log continues; if all entries are deleted, the stream is damaged', {
  skip,
}, async t => {
  const { redis, store, reports } = await standing(t)
  await led(store)
  for (const i of [0, 1, 2]) await appended(store, exampleAppend(A, 1, i))
  await redis.ask('XDEL', KEYS.batches, '1-2')
  const one = /^1 entries of .* are missing: another client deleted them/
  await assert.rejects(store.append(exampleAppend(A, 1, 3)), { name: 'OutcomeUnknown', message: one })
  await reopened(store, 1)
  assert.equal(reports.length, 1)
  assert.match(reports[0]!, one)
  await appended(store, exampleAppend(A, 2, 3))
  assert.deepEqual(await offsetsOf(store), [0, 2, 3])
  await redis.ask('DEL', KEYS.batches)
  const all = /^the 3 entries of .* are gone: Redis evicted the key, or another client deleted it/
  await assert.rejects(store.append(exampleAppend(A, 2, 4)), { name: 'OutcomeUnknown', message: all })
  for (const known of [2, 3]) {
    const { damage } = await reopened(store, known)
    assert.equal(damage?.offset, 0)
    assert.match(damage.message, all)
  }
  assert.equal((await store.append(exampleAppend(A, 4, 4))).kind, 'damaged')
  assert.equal((await store.read(A, 0, EVERYTHING)).kind, 'damaged')
})

test('if Redis has dropped a key of a stream, remake makes the stream begin where it ended', {
  skip,
}, async t => {
  for (const lost of [[KEYS.batches], [KEYS.meta], [KEYS.meta, KEYS.rows], [KEYS.batches, KEYS.meta, KEYS.rows]]) {
    const { redis, store } = await standing(t)
    await led(store)
    const rows = [{ key: 'p', value: Buffer.of(1) }]
    await appended(store, exampleAppend(A, 1, 0, [exampleBatch(0, 10), exampleBatch(10, 7)], rows))
    await redis.ask('DEL', ...lost)
    const found = await store.read(A, 0, EVERYTHING)
    assert.equal(found.kind, lost.includes(KEYS.meta) ? 'gone' : 'damaged', lost.join())
    const { store: other } = await openTestStore(t as CleanUp, at(redis))
    // Only this broker knows the offsets that the store told it. Any broker sees the data that is left in Redis.
    const isKnown = !(lost.includes(KEYS.meta) && lost.includes(KEYS.batches))
    const remade = expectKind(await other.remake(A, 1, isKnown ? 3 : 17), 'remade')
    assert.equal(remade.start, 17, lost.join())
    const opened = expectKind(await store.open(A, 0, 0), 'opened')
    assert.ok(opened.epoch > 1000)
    assert.deepEqual([opened.start, opened.end, opened.bytes, opened.rows.size, opened.damage], [17, 17, 0, 0, null])
    assert.deepEqual(await store.read(A, 16, EVERYTHING), { kind: 'trimmed', start: 17 })
    await appended(store, exampleAppend(A, opened.epoch, 17, [exampleBatch(17, 2, 100, opened.epoch)]))
    assert.deepEqual(await offsetsOf(store, 17), [17])
    assert.deepEqual(await store.streams(), [A])
  }
})

test('deleting all records up to the end repairs a stream whose entries were dropped', {
  skip,
}, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  await appended(store, exampleAppend(A, 1, 0, [exampleBatch(0, 10)]))
  await redis.ask('DEL', KEYS.batches)
  assert.equal(expectKind(await store.trim(A, 1, 10, []), 'trimmed').start, 10)
  await appended(store, exampleAppend(A, 1, 10))
  const opened = await reopened(store, 1)
  assert.deepEqual([opened.start, opened.end, opened.damage], [10, 11, null])
})

test('a document that Redis has dropped is distinguished from a removed one, and the index is filled again', {
  skip,
}, async t => {
  const { redis, store } = await standing(t)
  const keys = keysOf('svc').document('group', 'g')
  const change = (expect: number, more = {}) => store.commit({ kind: 'group', name: 'g', expect, changes: [], ...more })
  const first = expectKind(await change(0), 'committed')
  await redis.ask('DEL', keys.document)
  assert.deepEqual(await change(first.version), { kind: 'conflict', version: 0, isLost: true })
  const second = expectKind(await change(0), 'committed')
  assert.ok(second.version > first.version)
  await redis.ask('DEL', keys.index)
  assert.deepEqual(await store.list('group'), [])
  const third = expectKind(await change(second.version), 'committed')
  assert.equal((await store.list('group')).length, 1)
  const removed = expectKind(await change(third.version, { remove: true }), 'committed')
  assert.deepEqual(await change(removed.version), { kind: 'conflict', version: 0 })
})

test('a stored header of another format is damage at its batch, and the batches before it can be read', {
  skip,
}, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  await appended(store, exampleAppend(A, 1, 0))
  await redis.ask('XADD', KEYS.batches, '1-2', 'h', 'not a header', 'b', 'x')
  await redis.ask('HSET', KEYS.meta, 'sealed', '2 2 2 1-2')
  const { store: other } = await openTestStore(t as CleanUp, at(redis))
  assert.deepEqual(await offsetsOf(other), [0])
  assert.match(JSON.stringify(await other.read(A, 1, EVERYTHING)), /damaged.*entry 1-2 is not in a form/)
})

test('a store that has lost data is detected, and no offset or epoch is used again', {
  skip,
}, async t => {
  const { redis, remember, forget } = await startForgetfulRedis(t as CleanUp)
  const { store, reports, lostEnds, lostOffsets } = await openTestStore(t as CleanUp, at(redis))
  await led(store)
  await appended(store, exampleAppend(A, 1, 0, [exampleBatch(0, 10)]))
  await remember()
  await reopened(store, 1)
  await appended(store, exampleAppend(A, 2, 10, [exampleBatch(10, 5, 100, 2)]))
  const news = store.renewed()
  await forget()
  assert.deepEqual(await news, [A])
  // The cached end of a log that no longer exists: the append is refused before it is sent.
  await assert.rejects(store.append(exampleAppend(A, 2, 15)), OutcomeUnknown)
  const opened = await reopened(store, 2, 15)
  assert.ok(opened.epoch > 1000)
  assert.deepEqual([opened.end, opened.highWatermark], [15, 15])
  await appended(store, exampleAppend(A, opened.epoch, 15, [exampleBatch(15, 1, 100, opened.epoch)]))
  assert.deepEqual(await offsetsOf(store), [0, 15])
  assert.deepEqual(opened.epochs.at(-1), { epoch: opened.epoch, startOffset: 15 })
  assert.match(reports.join('\n'), /the store lost the end of .*: it came back at 10, offsets up to 15 had been used/)
  assert.deepEqual([lostEnds(), lostOffsets()], [1, 5])
})

test('the offsets of a broker that has led are not used again, even if another broker leads next', {
  skip,
}, async t => {
  const { redis, remember, forget } = await startForgetfulRedis(t as CleanUp)
  const { store } = await openTestStore(t as CleanUp, at(redis))
  await led(store)
  await remember()
  await appended(store, exampleAppend(A, 1, 0, [exampleBatch(0, 10)]))
  const news = store.renewed()
  await forget()
  await news
  const { store: stranger } = await openTestStore(t as CleanUp, at(redis))
  const opened = await reopened(stranger, 0)
  assert.deepEqual([opened.end, await offsetsOf(stranger)], [10, []])
})

test('document versions skip those that the store may have lost', { skip }, async t => {
  const { redis, remember, forget } = await startForgetfulRedis(t as CleanUp)
  const { store } = await openTestStore(t as CleanUp, at(redis))
  const commit = async (expect: number) =>
    expectKind(await store.commit({ kind: 'k', name: 'n', expect, changes: [] }), 'committed').version
  const kept = await commit(0)
  await remember()
  const lost = await commit(await commit(kept))
  await forget()
  await eventually('it is back', async () => (await store.version('k', 'n').catch(() => -1)) === kept)
  assert.ok((await commit(kept)) > lost + 100_000)
})

test('a full Redis refuses appends and commits with a clear error; reads, leads, signs of life and retention work', {
  skip,
}, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  for (const i of [0, 1]) await appended(store, exampleAppend(A, 1, i))
  const alive = { kind: 'k', name: 'alive', changes: [] }
  const { version } = expectKind(await store.commit({ ...alive, expect: 0 }), 'committed')
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1mb')
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1')
  const next = expectKind(await store.commit({ ...alive, expect: version }), 'committed')
  expectKind(await store.commit({ ...alive, expect: next.version, remove: true }), 'committed')
  const full = { name: 'StoreUnavailable', message: /maxmemory.*OOM/s }
  await assert.rejects(store.append(exampleAppend(A, 1, 2)), full)
  await assert.rejects(store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] }), full)
  const few = { kind: 'k', name: 'few', changes: [{ key: 'f', value: Buffer.of(1) }], mayOverfill: true }
  expectKind(await store.commit({ ...few, expect: 0 }), 'committed')
  assert.deepEqual(await offsetsOf(store), [0, 1])
  assert.equal((await reopened(store, 1)).end, 2)
  assert.equal(expectKind(await store.trim(A, 2, 1, []), 'trimmed').start, 1)
  assert.deepEqual([(await store.space()).totalBytes, (await store.space()).usableBytes], [1, 0])
  await redis.ask('CONFIG', 'SET', 'maxmemory', '0')
  await appended(store, exampleAppend(A, 2, 2))
})

test('when Redis refuses writes, the error names the cause, and nothing is written', { skip }, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  const refusals: readonly [string, () => Promise<unknown>, () => Promise<unknown>, RegExp][] = [
    [
      'too few replicas',
      () => redis.ask('CONFIG', 'SET', 'min-replicas-to-write', 1),
      () => redis.ask('CONFIG', 'SET', 'min-replicas-to-write', 0),
      /fewer replicas than its min-replicas-to-write/,
    ],
    [
      'a disk that cannot be written',
      async () => {
        // A snapshot cannot replace a folder.
        await mkdir(join(redis.folder, 'dump.rdb', 'x'), { recursive: true })
        await redis.ask('CONFIG', 'SET', 'save', '3600 1')
        await redis.ask('BGSAVE')
        await eventually('the snapshot has failed', async () => (await redis.info('rdb_last_bgsave_status')) === 'err')
      },
      () => redis.ask('CONFIG', 'SET', 'save', ''),
      /cannot save to its disk: MISCONF/,
    ],
    [
      'a command that the user may not use',
      () => redis.ask('ACL', 'SETUSER', 'default', '-xadd'),
      () => redis.ask('ACL', 'SETUSER', 'default', '+xadd'),
      /the user of this broker may not do that in Redis/,
    ],
  ]
  for (const [what, break_, mend, message] of refusals) {
    await break_()
    await assert.rejects(store.append(exampleAppend(A, 1, 0)), { name: 'StoreUnavailable', message }, what)
    await mend()
    assert.equal(await redis.ask('XLEN', KEYS.batches), 0, what)
    assert.equal(await redis.ask('HGET', KEYS.meta, 'sealed'), '0 0 0 0-1', what)
  }
  await appended(store, exampleAppend(A, 1, 0))
})

test('if the Redis user may not delete entries, a trim is refused and leaves no note, and the partition can be opened', {
  skip,
}, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  for (const i of [0, 1, 2]) await appended(store, exampleAppend(A, 1, i))
  const noted = async () => String(await redis.ask('HGET', KEYS.meta, 'trim'))
  await redis.ask('ACL', 'SETUSER', 'default', '-xtrim')
  const refused = { name: 'StoreUnavailable', message: /trimming .*can't run this command/ }
  await assert.rejects(store.trim(A, 1, 2, []), refused)
  assert.equal(await noted(), '')
  // The state after a kill directly after the note was written.
  await redis.ask('HSET', KEYS.meta, 'trim', '2 1-3 1024 2')
  assert.equal((await reopened(store, 1)).start, 0)
  assert.equal(expectKind(await store.trim(A, 2, 0, []), 'trimmed').start, 0)
  assert.equal(await noted(), '2 1-3 1024 2')
  assert.deepEqual(await offsetsOf(store), [0, 1, 2])
  await redis.ask('ACL', 'SETUSER', 'default', '+xtrim')
  // This trim ignores the note of another trim; an opening finishes that one.
  assert.deepEqual(expectKind(await store.trim(A, 2, 0, []), 'trimmed'), { kind: 'trimmed', start: 0, bytes: 0 })
  assert.equal((await reopened(store, 2)).start, 2)
  assert.equal(await noted(), '')
  assert.equal(expectKind(await store.trim(A, 3, 3, []), 'trimmed').start, 3)
})

test('the error names a key of the wrong type, and other keys work', { skip }, async t => {
  const { redis, store } = await standing(t)
  const B = 'AAAAAAAAAAAAAAAAAAAAAQ:1'
  await led(store)
  await led(store, B)
  const wrong = (key: string) => ({
    name: 'StoreUnavailable',
    message: new RegExp(`${key}.*holds another type of value.*WRONGTYPE`, 's'),
  })
  let epoch = 1
  for (const name of ['batches', 'meta', 'rows'] as const) {
    const key = KEYS[name]
    await redis.ask('RENAME', key, 'aside').catch(() => {})
    await redis.ask('SET', key, 'x')
    const append = exampleAppend(A, epoch, 0, undefined, [{ key: 'p', value: Buffer.of(1) }])
    await assert.rejects(store.append(append), StoreUnavailable, name)
    if (name === 'meta') await assert.rejects(store.open(A, epoch, 0), wrong('meta'))
    await redis.ask('DEL', key)
    await redis.ask('RENAME', 'aside', key).catch(() => {})
    // Removes the entries that were written beside the wrong key.
    epoch = (await reopened(store, epoch)).epoch
  }
  const document = keysOf('svc').document('k', 'n').document
  const unread = { name: 'UnreadableDocument', message: /k "n" cannot be read: its key holds no hash/ }
  await redis.ask('SET', document, 'x')
  await assert.rejects(store.load('k', 'n'), unread)
  await assert.rejects(store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] }), wrong('document'))
  assert.equal(expectKind(await store.append(exampleAppend(B, 1, 0)), 'appended').end, 1)
})

test('a read with no entry below its offset does not make Redis walk through the whole stream', { skip }, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  await reopened(store, 1, 100)
  await appended(store, exampleAppend(A, 2, 100, [exampleBatch(100, 10), exampleBatch(110, 10)]))
  const walks = async () =>
    /cmdstat_xrevrange:calls=(\d+)/.exec(String(await redis.ask('INFO', 'commandstats')))?.[1] ?? '0'
  const { store: other } = await openTestStore(t as CleanUp, at(redis))
  for (const each of [store, other]) {
    assert.deepEqual(await offsetsOf(each, 0), [100, 110], 'in the gap before the first entry')
    assert.deepEqual(await offsetsOf(each, 100), [100, 110], 'at the first entry')
    assert.deepEqual(await offsetsOf(each, 110), [110], 'at another')
  }
  assert.equal(expectKind(await store.trim(A, 2, 100, []), 'trimmed').start, 100)
  assert.equal(await walks(), '0')
  for (const each of [store, other]) {
    assert.deepEqual(await offsetsOf(each, 105), [100, 110], 'within the first entry')
    assert.deepEqual(await offsetsOf(each, 119), [110], 'within the last')
  }
  assert.notEqual(await walks(), '0')
})

test('a read requests as many entries as fit, and never many more', { skip }, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  const size = 50_000
  for (let i = 0; i < 40; i += 4) {
    const batches = [0, 1, 2, 3].map(k => exampleBatch(i + k, 1, size))
    await appended(store, exampleAppend(A, 1, i, batches))
  }
  const sent = async () => Number(await redis.info('total_net_output_bytes'))
  for (const [maxBytes, count] of [
    [10 * size, 10],
    [10 * size + size / 2, 10],
    [size, 1],
    [1, 1],
  ] as const) {
    const before = await sent()
    const { batches } = expectKind(await store.read(A, 3, { maxBytes, until: 40 }), 'read')
    assert.equal(batches.length, count)
    // The number includes the last INFO and the entry before the first one.
    assert.ok((await sent()) - before < (count + 1) * size + 20_000, `${maxBytes}`)
  }
})

test('a store with the format of a later version is refused and not changed', { skip }, async t => {
  const redis = await startRedis(t as CleanUp)
  await redis.ask('SET', 'svc:format', '7')
  await assert.rejects(openTestStore(t as CleanUp, at(redis)), (error: Error) => {
    assert(error instanceof StoreOpenError)
    assert.match(
      error.message,
      /svc:format at 127.0.0.1:\d+ is "7"; this version of Ketch reads and writes format 3, and raises format 2/,
    )
    return true
  })
})

test('two brokers with different namespaces on one Redis do not see each other', { skip }, async t => {
  const { redis, store } = await standing(t)
  const { store: other } = await openTestStore(t as CleanUp, at(redis, { namespace: 'other' }))
  await led(store)
  await store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] })
  assert.deepEqual([await other.streams(), await other.list('k'), (await other.open(A, 0, 0)).kind], [[], [], 'gone'])
})

test('no key contains text that a user chose', { skip }, async t => {
  const { redis, store } = await standing(t)
  await led(store)
  await store.commit({
    kind: 'group',
    name: 'a user{of}:mine',
    expect: 0,
    changes: [{ key: 'x', value: Buffer.of(1) }],
  })
  for (const key of (await redis.ask('KEYS', '*')) as string[]) {
    assert.match(key, /^svc:(format|streams|stream:\{[\w-]{22}:\d+\}:\w+|documents:\{group:\d+\}:[\w:-]+)$/)
  }
})
