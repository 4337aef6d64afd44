import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { ListenFailed } from '../settings/listen-failed.ts'

test('a broker lists itself', async t => {
  const { url, port } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const response = await fetch(`${url}/api/v1/brokers`)
  assert.equal(response.status, 200)
  const { brokers } = (await response.json()) as { brokers: { version: string }[] }
  assert.match(brokers[0]!.version, /^\d+\.\d+\.\d+/)
  assert.deepEqual(brokers, [
    {
      ...{
        id: 0,
        rack: null,
        version: brokers[0]!.version,
        leads: 0,
        isServing: true,
        isSelf: true,
        isConfirmed: true,
      },
      listeners: [{ name: 'PLAINTEXT', host: '127.0.0.1', port }],
    },
  ])
})

test('without a session a route says that it needs one, in one shape', async t => {
  const { url } = await startBroker(t, {}, { hasHttp: true })
  const response = await fetch(`${url}/api/v1/brokers`)
  assert.equal(response.status, 401)
  assert.equal(response.headers.get('content-type'), 'application/problem+json')
  const { requestId, ...body } = (await response.json()) as Record<string, unknown>
  assert.match(String(requestId), /^[\w-]{16}$/)
  assert.deepEqual(body, {
    type: 'about:blank',
    title: 'Nobody is signed in.',
    status: 401,
    detail: 'A session is required.',
    code: 'UNAUTHENTICATED',
  })
})

test('what is not in the table is not found, and another method is not allowed', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  assert.equal((await fetch(`${url}/api/v1/nothing`)).status, 404)
  const response = await fetch(`${url}/api/v1/brokers`, { method: 'DELETE' })
  assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET'])
})

test('a port that is taken ends the start with the setting to change', async t => {
  const { broker } = await startBroker(t, {}, { hasHttp: true })
  const port = broker.httpPort!
  await assert.rejects(startBroker(t, { 'server.port': port }, { hasHttp: true }), error => {
    assert.ok(error instanceof ListenFailed)
    assert.match(error.message, new RegExp(`^cannot listen for HTTP clients on 127.0.0.1:${port}: the port is taken`))
    assert.match(error.message, new RegExp(`--server.port=${port + 1} or SERVER_PORT=${port + 1}$`))
    return true
  })
})
