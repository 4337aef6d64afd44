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
import type { JoinReply } from './classic/requests.ts'

// Tests the operators' verbs on groups, and the positions that fetches have delivered.

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

test('a group without members is deleted with its offsets, and its id may be used again', async t => {
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

test('a group with only a promised member id can be deleted too', async t => {
  const world = await openGroupWorld(t)
  const promised = await world.groups.join(joining())
  assert.deepEqual(world.groups.list(), [{ groupId: 'g', state: 'Empty', protocolType: null }])
  assert.equal(await world.groups.remove('g'), null)
  assert.equal(world.store.calls.commit, 0)
  assert.equal(errorOf(await world.groups.join(joining({ memberId: promised.memberId }))), 'UNKNOWN_MEMBER_ID')
  assert.deepEqual(world.groups.list(), [])
})

test('a request while a group is being deleted is told to come back, and earlier commits are deleted with the group', async t => {
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

test('a group whose deletion fails still exists', async t => {
  const world = await openGroupWorld(t)
  await commit(world, 1)
  world.store.faults.failNext('commit', 'unavailable')
  assert.equal(nameOf(await world.groups.remove('g')), 'COORDINATOR_NOT_AVAILABLE')
  await world.clock.settle()
  assert.equal(await committed(world), 1)
  world.store.faults.failNext('load', 'unavailable')
  world.store.faults.failNext('commit', 'unknown-lost')
  await world.groups.remove('g')
  assert.equal(nameOf(world.groups.list()), 'COORDINATOR_LOAD_IN_PROGRESS', 'it may exist or not')
  await world.clock.advance(2_000)
  assert.equal(await world.groups.remove('g'), null)
})

test('offsets are deleted unless members read their topic or may read it', async t => {
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

test('a group that is loaded with too many members keeps the members that join again first', async t => {
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

/** Makes a stable group with these assignments, in the order of joining. Each member has a client id of its own. */
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

/** Returns the owner of each partition, and how many milliseconds it has owned the partition. */
const owners = (world: World, groupId = 'g') =>
  Object.fromEntries(
    world.groups.deliveries
      .ofGroup(groupId)
      .map(({ topicId, partition, clientId, sinceMs }) => [
        `${topicId === TOPIC ? 'topic' : 'other'}-${partition}`,
        `${clientId} ${world.clock.monotonic() - sinceMs}`,
      ]),
  )

const countOwners = (world: World, clientId: string, partition: number, address = '10.0.0.1') =>
  world.groups.deliveries.countOwners(clientId, address, TOPIC, partition)

test('the owner of a partition is known by its client id and address', async t => {
  const world = await openGroupWorld(t)
  await assigned(world, 'g', { one: { topic: [0], other: [1] }, two: { topic: [1, 1, 9, -1], gone: [0] } })
  assert.deepEqual(owners(world), { 'topic-0': 'one 0', 'other-1': 'one 0', 'topic-1': 'two 0' })
  assert.deepEqual(
    [countOwners(world, 'one', 0), countOwners(world, 'one', 1), countOwners(world, 'two', 1)],
    [1, 0, 1],
  )
  assert.deepEqual([countOwners(world, 'two', 1, '10.0.0.2'), countOwners(world, 'other', 1)], [0, 0])
})

test('a member that keeps its partition keeps the time since it has owned it, and a new owner starts at 0', async t => {
  const world = await openGroupWorld(t)
  const replies = await assigned(world, 'g', { one: { topic: [0] }, two: { topic: [1] } })
  await world.clock.advance(100)
  const again = replies.map(({ memberId }) =>
    world.groups.join(joining({ memberId, sessionTimeoutMs: LONG_MS, ...subscribing('topic', 'other') })),
  )
  await world.clock.settle()
  assert.deepEqual(owners(world), { 'topic-0': 'one 100', 'topic-1': 'two 100' }, 'a rebalance takes nothing from them')
  await assign(world, 'g', await Promise.all(again), [{ topic: [0, 1] }, {}])
  assert.deepEqual(owners(world), { 'topic-0': 'one 100', 'topic-1': 'one 0' })
  const back = await world.restart()
  assert.deepEqual(owners(back), { 'topic-0': 'one 0', 'topic-1': 'one 0' })
  await back.clock.advance(LONG_MS)
  assert.deepEqual(owners(back), {}, 'an empty group owns nothing')
  assert.equal(countOwners(back, 'one', 0), 0)
})

test('a partition has two owners if a member with the same client id and address owns it in two groups', async t => {
  const world = await openGroupWorld(t)
  await assigned(world, 'g', { one: { topic: [0, 1] } })
  await assigned(world, 'h', { one: { topic: [0] } })
  assert.deepEqual([countOwners(world, 'one', 0), countOwners(world, 'one', 1)], [2, 1])
})
