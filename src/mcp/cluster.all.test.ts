// Tests that every broker of a cluster answers agents alike, whichever leads or coordinates, and takes confirmations of
// the others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminClient } from '../../testing/admin-client.ts'
import { AGENT_SETTINGS, agentAt } from '../../testing/agent-client.ts'
import { createCluster } from '../../testing/cluster.ts'
import { eventually } from '../../testing/eventually.ts'
import { createTopicOfAll } from '../../testing/topic.ts'
import { offsetCommit } from '../protocol/messages/offset-commit.ts'
import type { Values } from '../settings/settings.ts'

const SETTINGS: Partial<Values> = {
  ...AGENT_SETTINGS,
  'admin.security-enabled': false,
  'admin.metrics-history.interval': 200,
  'broker.metrics.group-lag-refresh-interval': 200,
}

test('every broker of a cluster explains the lag of a group, whichever coordinates it', async t => {
  const cluster = createCluster(t, SETTINGS, { hasHttp: true })
  const brokers = [await cluster.start(1), await cluster.start(2)] as const
  await cluster.agreed(brokers, [1, 2])
  await createTopicOfAll(brokers[0], 'orders', 4, [1, 2])
  const messages = [0, 1, 2, 3].flatMap(partition => [
    { partition, value: { text: 'a' } },
    { partition, value: { text: 'b' } },
  ])
  const { status } = await adminClient(brokers[0].url).ask('POST', '/api/v1/topics/orders/messages', { messages })
  assert.equal(status, 200)
  const partitions = [0, 1, 2, 3].map(partitionIndex => ({ partitionIndex, committedOffset: 1, committedMetadata: '' }))
  let coordinatorId = 0
  await eventually('a coordinator takes the commit', async () => {
    for (const [at, broker] of brokers.entries()) {
      const asked = { groupId: 'billing', memberId: '', topics: [{ name: 'orders', partitions }] }
      const { topics } = await (await broker.connect()).send(offsetCommit, 8, asked)
      if (topics[0]!.partitions.every(({ errorCode }) => errorCode === 0)) coordinatorId = at + 1
    }
    return coordinatorId > 0
  })
  const answers: Record<string, unknown>[] = []
  for (const { url } of brokers) {
    const agent = agentAt(url)
    const read = async () => {
      const { structured } = await agent.call('explain_lag', { group: 'billing', lookSeconds: 0.1, sort: 'partition' })
      return structured.untrusted_data
    }
    await eventually('the history has the rates', async () => (await read()).consume?.from === 'history')
    const { lag, catchUp, produce, partitions: rows, history, verdicts } = await read()
    assert.equal(produce.from, 'history')
    assert.ok(history.lagsSince.timestamp > 0)
    const { groups } = (await agent.call('list_groups', { sort: 'lag.totalLag', order: 'desc' })).structured
      .untrusted_data
    const { leaders } = (await agent.call('describe_topic', { topic: 'orders' })).structured.untrusted_data
    const places = (rows as readonly Readonly<Record<string, unknown>>[]).map(
      ({ produce: _, consume: __, catchUp: ___, ...row }) => row,
    )
    answers.push({ lag, catchUp, verdicts, places, groups, leaders })
  }
  const [one, other] = answers
  assert.deepEqual(one, other)
  assert.deepEqual(one!.verdicts, { 'caught-up': 0, 'keeps-up': 0, 'catches-up': 0, never: 4, unknown: 0 })
  assert.equal((one!.groups as readonly { coordinatorId: number }[])[0]!.coordinatorId, coordinatorId)
})

test('a confirmation is good on any broker of a cluster, and only once', async t => {
  const cluster = createCluster(t, SETTINGS, { hasHttp: true })
  const brokers = [await cluster.start(1), await cluster.start(2)] as const
  await cluster.agreed(brokers, [1, 2])
  const [one, two] = brokers.map(({ url }) => agentAt(url))
  await createTopicOfAll(brokers[0], 'orders', 2, [1, 2])
  const topic = 'orders'
  await eventually('the other broker knows the topic', async () => {
    const { isError } = await two!.call('describe_topic', { topic })
    return !isError
  })
  const { confirm } = (await one!.call('delete_topic', { topic })).structured
  const { structured, isError } = await two!.call('delete_topic', { topic, confirm })
  assert.equal(isError, false, JSON.stringify(structured))
  assert.equal(structured.untrusted_data.deleted.name, topic)
  await createTopicOfAll(brokers[0], topic, 2, [1, 2])
  for (const agent of [one!, two!])
    assert.equal((await agent.call('delete_topic', { topic, confirm })).structured.error, 'CONFIRM_INVALID')
})
