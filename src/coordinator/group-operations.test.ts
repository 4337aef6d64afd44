import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assigning,
  beat,
  claim,
  commit,
  committed,
  enter,
  errorOf,
  joining,
  openGroupWorld,
  SESSION_MS,
  settle,
  stable,
  subscribing,
  TOPIC,
  type World,
  watch,
} from '../../testing/sim/groups.ts'
import { isRefusal } from '../protocol/errors.ts'
import type { JoinReply } from './classic-group.ts'
import { credit } from './deliveries.ts'

// What operators do with groups, and what fetches tell of them.

const nameOf = (outcome: object | null) => (outcome !== null && isRefusal(outcome) ? outcome.name : outcome)

async function describe(world: World, groupId = 'g') {
  const described = await world.groups.describe(groupId)
  assert(!isRefusal(described), 'the group is there')
  return described
}

test('a group is described in each of its states', async t => {
  const world = await openGroupWorld(t)
  assert.equal(nameOf(await world.groups.describe('g')), 'GROUP_ID_NOT_FOUND')
  await commit(world, 1)
  assert.equal((await describe(world)).state, 'Empty')
  assert.equal((await describe(world)).protocolType, null)

  const { joined, memberId } = await enter(world, subscribing('topic'))
  const preparing = await describe(world)
  assert.deepEqual(
    [preparing.state, preparing.protocolName, preparing.members[0]!.memberId],
    ['PreparingRebalance', null, memberId],
  )
  assert.equal(preparing.members[0]!.metadata.byteLength, 0, 'nothing is settled yet')
  await world.clock.advance(10_000)
  assert.equal((await describe(world)).state, 'CompletingRebalance')
  await settle(world, [joined.got()!])
  const settled = await describe(world)
  assert.deepEqual(
    [settled.state, settled.generation, settled.protocolName, settled.leader],
    ['Stable', 1, 'range', memberId],
  )
  assert.equal(Buffer.from(settled.members[0]!.assignment).toString(), `to ${memberId}`)
  assert.deepEqual(
    [settled.members[0]!.clientId, settled.members[0]!.clientHost, settled.members[0]!.instanceId],
    ['app', '10.0.0.1', null],
  )
  assert.deepEqual(world.groups.list(), [{ groupId: 'g', state: 'Stable', protocolType: 'consumer' }])
})

test('a group is deleted with its offsets when nobody is in it, and its id may be used again', async t => {
  const world = await openGroupWorld(t)
  assert.equal(nameOf(await world.groups.remove('g')), 'GROUP_ID_NOT_FOUND')
  const [member] = await stable(world, 1)
  await commit(world, 1, claim(member!))
  assert.equal(nameOf(await world.groups.remove('g')), 'NON_EMPTY_GROUP')
  await world.groups.leave('g', [{ memberId: member!.memberId, instanceId: null, reason: null }])
  assert.equal(await world.groups.remove('g'), null)
  assert.deepEqual(world.groups.list(), [])
  assert.deepEqual(await world.store.list('group'), [])
  assert.equal(await committed(world), null)
  const [next] = await stable(world, 1)
  assert.equal(next!.generation, 1)
  assert.equal(await commit(world, 2, claim(next!)), null)
  assert.equal(await committed(await world.restart()), 2)
})

test('a group of which only an id was promised can be deleted too', async t => {
  const world = await openGroupWorld(t)
  const promised = await world.groups.join(joining())
  assert.deepEqual(world.groups.list(), [{ groupId: 'g', state: 'Empty', protocolType: null }])
  assert.equal(await world.groups.remove('g'), null)
  assert.equal(world.store.calls.commit, 0)
  assert.equal(errorOf(await world.groups.join(joining({ memberId: promised.memberId }))), 'UNKNOWN_MEMBER_ID')
  assert.deepEqual(world.groups.list(), [])
})

test('whoever comes while a group is being deleted is told to come back, and what was committed before goes with it', async t => {
  const world = await openGroupWorld(t)
  await commit(world, 1)
  const before = commit(world, 2)
  const behind = commit(world, 3)
  const removed = world.groups.remove('g')
  const late = commit(world, 4)
  assert.deepEqual(world.groups.list(), [])
  assert.equal((await late)?.name, 'COORDINATOR_LOAD_IN_PROGRESS')
  assert.deepEqual([await before, await behind, await removed], [null, null, null])
  assert.deepEqual(await world.store.list('group'), [])
  assert.equal(await commit(world, 5), null)
  assert.equal(await committed(world), 5)
})

test('a group whose deletion fails is still there', async t => {
  const world = await openGroupWorld(t)
  await commit(world, 1)
  world.store.faults.failNext('commit', 'unavailable')
  assert.equal(nameOf(await world.groups.remove('g')), 'COORDINATOR_NOT_AVAILABLE')
  await world.clock.settle()
  assert.equal(await committed(world), 1)
  world.store.faults.failNext('load', 'unavailable')
  world.store.faults.failNext('commit', 'unknown-lost')
  await world.groups.remove('g')
  assert.equal(nameOf(world.groups.list()), 'COORDINATOR_LOAD_IN_PROGRESS', 'nobody knows whether it is')
  await world.clock.advance(2_000)
  assert.equal(await world.groups.remove('g'), null)
})

test('offsets are deleted unless members read their topic or nobody knows what they read', async t => {
  const world = await openGroupWorld(t)
  const topics = [{ topicId: TOPIC, partitions: [0, 1] }]
  const deleting = async () => {
    const { error, topics: rows } = await world.groups.deleteOffsets('g', topics)
    return error?.name ?? rows.map(row => row?.name ?? null)
  }
  assert.equal(await deleting(), 'GROUP_ID_NOT_FOUND')
  assert.equal((await world.groups.deleteOffsets('', topics)).error?.name, 'INVALID_GROUP_ID')
  const [reader] = await stable(world, 1, subscribing('other', 'topic'))
  await commit(world, 1, claim(reader!))
  assert.deepEqual(await deleting(), ['GROUP_SUBSCRIBED_TO_TOPIC'])
  await world.clock.advance(SESSION_MS)
  const [other] = await stable(world, 1, subscribing('other'))
  assert.equal(await committed(world), 1)
  assert.deepEqual(await deleting(), [null])
  assert.equal(await committed(world), null)
  assert.deepEqual((await world.store.load('group', 'g'))?.fields.size, 1, 'only the head is left')
  assert.deepEqual(await deleting(), [null], 'a position that is not there is as good')
  assert.equal(beat(world, other!), null)

  await world.clock.advance(SESSION_MS)
  await stable(world, 1, { protocolType: 'connect' })
  assert.equal(await deleting(), 'NON_EMPTY_GROUP')
  await world.clock.advance(SESSION_MS)
  assert.deepEqual(await deleting(), [null])
})

test('a group that is loaded with more members than may be keeps those who join again first', async t => {
  const world = await openGroupWorld(t)
  const members = await stable(world, 3, { sessionTimeoutMs: 300_000 })
  await world.groups.close()
  const smaller = await openGroupWorld(t, world.clock, world.store.reopen(), { 'broker.group-max-size': 2 })
  assert.deepEqual(
    members.map(member => beat(smaller, member)),
    ['REBALANCE_IN_PROGRESS', 'REBALANCE_IN_PROGRESS', 'REBALANCE_IN_PROGRESS'],
  )
  const again = members.map(({ memberId }) => watch(smaller.groups.join(joining({ memberId }))))
  await smaller.clock.settle()
  assert.deepEqual(
    again.map(({ got }) => got()?.error?.name ?? got()?.generation),
    [2, 2, 'GROUP_MAX_SIZE_REACHED'],
  )
  assert.equal(again[2]!.got()!.memberId, '')
})

// ---- delivered positions

const LONG_MS = 300_000

/** Members that are stable with these assignments, in the order of joining; each from a client of its own name. */
async function assigned(world: World, groupId: string, clients: Readonly<Record<string, Record<string, number[]>>>) {
  const entered: { joined: { promise: Promise<JoinReply> } }[] = []
  for (const clientId of Object.keys(clients)) {
    entered.push(await enter(world, { groupId, clientId, sessionTimeoutMs: LONG_MS, ...subscribing('topic', 'other') }))
  }
  await world.clock.advance(10_000)
  const replies = await Promise.all(entered.map(({ joined }) => joined.promise))
  await assign(world, groupId, replies, Object.values(clients))
  return replies
}

async function assign(
  world: World,
  groupId: string,
  replies: readonly JoinReply[],
  partitions: readonly Record<string, number[]>[],
) {
  const assignments = replies.map(({ memberId }, index) => ({ memberId, assignment: assigning(partitions[index]!) }))
  const answers = replies.map(({ memberId, generation, members }) => {
    const who = { groupId, generation, memberId, instanceId: null, protocolType: null, protocolName: null }
    return world.groups.sync({ ...who, assignments: members.length > 0 ? assignments : [] })
  })
  for (const answer of await Promise.all(answers)) assert.equal(errorOf(answer), null)
}

const delivered = (world: World, groupId = 'g') =>
  Object.fromEntries(
    world.groups.deliveries
      .ofGroup(groupId)
      .map(({ topicId, partition, clientId, nextOffset }) => [
        `${topicId === TOPIC ? 'topic' : 'other'}-${partition}`,
        `${clientId} ${nextOffset}`,
      ]),
  )

function fetched(world: World, clientId: string, partition: number, nextOffset: number, address = '10.0.0.1') {
  const reader = world.groups.deliveries.reader(clientId, address)
  if (reader !== null) credit(reader, TOPIC, partition, nextOffset)
}

test('a fetch counts for the group whose member owns the partition, by client id and address', async t => {
  const world = await openGroupWorld(t)
  await assigned(world, 'g', { one: { topic: [0], other: [1] }, two: { topic: [1, 1, 9, -1], gone: [0] } })
  assert.deepEqual(delivered(world), { 'topic-0': 'one -1', 'other-1': 'one -1', 'topic-1': 'two -1' })
  fetched(world, 'one', 0, 17)
  fetched(world, 'one', 1, 18)
  fetched(world, 'two', 1, 19, '10.0.0.2')
  fetched(world, 'nobody', 1, 20)
  assert.deepEqual(delivered(world), { 'topic-0': 'one 17', 'other-1': 'one -1', 'topic-1': 'two -1' })
  fetched(world, 'one', 0, 3)
  assert.equal(delivered(world)['topic-0'], 'one 3', 'a client that goes back is believed')
})

test('what was delivered stays known to a member that keeps its partition, and is unknown of a new owner', async t => {
  const world = await openGroupWorld(t)
  const replies = await assigned(world, 'g', { one: { topic: [0] }, two: { topic: [1] } })
  fetched(world, 'one', 0, 5)
  fetched(world, 'two', 1, 6)
  const again = replies.map(({ memberId }) =>
    world.groups.join(joining({ memberId, sessionTimeoutMs: LONG_MS, ...subscribing('topic', 'other') })),
  )
  await world.clock.settle()
  fetched(world, 'one', 0, 7)
  assert.equal(delivered(world)['topic-0'], 'one 7', 'owners go on reading during a rebalance')
  await assign(world, 'g', await Promise.all(again), [{ topic: [0, 1] }, {}])
  assert.deepEqual(delivered(world), { 'topic-0': 'one 7', 'topic-1': 'one -1' })
  fetched(world, 'two', 1, 8)
  assert.equal(delivered(world)['topic-1'], 'one -1')
  const back = await world.restart()
  assert.deepEqual(delivered(back), { 'topic-0': 'one -1', 'topic-1': 'one -1' })
  await back.clock.advance(LONG_MS)
  assert.deepEqual(delivered(back), {}, 'nobody owns anything of an empty group')
  assert.equal(back.groups.deliveries.reader('one', '10.0.0.1'), null)
})

test('where two groups have such a member neither is credited', async t => {
  const world = await openGroupWorld(t)
  await assigned(world, 'g', { one: { topic: [0, 1] } })
  fetched(world, 'one', 0, 5)
  await assigned(world, 'h', { one: { topic: [0] } })
  fetched(world, 'one', 0, 6)
  fetched(world, 'one', 1, 7)
  assert.deepEqual(delivered(world, 'g'), { 'topic-0': 'one -1', 'topic-1': 'one 7' })
  assert.deepEqual(delivered(world, 'h'), { 'topic-0': 'one -1' })
})
