import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { storeCredential } from '../../admin/credentials.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { DUPLICATE_RESOURCE, NONE, RESOURCE_NOT_FOUND, UNACCEPTABLE_CREDENTIAL } from '../../protocol/errors.ts'
import { describeUserScramCredentials } from '../../protocol/messages/describe-user-scram-credentials.ts'

test('users have the SCRAM credentials that were stored, and PLAIN credentials do not count', async t => {
  const store = createMemoryStore(new SimulatedClock())
  const wire = await (await startBroker(t, {}, { openStore: async () => store })).connect()
  const ask = async (users: readonly string[] | null) => {
    const body = { users: users?.map(name => ({ name })) ?? null }
    const { errorCode, results } = await wire.send(describeUserScramCredentials, 0, body)
    assert.equal(errorCode, NONE)
    return results.map(({ user, errorCode, credentialInfos }) => {
      return [user, errorCode, ...credentialInfos.flatMap(({ mechanism, iterations }) => [mechanism, iterations])]
    })
  }
  assert.deepEqual(await ask(null), [])
  const rooms = { store, clock: systemClock, random: seededRandom(1) }
  const common = { password: 'correct horse', tenantId: null }
  await storeCredential(rooms, { ...common, username: 'bob', mechanism: 'SCRAM-SHA-256', iterations: 5_000 })
  await storeCredential(rooms, { ...common, username: 'ann', mechanism: 'SCRAM-SHA-256', iterations: 4_096 })
  await storeCredential(rooms, { ...common, username: 'plain', mechanism: 'PLAIN', iterations: 4_096 })
  const theirs = [{ key: 'mechanism', value: Buffer.from('SCRAM-SHA-512') }]
  await store.commit({ kind: 'credential', name: 'strange', expect: 0, changes: theirs })
  const [ann, bob] = [
    ['ann', NONE, 1, 4_096],
    ['bob', NONE, 1, 5_000],
  ]
  assert.deepEqual(await ask(null), [ann, bob])
  assert.deepEqual(await ask([]), [ann, bob])
  assert.deepEqual(await ask(['bob', 'zoe', 'plain', 'strange', 'ann', 'bob']), [
    ['bob', DUPLICATE_RESOURCE.code],
    ['zoe', RESOURCE_NOT_FOUND.code],
    ['plain', RESOURCE_NOT_FOUND.code],
    ['strange', UNACCEPTABLE_CREDENTIAL.code],
    ann,
  ])
})

test('a request that names many users asks the store for a few of them at a time', async t => {
  const store = createMemoryStore(new SimulatedClock())
  const wire = await (await startBroker(t, {}, { openStore: async () => store })).connect()
  const letGo = store.faults.hold('load')
  const before = store.calls.load
  const users = Array.from({ length: 1_000 }, (_, i) => ({ name: `user ${i}` }))
  const asked = wire.send(describeUserScramCredentials, 0, { users })
  await eventually('the store is asked', () => store.calls.load > before)
  assert.equal(store.calls.load - before, 100)
  letGo()
  const { results } = await asked
  assert.deepEqual(
    results.map(({ user }) => ({ name: user })),
    users,
  )
})
