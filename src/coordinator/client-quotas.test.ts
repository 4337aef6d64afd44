import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { StoreUnavailable } from '../store/store.ts'
import { type ClientQuotas, openClientQuotas, quotaEntityKey } from './client-quotas.ts'

const user = (name: string | null) => ({ user: name })
const all = (quotas: ClientQuotas) => [...quotas.current().values()].map(({ entity, values }) => [entity, values])

test('quotas are merged by key, removed by null, and survive a restart', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const quotas = await openClientQuotas(store)
  const before = quotas.current()
  await quotas.alter([
    { entity: user('ann'), values: { producer_byte_rate: 1, consumer_byte_rate: 2 } },
    { entity: user(null), values: { request_percentage: 0.5 } },
  ])
  await quotas.alter([
    { entity: user('ann'), values: { producer_byte_rate: null, request_percentage: 3 } },
    { entity: user(null), values: { request_percentage: null } },
  ])
  assert.equal(before.size, 0)
  const expected = [[user('ann'), { consumer_byte_rate: 2, request_percentage: 3 }]]
  assert.deepEqual(all(quotas), expected)
  assert.deepEqual(all(await openClientQuotas(store.reopen())), expected)
})

test('the memory of entities and their names is limited, and existing entities can still be changed and removed', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const quotas = await openClientQuotas(store)
  const change = (name: string, rate: number | null) => ({ entity: user(name), values: { producer_byte_rate: rate } })
  const long = (index: number) => `${index}-${'x'.repeat(32_000)}`
  const outcomes = await quotas.alter(Array.from({ length: 300 }, (_, index) => change(long(index), 1)))
  const refused = outcomes.findIndex(outcome => outcome !== null)
  assert(refused > 200 && refused < 262, `${refused} fit`)
  assert(outcomes.slice(refused).every(outcome => outcome?.name === 'POLICY_VIOLATION'))
  assert.equal(quotas.current().size, refused)
  // At the limit, an existing quota can be set again, and a quota that never existed can be removed.
  const alter = async (name: string, rate: number | null) => (await quotas.alter([change(name, rate)]))[0]?.name ?? null
  assert.equal(await alter(long(300), 1), 'POLICY_VIOLATION')
  assert.equal(await alter(long(0), 2), null)
  assert.equal(await alter(long(300), null), null)
  assert.equal(await alter(long(1), null), null)
  assert.equal(await alter(long(300), 1), null)
  // Stored quotas are loaded and count.
  const again = await openClientQuotas(store.reopen())
  assert.equal(again.current().size, refused)
  assert.equal((await again.alter([change(long(301), 1)]))[0]?.name, 'POLICY_VIOLATION')
})

test('an entity has the same key for any order of its types', () => {
  const one = quotaEntityKey({ user: 'a', 'client-id': null })
  assert.equal(quotaEntityKey({ 'client-id': null, user: 'a' }), one)
  assert.notEqual(quotaEntityKey({ user: 'a' }), one)
  assert.notEqual(quotaEntityKey({ user: null }), quotaEntityKey({ user: 'null' }))
})

test('changes of two brokers, and changes with an unknown outcome, are all made', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const [one, other] = [await openClientQuotas(store), await openClientQuotas(store)]
  const change = (name: string) => [{ entity: user(name), values: { producer_byte_rate: 5 } }]
  await Promise.all([one.alter(change('a')), one.alter(change('b')), other.alter(change('c'))])
  store.faults.failNext('commit', 'unknown-lost')
  await other.alter(change('d'))
  store.faults.failNext('commit', 'unknown-done')
  await one.alter(change('e'))
  const names = all(await openClientQuotas(store)).map(([entity]) => (entity as { user: string }).user)
  assert.deepEqual(names.sort(), ['a', 'b', 'c', 'd', 'e'])
})

test('while the store is away no quota changes', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const quotas = await openClientQuotas(store)
  store.faults.failNext('commit', 'unavailable')
  const change = quotas.alter([{ entity: user('a'), values: { producer_byte_rate: 5 } }])
  await assert.rejects(change, StoreUnavailable)
  assert.equal(quotas.current().size, 0)
})

test('catchUp loads the quotas that another broker has changed', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const [one, other] = [await openClientQuotas(store), await openClientQuotas(store)]
  await other.alter([{ entity: user('ann'), values: { producer_byte_rate: 1 } }])
  assert.equal(one.current().size, 0)
  await one.catchUp()
  assert.deepEqual(all(one), [[user('ann'), { producer_byte_rate: 1 }]])
  const loaded = store.calls.load
  await one.catchUp()
  assert.equal(store.calls.load, loaded)
})
