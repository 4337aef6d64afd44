import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../testing/eventually.ts'
import { startProxy } from '../../../../testing/proxy.ts'
import { noRedis, startRedis } from '../../../../testing/redis.ts'
import { openTestLinks } from '../../../../testing/redis-links.ts'
import { OutcomeUnknown, StoreUnavailable } from '../../store.ts'
import { RedisError } from './redis-error.ts'

const skip = noRedis

test('a key always takes the same connection, and keys of one hash tag share it', { skip }, async t => {
  const { uri } = await startRedis(t)
  const { links } = await openTestLinks(t, { 'redis.uri': uri })
  assert.equal(links.write('{a}s'), links.write('{a}m'))
  const used = new Set(Array.from({ length: 200 }, (_, at) => links.write(`{${at}}s`)))
  assert.equal(used.size, 8)
})

test('bytes come back unchanged, and replies come in call order', { skip }, async t => {
  const { uri } = await startRedis(t)
  const { links } = await openTestLinks(t, { 'redis.uri': uri })
  const link = links.write('k')
  const bytes = Uint8Array.from({ length: 300 }, (_, at) => at % 256)
  const replies = await Promise.all([
    link.send(['SET', 'k', bytes]),
    link.send(['APPEND', 'k', 'é']),
    link.send(['GET', 'missing']),
    links.primaries()[0]!.send(['PING']),
  ])
  assert.deepEqual(replies, ['OK', 302, null, 'PONG'])
  assert.deepEqual(await links.read('k').send(['GET', 'k']), Buffer.concat([bytes, Buffer.from('é')]))
})

test('an error reply is a RedisError with its first word as code, and the connection stays open', { skip }, async t => {
  const { uri } = await startRedis(t)
  const { links } = await openTestLinks(t, { 'redis.uri': uri })
  const link = links.write('k')
  await link.send(['SET', 'k', 'x'])
  const error = await link.send(['HGET', 'k', 'f']).catch(e => e)
  assert(error instanceof RedisError)
  assert.deepEqual([error.code, error.isRefusal], ['WRONGTYPE', false])
  assert.equal(link.connection, 1)
})

test('a transaction resolves to the reply or the error of each command', { skip }, async t => {
  const { uri } = await startRedis(t)
  const { links } = await openTestLinks(t, { 'redis.uri': uri })
  const [set, wrong, get] = await links.write('k').transaction([
    ['SET', 'k', 'x'],
    ['HGET', 'k', 'f'],
    ['GET', 'k'],
  ])
  assert.equal(set, 'OK')
  assert(wrong instanceof RedisError && wrong.code === 'WRONGTYPE')
  assert.deepEqual(get, Buffer.from('x'))
})

test('a transaction that is refused while queuing rejects with the reason, and none of it was done', {
  skip,
}, async t => {
  const redis = await startRedis(t)
  const { links } = await openTestLinks(t, { 'redis.uri': redis.uri })
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1')
  const refused = await links
    .write('k')
    .transaction([
      ['DEL', 'gone'],
      ['SET', 'k', 'x'],
    ])
    .catch(e => e)
  assert(refused instanceof RedisError)
  assert.deepEqual([refused.code, refused.isRefusal], ['OOM', true])
  await redis.ask('CONFIG', 'SET', 'maxmemory', '0')
  assert.equal(await redis.ask('EXISTS', 'k'), 0)
  assert.deepEqual(await links.write('k').transaction([['SET', 'k', 'y']]), ['OK'])
})

test('commands in flight when the connection broke are unknown and are never sent again', { skip }, async t => {
  const redis = await startRedis(t)
  const proxy = await startProxy({ target: redis })
  t.after(() => proxy.close())
  const { links, metrics, log } = await openTestLinks(t, { 'redis.uri': `redis://127.0.0.1:${proxy.port}` })
  const link = links.write('n')
  proxy.swallowNextReply()
  await assert.rejects(link.send(['INCR', 'n']), OutcomeUnknown)
  await links.borrow('n', async again => {
    proxy.swallowNextReply()
    await assert.rejects(again.transaction([['INCR', 'n']]), OutcomeUnknown)
  })
  await links.borrow('n', again => again.send(['PING']))
  assert.equal(await redis.ask('GET', 'n'), '2')
  assert.equal(link.connection, 3)
  assert.equal(metrics.total('svc.redis.reconnects'), 2)
  assert.match(log(), /WARN.*a connection to Redis at 127.0.0.1:\d+ is lost/)
  assert.match(log(), /all connections to Redis at .* are open again/)
})

test('without a connection a write fails at once for certain, and borrow waits for the next connection', {
  skip,
}, async t => {
  const redis = await startRedis(t, { appendfsync: 'always' })
  const { links } = await openTestLinks(t, { 'redis.uri': redis.uri, 'redis.pool.max-wait': 20_000 })
  const link = links.write('k')
  await redis.stop('SIGKILL')
  await eventually('the loss is noticed', async () => {
    const error = await link.send(['SET', 'k', 'x']).catch(e => e)
    return error instanceof StoreUnavailable && /no connection to Redis/.test(error.message)
  })
  const borrowed = links.borrow('k', again => again.send(['SET', 'k', 'y']))
  const read = links.read('k').send(['PING'])
  await redis.start()
  assert.deepEqual(await Promise.all([borrowed, read]), ['OK', 'PONG'])
  assert.equal(await redis.ask('GET', 'k'), 'y')
})

test('a command that names an earlier connection is not sent on a later one', { skip }, async t => {
  const redis = await startRedis(t)
  const { links } = await openTestLinks(t, { 'redis.uri': redis.uri })
  const link = links.write('k')
  const { connection } = link
  await link.send(['SET', 'k', 'x'], { connection })
  await redis.ask('CLIENT', 'KILL', 'TYPE', 'normal')
  await links.borrow('k', async again => {
    await eventually('another connection', () => again.connection === connection + 1)
    await assert.rejects(again.send(['WAIT', '0', '0'], { connection }), StoreUnavailable)
    assert.equal(await again.send(['WAIT', '0', '0'], { connection: again.connection }), 0)
  })
})

test('with a pool of one, two borrowers take turns, and a third gives up after max-wait', { skip }, async t => {
  const { uri } = await startRedis(t)
  const { links, metrics } = await openTestLinks(t, {
    'redis.uri': uri,
    'redis.pool.size': 1,
    'redis.pool.max-wait': 200,
  })
  const order: string[] = []
  const held = Promise.withResolvers<void>()
  const first = links.borrow('a', async () => {
    order.push('first begins')
    await held.promise
    order.push('first ends')
  })
  await assert.rejects(
    links.borrow('b', () => Promise.resolve(order.push('never'))),
    /no connection of the pool came free within 200 ms; all 1 are in use/,
  )
  const second = links.borrow('b', () => Promise.resolve(order.push('second')))
  assert.match(await metrics.scrape(), /svc_storage_local_pool_pending 1/)
  held.resolve()
  await Promise.all([first, second])
  assert.deepEqual(order, ['first begins', 'first ends', 'second'])
  assert.match(await metrics.scrape(), /svc_storage_local_pool_acquire_seconds_count\{result="timeout"\} 1/)
})

test('a command without a reply within the timeout is unknown, and its connection is replaced', { skip }, async t => {
  const redis = await startRedis(t)
  const proxy = await startProxy({ target: redis })
  t.after(() => proxy.close())
  const { links } = await openTestLinks(t, { 'redis.uri': `redis://127.0.0.1:${proxy.port}`, 'redis.timeout': 300 })
  const link = links.write('k')
  await link.send(['SET', 'k', 'x'])
  proxy.freeze('to-client')
  await assert.rejects(link.send(['SET', 'k', 'y']), (error: Error) => {
    return error instanceof OutcomeUnknown && /no reply within 300 ms/.test(error.message)
  })
  await proxy.heal()
  assert.deepEqual(await links.borrow('k', again => again.send(['GET', 'k'])), Buffer.from('y'))
})

test('closing waits for the commands in flight', { skip }, async t => {
  const redis = await startRedis(t)
  const { links } = await openTestLinks(t, { 'redis.uri': redis.uri })
  const sent = links.write('k').send(['SET', 'k', 'x'])
  await links.close()
  assert.equal(await sent, 'OK')
  await assert.rejects(links.write('k').send(['PING']), StoreUnavailable)
})
