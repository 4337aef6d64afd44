// Tests groups that another broker coordinates, on a Redis that both share.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type AskHttp, askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { append, commit, enter } from '../../../testing/group-calls.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { createTopicOfAll } from '../../../testing/topic.ts'
import type { Wire } from '../../../testing/wire.ts'
import { findCoordinator } from '../../protocol/messages/find-coordinator.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import type { Values } from '../../settings/settings.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

interface Side {
  readonly id: number
  readonly metrics: Metrics
  readonly wire: Wire
  readonly ask: AskHttp
}

interface Described {
  readonly positions: readonly Readonly<Record<string, unknown>>[]
  readonly members: readonly Readonly<Record<string, unknown>>[]
  readonly lag: Readonly<Record<string, unknown>>
  readonly coordinatorId: number
  readonly token: string
  readonly code: string
}

interface Listed {
  readonly groups: readonly {
    readonly groupId: string
    readonly coordinatorId: number
    readonly topics: readonly string[]
    readonly topicLag: { readonly totalLag: number | null; readonly partitions: number } | null
  }[]
  readonly unavailableBrokers: readonly { readonly brokerId: number }[]
}

/**
 * Starts two brokers that see each other, and creates a topic of six partitions with five records each, and a group
 * on each broker.
 */
async function openTwo(t: TestContext, overrides: Partial<Values> = {}) {
  const { uri } = await startRedis(t)
  const start = async (id: number): Promise<Side> => {
    const settings = { 'broker.id': id, 'redis.uri': uri, 'admin.security-enabled': false, 'broker.expiry': 2_000 }
    const { url, connect, broker } = await startBroker(t, { ...settings, ...overrides }, { hasHttp: true })
    return { id, wire: await connect(), ask: askHttp(url), metrics: broker.metrics }
  }
  const [one, two] = [await start(1), await start(2)]
  const seen = async ({ wire }: Side) => (await wire.send(metadata, 9, { topics: [] })).brokers.length
  await eventually('both see both', async () => (await seen(one)) === 2 && (await seen(two)) === 2, 60_000)
  await createTopicOfAll({ port: one.wire.socket.remotePort! }, 'orders', 6, [1, 2])
  const { topics } = await one.wire.send(metadata, 9, { topics: [{ name: 'orders' }] })
  for (const { partitionIndex: partition, leaderId } of topics[0]!.partitions) {
    const { wire } = leaderId === 1 ? one : two
    const isDone = () =>
      append(wire, partition, ['a', 'b', 'c', 'd', 'e']).then(
        () => true,
        () => false,
      )
    await eventually(`partition ${partition} takes records`, isDone, 60_000)
  }
  const groupOf = async (id: number, prefix: string) => {
    for (let i = 0; ; i++) {
      const { coordinators } = await one.wire.send(findCoordinator, 4, { coordinatorKeys: [`${prefix}${i}`] })
      if (coordinators[0]!.nodeId === id) return `${prefix}${i}`
    }
  }
  return { one, two, groupOf }
}

test('each broker publishes the lag of every group of the cluster, as it sees it', {
  skip: noRedis,
  timeout: 60_000,
}, async t => {
  const { one, two, groupOf } = await openTwo(t, { 'broker.metrics.group-lag-refresh-interval': 200 })
  const [ours, theirs] = [await groupOf(1, 'ours'), await groupOf(2, 'theirs')]
  await commit(one.wire, ours, { 0: 5, 1: 2 })
  await commit(two.wire, theirs, { 2: 1 })
  for (const { id, metrics } of [one, two])
    await eventually(`broker ${id} publishes both`, () => {
      const lags = [ours, theirs].map(group => metrics.read('svc.group.lag', { group }))
      return lags.join() === '3,4'
    })
})

test('the groups of a topic are the same from either broker, with their lag there', {
  skip: noRedis,
  timeout: 60_000,
}, async t => {
  const { one, two, groupOf } = await openTwo(t)
  const [ours, theirs, readers, others] = [
    await groupOf(1, 'ours'),
    await groupOf(2, 'theirs'),
    await groupOf(2, 'readers'),
    await groupOf(2, 'others'),
  ]
  await one.ask('/api/v1/topics', 201, { body: { name: 'bills', partitions: 1 } })
  await commit(one.wire, ours, { 0: 5 })
  await commit(two.wire, theirs, { 0: 1, 1: 2, 2: 3, 3: 4, 4: 5, 5: 5 })
  await commit(two.wire, theirs, { 0: 0 }, 'bills')
  await commit(two.wire, others, { 0: 0 }, 'bills')
  await enter(two.wire, readers)
  for (const { ask } of [one, two]) {
    const listOf = async (query: string) => {
      const { groups, unavailableBrokers } = await ask<Listed>(`/api/v1/groups?${query}`)
      assert.deepEqual(unavailableBrokers, [])
      return groups.map(each => [each.groupId, each.topics.join(), each.topicLag?.totalLag, each.topicLag?.partitions])
    }
    assert.deepEqual(await listOf('topic=orders'), [
      [ours, 'orders', 0, 1],
      [readers, 'orders', null, 1],
      [theirs, 'bills,orders', 10, 6],
    ])
    assert.deepEqual(await listOf('topic=bills&sort=topicLag.totalLag'), [
      [others, 'bills', 0, 1],
      [theirs, 'bills,orders', 0, 1],
    ])
    const query = [theirs, ours].map(id => `groups=${id}`).join('&')
    const lags = await ask<Listed>(`/api/v1/metrics/consumer-lag?${query}`)
    assert.deepEqual(
      lags.groups.map(({ groupId }) => groupId),
      [ours, theirs],
    )
  }

  const offsets = [0, 1, 2, 3, 4, 5].map(partition => ({ partition, before: 4 }))
  await one.ask('/api/v1/topics/orders/records/delete', 200, { body: { offsets } })
  for (const { ask } of [one, two]) {
    const { positions } = await ask<Described>(`/api/v1/groups/${theirs}`)
    const ofOrders = positions.filter(({ topic }) => topic === 'orders')
    assert.deepEqual(
      ofOrders.map(({ startOffset, lag }) => [startOffset, lag]),
      [
        [4, 1],
        [4, 1],
        [4, 1],
        [4, 1],
        [4, 0],
        [4, 0],
      ],
    )
  }
})

test('a group that the other broker coordinates is listed, described, reset and deleted', {
  skip: noRedis,
  timeout: 60_000,
}, async t => {
  const { one, two, groupOf } = await openTwo(t)
  const [ours, theirs] = [await groupOf(1, 'ours'), await groupOf(2, 'theirs')]
  await commit(one.wire, ours, { 0: 5 })
  await commit(two.wire, theirs, Object.fromEntries([0, 1, 2, 3, 4, 5].map(partition => [partition, partition])))
  const listed = await one.ask<Listed>('/api/v1/groups')
  assert.deepEqual(
    listed.groups.map(({ groupId, coordinatorId }) => [groupId, coordinatorId]),
    [
      [ours, 1],
      [theirs, 2],
    ],
  )
  assert.deepEqual(listed.unavailableBrokers, [])

  const described = await one.ask<Described>(`/api/v1/groups/${theirs}`)
  assert.equal(described.coordinatorId, 2)
  assert.deepEqual(
    described.positions.map(({ partition, committedOffset, endOffset, lag }) => [
      partition,
      committedOffset,
      endOffset,
      lag,
    ]),
    [0, 1, 2, 3, 4, 5].map(partition => [partition, partition, 5, 5 - partition]),
  )
  assert.equal(described.lag.totalLag, 15)
  assert.ok(Number(described.lag.lastCommitTimestamp) > 1_700_000_000_000)
  const elsewhere = await two.ask<Described>(`/api/v1/groups/${theirs}`)
  assert.deepEqual({ ...described, coordinator: null }, { ...elsewhere, coordinator: null }, 'both say the same')

  const { memberId, leave } = await enter(two.wire, theirs)
  const busy = await one.ask<Described>(`/api/v1/groups/${theirs}`)
  assert.deepEqual(
    busy.members.map(member => [member.memberId, member.host, member.assignment]),
    [[memberId, '127.0.0.1', [{ topic: 'orders', partitions: [0] }]]],
  )
  assert.equal(busy.positions[0]!.memberId, memberId)
  await one.ask(`/api/v1/groups/${theirs}`, 409, { method: 'DELETE' })
  assert.equal(
    (await one.ask<Described>(`/api/v1/groups/${theirs}/offsets?topic=orders`, 409, { method: 'DELETE' })).code,
    'GROUP_SUBSCRIBED_TO_TOPIC',
  )
  await leave()

  const path = `/api/v1/groups/${theirs}/offsets/reset`
  const body = { to: 'latest' }
  const { token } = await one.ask<Described>(path, 200, { body: { ...body, dryRun: true } })
  await commit(two.wire, theirs, { 0: 1 })
  assert.equal((await one.ask<Described>(path, 409, { body: { ...body, token } })).code, 'PREVIEW_OUTDATED')
  // One broker shows the preview, the other applies it.
  const again = await two.ask<Described>(path, 200, { body: { ...body, dryRun: true } })
  await one.ask(path, 200, { body: { ...body, token: again.token } })
  for (const { ask } of [one, two]) {
    await eventually('everything is read', async () => {
      const { lag, positions } = await ask<Described>(`/api/v1/groups/${theirs}`)
      return lag.totalLag === 0 && positions.every(({ committedOffset }) => committedOffset === 5)
    })
  }
  await one.ask(`/api/v1/groups/${theirs}`, 204, { method: 'DELETE' })
  assert.equal((await two.ask<Described>(`/api/v1/groups/${theirs}`, 404)).code, 'GROUP_ID_NOT_FOUND')
})
