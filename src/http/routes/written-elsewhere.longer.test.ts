// Tests rules and credentials that another program wrote to Redis in a form that this version cannot read.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'

const skip = noRedis

const HASH = Buffer.alloc(32).toString('base64')

interface Problem {
  readonly code: string
  readonly detail: string
}

async function open(t: Parameters<typeof startRedis>[0]) {
  const redis = await startRedis(t)
  const settings = { 'admin.security-enabled': false, 'redis.uri': redis.uri }
  const { url, log } = await startBroker(t, settings, { hasHttp: true })
  const ask = askHttp(url)
  const refused = async (path: string, options: Parameters<typeof ask>[2], detail: string) => {
    const found = await ask<Problem>(path, 409, options)
    assert.deepEqual([found.code, found.detail], ['UNREADABLE', detail])
  }
  return { redis, ask, refused, log }
}

test('rules in another form are refused with the principal and the defect, and listed as unreadable', {
  skip,
}, async t => {
  const { redis, ask, refused, log } = await open(t)
  await ask('/api/v1/acls', 201, { body: { principal: 'ada', topic: 'orders', operation: 'READ' } })
  await redis.ask('HSET', 'svc:broker:acls', 'text', 'READ orders', 'shape', '{"topics":{"orders":"READ"}}')
  const rule = { topic: 'orders', operation: 'READ' }
  for (const [principal, defect] of [
    ['text', 'they are no JSON'],
    ['shape', 'topics["orders"] is no list'],
  ] as const) {
    const detail = `The stored rules of "${principal}" cannot be read: ${defect}.`
    await refused(`/api/v1/acls/${principal}`, {}, detail)
    await refused(`/api/v1/acls/${principal}?topic=orders&operation=READ`, { method: 'DELETE' }, detail)
    await refused('/api/v1/acls', { body: { principal, ...rule } }, detail)
  }
  const listed = await ask('/api/v1/acls')
  assert.deepEqual([listed.total, listed.unreadable], [1, ['shape', 'text']])
  assert.deepEqual((await ask('/api/v1/acls/match?topic=orders')).unreadable, ['shape', 'text'])
  assert.equal(await redis.ask('HGET', 'svc:broker:acls', 'text'), 'READ orders')

  await redis.ask('DEL', 'svc:broker:acls')
  await redis.ask('SET', 'svc:broker:acls', 'no hash')
  await refused('/api/v1/acls', {}, 'The document stored as acl cannot be read: its key holds no hash.')
  await refused('/api/v1/acls/ada', {}, 'The document stored as acl cannot be read: its key holds no hash.')
  assert.doesNotMatch(log(), / (WARN|ERROR) +svc\.http/)
})

test('a credential in another form is refused with the user and the defect, and can be replaced and removed', {
  skip,
}, async t => {
  const { redis, ask, refused, log } = await open(t)
  const stored = { username: 'ada', password: 'correct horse', iterations: 4_096 }
  await ask('/api/v1/credentials', 201, { body: stored })
  await redis.ask('HSET', 'svc:broker:credentials:bob', 'mechanism', 'SCRAM-SHA-512')
  await redis.ask('HSET', 'svc:broker:credentials:eve', 'mechanism', 'PLAIN', 'password_hash', HASH, 'salt', 'AA==')
  await redis.ask('HSET', 'svc:broker:credentials:eve', 'iterations', 'many')
  await redis.ask('SET', 'svc:broker:credentials:joe', 'no hash')
  const change = { method: 'PUT', body: { tenant_id: 'acme' } } as const
  for (const [user, detail] of [
    ['bob', 'The stored credential of "bob" cannot be read: it has no mechanism that this version knows.'],
    ['eve', 'The stored credential of "eve" cannot be read: it has no iterations that this version knows.'],
    ['joe', 'The document stored as credential "joe" cannot be read: its key holds no hash.'],
  ] as const) {
    await refused(`/api/v1/credentials/${user}`, {}, detail)
    await refused(`/api/v1/credentials/${user}`, change, detail)
  }
  const listed = await ask('/api/v1/credentials')
  assert.deepEqual([listed.total, listed.unreadable], [1, ['bob', 'eve']])
  await ask('/api/v1/credentials', 200, { body: { ...stored, username: 'bob' } })
  await ask('/api/v1/credentials/bob', 200)
  await ask('/api/v1/credentials/eve', 204, { method: 'DELETE' })
  await refused(
    '/api/v1/credentials/joe',
    { method: 'DELETE' },
    'The document stored as credential "joe" cannot be read: its key holds no hash.',
  )
  assert.doesNotMatch(log(), / (WARN|ERROR) +svc\.http/)
})
