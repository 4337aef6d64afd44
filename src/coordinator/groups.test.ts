import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atLength } from '../../testing/at-length.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import {
  beat,
  bytes,
  claim,
  commit,
  committed,
  DELAY_MS,
  enter,
  errorOf,
  joining,
  OTHER_TOPIC,
  openGroupWorld,
  REBALANCE_MS,
  SESSION_MS,
  settle,
  stable,
  TOPIC,
  text,
  watch,
} from '../../testing/sim/groups.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { GROUP_ID_NOT_FOUND } from '../protocol/errors.ts'
import type { JoinReply, JoinRequest } from './classic/requests.ts'

test('one consumer joins an empty group, leads it, syncs and is assigned what it assigned itself', async t => {
  const world = await openGroupWorld(t)
  const { joined, memberId } = await enter(world)
  await world.clock.advance(DELAY_MS - 1)
  assert.equal(joined.got(), undefined)
  await world.clock.advance(1)
  const reply = await joined.promise
  assert.deepEqual(
    { ...reply, members: reply.members.map(each => each.memberId) },
    {
      error: null,
      memberId,
      generation: 1,
      protocolType: 'consumer',
      protocolName: 'range',
      leader: memberId,
      skipAssignment: false,
      members: [memberId],
    },
  )
  await settle(world, [reply])
  assert.equal(beat(world, reply), null)
  assert.equal(world.rebalances(), 1)
})

test('a stable group keeps its member ids, generation and assignments after a restart', async t => {
  const world = await openGroupWorld(t)
  const replies = await stable(world, 3)
  assert.equal(await commit(world, 42, claim(replies[1]!)), null)
  const again = await world.restart()
  for (const reply of replies) assert.equal(beat(again, reply), null)
  await settle(again, replies)
  assert.equal(await committed(again), 42)
  assert.equal(await commit(again, 43, claim(replies[2]!)), null)
  await again.clock.advance(SESSION_MS - 1)
  assert.equal(beat(again, replies[0]!), null)
  await again.clock.advance(1)
  assert.equal(beat(again, replies[0]!), 'REBALANCE_IN_PROGRESS')
  assert.equal(beat(again, replies[1]!), 'UNKNOWN_MEMBER_ID')
})

// ---- joining

test('a dynamic member gets its id before it joins, and nothing is stored for that', async t => {
  const world = await openGroupWorld(t)
  const reply = await world.groups.join(joining({ clientId: 'app' }))
  assert.equal(errorOf(reply), 'MEMBER_ID_REQUIRED')
  assert.match(reply.memberId, /^app-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  assert.equal(reply.generation, -1)
  assert.equal(world.store.calls.commit, 0)
})

test('a client that is too old for MEMBER_ID_REQUIRED joins at once', async t => {
  const world = await openGroupWorld(t)
  const joined = watch(world.groups.join(joining({ memberIdRequired: false })))
  await world.clock.advance(DELAY_MS)
  assert.equal(errorOf(joined.got()), null)
  assert.equal(joined.got()?.generation, 1)
})

test('the first rebalance ends one delay after the last member that arrives', async t => {
  const world = await openGroupWorld(t)
  const first = (await enter(world)).joined
  await world.clock.advance(1_000)
  await enter(world)
  await world.clock.advance(DELAY_MS - 1)
  assert.equal(first.got(), undefined)
  await world.clock.advance(1)
  assert.equal(first.got()?.members.length, 2)
})

test('the first rebalance waits again while members arrive, but not beyond the rebalance timeout', async t => {
  const world = await openGroupWorld(t)
  const first = (await enter(world, { rebalanceTimeoutMs: 8_000 })).joined
  await world.clock.advance(2_900)
  await enter(world)
  await world.clock.advance(2_900)
  await enter(world)
  await world.clock.advance(2_199)
  await enter(world)
  assert.equal(first.got(), undefined)
  await world.clock.advance(1)
  assert.equal(first.got()?.members.length, 4)
})

test('a group with members rebalances as soon as all of them have joined again, without the delay', async t => {
  const world = await openGroupWorld(t)
  const [one, two] = await stable(world, 2)
  const { joined: third } = await enter(world)
  assert.equal(beat(world, one!), 'REBALANCE_IN_PROGRESS')
  const again = watch(world.groups.join(joining({ memberId: one!.memberId })))
  await world.clock.settle()
  assert.equal(again.got(), undefined)
  const last = await world.groups.join(joining({ memberId: two!.memberId }))
  await world.clock.settle()
  assert.equal(last.generation, 2)
  assert.equal(again.got()?.generation, 2)
  assert.equal(again.got()?.leader, one!.memberId)
  assert.deepEqual(
    again.got()?.members.map(each => each.memberId),
    [one!.memberId, two!.memberId, third.got()!.memberId],
  )
  assert.deepEqual(last.members, [])
})

test('a member that does not join again is removed after the rebalance timeout', async t => {
  const world = await openGroupWorld(t)
  const [one, two] = await stable(world, 2, { sessionTimeoutMs: 300_000 })
  const again = watch(world.groups.join(joining({ memberId: one!.memberId, sessionTimeoutMs: 300_000 })))
  await world.clock.advance(REBALANCE_MS - 1)
  assert.equal(again.got(), undefined)
  await world.clock.advance(1)
  assert.deepEqual(
    again.got()?.members.map(each => each.memberId),
    [one!.memberId],
  )
  assert.equal(beat(world, two!), 'UNKNOWN_MEMBER_ID')
})

test('if the leader does not join again, a member that has joined again leads', async t => {
  const world = await openGroupWorld(t)
  const [leader, follower] = await stable(world, 2, { sessionTimeoutMs: 300_000 })
  assert.equal(follower!.leader, leader!.memberId)
  const { joined } = await enter(world)
  const again = watch(world.groups.join(joining({ memberId: follower!.memberId })))
  await world.clock.advance(REBALANCE_MS)
  assert.equal(again.got()?.leader, follower!.memberId)
  assert.equal(joined.got()?.leader, follower!.memberId)
})

test('a promised id that is not used delays a rebalance only until its session timeout', async t => {
  const world = await openGroupWorld(t)
  const [one] = await stable(world, 1)
  assert.equal(errorOf(await world.groups.join(joining({ sessionTimeoutMs: 20_000 }))), 'MEMBER_ID_REQUIRED')
  const again = watch(world.groups.join(joining({ memberId: one!.memberId })))
  await world.clock.advance(19_999)
  assert.equal(again.got(), undefined)
  await world.clock.advance(1)
  assert.equal(again.got()?.generation, 2)
})

test('a promised id is forgotten after its session timeout, and a static member cannot use it', async t => {
  const world = await openGroupWorld(t)
  const { memberId } = await world.groups.join(joining())
  await world.clock.advance(SESSION_MS)
  assert.equal(errorOf(await world.groups.join(joining({ memberId }))), 'UNKNOWN_MEMBER_ID')
  assert.equal(errorOf(await world.groups.join(joining({ memberId: 'stranger' }))), 'UNKNOWN_MEMBER_ID')
  const promised = await world.groups.join(joining())
  const asStatic = joining({ memberId: promised.memberId, instanceId: 'i' })
  assert.equal(errorOf(await world.groups.join(asStatic)), 'UNKNOWN_MEMBER_ID')
})

test('group ids that are empty or longer than a Kafka string are refused', async t => {
  const world = await openGroupWorld(t)
  for (const groupId of ['', 'g'.repeat(65_536), 'ü'.repeat(17_000)]) {
    assert.equal(errorOf(await world.groups.join(joining({ groupId }))), 'INVALID_GROUP_ID')
    assert.equal(
      world.groups.heartbeat(groupId, { memberId: 'm', instanceId: null, generation: 1 })?.name,
      'INVALID_GROUP_ID',
    )
    assert.equal(errorOf(await world.groups.leave(groupId, [])), 'INVALID_GROUP_ID')
  }
  assert.equal((await commit(world, 1, {}, 'g'.repeat(65_536)))?.name, 'INVALID_GROUP_ID')
})

test('session timeouts out of bounds are refused', async t => {
  const world = await openGroupWorld(t)
  for (const sessionTimeoutMs of [0, -1, 5_999, 1_800_001, 2 ** 31 - 1]) {
    assert.equal(errorOf(await world.groups.join(joining({ sessionTimeoutMs }))), 'INVALID_SESSION_TIMEOUT')
  }
})

test('protocols that do not match those of the other members are refused, and change nothing', async t => {
  const world = await openGroupWorld(t)
  const range = { name: 'range', metadata: bytes('') }
  const sticky = { name: 'sticky', metadata: bytes('') }
  for (const misfit of [{ protocolType: '' }, { protocols: [] }]) {
    assert.equal(errorOf(await world.groups.join(joining(misfit))), 'INCONSISTENT_GROUP_PROTOCOL')
  }
  const [one] = await stable(world, 1, { protocols: [range] })
  for (const misfit of [{ protocolType: 'connect' }, { protocols: [sticky] }, { protocols: [] }]) {
    assert.equal(errorOf(await world.groups.join(joining(misfit))), 'INCONSISTENT_GROUP_PROTOCOL')
    const again = joining({ ...misfit, memberId: one!.memberId })
    assert.equal(errorOf(await world.groups.join(again)), 'INCONSISTENT_GROUP_PROTOCOL')
  }
  assert.equal(beat(world, one!), null)
})

test('of the protocols that all members know, the one that most members prefer is chosen', async t => {
  const world = await openGroupWorld(t)
  const lists = [
    ['a', 'b', 'c'],
    ['b', 'c'],
    ['c', 'b'],
    ['only-mine', 'b', 'c'],
  ]
  const joined = []
  for (const names of lists) {
    const protocols = names.map(name => ({ name, metadata: bytes(`${name} of ${names[0]}`) }))
    joined.push((await enter(world, { protocols })).joined)
  }
  await world.clock.advance(2 * DELAY_MS)
  assert.equal(joined[0]!.got()?.protocolName, 'b')
  assert.deepEqual(
    joined[0]!.got()?.members.map(each => text(each.metadata)),
    ['b of a', 'b of b', 'b of c', 'b of only-mine'],
  )
})

test('an empty group takes another protocol type', async t => {
  const world = await openGroupWorld(t)
  const [one] = await stable(world, 1)
  await world.groups.leave('g', [{ memberId: one!.memberId, instanceId: null, reason: null }])
  const [other] = await stable(world, 1, { protocolType: 'connect', protocols: [{ name: 'v2', metadata: bytes('') }] })
  assert.equal(other!.protocolType, 'connect')
  assert.equal(other!.generation, 3)
})

test('all groups together have a memory limit: a request that would exceed it is refused, and no other', async t => {
  const world = await openGroupWorld(t, undefined, undefined, { 'broker.groups-max-bytes': 3_000_000 })
  const large = { protocols: [{ name: 'range', metadata: Buffer.alloc(900_000) }], memberIdRequired: false }
  const joins = ['a', 'b', 'c'].map(groupId => world.groups.join(joining({ groupId, ...large })))
  await world.clock.advance(DELAY_MS)
  const members = await Promise.all(joins)
  assert.deepEqual(members.map(errorOf), [null, null, null])
  assert(world.heldBytes() > 2_700_000 && world.heldBytes() < 2_730_000)
  // A new group, a new member, and a member id that would be promised are refused.
  for (const asked of [{ groupId: 'd' }, { groupId: 'a' }, { groupId: 'a', memberIdRequired: true }])
    assert.equal(errorOf(await world.groups.join(joining({ ...large, ...asked }))), 'GROUP_MAX_SIZE_REACHED')
  const { memberId, generation } = members[0]!
  // Assignments count too.
  const sync = (assignment: Uint8Array) => {
    const names = { instanceId: null, protocolType: null, protocolName: null }
    return world.groups.sync({ groupId: 'a', generation, memberId, ...names, assignments: [{ memberId, assignment }] })
  }
  assert.equal(errorOf(await sync(Buffer.alloc(400_000))), 'GROUP_MAX_SIZE_REACHED')
  assert.equal(errorOf(await sync(Buffer.alloc(4_000))), null)
  // A group that takes no more memory than before continues, even if more was loaded than fits.
  const again = await openGroupWorld(t, world.clock, world.store.reopen(), { 'broker.groups-max-bytes': 1_000_000 })
  assert(again.heldBytes() > 2_700_000)
  assert.equal(errorOf(await again.groups.join(joining({ groupId: 'd' }))), 'GROUP_MAX_SIZE_REACHED')
  const rejoined = again.groups.join(joining({ groupId: 'b', memberId: members[1]!.memberId, ...large }))
  await again.clock.advance(DELAY_MS)
  assert.equal(errorOf(await rejoined), null)
  assert.equal(await commit(again, 7, {}, 'simple'), null)
  // Members that leave, expired sessions and a closed coordinator give the memory back.
  await again.groups.leave('a', [{ memberId, instanceId: null, reason: null }])
  assert(again.heldBytes() < 1_900_000)
  await again.clock.advance(SESSION_MS + REBALANCE_MS)
  assert.equal(again.heldBytes(), 0)
  assert.equal(await again.groups.remove('a'), null)
  const last = again.groups.join(joining({ groupId: 'd', ...large }))
  await again.clock.advance(DELAY_MS)
  assert.equal(errorOf(await last), null)
  await again.groups.close()
  assert.equal(again.heldBytes(), 0)
})

test('committed offsets and empty groups have a memory limit of their own, and existing ones continue', async t => {
  const overrides = { 'broker.groups-max-bytes': 100_000 }
  const world = await openGroupWorld(t, undefined, undefined, overrides)
  const name = (index: number) => `offsets-of-${index}`
  // Groups without members are created by their first offset.
  let made = 0
  while (made < 100 && (await commit(world, 1, {}, name(made))) === null) made++
  assert(made >= 15 && made <= 100_000 / 4_096, `${made} groups were made`)
  assert(world.keptBytes() > 95_000 && world.keptBytes() <= 100_000)
  assert.equal((await commit(world, 1, {}, name(made)))?.name, 'INVALID_COMMIT_OFFSET_SIZE')
  assert.equal(await world.groups.describe(name(made)), GROUP_ID_NOT_FOUND, 'nothing is left of what was refused')
  // A group that a first member creates is refused too, also if the member would only get its id.
  assert.equal(errorOf(await world.groups.join(joining({ groupId: 'new' }))), 'GROUP_MAX_SIZE_REACHED')
  const atOnce = world.groups.join(joining({ groupId: 'new', memberIdRequired: false }))
  assert.equal(errorOf(await atOnce), 'GROUP_MAX_SIZE_REACHED')
  // Some bytes are left, which longer metadata would take.
  const row = (partition: number, offset: number, metadata: string) => {
    return { topicId: TOPIC, partition, offset, leaderEpoch: 3, metadata, retentionMs: -1 }
  }
  const groupId = name(0)
  const ask = { groupId, memberId: '', instanceId: null, generation: -1, missing: GROUP_ID_NOT_FOUND }
  const long = 'x'.repeat(4_096)
  assert.equal((await commit(world, 2, { offsets: [row(0, 2, long)] }, groupId))?.name, 'INVALID_COMMIT_OFFSET_SIZE')
  assert.equal(await committed(world, groupId), 1)
  for (let more = 2; more < 50; more++) await commit(world, 1, { offsets: [row(more, 1, '')] }, groupId)
  // Existing positions can be committed beside a new one for which there is no memory, with metadata of the usual size.
  const usual = 'x'.repeat(64)
  const offsets = [row(0, 7, usual), row(1, 7, ''), row(0, 8, usual)]
  const rows = (await world.groups.commitOffsets({ ...ask, offsets })) as readonly { name: string }[]
  assert.deepEqual(
    rows.map(each => each?.name ?? null),
    [null, 'INVALID_COMMIT_OFFSET_SIZE', null],
  )
  assert.equal(await committed(world, groupId), 8)
  const { joined } = await enter(world, { groupId: name(1) })
  await world.clock.advance(DELAY_MS)
  assert.equal(errorOf(await joined.promise), null)
  // Stored groups are loaded even if they exceed the limit. They count the same, and continue.
  const again = await openGroupWorld(t, world.clock, world.store.reopen(), {
    'broker.groups-max-bytes': 1_000,
    'broker.offsets-retention': 3_600_000,
  })
  assert.equal(again.keptBytes(), world.keptBytes())
  assert.equal(await committed(again, groupId), 8)
  assert.equal(await commit(again, 9, {}, groupId), null)
  assert.equal(await committed(again, groupId), 9)
  // Deletion, retention, a deleted topic and the end of the coordinator give the memory back.
  const before = again.keptBytes()
  assert.equal(await again.groups.remove(groupId), null)
  assert(again.keptBytes() < before - 4_096)
  again.groups.topicsRemoved(new Set([TOPIC]))
  await again.clock.advance(2 * 3_600_000)
  assert.equal(again.keptBytes(), 0)
  assert.deepEqual(again.groups.list(), [])
  const last = await world.restart()
  assert.equal(await commit(last, 1, {}, 'new'), null)
  await last.groups.close()
  assert.equal(last.keptBytes(), 0)
})

test('requests that wait in a group count as memory while they wait: promised ids, and assignments that followers send with a sync', async t => {
  const world = await openGroupWorld(t, undefined, undefined, { 'broker.groups-max-bytes': 100_000 })
  let promised = 0
  for (let i = 0; i < 100; i++) {
    const error = errorOf(await world.groups.join(joining({ groupId: `g${i}` })))
    if (error === 'MEMBER_ID_REQUIRED') promised++
    else assert.equal(error, 'GROUP_MAX_SIZE_REACHED')
  }
  assert(promised >= 10 && promised < 30, `${promised} ids were promised`)
  await world.clock.advance(SESSION_MS)
  assert.equal(world.heldBytes(), 0)

  const join = () => world.groups.join(joining({ memberIdRequired: false }))
  const joins = [join(), join()]
  await world.clock.advance(DELAY_MS)
  const [leader, follower] = await Promise.all(joins)
  const before = world.heldBytes()
  const send = (bytesSent: number) => {
    const { memberId, generation } = follower!
    const assignments = [{ memberId, assignment: Buffer.alloc(bytesSent) }]
    const names = { instanceId: null, protocolType: null, protocolName: null }
    return world.groups.sync({ groupId: 'g', generation, memberId, ...names, assignments })
  }
  assert.equal(errorOf(await send(99_000)), 'GROUP_MAX_SIZE_REACHED')
  const waiting = send(50_000)
  await world.clock.settle()
  assert(world.heldBytes() >= before + 50_000)
  await settle(world, [leader!])
  assert.equal(errorOf(await waiting), null)
  assert(world.heldBytes() < before + 1_000)
})

test('a full group refuses further members and keeps its members', async t => {
  const world = await openGroupWorld(t, undefined, undefined, { 'broker.group-max-size': 3 })
  const [one, two] = await stable(world, 2)
  assert.equal(errorOf(await world.groups.join(joining())), 'MEMBER_ID_REQUIRED')
  assert.equal(errorOf(await world.groups.join(joining())), 'GROUP_MAX_SIZE_REACHED')
  assert.equal(errorOf(await world.groups.join(joining({ instanceId: 'i' }))), 'GROUP_MAX_SIZE_REACHED')
  assert.equal(beat(world, one!), null)
  assert.equal(errorOf(await world.groups.join(joining({ memberId: two!.memberId }))), null)
})

test('a member with ten thousand protocols, ten megabytes of metadata or an endless name is refused', async t => {
  const world = await openGroupWorld(t)
  const protocols = Array.from({ length: 10_000 }, (_, index) => ({ name: `p${index}`, metadata: bytes('') }))
  const misfits: Partial<JoinRequest>[] = [
    { protocols },
    { protocols: [{ name: 'range', metadata: Buffer.alloc(10 * 1024 * 1024) }] },
    { protocols: [{ name: 'r'.repeat(40_000), metadata: bytes('') }] },
    { instanceId: 'i'.repeat(40_000) },
  ]
  for (const misfit of misfits) assert.equal(errorOf(await world.groups.join(joining(misfit))), 'INVALID_REQUEST')
})

test('the metadata of a whole group is bounded', async t => {
  const world = await openGroupWorld(t)
  const large = { protocols: [{ name: 'range', metadata: Buffer.alloc(1_000_000) }] }
  for (let index = 0; index < 33; index++) await enter(world, large)
  assert.equal(errorOf(await world.groups.join(joining(large))), 'GROUP_MAX_SIZE_REACHED')
  await enter(world)
})

test('a follower that joins again unchanged gets the current generation; with other metadata it causes a rebalance', async t => {
  const world = await openGroupWorld(t)
  const [leader, follower] = await stable(world, 2)
  const same = await world.groups.join(joining({ memberId: follower!.memberId }))
  assert.equal(same.generation, 1)
  assert.deepEqual(same.members, [])
  assert.equal(beat(world, leader!), null)
  const protocols = [{ name: 'range', metadata: bytes('other topics') }]
  const changed = watch(world.groups.join(joining({ memberId: follower!.memberId, protocols })))
  await world.clock.settle()
  assert.equal(beat(world, leader!), 'REBALANCE_IN_PROGRESS')
  const again = await world.groups.join(joining({ memberId: leader!.memberId }))
  assert.equal(again.generation, 2)
  assert.equal(text(again.members[1]!.metadata), 'other topics')
  await world.clock.settle()
  assert.equal(changed.got()?.generation, 2)
})

test('a leader that joins again causes a rebalance, with or without changes', async t => {
  const world = await openGroupWorld(t)
  const [leader, follower] = await stable(world, 2)
  const again = watch(world.groups.join(joining({ memberId: leader!.memberId })))
  await world.clock.settle()
  assert.equal(again.got(), undefined)
  assert.equal(beat(world, follower!), 'REBALANCE_IN_PROGRESS')
})

test('a member that missed the answer to its join gets it again while the group waits for assignments', async t => {
  const world = await openGroupWorld(t)
  const { joined } = await enter(world)
  await world.clock.advance(DELAY_MS)
  const told = joined.got()!
  const again = await world.groups.join(joining({ memberId: told.memberId }))
  assert.deepEqual(again, told)
  const protocols = [{ name: 'range', metadata: bytes('other topics') }]
  const changed = await world.groups.join(joining({ memberId: told.memberId, protocols }))
  assert.equal(changed.generation, 2)
})

test('if a newer join of the same member replaces a waiting join, both are answered', async t => {
  const world = await openGroupWorld(t)
  const [, follower] = await stable(world, 2)
  const protocols = [{ name: 'range', metadata: bytes('other topics') }]
  const older = watch(world.groups.join(joining({ memberId: follower!.memberId, protocols })))
  await world.clock.settle()
  const newer = watch(world.groups.join(joining({ memberId: follower!.memberId, protocols })))
  await world.clock.settle()
  assert.equal(errorOf(older.got()), 'REBALANCE_IN_PROGRESS')
  assert.equal(newer.got(), undefined)
})

test('a new member whose join is not answered is removed after five minutes', async t => {
  const world = await openGroupWorld(t)
  const [one] = await stable(world, 1, { rebalanceTimeoutMs: 2 ** 31 - 1, sessionTimeoutMs: 1_800_000 })
  const { joined } = await enter(world)
  await world.clock.advance(299_999)
  assert.equal(joined.got(), undefined)
  await world.clock.advance(1)
  assert.equal(errorOf(joined.got()), 'UNKNOWN_MEMBER_ID')
  assert.equal(beat(world, one!), 'REBALANCE_IN_PROGRESS')
})

// ---- static members

/**
 * Returns version 0 of a ConsumerProtocolSubscription, with user data that differs after each start of the client.
 */
function subscription(topics: readonly string[], userData = ''): Buffer {
  const count = Buffer.alloc(6)
  count.writeInt32BE(topics.length, 2)
  const names = topics.map(topic => Buffer.concat([Buffer.from([0, topic.length]), bytes(topic)]))
  return Buffer.concat([count, ...names, bytes(userData)])
}

const subscribed = (topics: readonly string[], userData = '') => ({
  protocols: [{ name: 'range', metadata: subscription(topics, userData) }],
})

test('a static member that comes back keeps its assignment under a new id, without a rebalance', async t => {
  const world = await openGroupWorld(t)
  const [leader, follower] = await stable(world, 2, { instanceId: 'i', ...subscribed(['a']) })
  const back = await world.groups.join(joining({ instanceId: 'i1', ...subscribed(['a'], 'second life') }))
  assert.equal(errorOf(back), null)
  assert.notEqual(back.memberId, follower!.memberId)
  assert.equal(back.generation, 1)
  assert.equal(back.leader, leader!.memberId)
  assert.equal(back.skipAssignment, false)
  assert.deepEqual(back.members, [])
  const synced = await world.groups.sync({
    groupId: 'g',
    ...claim(back),
    protocolType: 'consumer',
    protocolName: 'range',
    assignments: [],
  })
  assert.equal(text(synced.assignment), `to ${follower!.memberId}`)
  assert.equal(beat(world, leader!), null)

  const old = { ...claim(follower!), instanceId: 'i1' }
  assert.equal(world.groups.heartbeat('g', old)?.name, 'FENCED_INSTANCE_ID')
  assert.equal((await commit(world, 1, old))?.name, 'FENCED_INSTANCE_ID')
  assert.equal(
    errorOf(await world.groups.sync({ groupId: 'g', ...old, protocolType: null, protocolName: null, assignments: [] })),
    'FENCED_INSTANCE_ID',
  )
  assert.equal(
    errorOf(await world.groups.join(joining({ memberId: old.memberId, instanceId: 'i1', ...subscribed(['a']) }))),
    'FENCED_INSTANCE_ID',
  )
  assert.equal(errorOf((await world.groups.leave('g', [{ ...old, reason: null }])).rows[0]), 'FENCED_INSTANCE_ID')
  assert.equal(beat(world, follower!), 'UNKNOWN_MEMBER_ID')

  const again = await world.restart()
  assert.equal(beat(again, back), null)
  assert.equal(again.groups.heartbeat('g', old)?.name, 'FENCED_INSTANCE_ID')
})

test('a static leader that comes back leads without assigning, or gets another leader id if it does not know skipAssignment', async t => {
  const world = await openGroupWorld(t)
  const [leader] = await stable(world, 2, { instanceId: 'i', ...subscribed(['a']) })
  const modern = await world.groups.join(joining({ instanceId: 'i0', ...subscribed(['a']) }))
  assert.equal(modern.skipAssignment, true)
  assert.equal(modern.leader, modern.memberId)
  assert.equal(modern.members.length, 2)
  const old = await world.groups.join(joining({ instanceId: 'i0', canSkipAssignment: false, ...subscribed(['a']) }))
  assert.equal(old.skipAssignment, false)
  assert.equal(old.leader, modern.memberId)
  assert.deepEqual(old.members, [])
  assert.notEqual(leader!.memberId, modern.memberId)
})

test('a static member that comes back with other topics, or changes the choice of the protocol, causes a rebalance', async t => {
  const world = await openGroupWorld(t)
  const [leader] = await stable(world, 2, { instanceId: 'i', ...subscribed(['a']) })
  const back = watch(world.groups.join(joining({ instanceId: 'i1', ...subscribed(['a', 'b']) })))
  await world.clock.settle()
  assert.equal(back.got(), undefined)
  assert.equal(beat(world, leader!), 'REBALANCE_IN_PROGRESS')

  const of = (...names: string[]) => ({ protocols: names.map(name => ({ name, metadata: subscription(['a']) })) })
  const other = await openGroupWorld(t)
  const [first] = await stable(other, 2, { instanceId: 'i', ...of('one', 'two') })
  assert.equal(first!.protocolName, 'one')
  void other.groups.join(joining({ instanceId: 'i1', ...of('two') }))
  assert.equal(beat(other, first!), 'REBALANCE_IN_PROGRESS')
})

test('a static member that comes back while the group waits for assignments causes a rebalance, because they are for its old id', async t => {
  const world = await openGroupWorld(t)
  const leader = watch(world.groups.join(joining({ instanceId: 'i0' })))
  const follower = watch(world.groups.join(joining({ instanceId: 'i1' })))
  await world.clock.advance(2 * DELAY_MS)
  const waiting = watch(
    world.groups.sync({
      groupId: 'g',
      ...claim(follower.got()!),
      instanceId: 'i1',
      protocolType: null,
      protocolName: null,
      assignments: [],
    }),
  )
  const back = watch(world.groups.join(joining({ instanceId: 'i1' })))
  await world.clock.settle()
  assert.equal(errorOf(waiting.got()), 'FENCED_INSTANCE_ID')
  assert.equal(back.got(), undefined)
  assert.equal(beat(world, leader.got()!), 'REBALANCE_IN_PROGRESS')
})

test('a static member that comes back before it has synced must still sync in time', async t => {
  const world = await openGroupWorld(t)
  const leader = watch(world.groups.join(joining({ instanceId: 'i0', sessionTimeoutMs: 300_000 })))
  const silent = watch(world.groups.join(joining({ instanceId: 'i1', sessionTimeoutMs: 300_000 })))
  await world.clock.advance(2 * DELAY_MS)
  const assignments = [{ memberId: silent.got()!.memberId, assignment: bytes('a') }]
  await world.groups.sync({
    groupId: 'g',
    ...claim(leader.got()!),
    protocolType: null,
    protocolName: null,
    assignments,
  })
  const back = await world.groups.join(joining({ instanceId: 'i1', sessionTimeoutMs: 300_000 }))
  assert.equal(back.generation, 1)
  await world.clock.advance(REBALANCE_MS)
  assert.equal(beat(world, back), 'UNKNOWN_MEMBER_ID')
  assert.equal(beat(world, leader.got()!), 'REBALANCE_IN_PROGRESS')
})

test('a static member that misses a rebalance stays a member until its session expires', async t => {
  const world = await openGroupWorld(t)
  const [here, away] = await stable(world, 2, {
    instanceId: 'i',
    sessionTimeoutMs: 300_000,
    rebalanceTimeoutMs: 20_000,
  })
  const again = watch(
    world.groups.join(
      joining({ memberId: here!.memberId, instanceId: 'i0', sessionTimeoutMs: 300_000, rebalanceTimeoutMs: 20_000 }),
    ),
  )
  await world.clock.advance(20_000)
  assert.deepEqual(
    again.got()?.members.map(each => each.memberId),
    [here!.memberId, away!.memberId],
  )
})

test('if only static members are left and no member joins again, the rebalance waits for one of them', async t => {
  const world = await openGroupWorld(t)
  const [one, two] = await stable(world, 2, { instanceId: 'i', sessionTimeoutMs: 100_000, rebalanceTimeoutMs: 20_000 })
  const { memberId, joined } = await enter(world, { rebalanceTimeoutMs: 20_000 })
  await world.groups.leave('g', [{ memberId, instanceId: null, reason: null }])
  assert.equal(errorOf(joined.got()), 'UNKNOWN_MEMBER_ID')
  await world.clock.advance(50_000)
  const back = watch(
    world.groups.join(
      joining({ memberId: two!.memberId, instanceId: 'i1', sessionTimeoutMs: 100_000, rebalanceTimeoutMs: 20_000 }),
    ),
  )
  await world.clock.advance(20_000)
  assert.equal(back.got()?.leader, two!.memberId)
  assert.equal(
    back.got()?.members.some(each => each.memberId === one!.memberId),
    true,
  )
})

// ---- syncing

test('followers wait for the leader, and members that it left out get empty assignments', async t => {
  const world = await openGroupWorld(t)
  const joined = [(await enter(world)).joined, (await enter(world)).joined, (await enter(world)).joined]
  await world.clock.advance(2 * DELAY_MS)
  const [leader, one, two] = joined.map(each => each.got()!)
  const ask = (reply: JoinReply, assignments: { memberId: string; assignment: Uint8Array }[] = []) =>
    watch(
      world.groups.sync({
        groupId: 'g',
        ...claim(reply),
        protocolType: 'consumer',
        protocolName: 'range',
        assignments,
      }),
    )
  const first = ask(one!, [{ memberId: one!.memberId, assignment: bytes('what a follower says is ignored') }])
  await world.clock.settle()
  assert.equal(first.got(), undefined)
  const led = ask(leader!, [
    { memberId: leader!.memberId, assignment: bytes('mine') },
    { memberId: one!.memberId, assignment: bytes('yours') },
  ])
  await world.clock.settle()
  assert.equal(text(led.got()!.assignment), 'mine')
  assert.deepEqual(
    { ...first.got()!, assignment: text(first.got()!.assignment) },
    { error: null, protocolType: 'consumer', protocolName: 'range', assignment: 'yours' },
  )
  const late = ask(two!)
  await world.clock.settle()
  assert.equal(late.got()!.assignment.length, 0)
})

test('SyncGroup is refused for unknown members, in other generations, in a rebalance, and with another protocol', async t => {
  const world = await openGroupWorld(t)
  const [leader, follower] = await stable(world, 2)
  const ask = async (asked: object) =>
    errorOf(
      await world.groups.sync({
        groupId: 'g',
        ...claim(follower!),
        protocolType: null,
        protocolName: null,
        assignments: [],
        ...asked,
      }),
    )
  assert.equal(await ask({ memberId: 'stranger' }), 'UNKNOWN_MEMBER_ID')
  assert.equal(await ask({ groupId: 'h' }), 'UNKNOWN_MEMBER_ID')
  assert.equal(await ask({ groupId: '' }), 'INVALID_GROUP_ID')
  assert.equal(await ask({ instanceId: 'i' }), 'UNKNOWN_MEMBER_ID')
  assert.equal(await ask({ generation: 2 }), 'ILLEGAL_GENERATION')
  assert.equal(await ask({ protocolType: 'connect' }), 'INCONSISTENT_GROUP_PROTOCOL')
  assert.equal(await ask({ protocolName: 'sticky' }), 'INCONSISTENT_GROUP_PROTOCOL')
  void world.groups.join(joining({ memberId: leader!.memberId }))
  assert.equal(await ask({}), 'REBALANCE_IN_PROGRESS')
})

test('assignments for unknown members, or of more bytes than a group may have, are refused and change nothing', async t => {
  const world = await openGroupWorld(t)
  const { joined } = await enter(world)
  await world.clock.advance(DELAY_MS)
  const leader = joined.got()!
  const ask = (memberId: string, assignment: Uint8Array) =>
    world.groups.sync({
      groupId: 'g',
      ...claim(leader),
      protocolType: null,
      protocolName: null,
      assignments: [{ memberId, assignment }],
    })
  assert.equal(errorOf(await ask('stranger', bytes('a'))), 'UNKNOWN_MEMBER_ID')
  assert.equal(errorOf(await ask(leader.memberId, Buffer.alloc(50 * 1024 * 1024))), 'INVALID_REQUEST')
  assert.equal(text((await ask(leader.memberId, bytes('a'))).assignment), 'a')
})

test('members that never sync are removed after the rebalance timeout, and the others rebalance again', async t => {
  const world = await openGroupWorld(t)
  const joined = [
    (await enter(world, { sessionTimeoutMs: 300_000 })).joined,
    (await enter(world, { sessionTimeoutMs: 300_000 })).joined,
  ]
  await world.clock.advance(DELAY_MS)
  const [leader, follower] = joined.map(each => each.got()!)
  const waiting = watch(
    world.groups.sync({ groupId: 'g', ...claim(follower!), protocolType: null, protocolName: null, assignments: [] }),
  )
  await world.clock.advance(REBALANCE_MS - 1)
  assert.equal(waiting.got(), undefined)
  await world.clock.advance(1)
  assert.equal(errorOf(waiting.got()), 'REBALANCE_IN_PROGRESS')
  assert.equal(beat(world, leader!), 'UNKNOWN_MEMBER_ID')
  const again = await world.groups.join(joining({ memberId: follower!.memberId }))
  assert.equal(again.leader, follower!.memberId)
})

// ---- living

test('the answer to a heartbeat says what a member must do', async t => {
  const world = await openGroupWorld(t)
  const [leader] = await stable(world, 2)
  const ask = (asked: object) => world.groups.heartbeat('g', { ...claim(leader!), ...asked })?.name ?? null
  assert.equal(ask({}), null)
  assert.equal(ask({ generation: 0 }), 'ILLEGAL_GENERATION')
  assert.equal(ask({ memberId: 'stranger' }), 'UNKNOWN_MEMBER_ID')
  assert.equal(ask({ instanceId: 'i' }), 'UNKNOWN_MEMBER_ID')
  assert.equal(world.groups.heartbeat('h', claim(leader!))?.name, 'UNKNOWN_MEMBER_ID')
})

test('heartbeats store nothing and set no timers, however many there are', async t => {
  const clock = new SimulatedClock()
  let timers = 0
  const timer = clock.timer.bind(clock)
  clock.timer = (delayMs, fn) => {
    timers++
    return timer(delayMs, fn)
  }
  const world = await openGroupWorld(t, clock)
  const replies = await stable(world, 20)
  const { commit: commits } = world.store.calls
  timers = 0
  for (let second = 0; second < 60; second++) {
    for (const reply of replies) for (let each = 0; each < 10; each++) assert.equal(beat(world, reply), null)
    await clock.advance(1_000)
  }
  assert.equal(world.store.calls.commit, commits)
  assert(timers <= 12, `a group looks once for each session timeout, not ${timers} times a minute`)
})

test('a member that is silent for its session timeout is removed, and the others rebalance', async t => {
  const world = await openGroupWorld(t)
  const [one, two] = await stable(world, 2)
  await world.clock.advance(SESSION_MS - 1)
  assert.equal(beat(world, one!), null)
  await world.clock.advance(1)
  assert.equal(beat(world, one!), 'REBALANCE_IN_PROGRESS')
  assert.equal(beat(world, two!), 'UNKNOWN_MEMBER_ID')
  const again = await world.groups.join(joining({ memberId: one!.memberId }))
  assert.equal(again.members.length, 1)
})

test('if all members are silent the group becomes empty, and is still empty after a restart', async t => {
  const world = await openGroupWorld(t)
  await stable(world, 2)
  await world.clock.advance(SESSION_MS)
  assert.equal(await commit(world, 5), null)
  const again = await world.restart()
  assert.equal(await commit(again, 6), null)
})

test('waiting in a rebalance is a sign of life', async t => {
  const world = await openGroupWorld(t)
  const [one, two] = await stable(world, 2, { sessionTimeoutMs: 6_000 })
  const again = watch(world.groups.join(joining({ memberId: one!.memberId, sessionTimeoutMs: 6_000 })))
  for (let second = 0; second < 30; second++) {
    await world.clock.advance(1_000)
    assert.equal(beat(world, two!), 'REBALANCE_IN_PROGRESS')
  }
  assert.equal(again.got(), undefined)
  await world.groups.join(joining({ memberId: two!.memberId, sessionTimeoutMs: 6_000 }))
  assert.equal(again.got()?.members.length, 2)
})

test('a process that was paused handles the waiting heartbeats before it removes a member', async t => {
  const clock = new SimulatedClock()
  let stoodStillMs = 0
  const monotonic = clock.monotonic.bind(clock)
  clock.monotonic = () => monotonic() + stoodStillMs
  const world = await openGroupWorld(t, clock)
  const [one, two] = await stable(world, 2)
  stoodStillMs = 60_000
  await clock.advance(SESSION_MS)
  // The first request of one client does not end the extra time of the others.
  await world.groups.join(joining())
  await clock.advance(1)
  assert.equal(beat(world, one!), null)
  await clock.advance(1_000)
  assert.equal(beat(world, one!), 'REBALANCE_IN_PROGRESS')
  assert.equal(beat(world, two!), 'UNKNOWN_MEMBER_ID')
})

// ---- leaving

test('the answer to LeaveGroup has a row for each member, and the members that stay rebalance once', async t => {
  const world = await openGroupWorld(t)
  const replies = await stable(world, 3)
  const promised = await world.groups.join(joining())
  const leaving = [replies[1]!.memberId, 'stranger', promised.memberId, replies[2]!.memberId, ''].map(memberId => ({
    memberId,
    instanceId: null,
    reason: 'the consumer is being closed',
  }))
  const { error, rows } = await world.groups.leave('g', leaving)
  assert.equal(error, null)
  assert.deepEqual(rows.map(errorOf), [null, 'UNKNOWN_MEMBER_ID', null, null, 'UNKNOWN_MEMBER_ID'])
  assert.deepEqual(
    rows.map(row => row.memberId),
    leaving.map(each => each.memberId),
  )
  assert.equal(beat(world, replies[0]!), 'REBALANCE_IN_PROGRESS')
  const again = await world.groups.join(joining({ memberId: replies[0]!.memberId }))
  assert.equal(again.generation, 2)
  assert.equal(again.members.length, 1)
})

test('a static member is removed by its instance id alone', async t => {
  const world = await openGroupWorld(t)
  const [one] = await stable(world, 2, { instanceId: 'i' })
  const { rows } = await world.groups.leave('g', [
    { memberId: '', instanceId: 'i1', reason: null },
    { memberId: '', instanceId: 'i7', reason: null },
    { memberId: 'somebody else', instanceId: 'i0', reason: null },
  ])
  assert.deepEqual(rows.map(errorOf), [null, 'UNKNOWN_MEMBER_ID', 'FENCED_INSTANCE_ID'])
  assert.equal(beat(world, one!), 'REBALANCE_IN_PROGRESS')
})

test('a member that has left is not a member after a restart', async t => {
  const world = await openGroupWorld(t)
  const [one, two] = await stable(world, 2)
  await world.groups.leave('g', [{ memberId: two!.memberId, instanceId: null, reason: null }])
  const again = await world.restart()
  assert.equal(beat(again, two!), 'UNKNOWN_MEMBER_ID')
  assert.equal(beat(again, one!), 'REBALANCE_IN_PROGRESS')
  const alone = await again.groups.join(joining({ memberId: one!.memberId }))
  assert.equal(alone.generation, 2)
})

test('the last member that a rebalance waits for may end it by leaving', async t => {
  const world = await openGroupWorld(t)
  const [one, two] = await stable(world, 2)
  const again = watch(world.groups.join(joining({ memberId: one!.memberId })))
  await world.clock.settle()
  await world.groups.leave('g', [{ memberId: two!.memberId, instanceId: null, reason: null }])
  assert.equal(again.got()?.generation, 2)
})

test('after a restart in the middle of a rebalance the members can complete it', async t => {
  const world = await openGroupWorld(t)
  const joined = [(await enter(world)).joined, (await enter(world)).joined]
  await world.clock.advance(2 * DELAY_MS)
  const replies = joined.map(each => each.got()!)
  const again = await world.restart()
  for (const reply of replies) assert.equal(beat(again, reply), null)
  await settle(again, replies)
  assert.equal(again.rebalances(), 1)
})

test('after a restart in the middle of a rebalance members have to sync in time', async t => {
  const world = await openGroupWorld(t)
  const { joined } = await enter(world, { sessionTimeoutMs: 300_000 })
  await world.clock.advance(DELAY_MS)
  const again = await world.restart()
  await again.clock.advance(REBALANCE_MS - 1)
  assert.equal(beat(again, joined.got()!), null)
  await again.clock.advance(1)
  assert.equal(beat(again, joined.got()!), 'UNKNOWN_MEMBER_ID')
})

// ---- offsets

test('a consumer without a group protocol commits and fetches, with metadata and leader epoch', async t => {
  const world = await openGroupWorld(t)
  assert.equal(await commit(world, 7), null)
  const wanted = [
    { topicId: TOPIC, partitions: [0, 1] },
    { topicId: OTHER_TOPIC, partitions: [0] },
  ]
  const expected = [
    { partition: 0, offset: 7, leaderEpoch: 3, metadata: 'note', commitTimestampMs: world.clock.now(), expireAtMs: -1 },
  ]
  const some = await world.groups.fetchOffsets({ groupId: 'g', topics: wanted })
  assert.deepEqual(some.topics, [
    { topicId: TOPIC, offsets: expected },
    { topicId: OTHER_TOPIC, offsets: [] },
  ])
  const all = await (await world.restart()).groups.fetchOffsets({ groupId: 'g', topics: null })
  assert.deepEqual(all.topics, [{ topicId: TOPIC, offsets: expected }])
})

test('offsets can be committed with the empty group id, as in Kafka, and offsets below zero too', async t => {
  const world = await openGroupWorld(t)
  for (const offset of [0, -1, -2, Number.MAX_SAFE_INTEGER]) {
    assert.equal(await commit(world, offset, {}, ''), null)
    assert.equal(await committed(world, ''), offset)
  }
  const again = await world.restart()
  assert.equal(await committed(again, ''), Number.MAX_SAFE_INTEGER)
})

test('only members of the current generation can commit offsets', async t => {
  const world = await openGroupWorld(t)
  assert.equal((await commit(world, 1, { memberId: 'm', generation: 1 }))?.name, 'GROUP_ID_NOT_FOUND')
  const [leader, follower] = await stable(world, 2)
  assert.equal(await commit(world, 1, claim(leader!)), null)
  assert.equal((await commit(world, 2))?.name, 'UNKNOWN_MEMBER_ID')
  assert.equal((await commit(world, 2, { memberId: 'stranger', generation: 1 }))?.name, 'UNKNOWN_MEMBER_ID')
  assert.equal((await commit(world, 2, { ...claim(leader!), generation: 0 }))?.name, 'ILLEGAL_GENERATION')
  assert.equal((await commit(world, 2, { ...claim(leader!), generation: -1 }))?.name, 'ILLEGAL_GENERATION')
  const again = watch(world.groups.join(joining({ memberId: leader!.memberId })))
  await world.clock.settle()
  assert.equal(
    await commit(world, 3, claim(follower!)),
    null,
    'what was worked on before the rebalance may be committed in it',
  )
  await world.groups.join(joining({ memberId: follower!.memberId }))
  assert.equal((await commit(world, 4, claim(follower!)))?.name, 'ILLEGAL_GENERATION')
  assert.equal((await commit(world, 4, claim(again.got()!)))?.name, 'REBALANCE_IN_PROGRESS')
  assert.equal(await committed(world), 3)
})

test('committing is a sign of life', async t => {
  const world = await openGroupWorld(t)
  const [one] = await stable(world, 1)
  for (let second = 0; second < 30; second++) {
    await world.clock.advance(1_000)
    assert.equal(await commit(world, second, claim(one!)), null)
  }
  assert.equal(beat(world, one!), null)
})

test('offsets of a deleted topic vanish at once, from the store too', async t => {
  const world = await openGroupWorld(t)
  await commit(world, 7)
  world.groups.topicsRemoved(new Set([OTHER_TOPIC]))
  assert.equal(await committed(world), 7)
  world.groups.topicsRemoved(new Set([TOPIC]))
  assert.equal(await committed(world), null)
  assert.equal(await committed(await world.restart()), null)
})

test('the offsets of very many deleted topics are removed without a search of all topics for each', async t => {
  const world = await openGroupWorld(t)
  const topicIds = Array.from(
    { length: atLength(20_000, 5_000) },
    (_, i) => `AAAAAAAAAAAAAAAA${String(i).padStart(6, '0')}`,
  )
  const offsets = topicIds.map(topicId => {
    return { topicId, partition: 0, offset: 1, leaderEpoch: -1, metadata: '', retentionMs: -1 }
  })
  const claimed = { memberId: '', instanceId: null, generation: -1, offsets, missing: GROUP_ID_NOT_FOUND }
  for (const groupId of ['a', 'b', 'c']) assert.equal(await world.groups.commitOffsets({ groupId, ...claimed }), null)
  // There is one request for each topic. To search all topics for each request would be 400 million steps for 20,000
  // topics.
  const startedAt = process.cpuUsage()
  for (const topicId of topicIds) world.groups.topicsRemoved(new Set([topicId]))
  const { user } = process.cpuUsage(startedAt)
  assert(user < 5_000_000, `it took ${user / 1e6} s of the processor`)
  const left = async () => {
    const replies = ['a', 'b', 'c'].map(groupId => world.groups.fetchOffsets({ groupId, topics: null }))
    return (await Promise.all(replies)).reduce((sum, { topics }) => sum + topics.length, 0)
  }
  for (let count = await left(); count > 0; count = await left()) await world.clock.settle()
})

test('a start forgets the offsets of topics that were deleted just before the crash', async t => {
  const world = await openGroupWorld(t)
  await commit(world, 7)
  const again = await world.restart()
  again.groups.keepTopics(new Set([OTHER_TOPIC]))
  await again.clock.settle()
  assert.equal(await committed(again), null)
  assert.deepEqual(
    (await again.store.list('group')).map(each => [...each.fields.keys()]),
    [['head']],
  )
})

// ---- commits

test('all offsets that arrive while a commit is in flight are stored together by the next commit', async t => {
  const world = await openGroupWorld(t)
  const release = world.store.faults.hold('commit')
  const answers = Array.from({ length: 50 }, (_, offset) => watch(commit(world, offset)))
  const read = watch(committed(world))
  await world.clock.settle()
  assert(answers.every(each => each.got() === undefined))
  assert.equal(read.got(), undefined, 'no client reads an offset that is not stored')
  assert.equal(world.store.calls.commit, 1)
  release()
  assert.deepEqual(new Set(await Promise.all(answers.map(each => each.promise))), new Set([null]))
  assert.equal(world.store.calls.commit, 2)
  assert.equal(await read.promise, 49)
})

test('an offset whose commit is in flight is not read', async t => {
  const world = await openGroupWorld(t)
  await commit(world, 1)
  const release = world.store.faults.hold('commit')
  void commit(world, 2)
  const read = watch(committed(world))
  await world.clock.settle()
  assert.equal(read.got(), undefined)
  release()
  assert.equal(await read.promise, 2)
})

test('requests that waited behind a failed commit are refused with it, and are not stored later', async t => {
  const world = await openGroupWorld(t)
  await commit(world, 1)
  world.store.faults.failNext('commit', 'unavailable')
  const offsets = [{ topicId: OTHER_TOPIC, partition: 0, offset: 5, leaderEpoch: 0, metadata: '', retentionMs: -1 }]
  const simple = { groupId: 'g', memberId: '', instanceId: null, generation: -1, missing: GROUP_ID_NOT_FOUND }
  const answers = await Promise.all([commit(world, 2), commit(world, 5, { ...simple, offsets })])
  assert.deepEqual(
    answers.map(each => each?.name),
    ['COORDINATOR_NOT_AVAILABLE', 'COORDINATOR_NOT_AVAILABLE'],
  )
  await world.clock.settle()
  assert.equal(await commit(world, 3), null)
  assert.equal(await committed(await world.restart(), 'g', OTHER_TOPIC), null)
})

test('a join, an assignment and a leave are answered after their commit, and not before', async t => {
  const world = await openGroupWorld(t)
  const { joined } = await enter(world)
  let release = world.store.faults.hold('commit')
  await world.clock.advance(DELAY_MS)
  assert.equal(joined.got(), undefined)
  release()
  const reply = await joined.promise
  release = world.store.faults.hold('commit')
  const assignments = [{ memberId: reply.memberId, assignment: bytes('a') }]
  const synced = watch(
    world.groups.sync({ groupId: 'g', ...claim(reply), protocolType: null, protocolName: null, assignments }),
  )
  await world.clock.settle()
  assert.equal(synced.got(), undefined)
  assert.equal(world.rebalances(), 0)
  release()
  assert.equal(errorOf(await synced.promise), null)
  assert.equal(world.rebalances(), 1)
  release = world.store.faults.hold('commit')
  const left = watch(world.groups.leave('g', [{ memberId: reply.memberId, instanceId: null, reason: null }]))
  await world.clock.settle()
  assert.equal(left.got(), undefined)
  release()
  assert.equal(errorOf((await left.promise).rows[0]), null)
})

test('if the store refuses a commit the client gets an error, and the group is loaded again and continues', async t => {
  const world = await openGroupWorld(t)
  const [one, two] = await stable(world, 2)
  await commit(world, 1, claim(one!))
  world.store.faults.failNext('commit', 'unavailable')
  const parked = watch(world.groups.join(joining({ memberId: one!.memberId })))
  await world.clock.settle()
  assert.equal(parked.got(), undefined)
  assert.equal((await commit(world, 2, claim(two!)))?.name, 'COORDINATOR_NOT_AVAILABLE')
  assert.equal(errorOf(parked.got()), 'COORDINATOR_NOT_AVAILABLE')
  await world.clock.settle()
  assert.equal(await committed(world), 1)
  for (const reply of [one!, two!]) assert.equal(beat(world, reply), null)
  assert.equal(await commit(world, 3, claim(two!)), null)
})

test('after a commit with an unknown outcome clients must look for the coordinator again, and the stored state counts', async t => {
  for (const [fault, expected] of [
    ['unknown-lost', 1],
    ['unknown-done', 2],
  ] as const) {
    const world = await openGroupWorld(t)
    await commit(world, 1)
    world.store.faults.failNext('commit', fault)
    assert.equal((await commit(world, 2))?.name, 'NOT_COORDINATOR')
    await world.clock.settle()
    assert.equal(await committed(world), expected)
    assert.equal(await commit(world, 3), null)
  }
})

test('no member gets an assignment whose commit failed', async t => {
  const world = await openGroupWorld(t)
  const { joined } = await enter(world)
  await world.clock.advance(DELAY_MS)
  const reply = joined.got()!
  world.store.faults.failNext('commit', 'unavailable')
  const assignments = [{ memberId: reply.memberId, assignment: bytes('a') }]
  const ask = () =>
    world.groups.sync({ groupId: 'g', ...claim(reply), protocolType: null, protocolName: null, assignments })
  assert.equal(errorOf(await ask()), 'COORDINATOR_NOT_AVAILABLE')
  assert.equal(world.rebalances(), 0)
  await world.clock.settle()
  assert.equal(text((await ask()).assignment), 'a')
  assert.equal(world.rebalances(), 1)
})

test('of two coordinators of one group, the one that did not write last is refused, and no acknowledged offset is lost', async t => {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const old = await openGroupWorld(t, clock, store)
  const [one] = await stable(old, 1)
  assert.equal(await commit(old, 1, claim(one!)), null)
  const young = await openGroupWorld(t, clock, store)
  assert.equal(await commit(young, 2, claim(one!)), null)
  assert.equal((await commit(old, 1, claim(one!)))?.name, 'NOT_COORDINATOR')
  await clock.settle()
  assert.equal(await committed(old), 2)
  assert.equal(await commit(young, 3, claim(one!)), null)
  const left = await old.groups.leave('g', [{ memberId: one!.memberId, instanceId: null, reason: null }])
  assert.equal(errorOf(left), 'NOT_COORDINATOR')
  assert.equal(await committed(young), 3)
})

test('while a group is being loaded requests get COORDINATOR_LOAD_IN_PROGRESS, and heartbeats succeed', async t => {
  const world = await openGroupWorld(t)
  const [one] = await stable(world, 1)
  const release = world.store.faults.hold('load')
  world.store.faults.failNext('commit', 'unavailable')
  await commit(world, 1, claim(one!))
  assert.equal(beat(world, one!), null)
  assert.equal(errorOf(await world.groups.join(joining())), 'COORDINATOR_LOAD_IN_PROGRESS')
  assert.equal((await commit(world, 1, claim(one!)))?.name, 'COORDINATOR_LOAD_IN_PROGRESS')
  assert.equal(errorOf(await world.groups.fetchOffsets({ groupId: 'g', topics: null })), 'COORDINATOR_LOAD_IN_PROGRESS')
  const sync = { groupId: 'g', ...claim(one!), protocolType: null, protocolName: null, assignments: [] }
  assert.equal(errorOf(await world.groups.sync(sync)), 'REBALANCE_IN_PROGRESS')
  release()
  await world.clock.settle()
  assert.equal(await commit(world, 1, claim(one!)), null)
})

test('a group that cannot be loaded is tried again until it is loaded', async t => {
  const world = await openGroupWorld(t)
  const [one] = await stable(world, 1)
  world.store.faults.failNext('commit', 'unavailable')
  world.store.faults.failNext('load', 'unavailable', 3)
  await commit(world, 1, claim(one!))
  await world.clock.settle()
  assert.equal((await commit(world, 1, claim(one!)))?.name, 'COORDINATOR_NOT_AVAILABLE')
  assert.equal(errorOf(await world.groups.fetchOffsets({ groupId: 'g', topics: null })), 'COORDINATOR_LOAD_IN_PROGRESS')
  await world.clock.advance(3_000)
  assert.equal(await commit(world, 1, claim(one!)), null)
})

test('a stored group that cannot be read refuses requests, keeps its offsets, and can be deleted', async t => {
  const world = await openGroupWorld(t)
  await commit(world, 1, {}, 'my group')
  const [document] = await world.store.list('group')
  const changes = [{ key: 'head', value: Buffer.from([9, 9, 9]) }]
  await world.store.commit({ kind: 'group', name: 'my group', expect: document!.version, changes })
  const again = await world.restart()
  assert.equal((await commit(again, 2, {}, 'my group'))?.name, 'COORDINATOR_NOT_AVAILABLE')
  assert.equal(errorOf(await again.groups.join(joining({ groupId: 'my group' }))), 'COORDINATOR_NOT_AVAILABLE')
  assert.equal(await commit(again, 2, {}, 'another'), null)
  assert.deepEqual(again.groups.list(), [{ groupId: 'another', state: 'Empty', protocolType: null }])
  const spoiled = (await again.store.load('group', 'my group'))!
  assert.equal(spoiled.fields.size, 2)
  // An operator repairs it.
  await again.store.commit({
    kind: 'group',
    name: 'my group',
    expect: spoiled.version,
    changes: [{ key: 'head', value: document!.fields.get('head')! }],
  })
  await again.clock.advance(10_000)
  assert.equal(await commit(again, 3, {}, 'my group'), null)

  const repaired = (await again.store.load('group', 'my group'))!
  await again.store.commit({ kind: 'group', name: 'my group', expect: repaired.version, changes })
  const last = await again.restart()
  assert.equal(await last.groups.remove('my group'), null)
  assert.equal(await last.store.load('group', 'my group'), null)
  assert.equal(await commit(last, 1, {}, 'my group'), null)
})

// ---- ending

test('draining answers members that wait in a rebalance, and still accepts offsets', async t => {
  const world = await openGroupWorld(t)
  const [one] = await stable(world, 2)
  const parked = watch(world.groups.join(joining({ memberId: one!.memberId })))
  await world.clock.settle()
  world.groups.drain()
  await world.clock.settle()
  assert.equal(errorOf(parked.got()), 'NOT_COORDINATOR')
  assert.equal(errorOf(await world.groups.join(joining())), 'NOT_COORDINATOR')
  assert.equal(errorOf(await world.groups.join(joining({ groupId: 'another' }))), 'NOT_COORDINATOR')
  assert.equal(await commit(world, 9, claim(one!)), null)
  const again = await world.restart()
  assert.equal(await committed(again), 9)
  assert.equal(beat(again, one!), null)
})

test('closing waits for the commit in flight and answers it', async t => {
  const world = await openGroupWorld(t)
  const release = world.store.faults.hold('commit')
  const answer = watch(commit(world, 5))
  const closed = watch(world.groups.close())
  await world.clock.settle()
  assert.equal(closed.got(), undefined)
  release()
  await closed.promise
  assert.equal(answer.got(), null)
  assert.equal((await commit(world, 6))?.name, 'NOT_COORDINATOR')
})
