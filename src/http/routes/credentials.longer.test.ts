import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'

interface Listed {
  readonly credentials: readonly { readonly username: string }[]
  readonly total: number
}

const PASSWORD = 'correct horse battery'

async function open(t: TestContext) {
  const broker = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const ask = askHttp(broker.url)
  const store = (body: object, status = 201) =>
    ask<{ detail: string; fields?: Record<string, string> }>('/api/v1/credentials', status, {
      body: { username: 'ada', password: PASSWORD, ...body },
    })
  return { ask, store, broker }
}

test('a credential is stored, shown without its secrets, changed and removed', async t => {
  const { ask, store, broker } = await open(t)
  const ada = { username: 'ada', mechanism: 'SCRAM-SHA-256', iterations: 10_000, tenant_id: null }
  const notice = 'No broker asks Kafka clients for credentials, because svc.broker.sasl.enabled is false.'
  assert.deepEqual(await store({}), { ...ada, notice })
  assert.deepEqual(await store({ tenant_id: 'acme' }, 200), { ...ada, tenant_id: 'acme', notice })
  await store({ username: 'bob', mechanism: 'PLAIN', iterations: 4_096 })
  const list = async (query = '') => {
    const { credentials, total } = await ask<Listed>(`/api/v1/credentials${query}`)
    return [credentials.map(({ username }) => username), total]
  }
  assert.deepEqual(await list(), [['ada', 'bob'], 2])
  assert.deepEqual(await list('?sort=mechanism&limit=1'), [['bob'], 2])
  assert.deepEqual(await list('?q=AD'), [['ada'], 1])
  assert.deepEqual(await ask('/api/v1/credentials/ada'), { ...ada, tenant_id: 'acme' })

  const change = (body: object, status = 200) =>
    ask<{ detail: string }>('/api/v1/credentials/ada', status, { method: 'PUT', body })
  assert.deepEqual(await change({ tenant_id: null }), ada)
  assert.match((await change({ iterations: 20_000 }, 400)).detail, /password is required/)
  assert.deepEqual(await change({ iterations: 20_000, password: PASSWORD }), { ...ada, iterations: 20_000 })
  await ask('/api/v1/credentials/stranger', 404, { method: 'PUT', body: { tenant_id: 'x' } })
  await ask('/api/v1/credentials/ada', 204, { method: 'DELETE' })
  await ask('/api/v1/credentials/ada', 404, { method: 'DELETE' })
  await ask('/api/v1/credentials/ada', 404)
  assert.deepEqual(await list(), [['bob'], 1])
  assert.ok(!broker.log().includes(PASSWORD))
})

test('a credential is refused for a wrong name, password, number of iterations or field', async t => {
  const { ask, store } = await open(t)
  for (const username of [
    'a:b',
    '',
    ' a',
    'a\u0000',
    'x'.repeat(129),
    '\u202eabc',
    '.',
    '..',
    'ａ',
    'a\u1806',
    '\u05d0a',
  ])
    await store({ username }, 400)
  assert.match((await store({ username: 'group:a' }, 400)).detail, /holds ':'/)
  for (const iterations of [4_095, 1_000_001, 1e9, 5_000.5, '5000']) await store({ iterations }, 400)
  const { detail, fields } = await store({ tenantId: 'acme' }, 400)
  assert.deepEqual(fields, { tenantId: 'is not taken here; did you mean tenant_id?' })
  assert.equal(detail, 'tenantId: is not taken here; did you mean tenant_id?')
  for (const password of ['', 'tiny', 'x'.repeat(1_025)]) {
    const { detail } = await store({ password }, 400)
    assert.ok(password === '' || !detail.includes(password))
  }
  for (const tenant of ['', 'a\n', 'x'.repeat(257)]) await store({ tenant_id: tenant }, 400)
  await store({ mechanism: 'SCRAM-SHA-512' }, 400)
  assert.equal((await ask<Listed>('/api/v1/credentials')).total, 0)
  for (const username of ['a:b', 'a\u0000', 'x'.repeat(10_000)]) {
    const path = `/api/v1/credentials/${encodeURIComponent(username)}`
    const none = username.length > 1_024 ? 400 : 404
    await ask(path, none)
    await ask(path, none, { method: 'DELETE' })
    await ask(path, 400, { method: 'PUT', body: { tenant_id: 'x' } })
  }
  for (const username of ['a=2Cb=3D', '__proto__', 'a/b', '<img onerror=x>', '*', '%2e%2e', 'ünï']) {
    await store({ username, iterations: 4_096 })
    const path = `/api/v1/credentials/${encodeURIComponent(username)}`
    assert.equal((await ask(path)).username, username)
    await ask(path, 204, { method: 'DELETE' })
  }
})
