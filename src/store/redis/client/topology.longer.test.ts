import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../../../testing/process.ts'
import { noRedis, startRedis } from '../../../../testing/redis.ts'
import { parseRedirection, slotOf } from './topology.ts'

test('the slot of a key is the same as in a cluster, with hash tags too', { skip: noRedis }, async t => {
  const redis = await startRedis(t, { config: { 'cluster-enabled': 'yes', 'cluster-port': String(await freePort()) } })
  for (const key of ['', 'foo', '123456789', 'é', '{a}b', 'x{a}{b}', '{}x', '{', 'a}b{c', 'a{{b}c}'])
    assert.equal(slotOf(key), await redis.ask('CLUSTER', 'KEYSLOT', key), JSON.stringify(key))
})

test('a redirection has slot and address; without a host it is the host that replied', () => {
  assert.deepEqual(parseRedirection('MOVED 3999 127.0.0.1:6381', 'h'), { slot: 3999, host: '127.0.0.1', port: 6381 })
  assert.deepEqual(parseRedirection('ASK 3999 :6381', 'h'), { slot: 3999, host: 'h', port: 6381 })
  assert.deepEqual(parseRedirection('MOVED 1 ::1:6381', 'h'), { slot: 1, host: '::1', port: 6381 })
})
