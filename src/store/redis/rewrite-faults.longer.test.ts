// Tests rewrites with faults of Redis, its operator and the network, against real servers. torn.all.test.ts has those
// of a Redis that is killed while it writes its file.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CleanUp } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { startProxy } from '../../../testing/proxy.ts'
import { noRedis as skip, startRedis, startReplicated } from '../../../testing/redis.ts'
import { auditRedis } from '../../../testing/redis-audit.ts'
import { openTestStore } from '../../../testing/redis-store.ts'
import { exampleAppend, exampleBatch, expectKind } from '../examples.ts'
import { type Batch, type Opened, OutcomeUnknown, type Store } from '../store.ts'
import { keysOf } from './keys.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }
const KEYS = keysOf('svc').stream(A)

/** A batch of ten offsets. */
const batchAt = (baseOffset: number, size: number) => exampleBatch(baseOffset, 10, size)

async function standing(t: TestContext) {
  const redis = await startRedis(t as CleanUp)
  return { redis, ...(await openTestStore(t as CleanUp, { 'redis.uri': redis.uri })) }
}

async function reopened(store: Store, known = 0): Promise<Opened> {
  return expectKind(await store.open(A, known, 0), 'opened')
}

/** Makes a stream with batches of ten offsets up to `end`, each of 100 bytes. */
async function filled(store: Store, end: number): Promise<void> {
  await store.create([A])
  await reopened(store)
  const batches = Array.from({ length: end / 10 }, (_, at) => batchAt(at * 10, 100))
  expectKind(await store.append(exampleAppend(A, 1, 0, batches)), 'appended')
}

function rewrite(store: Store, epoch: number, from: number, to: number, batches: readonly Batch[], row?: string) {
  const rows = row === undefined ? [] : [{ key: 'row', value: Buffer.from(row) }]
  return store.rewrite({ stream: A, epoch, from, to, batches, rows })
}

/** The base offset and the size of each batch. */
async function shown(store: Store, from = 0): Promise<[number, number][]> {
  const { batches } = expectKind(await store.read(A, from, EVERYTHING), 'read')
  return batches.map(({ baseOffset, bytes }) => [baseOffset, bytes.length])
}

/** [0, 20) in the second pass, [20, 40) in the first one, and [40, 60) as it was appended. */
async function inThreeParts(store: Store): Promise<void> {
  await filled(store, 60)
  expectKind(await rewrite(store, 1, 0, 40, [batchAt(0, 90), batchAt(20, 90), batchAt(30, 90)]), 'rewritten')
  expectKind(await rewrite(store, 1, 0, 20, [batchAt(0, 80), batchAt(10, 80)]), 'rewritten')
}

for (const [name, isDone] of [
  ['begin', false],
  ['arm', true],
  ['shear', true],
] as const) {
  for (const isExecuted of [true, false]) {
    test(`the connection breaks ${isExecuted ? 'after' : 'before'} ${name} of a rewrite: an opening tells if it happened`, {
      skip,
    }, async t => {
      const redis = await startRedis(t as CleanUp)
      let isArmed = false
      const proxy = await startProxy({
        target: redis,
        observe(_, bytes) {
          if (!isArmed || !bytes.includes(`_${name}\r\n`)) return
          isArmed = false
          if (isExecuted) proxy.swallowNextReply()
          else proxy.reset()
        },
      })
      t.after(() => proxy.close())
      const { store } = await openTestStore(t as CleanUp, { 'redis.host': '127.0.0.1', 'redis.port': proxy.port })
      await filled(store, 40)
      isArmed = true
      await assert.rejects(rewrite(store, 1, 0, 20, [batchAt(10, 70)], 'new'), OutcomeUnknown)
      assert.equal(isArmed, false)
      let opened: Opened | null = null
      await eventually('the store can be asked again', async () => {
        opened = await reopened(store, 1).catch(() => null)
        return opened !== null
      })
      const { epoch, pass, rows, bytes, damage } = opened!
      const happened = isExecuted && isDone
      assert.equal(pass.to === 20, happened)
      assert.equal(rows.has('row'), happened)
      assert.deepEqual([bytes, damage], [happened ? 270 : 400, null])
      assert.deepEqual((await shown(store))[0], happened ? [10, 70] : [0, 100])
      if (!happened) expectKind(await rewrite(store, epoch, 0, 20, [batchAt(10, 70)]), 'rewritten')
      expectKind(await rewrite(store, epoch, 20, 40, [batchAt(30, 65)]), 'rewritten')
      expectKind(await store.append(exampleAppend(A, epoch, 40)), 'appended')
      assert.deepEqual(await shown(store), [
        [10, 70],
        [30, 65],
        [40, 100],
      ])
      assert.deepEqual((await auditRedis([redis])).problems, [])
    })
  }
}

for (const [name, isCertain] of [
  ['begin', true],
  ['arm', false],
] as const) {
  test(`a server that loses the functions before ${name} of a rewrite gets them again, and the pass goes on`, {
    skip,
  }, async t => {
    const redis = await startRedis(t as CleanUp)
    let isArmed = false
    let flushed: Promise<unknown> = Promise.resolve()
    const proxy = await startProxy({
      target: redis,
      observe(_, bytes) {
        if (!isArmed || !bytes.includes(`_${name}\r\n`)) return
        isArmed = false
        proxy.freeze('to-server')
        flushed = redis.ask('FUNCTION', 'FLUSH').then(() => proxy.heal())
      },
    })
    t.after(() => proxy.close())
    const { store } = await openTestStore(t as CleanUp, { 'redis.host': '127.0.0.1', 'redis.port': proxy.port })
    await inThreeParts(store)
    expectKind(await rewrite(store, 1, 20, 40, [batchAt(30, 80)]), 'rewritten')
    isArmed = true
    const first = rewrite(store, 1, 0, 30, [batchAt(10, 70)], 'new')
    if (isCertain) expectKind(await first, 'rewritten')
    else await assert.rejects(first, { name: 'OutcomeUnknown', message: /the server had lost the functions/ })
    await flushed
    assert.equal(isArmed, false)
    const { epoch, pass, rows, bytes } = await reopened(store, 1)
    assert.deepEqual([pass.to, rows.has('row'), bytes], isCertain ? [30, true, 350] : [0, false, 440])
    if (!isCertain) expectKind(await rewrite(store, epoch, 0, 30, [batchAt(10, 70)], 'new'), 'rewritten')
    expectKind(await rewrite(store, epoch, 30, 60, [batchAt(30, 65), batchAt(50, 65)]), 'rewritten')
    expectKind(await store.append(exampleAppend(A, epoch, 60)), 'appended')
    assert.deepEqual(await shown(store), [
      [10, 70],
      [30, 65],
      [50, 65],
      [60, 100],
    ])
    assert.deepEqual((await auditRedis([redis])).problems, [])
  })
}

test('a full Redis refuses rewrites, takes trims of rewritten streams, and goes on where it was', { skip }, async t => {
  const { redis, store } = await standing(t)
  await inThreeParts(store)
  const full = { name: 'StoreUnavailable', message: /maxmemory.*OOM/s }
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1')
  await assert.rejects(rewrite(store, 1, 20, 40, [batchAt(30, 70)]), full)
  assert.equal(expectKind(await store.trim(A, 1, 10, []), 'trimmed').bytes, 80)
  assert.deepEqual(await shown(store, 10), [
    [10, 80],
    [20, 90],
    [30, 90],
    [40, 100],
    [50, 100],
  ])
  const { pass, bytes } = await reopened(store, 1)
  assert.deepEqual([pass, bytes], [{ to: 20, until: 40 }, 460])
  assert.equal(expectKind(await store.trim(A, 2, 40, []), 'trimmed').bytes, 260)
  await assert.rejects(rewrite(store, 2, 40, 50, [batchAt(40, 70)]), full)
  await redis.ask('CONFIG', 'SET', 'maxmemory', '0')
  assert.equal(expectKind(await rewrite(store, 2, 40, 50, [batchAt(40, 70)]), 'rewritten').bytes, 170)
  assert.deepEqual((await auditRedis([redis])).problems, [])
})

test('a leader that was replaced changes nothing with a rewrite that it still has in flight', { skip }, async t => {
  const { redis, store } = await standing(t)
  await inThreeParts(store)
  const { store: other } = await openTestStore(t as CleanUp, { 'redis.uri': redis.uri })
  await reopened(other)
  assert.deepEqual(await rewrite(store, 1, 20, 40, [batchAt(30, 70)], 'late'), { kind: 'fenced', epoch: 2 })
  expectKind(await rewrite(other, 2, 20, 40, [batchAt(30, 65)]), 'rewritten')
  assert.deepEqual(await rewrite(store, 1, 0, 20, [batchAt(0, 70)], 'late'), { kind: 'fenced', epoch: 2 })
  assert.deepEqual((await shown(other)).slice(0, 3), [
    [0, 80],
    [10, 80],
    [30, 65],
  ])
  assert.equal((await reopened(other, 2)).rows.size, 0)
  assert.deepEqual((await auditRedis([redis])).problems, [])
})

test('a rewrite of appends that the server has lost unnoticed is refused and leaves no entry', { skip }, async t => {
  const { redis, store } = await standing(t)
  await inThreeParts(store)
  const sealed = String(await redis.ask('HGET', KEYS.meta, 'sealed'))
  await redis.ask('HSET', KEYS.meta, 'sealed', sealed.replace(/^60 60/, '30 30'))
  await assert.rejects(rewrite(store, 1, 20, 40, [batchAt(20, 70)], 'lost'), /or Redis has lost a part of it/)
  await redis.ask('HSET', KEYS.meta, 'sealed', sealed)
  assert.deepEqual((await shown(store)).slice(0, 4), [
    [0, 80],
    [10, 80],
    [20, 90],
    [30, 90],
  ])
  assert.equal((await reopened(store)).rows.size, 0)
  assert.deepEqual((await auditRedis([redis])).problems, [])
})

for (const [part, key, below] of [
  ['the current pass', KEYS.cleaned[0], []],
  ['the former pass', KEYS.cleaned[1], [0, 10]],
  ['the appended entries', KEYS.batches, [0, 10, 20, 30]],
] as const) {
  test(`if ${part} has lost all entries, that is damage; if it has lost some, that is reported`, { skip }, async t => {
    const { redis, store, reports } = await standing(t)
    await inThreeParts(store)
    const isEmptied = async () => (await store.usage([A]))[0]!.isEmptied
    assert.deepEqual([await isEmptied(), (await store.usage([A]))[0]!.entries], [false, 6])
    const ids = (await redis.ask('XRANGE', key, '-', '+')) as [string][]
    assert.equal(ids.length, 2)
    await redis.ask('XDEL', key, ids[0]![0])
    assert.equal((await reopened(store, 1)).damage, null)
    assert.match(reports.join('\n'), new RegExp(`1 entries of ${key} are missing: another client deleted them`))

    await redis.ask('DEL', key)
    assert.equal(await isEmptied(), true)
    const first = below.length * 10
    for (const epoch of [2, 3]) {
      const { damage } = await reopened(store, epoch)
      assert.equal(damage?.offset, first)
      assert.match(damage!.message, new RegExp(`the 1 entries of ${key} are gone`))
    }
    if (first > 0) {
      const found = await shown(store)
      assert.deepEqual(
        found.map(([offset]) => offset),
        below,
      )
    }
    assert.equal((await store.read(A, first, EVERYTHING)).kind, 'damaged')
    assert.equal((await store.append(exampleAppend(A, 4, 60))).kind, 'damaged')
    assert.equal((await rewrite(store, 4, 20, 40, [batchAt(30, 50)])).kind, first > 40 ? 'rewritten' : 'damaged')
    assert.deepEqual(await store.remake(A, 4, 0), { kind: 'remade', start: 60 })
    const opened = await reopened(store)
    assert.deepEqual([opened.start, opened.bytes, opened.damage, opened.pass], [60, 0, null, { to: 0, until: 0 }])
    expectKind(await store.append(exampleAppend(A, opened.epoch, 60)), 'appended')
    assert.deepEqual((await auditRedis([redis])).problems, [])
  })
}

test('entries that another program added are refused once and then damage, and a stream is removed with all its keys', {
  skip,
}, async t => {
  const { redis, store } = await standing(t)
  await inThreeParts(store)
  await redis.ask('XADD', KEYS.cleaned[0], '1-100', 'h', 'x', 'b', 'y')
  await assert.rejects(rewrite(store, 1, 20, 40, [batchAt(30, 70)]), OutcomeUnknown)
  assert.equal((await reopened(store, 1)).damage, null)
  expectKind(await rewrite(store, 2, 20, 40, [batchAt(30, 70)]), 'rewritten')
  await redis.ask('HSET', KEYS.meta, 'cleaned', 'x')
  await assert.rejects(store.usage([A]), { name: 'StoreUnavailable', message: /the field cleaned is "x"/ })
  await store.remove([A])
  assert.deepEqual(await redis.ask('KEYS', 'svc:stream:*'), [])
})

test('if the Redis user may not delete entries, a rewrite counts, and a later opening deletes them', {
  skip,
}, async t => {
  const { redis, store, reports } = await standing(t)
  await filled(store, 40)
  await redis.ask('ACL', 'SETUSER', 'default', '-xtrim')
  assert.equal(expectKind(await rewrite(store, 1, 0, 20, [batchAt(10, 70)]), 'rewritten').bytes, 270)
  assert.match(reports.join('\n'), /the old entries could not be deleted: .*can't run this command/)
  assert.equal(await redis.ask('XLEN', KEYS.batches), 4)
  assert.equal(expectKind(await store.append(exampleAppend(A, 1, 40)), 'appended').end, 41)
  await redis.ask('ACL', 'SETUSER', 'default', '+xtrim')
  assert.equal((await reopened(store, 1)).bytes, 370)
  assert.equal(await redis.ask('XLEN', KEYS.batches), 3)
  assert.deepEqual((await auditRedis([redis])).problems, [])
})

test('an append to a stream that was rewritten sends what it sends to any other stream', { skip }, async t => {
  const { redis, store } = await standing(t)
  const calls = async () => {
    await redis.ask('CONFIG', 'RESETSTAT')
    const { epoch, end } = await reopened(store)
    await redis.ask('CONFIG', 'RESETSTAT')
    expectKind(await store.append(exampleAppend(A, epoch, end)), 'appended')
    const stats = String(await redis.ask('INFO', 'commandstats'))
    return [...stats.matchAll(/cmdstat_(multi|exec|fcall|xadd|xlen|hset|hmget|xrange):calls=(\d+)/g)]
      .map(([, name, count]) => `${name} ${count}`)
      .toSorted()
  }
  await filled(store, 40)
  const before = await calls()
  expectKind(await rewrite(store, 2, 0, 20, [batchAt(10, 70)]), 'rewritten')
  assert.deepEqual(await calls(), before)
  assert.ok(before.includes('fcall 2') && before.includes('xadd 1'), String(before))
})

test('a leader that opens a stream again while no replica confirms it may rewrite up to its high watermark', {
  skip,
}, async t => {
  const { primary, replicas } = await startReplicated(t as CleanUp, { replicas: 1 })
  const { store } = await openTestStore(t as CleanUp, {
    'redis.uri': primary.uri,
    'storage.local.write.wait-replicas': 1,
    'storage.local.write.wait-timeout': 500,
  })
  await filled(store, 40)
  replicas[0]!.pause()
  const { epoch, highWatermark } = await reopened(store, 1)
  replicas[0]!.resume()
  assert.equal(highWatermark, 40, 'an append has confirmed it')
  expectKind(await rewrite(store, epoch, 0, 40, [batchAt(0, 90)]), 'rewritten')
})
