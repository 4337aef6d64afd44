import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'
import { listSettings } from '../../admin/effective-settings.ts'
import { loadSettings } from '../../settings/load.ts'
import { keys } from '../../settings/settings.ts'
import { describeRoutes } from '../openapi.ts'
import { settingRoutes } from './settings.ts'

interface Listed {
  readonly settings: readonly Readonly<Record<string, unknown>>[]
  readonly total: number
}

test('every setting is shown with its source, its default and its meaning, and no secret', async t => {
  const secret = 'a-secret-that-no-client-may-read-0123456789'
  const overrides = { 'admin.security-enabled': false, 'admin.password': secret, 'admin.jwt.secret': secret } as const
  const { url } = await startBroker(t, overrides, { hasHttp: true })
  const ask = askHttp(url)
  const all = await ask<Listed>('/api/v1/settings?limit=1000')
  assert.deepEqual([all.total, all.settings.length], [keys.length, keys.length])
  assert.ok(!JSON.stringify(all).includes(secret))
  const setting = async (key: string) => (await ask<Listed>(`/api/v1/settings?q=${key}`)).settings[0]!
  const { documentation, ...drain } = await setting('broker.drain-timeout')
  assert.match(String(documentation), /\.$/)
  assert.deepEqual(drain, {
    ...{ key: 'svc.broker.drain-timeout', value: '5s', source: 'default', isSet: false, isSecret: false },
    ...{ default: '5s', type: 'duration', unit: null, choices: null, notYet: null },
  })
  const written = async (key: string) => {
    const { unit, choices } = await setting(key)
    return [unit, choices]
  }
  assert.deepEqual(await written('dictionary.size-bytes'), ['bytes', null])
  assert.deepEqual(await written('svc.broker.max-connections-per-address'), [null, null])
  assert.deepEqual(await written('svc.broker.acl.enabled'), [null, ['true', 'false']])
  assert.deepEqual(await written('svc.broker.sasl.mechanisms'), [
    null,
    ['SCRAM-SHA-256', 'PLAIN', 'OAUTHBEARER', 'GSSAPI'],
  ])
  // An empty list is neither a list with one word nor a missing value.
  for (const key of ['svc.broker.listeners', 'svc.storage.remote.metrics.common-tags']) {
    const empty = await setting(key)
    assert.deepEqual([empty.value, empty.default], ['', ''], key)
  }
  const uri = await setting('svc.redis.uri')
  assert.deepEqual([uri.value, uri.default], [null, null])
  const password = await setting('svc.admin.password')
  assert.deepEqual(
    [password.value, password.default, password.isSecret, password.isSet, password.source],
    [null, null, true, true, 'test'],
  )
  const set = await ask<Listed>('/api/v1/settings?set=true&limit=1000')
  assert.ok(set.settings.every(({ isSet }) => isSet === true) && set.total > 3)
  await ask('/api/v1/settings?set=maybe', 400)
})

test('of a list of entries the number is shown and documented', () => {
  const argv = ['--svc.topics[0].name=orders']
  const settings = loadSettings({ argv, env: {}, cwd: '/', readFile: () => new Uint8Array() })
  assert.equal(listSettings(settings).find(({ key }) => key === 'svc.topics')!.value, '1 entry')
  const { components } = describeRoutes(settingRoutes) as {
    components: { schemas: { Setting: { properties: { value: { description: string } } } } }
  }
  assert.match(
    components.schemas.Setting.properties.value.description,
    /a list of entries gives the number of its entries/i,
  )
})
