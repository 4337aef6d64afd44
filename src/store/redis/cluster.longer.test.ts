import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { startProxy } from '../../../testing/proxy.ts'
import { noRedis, type RedisCluster, type RedisServer, startRedisCluster } from '../../../testing/redis.ts'
import { openTestLinks } from '../../../testing/redis-links.ts'
import { openTestStore } from '../../../testing/redis-store.ts'
import { sleep, systemClock } from '../../base/clock.ts'
import { exampleAppend, exampleBatch, expectKind } from '../examples.ts'
import { isStoreFailure } from '../store.ts'
import { RedisError } from './client/redis-error.ts'
import { slotOf } from './client/topology.ts'
import { keysOf } from './keys.ts'

const skip = noRedis
const FEW = {
  'redis.cluster': true,
  'redis.pool.max-wait': 20_000,
  'storage.local.write.connections': 2,
  'storage.local.read.connections': 2,
} as const

/** Returns a hash tag whose slot is in this range of slots. */
function keyIn([first, last]: readonly [number, number]): string {
  for (let at = 0; ; at++) {
    const slot = slotOf(`{${at}}`)
    if (slot >= first && slot <= last) return `{${at}}`
  }
}

test('a Redis Cluster', { skip }, async t => {
  // All subtests share one cluster, because a start takes seconds. Each leaves it unchanged.
  const cluster = await startRedisCluster(t, { spares: 1 })
  await t.test('each key goes to the primary that has its slot', each => keysGoHome(each, cluster))
  await t.test('a start waits 2.2 s for the map of slots of a busy node', each => slowStart(each, cluster))
  await t.test(
    'when a slot moves, reads follow it; a write is refused for certain, and the next one finds the slot',
    each => slotMoves(each, cluster),
  )
  await t.test(
    'keys that have moved before their slot are written and read on the new primary; half-moved keys are refused',
    each => partitionMoves(each, cluster),
  )
  await t.test(
    'the broker connects to a node that gets its first slot, and disconnects when the node has no slots',
    each => nodeJoins(each, cluster),
  )
})

async function keysGoHome(t: TestContext, cluster: RedisCluster) {
  const { links } = await openTestLinks(t, { ...FEW, 'redis.uri': cluster.uri })
  assert.equal(links.primaries().length, 3)
  assert.match(links.description, /\(cluster\)/)
  for (const primary of cluster.primaries) {
    const key = keyIn(cluster.slotsOf(primary))
    assert.deepEqual(await links.write(key).transaction([['SET', key, 'x']]), ['OK'])
    assert.deepEqual(await links.read(key).send(['GET', key]), Buffer.from('x'))
    assert.equal(await primary.ask('GET', key), 'x')
    await links.write(key).send(['DEL', key])
  }
}

async function slowStart(t: TestContext, cluster: RedisCluster) {
  const proxy = await startProxy({ target: { port: cluster.primaries[0]!.port } })
  t.after(() => proxy.close())
  proxy.freeze('to-client')
  const opening = openTestLinks(t, { ...FEW, 'redis.uri': `redis://127.0.0.1:${proxy.port}` })
  await eventually('the start asks', () => proxy.connections === 1)
  await sleep(systemClock, 2_200)
  await proxy.heal()
  assert.equal((await opening).links.primaries().length, 3)
}

async function slotMoves(t: TestContext, cluster: RedisCluster) {
  const [from, to] = cluster.primaries as readonly [RedisServer, RedisServer]
  const { links } = await openTestLinks(t, { ...FEW, 'redis.uri': cluster.uri })
  const tag = keyIn(cluster.slotsOf(from))
  const keys = [`${tag}a`, `${tag}b`]
  for (const key of keys) await links.write(key).send(['SET', key, 'x'])
  const refusalOf = async (commands: readonly (readonly string[])[]) => {
    const refused = await links
      .write(tag)
      .transaction(commands)
      .catch(e => e)
    assert(refused instanceof RedisError && refused.isRefusal, String(refused))
    return refused.code
  }
  await cluster.move(slotOf(tag), from, to, async () => {
    const gone = (await from.ask('CLUSTER', 'GETKEYSINSLOT', slotOf(tag), 10)) as string[]
    const moved = keys.find(key => !gone.includes(key))!
    assert.equal(gone.length, 1)
    // Redis replies ASK. Only reads follow it.
    assert.deepEqual(await links.read(moved).send(['GET', moved]), Buffer.from('x'))
    assert.deepEqual(await links.read(moved).transaction([['GET', moved]]), [Buffer.from('x')])
    assert.deepEqual(await links.read(gone[0]!).send(['GET', gone[0]!]), Buffer.from('x'))
    assert.equal(
      await refusalOf([
        ['APPEND', gone[0]!, 'y'],
        ['APPEND', moved, 'y'],
      ]),
      'ASK',
    )
    assert.equal(await refusalOf([['MSET', keys[0]!, 'y', keys[1]!, 'y']]), 'TRYAGAIN')
  })
  assert.deepEqual(await links.read(tag).send(['GET', keys[0]!]), Buffer.from('x'))
  const before = links.write(tag)
  await eventually('the write finds the slot', async () => {
    const replies = await links
      .write(tag)
      .transaction([['APPEND', keys[0]!, 'y']])
      .catch((error: RedisError) => assert.equal(error.code, 'MOVED'))
    return replies !== undefined
  })
  assert.notEqual(links.write(tag).address, `127.0.0.1:${from.port}`)
  assert.equal(links.write(tag).address, `127.0.0.1:${to.port}`)
  assert.equal(await to.ask('GET', keys[0]!), 'xy')
  assert(before.address.startsWith('127.0.0.1'))
}

async function partitionMoves(t: TestContext, cluster: RedisCluster) {
  const [from, to] = cluster.primaries as readonly [RedisServer, RedisServer]
  const [first, last] = cluster.slotsOf(from)
  const namesIn = function* (prefix: string, keyOf: (name: string) => string) {
    for (let at = 0; ; at++)
      if (slotOf(keyOf(`${prefix}${at}`)) >= first && slotOf(keyOf(`${prefix}${at}`)) <= last) yield `${prefix}${at}`
  }
  const { store } = await openTestStore(t, { ...FEW, 'redis.uri': cluster.uri })
  const keys = keysOf('svc')
  const id = namesIn('AAAAAAAAAAAAAAAAAAAAAQ:', name => keys.stream(name).meta).next().value!
  await store.create([id])
  let { epoch, end } = expectKind(await store.open(id, 0, 0), 'opened')
  const append = async () => {
    ;({ end } = expectKind(await store.append(exampleAppend(id, epoch, end)), 'appended'))
  }
  const offsets = async () => {
    const limits = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }
    return expectKind(await store.read(id, 0, limits), 'read').batches.map(({ baseOffset }) => baseOffset)
  }
  const beat = { kind: namesIn('k', kind => keys.document(kind, 'n').document).next().value!, name: 'n', changes: [] }
  let { version } = expectKind(await store.commit({ ...beat, expect: 0 }), 'committed')
  const commit = async () => {
    assert.equal((await store.load(beat.kind, beat.name))?.version, version)
    ;({ version } = expectKind(await store.commit({ ...beat, expect: version }), 'committed'))
  }
  const rewrite = async (from: number) => {
    const batches = [exampleBatch(1, 1, 80, epoch)]
    expectKind(await store.rewrite({ stream: id, epoch, from, to: 2, batches, rows: [] }), 'rewritten')
  }
  await append()
  const moving = { name: 'StoreUnavailable', message: /its slot of the Redis Cluster is on its way.*(TRYAGAIN|ASK)/ }
  await cluster.move(
    slotOf(keys.stream(id).meta),
    from,
    to,
    async () => {
      await assert.rejects(append(), moving)
      await assert.rejects(offsets(), moving)
      await assert.rejects(store.open(id, epoch, 0), moving)
      await assert.rejects(store.usage([id]), moving)
    },
    {
      begun: append,
      async arrived() {
        await append()
        // A first pass makes keys, which a server takes only once it has the slot.
        await assert.rejects(rewrite(0), moving)
        ;({ epoch } = expectKind(await store.open(id, epoch, 0), 'opened'))
        await append()
        expectKind(await store.confirm(id, epoch), 'confirmed')
        expectKind(await store.trim(id, epoch, 1, []), 'trimmed')
        await append()
        assert.equal((await store.usage([id]))[0]!.isEmptied, false)
        assert.deepEqual(expectKind(await store.read(id, 1, { maxBytes: 1e6, until: 5 }), 'read').batches.length, 4)
      },
    },
  )
  // The map of slots is read again after the first refusal.
  await eventually('an append on the new primary', async () => {
    try {
      ;({ epoch, end } = expectKind(await store.open(id, 0, 0), 'opened'))
      await append()
      return true
    } catch (error) {
      if (isStoreFailure(error)) return false
      throw error
    }
  })
  assert.equal(await to.ask('EXISTS', keys.stream(id).meta), 1)
  await rewrite(1)
  await cluster.move(slotOf(keys.stream(id).meta), to, from, async () => {}, {
    async arrived() {
      ;({ epoch } = expectKind(await store.open(id, epoch, 0), 'opened'))
      await rewrite(1)
      await append()
      expectKind(await store.trim(id, epoch, 2, []), 'trimmed')
      assert.equal((await store.usage([id]))[0]!.isEmptied, false)
    },
  })
  await eventually('the partition is removed from the slot that came back', () =>
    store.remove([id]).then(
      () => true,
      error => {
        if (isStoreFailure(error)) return false
        throw error
      },
    ),
  )
  assert.deepEqual(await from.ask('CLUSTER', 'GETKEYSINSLOT', slotOf(keys.stream(id).meta), 10), [])
  await cluster.move(slotOf(keys.document(beat.kind, beat.name).document), from, to, async () => {}, {
    begun: commit,
    arrived: commit,
  })
}

async function nodeJoins(t: TestContext, cluster: RedisCluster) {
  const primary = cluster.primaries.find(one => {
    const [first, last] = cluster.slotsOf(one)
    return first <= slotOf('k') && slotOf('k') <= last
  })
  const [spare] = cluster.spares
  const { links } = await openTestLinks(t, { ...FEW, 'redis.uri': cluster.uri })
  assert.equal(links.primaries().length, 3)
  const write = () =>
    links
      .borrow('k', link => link.transaction([['SET', 'k', 'x']]))
      .then(() => links.write('k').address)
      .catch((error: RedisError) => error.code)
  assert.equal(await write(), `127.0.0.1:${primary!.port}`)
  await cluster.move(slotOf('k'), primary!, spare!)
  assert.equal(await write(), 'MOVED')
  assert.equal(await write(), `127.0.0.1:${spare!.port}`)
  assert.equal(links.primaries().length, 4)
  await cluster.move(slotOf('k'), spare!, primary!)
  // Redis replies MOVED, unless the read of the slots after the first move was late enough to see this move.
  await eventually('the write goes back', async () => (await write()) === `127.0.0.1:${primary!.port}`)
  await eventually('its connections are let go', () => links.primaries().length === 3)
}

test('when a primary is killed, its replica takes over, and the connections follow', { skip }, async t => {
  const cluster = await startRedisCluster(t, { replicasEach: 1, config: { 'cluster-node-timeout': '500' } })
  const { links, metrics, log } = await openTestLinks(t, {
    ...FEW,
    'redis.uri': cluster.uri,
    'redis.circuit-breaker.enabled': false,
  })
  // The first primary is also the one in the URI.
  const [primary] = cluster.primaries
  const [replica] = cluster.replicas
  const key = keyIn(cluster.slotsOf(primary!))
  await links.borrow(key, link => link.transaction([['SET', key, 'x']]))
  const { incarnation } = links.write(key)
  await eventually('the replica has it', async () => (await replica!.ask('DBSIZE')) === 1)
  await primary!.stop('SIGKILL')
  await eventually(
    'a write to the new primary',
    async () => {
      const replies = await links.borrow(key, link => link.transaction([['APPEND', key, 'y']])).catch(() => null)
      return replies !== null
    },
    60_000,
  )
  const link = links.write(key)
  assert.equal(link.address, `127.0.0.1:${replica!.port}`)
  assert.notEqual(link.incarnation, incarnation)
  assert.deepEqual(await links.read(key).send(['GET', key]), Buffer.from('xy'))
  assert.match(log(), /a connection to Redis at .* is lost/)
  assert.equal(metrics.total('svc.redis.breaker_moves'), 0)
})
