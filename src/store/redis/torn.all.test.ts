// Tests a Redis that was killed while it wrote a transaction to its append-only file, and was started twice since:
// the first part of the transaction runs at the second start (docs/decisions/0037). The tests use real servers and
// tear the file at each command. A run takes every third command in each test; neighbouring tests take others, and the
// seed draws which. KETCH_LONG=1 takes every command.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { isLong } from '../../../testing/at-length.ts'
import type { CleanUp } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { type RedisOptions, type RedisServer, noRedis as skip, startRedis } from '../../../testing/redis.ts'
import { auditRedis } from '../../../testing/redis-audit.ts'
import { openTestStore, type TestStore } from '../../../testing/redis-store.ts'
import { seed } from '../../../testing/seed.ts'
import { tearTransaction } from '../../../testing/torn-file.ts'
import { exampleAppend, exampleBatch, expectKind } from '../examples.ts'
import { type Batch, type Opened, OutcomeUnknown, type Row, type Store } from '../store.ts'
import { keysOf } from './keys.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }
const KEYS = keysOf('svc').stream(A)
/** A rewrite of the file would remove the torn transactions that these tests need. */
const NO_REWRITE: RedisOptions = { appendfsync: 'always', acl: ['user default on nopass ~* &* +@all -bgrewriteaof'] }
const LEAP = 100_000_000
const STEP = isLong ? 1 : 3

/** Returns the first of the commands that a run takes; `row` is the place of the test among its neighbours. */
const firstCut = (row: number) => (row + seed) % STEP

const open = (t: TestContext, redis: RedisServer): Promise<TestStore> =>
  openTestStore(t as CleanUp, { 'redis.uri': redis.uri })

const row = (key: string, value: string | null): Row => ({ key, value: value === null ? null : Buffer.from(value) })

/** Returns the rows as text, by key. */
const rowsOf = ({ rows }: Opened) => Object.fromEntries([...rows].map(([key, value]) => [key, String(value)]))

async function led(store: Store): Promise<Opened> {
  await store.create([A])
  return expectKind(await store.open(A, 0, 0), 'opened')
}

async function append(store: Store, { epoch, end }: Opened, rows: readonly Row[], ...spans: number[]) {
  const batches: Batch[] = []
  let at = end
  for (const span of spans) {
    batches.push(exampleBatch(at, span, 80, epoch))
    at += span
  }
  const made = exampleAppend(A, epoch, end, batches, rows)
  return { attempt: made.attempt, end: expectKind(await store.append(made), 'appended').end, epoch, batches }
}

/** Reads all batches. Returns the base offset and the content of each. */
async function readAll(store: Store, from = 0): Promise<[number, string][]> {
  const found: [number, string][] = []
  for (let next = from; ; ) {
    const { batches } = expectKind(await store.read(A, next, { ...EVERYTHING, maxBytes: 1 }), 'read')
    if (batches.length === 0) return found
    for (const { baseOffset, nextOffset, bytes } of batches) {
      found.push([baseOffset, Buffer.from(bytes).toString('hex')])
      next = nextOffset
    }
  }
}

const shown = (batches: readonly Batch[]) =>
  batches.map(({ baseOffset, bytes }) => [baseOffset, Buffer.from(bytes).toString('hex')])

const sizeOf = (batches: readonly Batch[]) => batches.reduce((sum, { bytes }) => sum + bytes.length, 0)

async function killed(redis: RedisServer): Promise<void> {
  await redis.stop('SIGKILL')
  await redis.start()
  await redis.loaded()
}

for (const [place, since] of (['nothing', 'an opening', 'appends'] as const).entries()) {
  test(`an append that was torn at any command, with ${since} since: it exists completely or not at all`, {
    skip,
  }, async t => {
    const names: string[] = []
    for (let at = 1 + firstCut(place); at < (names.length || at + 1); at += STEP) {
      const redis = await startRedis(t as CleanUp, NO_REWRITE)
      const { store } = await open(t, redis)
      const first = await append(store, await led(store), [row('p', '1'), row('q', '1')], 10)
      const torn = await append(store, { ...(await led(store)) }, [row('p', '2'), row('q', null)], 2, 3)
      await redis.stop('SIGKILL')
      await store.close()
      const { names: commands } = (await tearTransaction(redis, torn.attempt, at))!
      assert.deepEqual(commands, ['MULTI', 'XADD', 'XADD', 'HSET', 'HSET', 'HDEL', 'EXEC'])
      names.splice(0, names.length, ...commands)
      await redis.start()
      const { store: next } = await open(t, redis)
      const kept = [...first.batches]
      const rows: Record<string, string> = { p: '1', q: '1' }
      let { attempt, end } = first
      if (since === 'nothing') {
        // The broker that connects ends the torn transaction.
        if (at >= 4) {
          kept.push(...torn.batches)
          rows.p = '2'
          if (at === 6) delete rows.q
          ;({ attempt, end } = torn)
        }
      } else {
        const opened = expectKind(await next.open(A, 0, 0), 'opened')
        assert.deepEqual([opened.lastAttempt, rowsOf(opened)], [first.attempt, rows])
        end = opened.end
        if (since === 'appends') {
          const more = await append(next, opened, [row('r', '1')], 1, 4)
          const last = await append(next, { ...opened, end: more.end }, [], 2)
          kept.push(...more.batches, ...last.batches)
          rows.r = '1'
          ;({ attempt, end } = last)
        }
      }
      await redis.stop('SIGKILL')
      await next.close()
      await redis.start()
      await redis.loaded()
      const { store: reader } = await open(t, redis)
      // A reader of a stream that was not opened sees the sealed entries.
      if (since !== 'nothing')
        assert.deepEqual(await readAll(reader), shown(kept), `cut at ${commands[at]} (${at}), read`)
      const { store: last, reports } = await open(t, redis)
      const opened = expectKind(await last.open(A, 0, 0), 'opened')
      const what = `cut at ${commands[at]} (${at})`
      assert.equal(opened.damage, null, what)
      assert.deepEqual(await readAll(last), shown(kept), what)
      assert.deepEqual([opened.lastAttempt, rowsOf(opened)], [attempt, rows], what)
      assert.equal(opened.end, end, what)
      assert.equal(await redis.ask('XLEN', KEYS.batches), kept.length, what)
      assert.doesNotMatch(reports.join('\n'), /missing|more entries/, what)
    }
  })
}

for (const [place, since] of (['nothing', 'an opening', 'appends'] as const).entries()) {
  for (const before of [12, 15]) {
    const kept = before === 15 ? 'nothing' : 'the end'
    test(`a trim that keeps ${kept}, torn at any command, with ${since} since: it is finished, and nothing is damaged`, {
      skip,
    }, async t => {
      for (const changes of [[], [row('p', '2'), row('q', null)]]) {
        let count = STEP
        for (let at = firstCut(place + before + changes.length); at < count; at += STEP) {
          const redis = await startRedis(t as CleanUp, NO_REWRITE)
          const { store } = await open(t, redis)
          const first = await append(store, await led(store), [row('p', '1'), row('q', '1')], 10, 2, 3)
          assert.equal(expectKind(await store.trim(A, first.epoch, before, changes), 'trimmed').start, before)
          await redis.stop('SIGKILL')
          await store.close()
          const { names } = (await tearTransaction(redis, 'XTRIM', at))!
          assert.deepEqual(names, ['MULTI', 'XTRIM', 'HSET', ...(changes.length > 0 ? ['HSET', 'HDEL'] : []), 'EXEC'])
          count = names.length
          const what = `cut at ${names[at]} (${at} of ${names})`
          await redis.start()
          const { store: next } = await open(t, redis)
          const expected = shown(first.batches.filter(({ nextOffset }) => nextOffset > before))
          let { end } = first
          if (since !== 'nothing') {
            const opened = expectKind(await next.open(A, 0, 0), 'opened')
            assert.deepEqual([opened.damage, opened.start, opened.end], [null, before, end], what)
            if (since === 'appends') {
              const more = await append(next, opened, [], 1, 4)
              expected.push(...shown(more.batches))
              ;({ end } = more)
            }
          }
          await redis.stop('SIGKILL')
          await next.close()
          await redis.start()
          await redis.loaded()
          const { store: last, reports } = await open(t, redis)
          const opened = expectKind(await last.open(A, 0, 0), 'opened')
          assert.deepEqual([opened.damage, opened.start, opened.end], [null, before, end], what)
          assert.equal(opened.bytes, 80 * expected.length, what)
          assert.deepEqual(await readAll(last, before), expected, what)
          assert.equal(await redis.ask('XLEN', KEYS.batches), expected.length, what)
          assert.doesNotMatch(reports.join('\n'), /missing|deleted|more entries/, what)
          await append(last, opened, [], 2)
        }
      }
    })
  }
}

const filler = (baseOffset: number, size: number) => exampleBatch(baseOffset, 10, size)

for (const [place, since] of (['nothing', 'an opening', 'appends and rewrites'] as const).entries()) {
  for (const rows of [[], [row('p', '2'), row('q', null)]]) {
    test(`a rewrite with ${rows.length} rows that was torn at any command, with ${since} since: it happened or it did not`, {
      skip,
    }, async t => {
      // The transactions of the call in the file: the beginning of a pass, the rewrite, the deletion of old entries.
      for (const [word, names] of [
        ['DEL', ['MULTI', 'HSET', 'DEL', 'XADD', 'XDEL', 'EXEC']],
        ['XADD', ['MULTI', 'XADD', 'XADD', ...(rows.length > 0 ? ['HSET', 'HSET', 'HDEL'] : ['HSET']), 'EXEC']],
        ['XTRIM', ['MULTI', 'XTRIM', 'XTRIM', 'HSET', 'EXEC']],
      ] as const) {
        let count = STEP
        for (let at = firstCut(place + rows.length); at < count; at += STEP) {
          const redis = await startRedis(t as CleanUp, NO_REWRITE)
          const { store } = await open(t, redis)
          const opened = await led(store)
          const all = await append(store, opened, [row('p', '1'), row('q', '1')], 10, 10, 10, 10, 10)
          const first = { stream: A, epoch: opened.epoch, rows: [] }
          // The second pass takes over a stream that has entries, and its first piece ends behind the first pass.
          expectKind(
            await store.rewrite({ ...first, from: 0, to: 20, batches: [filler(0, 70), filler(10, 70)] }),
            'rewritten',
          )
          expectKind(await store.rewrite({ ...first, from: 0, to: 20, batches: [filler(10, 66)] }), 'rewritten')
          const old = [filler(10, 66), ...all.batches.slice(2)]
          const fresh = [filler(10, 65), filler(20, 65), ...all.batches.slice(3)]
          const piece = { ...first, from: 0, to: 30, batches: fresh.slice(0, 2), rows }
          expectKind(await store.rewrite(piece), 'rewritten')
          await redis.stop('SIGKILL')
          await store.close()
          const mark = word === 'XTRIM' ? word : word === 'DEL' ? '\r\nDEL\r\n' : fresh[1]!.bytes
          const torn = (await tearTransaction(redis, mark, at))!
          const what = `cut at ${torn.names[at]} (${at} of ${torn.names})`
          assert.deepEqual(
            torn.names.filter(name => name !== 'XADD' || word !== 'DEL'),
            names.filter(name => name !== 'XADD' || word !== 'DEL'),
            what,
          )
          count = torn.names.length
          await redis.start()
          const { store: next } = await open(t, redis)
          let isDone = word === 'XTRIM'
          if (since === 'nothing') {
            // The broker that connects ends the torn transaction.
            const decides = torn.names.indexOf('HSET')
            isDone ||= word === 'XADD' && at > decides
          }
          let expected = isDone ? [...fresh] : [...old]
          const values: Record<string, string> = { p: '1', q: '1' }
          if (isDone && rows.length > 0) {
            values.p = '2'
            if (word === 'XTRIM' || at > torn.names.indexOf('HDEL')) delete values.q
          }
          if (since !== 'nothing') {
            const again = expectKind(await next.open(A, 0, 0), 'opened')
            assert.deepEqual([again.damage, again.bytes], [null, sizeOf(expected)], what)
            assert.deepEqual(rowsOf(again), values, what)
            assert.deepEqual(again.pass.to >= 30, isDone, what)
            if (since === 'appends and rewrites') {
              const more = await append(next, again, [], 10)
              const kept = [filler(10, 64), filler(20, 64)]
              const whole = {
                stream: A,
                epoch: again.epoch,
                from: again.pass.to >= again.pass.until ? 0 : again.pass.to,
                to: 30,
                batches: kept,
                rows: [],
              }
              expectKind(await next.rewrite(whole), 'rewritten')
              expected = [...kept, ...all.batches.slice(3), ...more.batches]
            }
          }
          await redis.stop('SIGKILL')
          await next.close()
          await redis.start()
          await redis.loaded()
          const { store: last, reports } = await open(t, redis)
          if (since !== 'nothing') assert.deepEqual(await readAll(last), shown(expected), `${what}, read`)
          const end = expectKind(await last.open(A, 0, 0), 'opened')
          assert.equal(end.damage, null, what)
          assert.deepEqual(await readAll(last), shown(expected), what)
          assert.deepEqual([end.bytes, rowsOf(end)], [sizeOf(expected), values], what)
          assert.doesNotMatch(reports.join('\n'), /missing|deleted|more entries/, what)
          assert.deepEqual((await auditRedis([redis])).problems, [], what)
          const close = {
            stream: A,
            epoch: end.epoch,
            from: end.pass.to >= end.pass.until ? 0 : end.pass.to,
            to: 40,
            rows: [],
          }
          const least = close.from === 0 ? [filler(0, 63)] : []
          expectKind(await last.rewrite({ ...close, batches: least }), 'rewritten')
          await append(last, end, [], 2)
        }
      }
    })
  }
}

for (const [place, since] of (['nothing', 'an opening'] as const).entries()) {
  test(`a trim of a rewritten stream that was torn at any command, with ${since} since: it is finished`, {
    skip,
  }, async t => {
    // Within the current pass, within the former one, and above both.
    for (const before of [10, 25, 50]) {
      let count = STEP
      for (let at = firstCut(place + before); at < count; at += STEP) {
        const redis = await startRedis(t as CleanUp, NO_REWRITE)
        const { store } = await open(t, redis)
        const opened = await led(store)
        const all = await append(store, opened, [], 10, 10, 10, 10, 10, 10)
        const part = { stream: A, epoch: opened.epoch, rows: [] }
        const small = all.batches.slice(0, 4).map(({ baseOffset }) => filler(baseOffset, 70))
        expectKind(await store.rewrite({ ...part, from: 0, to: 40, batches: small }), 'rewritten')
        expectKind(
          await store.rewrite({ ...part, from: 0, to: 20, batches: [filler(0, 65), filler(10, 65)] }),
          'rewritten',
        )
        const batches = [filler(0, 65), filler(10, 65), ...small.slice(2), ...all.batches.slice(4)]
        expectKind(await store.trim(A, opened.epoch, before, []), 'trimmed')
        await redis.stop('SIGKILL')
        await store.close()
        const { names } = (await tearTransaction(redis, 'XTRIM', at))!
        const what = `before ${before}, cut at ${names[at]} (${at} of ${names})`
        count = names.length
        await redis.start()
        const expected = batches.filter(({ nextOffset }) => nextOffset > before)
        if (since === 'an opening') {
          const { store: next } = await open(t, redis)
          const again = expectKind(await next.open(A, 0, 0), 'opened')
          assert.deepEqual([again.damage, again.start, again.bytes], [null, before, sizeOf(expected)], what)
          await next.close()
        } else {
          // The broker that connects ends the torn transaction.
          await (await open(t, redis)).store.close()
        }
        await killed(redis)
        const { store: last, reports } = await open(t, redis)
        const end = expectKind(await last.open(A, 0, 0), 'opened')
        assert.deepEqual([end.damage, end.start, end.bytes], [null, before, sizeOf(expected)], what)
        assert.deepEqual(await readAll(last, before), shown(expected), what)
        assert.doesNotMatch(reports.join('\n'), /missing|deleted|more entries/, what)
        assert.deepEqual((await auditRedis([redis])).problems, [], what)
      }
    }
  })
}

test('after a restart of Redis a trim requires an opening first, like an append', { skip }, async t => {
  const redis = await startRedis(t as CleanUp, NO_REWRITE)
  const { store } = await open(t, redis)
  const { epoch, end } = await append(store, await led(store), [], 2, 3)
  const news = store.renewed()
  await killed(redis)
  await news
  await assert.rejects(store.trim(A, epoch, 2, []), OutcomeUnknown)
  const opened = expectKind(await store.open(A, epoch, end), 'opened')
  assert.equal(opened.start, 0)
  assert.equal(expectKind(await store.trim(A, opened.epoch, 2, []), 'trimmed').start, 2)
})

for (const since of ['nothing', 'a commit'] as const) {
  test(`a commit that was torn at any command, with ${since} since: it counts completely or not at all`, {
    skip,
  }, async t => {
    for (const remove of [false, true]) {
      let count = 2
      for (let at = 1; at < count; at++) {
        const redis = await startRedis(t as CleanUp, NO_REWRITE)
        const { store } = await open(t, redis)
        const one = { kind: 'k', name: 'one' }
        const before = [row('a', '1'), row('b', '1'), row('c', '1')]
        const { version } = expectKind(await store.commit({ ...one, expect: 0, changes: before }), 'committed')
        const changes = remove ? [] : [row('a', '2'), row('b', null), row('d', '2')]
        await store.commit({ ...one, expect: version, changes, remove })
        await redis.stop('SIGKILL')
        await store.close()
        const { names: commands } = (await tearTransaction(redis, keysOf('svc').document('k', 'one').document, at))!
        count = commands.length
        await redis.start()
        const { store: next } = await open(t, redis)
        const expected: Record<string, string> = { a: '1', b: '1', c: '1' }
        if (since === 'a commit') {
          const outcome = await next.commit({ ...one, expect: version, changes: [row('e', '3')] })
          expectKind(outcome, 'committed')
          expected.e = '3'
        }
        await redis.stop('SIGKILL')
        await next.close()
        await redis.start()
        await redis.loaded()
        const { store: last } = await open(t, redis)
        const document = await last.load('k', 'one')
        const what = `remove ${remove}, cut at ${commands[at]} (${at} of ${commands})`
        const held = document && Object.fromEntries([...document.fields].map(([key, value]) => [key, String(value)]))
        const whole = remove ? null : { a: '2', c: '1', d: '2' }
        const isWhole = since === 'nothing' && JSON.stringify(held) === JSON.stringify(whole)
        if (!isWhole) assert.deepEqual(held, expected, what)
        assert.equal((await last.list('k')).length, held === null ? 0 : 1, what)
        const now = document?.version ?? 0
        expectKind(await last.commit({ ...one, expect: now, changes: [row('f', '4')] }), 'committed')
      }
    }
  })
}

test('the file is rewritten once after each start, so that nothing torn outlives it', { skip }, async t => {
  const redis = await startRedis(t as CleanUp, { appendfsync: 'always' })
  const { store } = await open(t, redis)
  await eventually('it is rewritten at first contact', async () => (await redis.info('aof_rewrites')) === '1')
  const torn = await append(store, await led(store), [], 2, 3)
  const rewritten = async () => (await redis.info('aof_last_rewrite_time_sec')) !== '-1'
  await eventually('the rewrite has ended', rewritten)
  await redis.stop('SIGKILL')
  await tearTransaction(redis, torn.attempt, -1)
  await redis.start()
  await eventually('it is rewritten after a start', rewritten)
  await killed(redis)
  assert.equal(await redis.ask('XLEN', KEYS.batches), 0)
  await eventually('it is rewritten after another', rewritten)
  await open(t, redis)
  assert.equal(await redis.info('aof_rewrites'), '1', 'a broker more asks for no other one')
})

test('a Redis that is killed while it rewrites a torn file starts again, with what was written meanwhile', {
  skip,
}, async t => {
  const redis = await startRedis(t as CleanUp, { appendfsync: 'always' })
  const { store } = await open(t, redis)
  const torn = await append(store, await led(store), [], 2, 3)
  await eventually('the first rewrite has ended', async () => (await redis.info('aof_last_rewrite_time_sec')) !== '-1')
  await redis.stop('SIGKILL')
  await store.close()
  await tearTransaction(redis, torn.attempt, -1)
  await redis.start({ 'rdb-key-save-delay': '300000' })
  const { store: next } = await open(t, redis)
  await eventually('it rewrites', async () => (await redis.info('aof_rewrite_in_progress')) === '1')
  // A single command without a transaction.
  const credential = { kind: 'credential', name: 'u', changes: [row('salt', 'x')] }
  expectKind(await next.commit({ ...credential, expect: 0 }), 'committed')
  await killed(redis)
  const { store: last } = await open(t, redis)
  assert.equal(String((await last.load('credential', 'u'))?.fields.get('salt')), 'x')
})

test('a single command that was written behind a torn transaction is not cut off with it', { skip }, async t => {
  const redis = await startRedis(t as CleanUp, NO_REWRITE)
  const { store } = await open(t, redis)
  const torn = await append(store, await led(store), [], 2, 3)
  await redis.stop('SIGKILL')
  await store.close()
  await tearTransaction(redis, torn.attempt, -1)
  await redis.start()
  const { store: next } = await open(t, redis)
  const credential = { kind: 'credential', name: 'u', changes: [row('salt', 'x')] }
  expectKind(await next.commit({ ...credential, expect: 0 }), 'committed')
  await killed(redis)
  const { store: last } = await open(t, redis)
  assert.equal(String((await last.load('credential', 'u'))?.fields.get('salt')), 'x')
})

test('readers skip entries that an earlier version left between two epochs, and the next opening deletes them', {
  skip,
}, async t => {
  const redis = await startRedis(t as CleanUp)
  const { store } = await open(t, redis)
  await append(store, await led(store), [], 3, 2)
  // The second entry looks as if it was appended under a later lead, and 20 entries before it were never
  // acknowledged.
  const ids = ['1-1', ...Array.from({ length: 20 }, (_, i) => `1-${i + 4}`), '2-4']
  const rewrite = `local e = redis.call('XRANGE', KEYS[1], '-', '+')
    redis.call('DEL', KEYS[1])
    for i, id in ipairs(ARGV) do redis.call('XADD', KEYS[1], id, unpack(e[i == 1 and 1 or 2][2])) end`
  await redis.ask('EVAL', rewrite, 1, KEYS.batches, ...ids)
  await redis.ask('HSET', KEYS.meta, 'epoch', 2, 'epochs', '1:0 2:3', 'sealed', '5 5 2 2-4')
  await redis.ask('HDEL', KEYS.meta, 'swept')
  const { store: reader } = await open(t, redis)
  assert.deepEqual(
    (await readAll(reader)).map(([offset]) => offset),
    [0, 3],
  )
  const { store: next, reports } = await open(t, redis)
  const again = expectKind(await next.open(A, 0, 0), 'opened')
  assert.deepEqual([again.damage, await redis.ask('XLEN', KEYS.batches)], [null, 2])
  assert.match(reports.join('\n'), /20 entries .* never acknowledged are swept/)
})

test('a torn append with more entries than one sweep deletes is swept, even if the lead has moved since', {
  skip,
}, async t => {
  const redis = await startRedis(t as CleanUp, NO_REWRITE)
  const { store } = await open(t, redis)
  const kept = [...(await append(store, await led(store), [], 10)).batches]
  const torn = await append(store, await led(store), [], ...Array.from({ length: 200 }, () => 1))
  await redis.stop('SIGKILL')
  await store.close()
  await tearTransaction(redis, torn.attempt, 180)
  await redis.start()
  // The torn append lies before the first of these leads, and not in the last void.
  for (let lead = 0; lead < 2; lead++) {
    const { store: next } = await open(t, redis)
    kept.push(...(await append(next, expectKind(await next.open(A, 0, 0), 'opened'), [], 1)).batches)
    await next.close()
  }
  await killed(redis)
  assert.equal(await redis.ask('XLEN', KEYS.batches), 3 + 179)
  const { store: last } = await open(t, redis)
  const opened = expectKind(await last.open(A, 0, 0), 'opened')
  assert.deepEqual([opened.damage, await redis.ask('XLEN', KEYS.batches)], [null, 3])
  assert.deepEqual(await readAll(last), shown(kept))
})

test('more entries than were ever acknowledged are damage', { skip }, async t => {
  const redis = await startRedis(t as CleanUp)
  const { store, reports } = await open(t, redis)
  await append(store, await led(store), [], 1, 1, 1)
  await redis.ask('HSET', KEYS.meta, 'sealed', '3 3 2 1-3')
  for (let i = 0; i < 2; i++) {
    const opened = expectKind(await store.open(A, 0, 0), 'opened')
    assert.match(opened.damage?.message ?? '', /holds 1 more entries than were ever acknowledged/)
    assert.equal((await store.append(exampleAppend(A, opened.epoch, 3))).kind, 'damaged')
  }
  assert.equal((await store.read(A, 0, EVERYTHING)).kind, 'damaged')
  assert.doesNotMatch(reports.join('\n'), /-1/)
})

test('the end leaps if Redis has another history and no broker knows which offsets clients were told', {
  skip,
}, async t => {
  const redis = await startRedis(t as CleanUp, { appendfsync: 'everysec' })
  const { store } = await open(t, redis)
  await append(store, await led(store), [], 5)
  // After one more sync, so that this run has lost nothing that the test relies on.
  await pause(1_500)
  await redis.stop('SIGKILL')
  await store.close()
  await redis.start()
  const { store: next, reports } = await open(t, redis)
  const opened = expectKind(await next.open(A, 0, 0), 'opened')
  assert.deepEqual([opened.end, opened.highWatermark], [5 + LEAP, 5 + LEAP])
  assert.match(reports.join('\n'), new RegExp(`led ${A} can .*: its end leaps by ${LEAP} offsets, to ${5 + LEAP};`))
  await append(next, opened, [], 2)
  assert.deepEqual(
    (await readAll(next)).map(([offset]) => offset),
    [0, 5 + LEAP],
  )
  assert.equal(expectKind(await next.open(A, 0, 0), 'opened').end, 7 + LEAP, 'once')
})

test('the end stays if Redis syncs each write and was restarted, even if no broker knows what clients were told', {
  skip,
}, async t => {
  const redis = await startRedis(t as CleanUp, { appendfsync: 'always' })
  const { store } = await open(t, redis)
  await append(store, await led(store), [], 5)
  await redis.stop('SIGKILL')
  await store.close()
  await redis.start()
  const { store: next } = await open(t, redis)
  assert.equal(expectKind(await next.open(A, 0, 0), 'opened').end, 5)
})

test('the end stays if the broker that led continues, or ended in order', { skip }, async t => {
  const redis = await startRedis(t as CleanUp, { appendfsync: 'always' })
  const { store } = await open(t, redis)
  const opened = await led(store)
  await append(store, opened, [], 5)
  const news = store.renewed()
  await killed(redis)
  assert.deepEqual(await news, [A])
  const again = expectKind(await store.open(A, opened.epoch, 5), 'opened')
  assert.equal(again.end, 5)
  await append(store, again, [], 1)
  await store.close()
  await killed(redis)
  const { store: next } = await open(t, redis)
  assert.equal(expectKind(await next.open(A, 0, 0), 'opened').end, 6)
})

test('the end stays if the broker that led vouches shortly after another one opens, or in an earlier incarnation', {
  skip,
}, async t => {
  const redis = await startRedis(t as CleanUp, { appendfsync: 'always' })
  const { store } = await open(t, redis)
  await append(store, await led(store), [], 5)
  const news = store.renewed()
  await redis.stop('SIGKILL')
  await redis.start()
  await redis.loaded()
  const { store: patient } = await openTestStore(t as CleanUp, { 'redis.uri': redis.uri }, undefined, {
    vouchMs: 60_000,
  })
  const opening = patient.open(A, 0, 0)
  await news
  assert.equal(expectKind(await opening, 'opened').end, 5)
  const again = patient.renewed()
  await killed(redis)
  await again
  // The broker has vouched and ends. No broker has opened the stream since.
  await eventually('it is said', async () => (await redis.ask('HGET', KEYS.meta, 'vouched')) !== null)
  await redis.stop('SIGKILL')
  await patient.close()
  await store.close()
  await redis.start()
  const { store: next } = await open(t, redis)
  assert.equal(expectKind(await next.open(A, 0, 0), 'opened').end, 5)
})

test('a broker that led before the last leader does not vouch for the last leader', { skip }, async t => {
  const redis = await startRedis(t as CleanUp, { appendfsync: 'everysec' })
  const { store } = await open(t, redis)
  await append(store, await led(store), [], 5)
  const { store: last } = await open(t, redis)
  await append(last, expectKind(await last.open(A, 0, 0), 'opened'), [], 5)
  const news = store.renewed()
  // The append is in the file by then, although no broker can know that.
  await pause(1_500)
  await redis.stop('SIGKILL')
  await last.close()
  await redis.start()
  await news
  assert.equal(expectKind(await store.open(A, 0, 0), 'opened').end, 10 + LEAP)
})
