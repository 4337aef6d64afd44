import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeCertificate } from './certificate.ts'
import { eventually } from './eventually.ts'
import { noRedis, startRedis, startRedisCluster, startReplicated } from './redis.ts'

test('a Redis that is killed and started again has the data of its append-only file', { skip: noRedis }, async t => {
  const redis = await startRedis(t, { appendfsync: 'always', password: 'p@ss word' })
  await redis.ask('SET', 'a', '1')
  await redis.stop('SIGKILL')
  await assert.rejects(redis.ask('GET', 'a'), /ECONNREFUSED/)
  await redis.start()
  assert.equal(await redis.ask('GET', 'a'), '1')
  assert.equal(await redis.info('aof_enabled'), '1')
})

test('a Redis with TLS and users of its own answers', { skip: noRedis }, async t => {
  const redis = await startRedis(t, { tls: await makeCertificate(t), acl: ['user ketch on >secret ~ketch:* +@read'] })
  assert.match(String(await redis.ask('ACL', 'LIST')), /user ketch on/)
  assert.match(redis.uri, /^rediss:/)
})

test('a replica that is promoted has the data of the primary', { skip: noRedis }, async t => {
  const { primary, replicas } = await startReplicated(t)
  await primary.ask('SET', 'a', '1')
  await eventually('the replica has it', async () => (await replicas[0]!.ask('GET', 'a')) === '1')
  await replicas[0]!.ask('REPLICAOF', 'NO', 'ONE')
  assert.equal(await replicas[0]!.info('role'), 'master')
})

test('a cluster of three shares the slots and redirects a client', { skip: noRedis }, async t => {
  const { primaries, slotsOf } = await startRedisCluster(t)
  assert.deepEqual(primaries.map(slotsOf), [
    [0, 5460],
    [5461, 10921],
    [10922, 16383],
  ])
  // The slot of foo is 12182 (Redis Cluster specification).
  await assert.rejects(primaries[0]!.ask('GET', 'foo'), new RegExp(`MOVED 12182 127.0.0.1:${primaries[2]!.port}`))
})
