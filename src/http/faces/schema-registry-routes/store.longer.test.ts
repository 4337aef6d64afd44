// Tests the routes of the registry on a store that is away for a while, and on one that several brokers share.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPEN, recordOf, startEndpoint } from '../../../../testing/registry-endpoint.ts'
import { createMemoryStore } from '../../../../testing/sim/memory-store.ts'
import { systemClock } from '../../../base/clock.ts'
import { type Store, StoreUnavailable } from '../../../store/store.ts'

const ONE = recordOf('R', 'a')

test('while the store is away, registrations and look-ups are 503 with code 50001, and later ones succeed', async t => {
  const store = createMemoryStore(systemClock)
  // Only this verb is refused, also for what the broker does of its own accord meanwhile.
  let away: 'version' | 'load' | null = null
  const refuse = (verb: string) => Promise.reject(new StoreUnavailable(`the test refuses ${verb}`))
  const openStore = async () => ({
    ...store,
    version: (...asked: Parameters<Store['version']>) => (away === 'version' ? refuse(away) : store.version(...asked)),
    load: (...asked: Parameters<Store['load']>) => (away === 'load' ? refuse(away) : store.load(...asked)),
  })
  const { say, code, register } = await startEndpoint(t, OPEN, { openStore, isShared: true })
  await register('a', ONE)
  for (const [verb, method, path, body] of [
    ['version', 'POST', '/subjects/a', { schema: ONE }],
    ['version', 'GET', '/subjects/a/versions/1', undefined],
    ['load', 'POST', '/subjects/b/versions', { schema: ONE }],
    ['load', 'GET', '/subjects/c/versions', undefined],
  ] as const) {
    away = verb
    assert.deepEqual(await code(method, path, body), [503, 50001], path)
    away = null
  }
  assert.equal((await say('POST', '/subjects/b/versions', { schema: ONE }))[0], 200)
})

test('a broker answers what another one has answered, and both give one schema one id', async t => {
  const store = createMemoryStore(systemClock)
  const shared = { openStore: async () => ({ ...store, close: async () => undefined }), isShared: true }
  const [one, other] = await Promise.all([
    startEndpoint(t, { ...OPEN, 'broker.id': 1 }, shared),
    startEndpoint(t, { ...OPEN, 'broker.id': 2 }, shared),
  ])
  const ids = await Promise.all([one, other, one, other].map((each, at) => each.register(`s${at}`, ONE)))
  assert.deepEqual(new Set(ids).size, 1)
  const id = await one.register('a', recordOf('Q', 'a'))
  assert.deepEqual(await other.say('GET', `/schemas/ids/${id}`), [200, { schema: recordOf('Q', 'a') }])
  assert.deepEqual(await other.say('GET', '/subjects'), [200, ['a', 's0', 's1', 's2', 's3']])
  await other.say('PUT', '/config/a', { compatibility: 'NONE' })
  assert.deepEqual(await one.say('GET', '/config/a'), [200, { compatibilityLevel: 'NONE' }])
  await one.say('DELETE', '/subjects/a')
  assert.deepEqual(await other.code('GET', '/subjects/a/versions'), [404, 40401])
  assert.deepEqual(await other.say('GET', `/schemas/ids/${id}/versions`), [200, []])
})
