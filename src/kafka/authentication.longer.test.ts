import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { authenticate, closedByBroker, handshake, sendToken, startSaslBroker } from '../../testing/sasl.ts'
import { CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST, NONE, STALE_CONTROLLER_EPOCH } from '../protocol/errors.ts'
import { describeStorageWorker } from '../protocol/messages/describe-storage-worker.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { runStorageRound } from '../protocol/messages/run-storage-round.ts'

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

test('without ACLs too, a client starts no round of the storage worker and may see the newest one', async t => {
  const { connect } = await startSaslBroker(t)
  const client = await connect()
  await authenticate(client)
  const open = await (await startBroker(t)).connect()
  // The second client may be a broker, but no other broker can use this store.
  for (const [wire, ...refusals] of [
    [client, CLUSTER_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED],
    [open, INVALID_REQUEST, STALE_CONTROLLER_EPOCH],
  ] as const) {
    for (const [holderId, refusal] of refusals.entries()) {
      const claim = { holderId, incarnation: '', fence: 0 }
      const asked = { ...claim, round: 1, concurrency: 1, isCleaningAllowed: true }
      assert.equal((await wire.send(runStorageRound, 0, asked)).errorCode, refusal.code)
    }
    const started = await wire.send(describeStorageWorker, 0, { start: true, number: -1 })
    assert.equal(started.errorCode, CLUSTER_AUTHORIZATION_FAILED.code)
    const shown = await wire.send(describeStorageWorker, 0, { start: false, number: -1 })
    assert.deepEqual([shown.errorCode, shown.round], [NONE, null])
  }
})
