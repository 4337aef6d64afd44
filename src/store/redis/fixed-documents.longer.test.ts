// Checks on a real Redis that credentials and rules are stored under the keys and in the forms of the specification.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { noRedis, startRedis, startRedisCluster } from '../../../testing/redis.ts'
import { openTestStore } from '../../../testing/redis-store.ts'
import { createAcl, deleteAcl, describeAcls, listAcls } from '../../admin/acls.ts'
import { deleteCredential, listCredentials, storeCredential } from '../../admin/credentials.ts'
import { openAclKeeper } from '../../auth/clients/acl-keeper.ts'
import type { Grant } from '../../auth/clients/acl-rules.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import type { Store } from '../store.ts'

const skip = noRedis

async function roomsOn(store: Store) {
  const rooms = { store, clock: systemClock, random: seededRandom(1) }
  return { ...rooms, acls: await openAclKeeper({ ...rooms, isShared: true }) }
}

async function open(t: TestContext) {
  const redis = await startRedis(t)
  const { store } = await openTestStore(t, { 'redis.uri': redis.uri, namespace: 'ns[1]*' })
  const hash = async (key: string) => {
    const flat = (await redis.ask('HGETALL', key)) as string[]
    return Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at], flat[2 * at + 1]]))
  }
  return { redis, rooms: await roomsOn(store), hash }
}

const orders: Grant = { resourceType: 'TOPIC', resource: 'orders', operation: 'READ' }
const billing: Grant = { resourceType: 'GROUP', resource: 'billing', operation: 'READ' }

test('rules are one JSON document for each principal in one hash', { skip }, async t => {
  const { redis, rooms, hash } = await open(t)
  await createAcl(rooms, { principal: 'ada', ...orders })
  await createAcl(rooms, { principal: 'group:staff', ...billing })
  assert.deepEqual(await hash('ns[1]*:broker:acls'), {
    ada: '{"topics":{"orders":["READ"]}}',
    'group:staff': '{"topics":{},"groups":{"billing":["READ"]}}',
  })
  await redis.ask('HSET', 'ns[1]*:broker:acls', 'elsewhere', '{"topics":{"logs-*":["WRITE"]}}')
  await redis.ask('HSET', 'ns[1]*:broker:acls', 'strange', '[]')
  assert.deepEqual(await listAcls(rooms), {
    rules: [
      { principal: 'ada', ...orders },
      { principal: 'elsewhere', resourceType: 'TOPIC', resource: 'logs-*', operation: 'WRITE' },
      { principal: 'group:staff', ...billing },
    ],
    unreadable: ['strange'],
  })
  assert.equal(await deleteAcl(rooms, { principal: 'ada', ...orders }), true)
  assert.equal(await deleteAcl(rooms, { principal: 'ada', ...orders }), false)
  assert.equal(await redis.ask('HEXISTS', 'ns[1]*:broker:acls', 'ada'), 0)
})

test('a credential is one hash under the name of its user; if the key is deleted, the credential is gone', {
  skip,
}, async t => {
  const { redis, rooms, hash } = await open(t)
  const ada = { username: 'ada', password: 'correct horse', iterations: 4_096, tenantId: 'acme' }
  await storeCredential(rooms, { ...ada, mechanism: 'SCRAM-SHA-256' })
  const stored = await hash('ns[1]*:broker:credentials:ada')
  assert.deepEqual(Object.keys(stored).sort(), [
    'iterations',
    'mechanism',
    'password_hash',
    'salt',
    'server_key',
    'tenant_id',
  ])
  assert.deepEqual([stored.mechanism, stored.iterations, stored.tenant_id], ['SCRAM-SHA-256', '4096', 'acme'])
  assert.equal(Buffer.from(stored.salt!, 'base64').length, 16)
  for (const name of ['password_hash', 'server_key']) assert.equal(Buffer.from(stored[name]!, 'base64').length, 32)

  await storeCredential(rooms, { ...ada, tenantId: null, mechanism: 'PLAIN' })
  assert.deepEqual(Object.keys(await hash('ns[1]*:broker:credentials:ada')).sort(), [
    'iterations',
    'mechanism',
    'password_hash',
    'salt',
  ])
  for (let i = 0; i < 300; i++) await storeCredential(rooms, { ...ada, username: `user-${i}`, mechanism: 'PLAIN' })
  await redis.ask('HSET', 'ns[1]*:broker:credentials:broken', 'mechanism', 'GSSAPI')
  await redis.ask('HSET', 'ns1:broker:credentials:stranger', 'mechanism', 'PLAIN')
  const { credentials, unreadable } = await listCredentials(rooms)
  assert.deepEqual([credentials.length, unreadable], [301, ['broken']])
  await redis.ask('DEL', 'ns[1]*:broker:credentials:ada')
  assert.equal((await listCredentials(rooms)).credentials.length, 300)
  assert.equal(await deleteCredential(rooms, 'broken'), true)
  assert.equal(await redis.ask('EXISTS', 'ns[1]*:broker:credentials:broken'), 0)
})

test('a commit conflicts if the document has changed since it was read', { skip }, async t => {
  const { redis, rooms, hash } = await open(t)
  const { store } = rooms
  const change = (kind: string, field: string, expect: number, text: string) =>
    store.commit({ kind, name: 'ada', expect, changes: [{ key: field, value: Buffer.from(text) }] })
  for (const [kind, field] of [
    ['acl', 'document'],
    ['credential', 'mechanism'],
  ] as const) {
    const made = await change(kind, field, 0, 'one')
    assert.equal(made.kind, 'committed')
    assert.equal((await change(kind, field, 0, 'two')).kind, 'conflict')
    const found = await store.load(kind, 'ada')
    assert.equal(found!.version, made.version)
    assert.equal(await store.version(kind, 'ada'), made.version)
    assert.deepEqual(await store.list(kind), [found])
    if (kind === 'acl') await redis.ask('HSET', 'ns[1]*:broker:acls', 'ada', 'theirs')
    else await redis.ask('HSET', 'ns[1]*:broker:credentials:ada', 'tenant_id', 'theirs')
    const conflict = await change(kind, field, made.version, 'two')
    assert.equal(conflict.kind, 'conflict')
    assert.equal(await store.version(kind, 'ada'), conflict.version)
    assert.equal((await change(kind, field, conflict.version, 'two')).kind, 'committed')
    const removal = { kind, name: 'ada', expect: await store.version(kind, 'ada'), changes: [], remove: true }
    assert.deepEqual(await store.commit(removal), { kind: 'committed', version: 0 })
    assert.equal(await store.load(kind, 'ada'), null)
    assert.equal((await store.commit(removal)).kind, 'conflict')
  }
  assert.deepEqual(await hash('ns[1]*:broker:acls'), {})
})

test('rules that are added to one principal at the same time are all kept', { skip }, async t => {
  const { rooms } = await open(t)
  const brokers = [rooms, await roomsOn(rooms.store), await roomsOn(rooms.store)]
  const resources = Array.from({ length: 30 }, (_, i) => `topic-${i}`)
  const grant = (resource: string, at: number) =>
    createAcl(brokers[at % brokers.length]!, { principal: 'ada', ...orders, resource })
  await Promise.all(resources.map(grant))
  assert.equal((await describeAcls(rooms, 'ada')).length, resources.length)
})

test('on a cluster credentials are found on every primary', { skip }, async t => {
  const { uri } = await startRedisCluster(t)
  const { store } = await openTestStore(t, { 'redis.uri': uri, 'redis.cluster': true })
  const rooms = await roomsOn(store)
  const common = { password: 'correct horse', iterations: 4_096, tenantId: null, mechanism: 'PLAIN' } as const
  const names = Array.from({ length: 20 }, (_, i) => `user-${i}`).sort()
  for (const username of names) await storeCredential(rooms, { ...common, username })
  const { credentials } = await listCredentials(rooms)
  assert.deepEqual(
    credentials.map(({ username }) => username),
    names,
  )
  for (const username of names) assert.equal(await deleteCredential(rooms, username), true)
  await createAcl(rooms, { principal: 'ada', ...orders })
  assert.equal((await listAcls(rooms)).rules.length, 1)
})

test('each broker notices by itself which rules another program writes', { skip }, async t => {
  const redis = await startRedis(t)
  const brokers = []
  for (const id of [1, 2]) brokers.push(await startBroker(t, { 'redis.uri': redis.uri, 'broker.id': id }))
  await redis.ask('HSET', 'svc:broker:acls', 'strange', '[]')
  for (const { log } of brokers) {
    const isNamed = () => / ERROR .*the rules of "strange" cannot be read/.test(log())
    await eventually('the broker names the rules', isNamed, 5_000)
  }
})
