// Tests changes that are shown by one broker and made by another one of the same Redis.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { adminClient } from '../../../testing/admin-client.ts'
import { AGENT_SETTINGS, type Agent, agentAt } from '../../../testing/agent-client.ts'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { commit } from '../../../testing/group-calls.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { findCoordinator } from '../../protocol/messages/find-coordinator.ts'
import { metadata } from '../../protocol/messages/metadata.ts'

async function startTwo(t: TestContext) {
  const { uri } = await startRedis(t)
  const start = async (id: number) => {
    const settings = { ...AGENT_SETTINGS, 'admin.security-enabled': false, 'redis.uri': uri, 'broker.expiry': 2_000 }
    const limits = { perSecond: 1e6, burst: 1e6 }
    const broker = await startBroker(t, { ...settings, 'broker.id': id }, { http: { mcp: { limits } } })
    return { ...broker, agent: agentAt(broker.url), wire: await broker.connect(), id }
  }
  const [one, two] = [await start(1), await start(2)]
  for (const { wire } of [one, two])
    await eventually(
      'the brokers see each other',
      async () => (await wire.send(metadata, 9, { topics: [] })).brokers.length === 2,
      20_000,
    )
  return [one, two] as const
}

/**
 * Lets one broker show the change, and sends the value to both at once. Resolves with the answer of the one that made
 * it.
 */
async function onceOfTwo(from: Agent, others: readonly Agent[], tool: string, args: Record<string, unknown>) {
  const { structured, isError } = await from.call(tool, args)
  assert.equal(isError, false, JSON.stringify(structured))
  const { confirm } = structured
  const answers = await Promise.all(others.map(agent => agent.call(tool, { ...args, confirm })))
  const [made, ...more] = answers.filter(each => !each.isError)
  const errors = answers.filter(each => each.isError).map(each => each.structured.error)
  assert.deepEqual([more.length, errors], [0, ['CONFIRM_INVALID']], JSON.stringify(answers))
  return made!.structured.untrusted_data
}

test('a change that one broker shows is made by any broker, and by only one', { skip: noRedis }, async t => {
  const [one, two] = await startTwo(t)
  const agents = [one.agent, two.agent]
  const { ask } = adminClient(one.url)
  const topic = 'orders'

  const { created } = await onceOfTwo(two.agent, agents, 'create_topic', { topic, partitions: 6 })
  const leaders = async () => (await ask('GET', `/api/v1/topics/${topic}`)).body.leaders as readonly { end: number }[]
  await eventually('each partition answers', async () => (await leaders()).every(({ end }) => end === 0), 20_000)

  const messages = Array.from({ length: 6 }, (_, partition) => ({ partition, value: { text: `${partition}` } }))
  for (const from of agents) {
    const { records, refused } = await onceOfTwo(from, agents, 'produce', { topic, messages })
    assert.deepEqual([records.total, refused], [6, undefined])
  }
  assert.deepEqual(
    (await leaders()).map(({ end }) => end),
    [2, 2, 2, 2, 2, 2],
  )

  for (const [at, from] of agents.entries()) {
    const group = `readers-${at}`
    const { coordinators } = await one.wire.send(findCoordinator, 4, { coordinatorKeys: [group] })
    const { wire } = coordinators[0]!.nodeId === 1 ? one : two
    await commit(wire, group, { 0: 1, 1: 1 })
    const { offsets } = await onceOfTwo(from, agents, 'reset_offsets', { group, to: 'earliest' })
    assert.deepEqual(
      offsets.rows.map((row: { before: number; after: number }) => [row.before, row.after]),
      [
        [1, 0],
        [1, 0],
      ],
    )
    assert.deepEqual(await onceOfTwo(from, agents, 'delete_group', { group }), { deleted: { group } })
  }

  const offsets = messages.map(({ partition }) => ({ partition, before: 'end' }))
  const deleted = await onceOfTwo(one.agent, agents, 'delete_records', { topic, offsets })
  assert.deepEqual(
    deleted.partitions.rows,
    messages.map(({ partition }) => ({ partition, start: 2 })),
  )

  const schema = '{"type": "record", "name": "Order", "fields": []}'
  const { registered } = await onceOfTwo(two.agent, agents, 'register_schema', { subject: 'orders-value', schema })
  assert.deepEqual([registered.version, registered.id], [1, 1])

  // One broker deletes the topic and creates it again: the preview of the other one is about the topic before.
  const old = (await two.agent.call('delete_topic', { topic })).structured.confirm
  assert.deepEqual(await onceOfTwo(two.agent, agents, 'delete_topic', { topic }), {
    deleted: { name: topic, id: created.id },
  })
  const again = (await onceOfTwo(one.agent, agents, 'create_topic', { topic, partitions: 6 })).created
  assert.notEqual(again.id, created.id)
  const { structured } = await two.agent.call('delete_topic', { topic, confirm: old })
  assert.ok(['CONFIRM_OUTDATED', 'UNKNOWN_TOPIC_ID'].includes(structured.error), JSON.stringify(structured))
  assert.equal((await ask('GET', `/api/v1/topics/${topic}`)).body.id, again.id)
})
