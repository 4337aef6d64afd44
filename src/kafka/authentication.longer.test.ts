import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../testing/eventually.ts'
import { authenticate, closedByBroker, handshake, sendToken, startSaslBroker } from '../../testing/sasl.ts'
import { metadata } from '../protocol/messages/metadata.ts'

test('a thousand clients that fail at once are all closed, and cause one log line, while others are served', async t => {
  const { connect, failures, lines, sample } = await startSaslBroker(t)
  const good = await connect()
  await authenticate(good)
  const wires = await Promise.all(Array.from({ length: 1000 }, () => connect()))
  await Promise.all(wires.map(wire => handshake(wire)))
  const failing = wires.map(async wire => {
    const answer = sendToken(wire, 'alice:wrong').catch(() => null)
    await closedByBroker(wire)
    return await answer
  })
  await good.send(metadata, 4, { topics: [{ name: 't' }] })
  const answers = await Promise.all(failing)
  assert.ok(answers.filter(answer => answer !== null).length >= 100)
  assert.equal(await failures('auth', 'PLAIN'), 1000)
  assert.equal(lines().filter(({ message }) => message === 'an authentication failed').length, 1)
  await eventually('the connections are closed', async () => (await sample('svc_broker_connections')) === 1)
  assert.equal(await sample('svc_broker_pending_bytes'), 0)
})
