import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { pattern } from '../../../testing/broker.ts'
import { type ClusterBroker, createCluster } from '../../../testing/cluster.ts'
import { eventually } from '../../../testing/eventually.ts'
import { freePort } from '../../../testing/free-port.ts'
import { append, commit, TOPIC } from '../../../testing/group-calls.ts'
import { fetchFrom } from '../../../testing/kafka.ts'
import { assigning, subscribing } from '../../../testing/sim/groups.ts'
import { createTopic } from '../../../testing/topic.ts'
import type { Wire } from '../../../testing/wire.ts'
import { describeDeliveries } from '../../protocol/messages/describe-deliveries.ts'
import { fetch as fetchRecords } from '../../protocol/messages/fetch.ts'
import { findCoordinator } from '../../protocol/messages/find-coordinator.ts'
import { joinGroup } from '../../protocol/messages/join-group.ts'
import { leaveGroup } from '../../protocol/messages/leave-group.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { syncGroup } from '../../protocol/messages/sync-group.ts'

/** Enough partitions that each of three brokers leads some of them, for any topic id. */
const PARTITIONS = 24
/** The expiry is long for a test, because other programs may use the processor. */
const SETTINGS = {
  topics: [pattern('*', { partitions: PARTITIONS })],
  'admin.security-enabled': false,
  'broker.expiry': 3_000,
}
const RECORDS = ['a', 'b', 'c', 'd', 'e']

interface Position {
  readonly partition: number
  readonly memberId: string | null
  readonly committedOffset: number | null
  readonly deliveredOffset: number | null
  readonly lag: number | null
}

interface Described {
  readonly positions: readonly Position[]
  readonly lag: { readonly totalLag: number | null }
}

interface Preview {
  readonly rows: readonly { readonly partition: number; readonly deliveredOffset: number | null }[]
}

/**
 * Starts three brokers and creates a topic with five records in each partition. Returns the leaders of the partitions
 * too.
 */
async function startThree(t: TestContext) {
  const cluster = createCluster(t, SETTINGS, { hasHttp: true })
  const brokers = [await cluster.start(1), await cluster.start(2), await cluster.start(3)]
  await cluster.agreed(brokers, [1, 2, 3])
  await createTopic(brokers[0]!, TOPIC, PARTITIONS)
  const leaders = await leadersOf(brokers)
  const wires = new Map<number, Wire>()
  for (const broker of brokers) wires.set(broker.id, await broker.connect())
  for (const [partition, leader] of leaders.entries()) await append(wires.get(leader)!, partition, RECORDS)
  /** Reads these partitions at their leaders, each up to the end of its log. */
  const read = async (partitions: readonly number[], clientId = 'reader') => {
    for (const [leader, some] of Map.groupBy(partitions, partition => leaders[partition]!)) {
      const asked = some.map(partition => ({ partition, fetchOffset: 2, partitionMaxBytes: 1_000 }))
      const body = fetchFrom(0, { topics: [{ topic: TOPIC, partitions: asked }] })
      // A broker that got no processor time for half an expiry refuses until its next sign of life.
      await eventually(`broker ${leader} answers`, async () => {
        const { responses } = await wires.get(leader)!.send(fetchRecords, 12, body, { clientId })
        return responses[0]!.partitions.every(({ errorCode }) => errorCode === 0)
      })
    }
  }
  return { ...cluster, brokers, leaders, wires, read }
}

/** Resolves to the leaders when every broker names the same leaders, and each of the three leads some partitions. */
async function leadersOf(brokers: readonly ClusterBroker[]): Promise<readonly number[]> {
  let leaders: readonly number[] = []
  await eventually('every broker names the same leaders', async () => {
    const said = await Promise.all(
      brokers.map(async broker => {
        const wire = await broker.connect()
        const { topics } = await wire.send(metadata, 9, { topics: [{ name: TOPIC }] })
        await wire.close()
        return topics[0]!.partitions.map(({ leaderId }) => leaderId)
      }),
    )
    leaders = said[0]!
    return new Set(leaders).size === brokers.length && said.every(each => each.join() === leaders.join())
  })
  return leaders
}

/** Resolves to the name of a group that this broker coordinates. */
async function groupOf(broker: ClusterBroker, wire: Wire, except: readonly string[] = []): Promise<string> {
  const names = Array.from({ length: 64 }, (_, i) => `group-${i}`).filter(name => !except.includes(name))
  const { coordinators } = await wire.send(findCoordinator, 4, { keyType: 0, coordinatorKeys: names })
  return coordinators.find(({ nodeId }) => nodeId === broker.id)!.key
}

/** Joins a member with the client id `reader` that owns these partitions. */
async function enter(wire: Wire, groupId: string, partitions: readonly number[]) {
  const said = { clientId: 'reader' }
  const asked = { groupId, memberId: '', groupInstanceId: 'here', sessionTimeoutMs: 30_000, rebalanceTimeoutMs: 30_000 }
  const { protocols } = subscribing(TOPIC)
  const joined = await wire.send(joinGroup, 9, { ...asked, protocolType: 'consumer', protocols }, said)
  const { memberId, generationId } = joined
  const assignments = [{ memberId, assignment: assigning({ [TOPIC]: [...partitions] }) }]
  const synced = { groupId, generationId, memberId, groupInstanceId: 'here', assignments }
  assert.equal((await wire.send(syncGroup, 3, synced, said)).errorCode, 0)
  const members = [{ memberId: '', groupInstanceId: 'here' }]
  return { memberId, leave: () => wire.send(leaveGroup, 3, { groupId, members }, said) }
}

const describeBy = (broker: ClusterBroker, groupId: string) =>
  askHttp(broker.url)<Described>(`/api/v1/groups/${groupId}`)

test('every broker returns the same delivered positions, lag, and preview of a reset', async t => {
  const { brokers, wires, read } = await startThree(t)
  const [coordinator] = brokers
  const wire = wires.get(coordinator!.id)!
  const groupId = await groupOf(coordinator!, wire)
  const all = Array.from({ length: PARTITIONS }, (_, partition) => partition)
  await commit(wire, groupId, { 0: 1, 1: 1 })
  const { memberId } = await enter(wire, groupId, all)
  // The client continues to read, as consumers do. If the coordinator had to load the group again, it counts from
  // then on.
  await eventually('the coordinator knows what was delivered', async () => {
    await read(all.slice(0, PARTITIONS - 1))
    const { positions } = await describeBy(coordinator!, groupId)
    return positions.filter(({ deliveredOffset }) => deliveredOffset !== null).length === PARTITIONS - 1
  })
  for (const broker of brokers) {
    const { positions, lag } = await describeBy(broker, groupId)
    assert.deepEqual(
      positions.map(each => [each.partition, each.memberId, each.committedOffset, each.deliveredOffset, each.lag]),
      all.map(partition => [
        partition,
        memberId,
        partition < 2 ? 1 : null,
        partition < PARTITIONS - 1 ? RECORDS.length : null,
        partition < PARTITIONS - 1 ? 0 : null,
      ]),
      `broker ${broker.id}`,
    )
    assert.equal(lag.totalLag, 0)
    const ask = askHttp(broker.url)
    const { rows } = await ask<Preview>(`/api/v1/groups/${groupId}/offsets/reset`, 200, { body: { dryRun: true } })
    assert.deepEqual(
      rows.map(({ partition, deliveredOffset }) => [partition, deliveredOffset]),
      positions.map(({ partition, deliveredOffset }) => [partition, deliveredOffset]),
    )
  }
})

test('reads for another group do not count, and neither do reads before the member owned the partition', async t => {
  const { brokers, wires, read } = await startThree(t)
  const [one, two] = brokers
  const [wireOne, wireTwo] = [wires.get(one!.id)!, wires.get(two!.id)!]
  const first = await groupOf(one!, wireOne)
  const second = await groupOf(two!, wireTwo)
  /** Resolves when every broker returns these positions of the group. Its client continues to read meanwhile. */
  const becomes = (groupId: string, expected: string, partitions: readonly number[]) =>
    eventually(`every broker says ${expected} of ${groupId}`, async () => {
      await read(partitions)
      const said = await Promise.all(brokers.map(broker => describeBy(broker, groupId)))
      const rows = said.map(({ positions }) =>
        positions.map(each => `${each.partition} ${each.deliveredOffset}`).join(),
      )
      return rows.every(row => row === expected)
    })
  await read([0, 1, 2], 'other')
  const { leave } = await enter(wireOne, first, [0, 1, 2])
  await becomes(first, '0 null,1 null,2 null', [])
  await becomes(first, '0 5,1 5,2 5', [0, 1, 2])
  // Another broker coordinates a group in which a member with the same client id and address owns partition 1 too.
  await enter(wireTwo, second, [1])
  await becomes(first, '0 5,1 null,2 5', [0, 1, 2])
  await becomes(second, '1 null', [1])
  await leave()
  await becomes(second, '1 5', [1])
  const third = await groupOf(one!, wireOne, [first])
  await enter(wireOne, third, [2])
  await becomes(third, '2 null', [])
  await becomes(third, '2 5', [2])
})

test('if a broker does not answer, the lag is counted from the committed offset', async t => {
  const cluster = createCluster(t, SETTINGS, { hasHttp: true })
  const broker = await cluster.start(1)
  // This broker lives, but it advertises a port on which no process listens.
  const silent = await cluster.start(2, { 'broker.advertised-port': await freePort() })
  await cluster.agreed([broker, silent], [1, 2])
  await createTopic(broker, TOPIC, PARTITIONS)
  const here = (await leadersOf([broker, silent])).indexOf(broker.id)
  const wire = await broker.connect()
  await append(wire, here, RECORDS)
  const groupId = await groupOf(broker, wire)
  await commit(wire, groupId, { [here]: 3 })
  const { memberId } = await enter(wire, groupId, [here])
  const topics = [{ topic: TOPIC, partitions: [{ partition: here, fetchOffset: 0, partitionMaxBytes: 1_000 }] }]
  const said = async (asked: ClusterBroker) => {
    const { positions } = await describeBy(asked, groupId)
    return positions.map(each => [each.memberId, each.committedOffset, each.deliveredOffset, each.lag])
  }
  // Broker 2 reaches broker 1, which shows that broker 1 lacks only the answer of broker 2.
  await eventually('broker 2 knows what was delivered', async () => {
    await wire.send(fetchRecords, 12, fetchFrom(0, { topics }), { clientId: 'reader' })
    return (await said(silent))[0]?.[2] === RECORDS.length
  })
  assert.deepEqual(await said(silent), [[memberId, 3, 5, 0]])
  assert.deepEqual(await said(broker), [[memberId, 3, null, 2]])
})

test('a group that is named many times in one request is answered once', async t => {
  const { wires } = await startThree(t)
  const groups = ['a', 'b', ...Array.from({ length: 100_000 }, () => 'a')]
  const answer = await wires.get(1)!.send(describeDeliveries, 0, { groups, readers: [] })
  assert.deepEqual(
    answer.groups.map(({ groupId }) => groupId),
    ['a', 'b'],
  )
})

test('a broker answers unknown groups and readers with empty rows', async t => {
  const { wires } = await startThree(t)
  const wire = wires.get(1)!
  const topicId = 'AAAAAAAAAAAAAAAAAAAAAQ'
  const readers = [{ clientId: 'x', clientHost: '', topics: [{ topicId, partitions: [0, -1, 2 ** 31 - 1] }] }]
  const answer = await wire.send(describeDeliveries, 0, { groups: ['', 'unknown'], readers })
  assert.deepEqual(
    answer.groups.map(({ groupId, members }) => [groupId, members]),
    [
      ['', []],
      ['unknown', []],
    ],
  )
  assert.deepEqual(
    answer.readers[0]!.topics[0]!.partitions.map(({ owners, nextOffset, agoMs }) => [owners, nextOffset, agoMs]),
    [
      [0, -1, -1],
      [0, -1, -1],
      [0, -1, -1],
    ],
  )
})
