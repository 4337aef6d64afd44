// The mechanism OAUTHBEARER with the tokens of a certified provider.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProviderUnavailable } from '../../src/auth/provider-fetch.ts'
import { openOauthbearer } from '../../src/auth/sasl/oauthbearer.ts'
import { systemClock } from '../../src/base/clock.ts'
import { testSettings } from '../../src/settings/settings.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { startOauthProvider } from './provider.ts'

async function setUp(t: CleanUp) {
  const provider = await startOauthProvider(t, {
    clients: { orders: { groups: ['staff', 'writers'], tenant: 'eu' }, reports: {} },
  })
  const settings = testSettings({
    'broker.sasl.oauth.issuer-uri': provider.issuer,
    'broker.sasl.oauth.audience': provider.audience,
    'broker.sasl.oauth.groups-claim': 'groups',
    'broker.sasl.oauth.tenant-claim': 'tenant',
  })
  // The provider has the time of the system.
  const clock = new SimulatedClock(systemClock.now())
  const mechanism = openOauthbearer({ settings, clock })
  const authenticate = (token: string) =>
    mechanism
      .begin({ address: '127.0.0.1', exportKey: () => null })
      .step(Buffer.from(`n,,\u0001auth=Bearer ${token}\u0001\u0001`))
  const client = async (id: string) => {
    const step = await authenticate(await provider.token(id))
    assert(step.kind === 'success', step.kind)
    return step.client
  }
  return { provider, clock, authenticate, client }
}

test('a client with a token of a real provider has its name, groups and tenant', async t => {
  const { provider, clock, client } = await setUp(t)
  const { validUntilMs, ...orders } = await client('orders')
  assert.deepEqual(orders, { name: 'orders', groups: ['staff', 'writers'], tenant: 'eu' })
  assert(validUntilMs! > clock.now() + 290_000 && validUntilMs! < clock.now() + 330_000)
  const reports = await client('reports')
  assert.deepEqual([reports.name, reports.groups, reports.tenant], ['reports', [], null])
  provider.clients.get('orders')!.groups = ['staff']
  assert.deepEqual((await client('orders')).groups, ['staff'], 'a removed group is not in the next token')
})

test('a real provider may rotate its keys', async t => {
  const { provider, clock, authenticate, client } = await setUp(t)
  const before = await provider.token('orders')
  assert.equal((await authenticate(before)).kind, 'success')
  provider.rotateKeys()
  await clock.advance(30_000)
  assert.equal((await client('orders')).name, 'orders')
  assert.equal((await authenticate(before)).kind, 'continue', 'the old key is gone')
})

test('a real provider that is down stops new logins only while its keys are not known', async t => {
  const { provider, clock, authenticate } = await setUp(t)
  const token = await provider.token('orders')
  await provider.stop()
  await assert.rejects(async () => authenticate(token), ProviderUnavailable)
  await provider.start()
  await clock.advance(1_000)
  assert.equal((await authenticate(token)).kind, 'success')
  await provider.stop()
  assert.equal((await authenticate(token)).kind, 'success')
})
