import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import {
  beat,
  claim,
  commit,
  committed,
  OTHER_TOPIC,
  openGroupWorld,
  SESSION_MS,
  stable,
  subscribing,
  TOPIC,
  type World,
} from '../../testing/sim/groups.ts'
import { GROUP_ID_NOT_FOUND } from '../protocol/errors.ts'
import type { JoinReply } from './classic/requests.ts'

const DAY_MS = 24 * 3_600_000
const HOUR_MS = 3_600_000

const open = (t: TestContext, clock?: SimulatedClock) =>
  openGroupWorld(t, clock, undefined, {
    'broker.offsets-retention': 2 * DAY_MS,
    'broker.offsets-retention-check-interval': HOUR_MS,
  })

/** Lets time pass, and sends the heartbeats of these members meanwhile. */
async function live(world: World, members: readonly JoinReply[], ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += LONGEST_SESSION_MS / 2) {
    await world.clock.advance(LONGEST_SESSION_MS / 2)
    for (const member of members) assert.equal(beat(world, member), null)
  }
}

const LONGEST_SESSION_MS = 1_800_000

const commitOther = (world: World, member: JoinReply) =>
  commit(world, 7, {
    ...claim(member),
    offsets: [{ topicId: OTHER_TOPIC, partition: 0, offset: 7, leaderEpoch: 0, metadata: '', retentionMs: -1 }],
  })

test('in a group that no member ever joined, each offset expires after its commit, and the group goes with the last one', async t => {
  const world = await open(t)
  await commit(world, 1)
  await world.clock.advance(DAY_MS)
  const offsets = [{ topicId: TOPIC, partition: 1, offset: 5, leaderEpoch: 0, metadata: '', retentionMs: -1 }]
  await commit(world, 5, { offsets })
  await world.clock.advance(DAY_MS - 1)
  assert.equal(await committed(world), 1)
  await world.clock.advance(HOUR_MS)
  assert.equal(await committed(world), null)
  assert.equal((await world.groups.fetchOffsets({ groupId: 'g', topics: null })).topics.length, 1)
  await world.clock.advance(DAY_MS)
  assert.deepEqual(world.groups.list(), [])
  assert.equal(await world.store.load('group', 'g'), null)
  assert.equal(await commit(world, 9), null, 'the id may be used again')
  assert.equal(await committed(await world.restart()), 9)
})

test('offsets of a group with members are kept, and their retention begins when the last member leaves', async t => {
  const world = await open(t)
  const members = await stable(world, 1, { ...subscribing('topic'), sessionTimeoutMs: LONGEST_SESSION_MS })
  assert.equal(await commit(world, 42, claim(members[0]!)), null)
  await live(world, members, 3 * DAY_MS)
  assert.equal(await committed(world), 42)
  await world.groups.leave('g', [{ memberId: members[0]!.memberId, instanceId: null, reason: null }])
  await world.clock.advance(2 * DAY_MS - HOUR_MS)
  assert.equal(await committed(world), 42)
  await world.clock.advance(2 * HOUR_MS)
  assert.deepEqual(world.groups.list(), [])
})

test('a group continues without the offsets of topics that it no longer subscribes to', async t => {
  const world = await open(t)
  const members = await stable(world, 1, { ...subscribing('topic'), sessionTimeoutMs: LONGEST_SESSION_MS })
  assert.equal(await commit(world, 1, claim(members[0]!)), null)
  assert.equal(await commitOther(world, members[0]!), null)
  await live(world, members, 2 * DAY_MS + HOUR_MS)
  assert.equal(await committed(world), 1)
  assert.equal(await committed(world, 'g', OTHER_TOPIC), null)
})

test('no offset expires in a group whose members do not say what they read', async t => {
  const world = await open(t)
  const members = await stable(world, 1, { sessionTimeoutMs: LONGEST_SESSION_MS })
  assert.equal(await commitOther(world, members[0]!), null)
  await live(world, members, 2 * DAY_MS + HOUR_MS)
  assert.equal(await committed(world, 'g', OTHER_TOPIC), 7)
})

test('an offset expires after the retention time that the client requests', async t => {
  const world = await open(t)
  const retained = (retentionMs: number, partition: number) => ({
    ...{ topicId: TOPIC, partition, offset: 1, leaderEpoch: 0, metadata: '', retentionMs },
  })
  await commit(world, 1, { offsets: [retained(3 * HOUR_MS, 0), retained(Number.MAX_SAFE_INTEGER, 1)] })
  await world.groups.close()
  const again = await world.restart()
  await again.clock.advance(3 * HOUR_MS - 1)
  assert.equal(await committed(again), 1)
  await again.clock.advance(HOUR_MS)
  assert.equal(await committed(again), null)
  await again.clock.advance(9 * DAY_MS)
  assert.equal((await again.groups.fetchOffsets({ groupId: 'g', topics: null })).topics.length, 1)
})

test('an empty group without offsets is removed at the next look', async t => {
  const world = await open(t)
  await stable(world, 1)
  await world.clock.advance(SESSION_MS)
  assert.equal((await world.store.list('group')).length, 1)
  await world.clock.advance(HOUR_MS)
  assert.equal((await world.store.list('group')).length, 0)
  assert.deepEqual(await world.groups.describe('g'), GROUP_ID_NOT_FOUND)
})

test('time that passes while the broker is down counts', async t => {
  const world = await open(t)
  await commit(world, 1)
  await world.groups.close()
  await world.clock.advance(3 * DAY_MS)
  const again = await world.restart()
  await again.clock.advance(HOUR_MS)
  assert.deepEqual(again.groups.list(), [])
})

test('a clock that jumps forward does not make the offsets expire', async t => {
  let jumpMs = 0
  class JumpingClock extends SimulatedClock {
    override now(): number {
      return super.now() + jumpMs
    }
  }
  const world = await open(t, new JumpingClock())
  await commit(world, 1)
  jumpMs = 365 * DAY_MS
  await world.clock.advance(DAY_MS / 2)
  assert.equal(await committed(world), 1)
  await world.clock.advance(DAY_MS)
  assert.equal(await committed(world), null, 'what is old by any clock goes in the end')
})
