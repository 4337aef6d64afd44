import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore, type MemoryStore } from '../../testing/sim/memory-store.ts'
import { seededRandom } from '../base/random.ts'
import { GROUP_ID_NOT_FOUND } from '../protocol/errors.ts'
import { testSettings } from '../settings/settings.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { JoinReply, JoinRequest } from './classic-group.ts'
import { type Groups, openGroups } from './groups.ts'

const DELAY_MS = 3_000
const SESSION_MS = 10_000
const REBALANCE_MS = 60_000
const TOPIC = 'AAAAAAAAAAAAAAAAAAAAAQ'
const OTHER_TOPIC = 'AAAAAAAAAAAAAAAAAAAAAg'

const bytes = (text: string) => Buffer.from(text)
const text = (value: Uint8Array) => Buffer.from(value).toString()

interface World {
  readonly clock: SimulatedClock
  readonly store: MemoryStore
  readonly groups: Groups
  readonly rebalances: () => number
  /** The same store behind a new coordinator, as after kill -9. */
  restart(): Promise<World>
}

async function open(
  t: TestContext,
  clock = new SimulatedClock(),
  store = createMemoryStore(clock),
  overrides: Parameters<typeof testSettings>[0] = {},
): Promise<World> {
  const metrics = createMetrics()
  const logger = createLogger({ clock, write: () => {}, format: 'plain' })
  const settings = testSettings({ 'broker.rebalance-delay': DELAY_MS, ...overrides })
  const groups = await openGroups({ store, settings, clock, random: seededRandom(7), metrics, logger })
  t.after(() => groups.close())
  return {
    clock,
    store,
    groups,
    rebalances: () => metrics.total('svc.broker.rebalances'),
    restart: () => open(t, clock, store.reopen(), overrides),
  }
}

function joining(asked: Partial<JoinRequest> = {}): JoinRequest {
  return {
    groupId: 'g',
    memberId: '',
    instanceId: null,
    clientId: 'app',
    clientHost: '10.0.0.1',
    sessionTimeoutMs: SESSION_MS,
    rebalanceTimeoutMs: REBALANCE_MS,
    protocolType: 'consumer',
    protocols: [{ name: 'range', metadata: bytes('topics') }],
    reason: null,
    memberIdRequired: true,
    canSkipAssignment: true,
    ...asked,
  }
}

/** A promise whose outcome can be looked at. */
function watch<T>(promise: Promise<T>): { readonly promise: Promise<T>; readonly value: T | undefined } {
  const watched = { promise, value: undefined as T | undefined }
  void promise.then(value => {
    watched.value = value
  })
  return watched
}

const errorOf = (reply: { readonly error: { readonly name: string } | null } | undefined) => reply?.error?.name ?? null

/** Takes the id that MEMBER_ID_REQUIRED brings and joins with it. */
async function enter(world: World, asked: Partial<JoinRequest> = {}) {
  const promised = await world.groups.join(joining(asked))
  assert.equal(errorOf(promised), 'MEMBER_ID_REQUIRED')
  const joined = watch(world.groups.join(joining({ ...asked, memberId: promised.memberId })))
  await world.clock.settle()
  return { memberId: promised.memberId, joined }
}

/** Members with these names of metadata, all joined, synced and stable; each is assigned `to <member id>`. */
async function stable(world: World, count: number, asked: Partial<JoinRequest> = {}): Promise<readonly JoinReply[]> {
  const entered = []
  for (let index = 0; index < count; index++) {
    entered.push(
      asked.instanceId === undefined || asked.instanceId === null
        ? (await enter(world, asked)).joined
        : watch(world.groups.join(joining({ ...asked, instanceId: `${asked.instanceId}${index}` }))),
    )
  }
  await world.clock.advance(DELAY_MS * (count > 1 ? 2 : 1))
  const replies = await Promise.all(entered.map(each => each.promise))
  await settle(world, replies)
  return replies
}

/** Everybody syncs, the leader with assignments for all. */
async function settle(world: World, replies: readonly JoinReply[], groupId = 'g') {
  const synced = replies.map(reply =>
    world.groups.sync({
      groupId,
      generation: reply.generation,
      memberId: reply.memberId,
      instanceId: null,
      protocolType: null,
      protocolName: null,
      assignments: reply.members.map(({ memberId }) => ({ memberId, assignment: bytes(`to ${memberId}`) })),
    }),
  )
  const answers = await Promise.all(synced)
  for (const [index, answer] of answers.entries()) {
    assert.equal(errorOf(answer), null)
    assert.equal(text(answer.assignment), `to ${replies[index]!.memberId}`)
  }
}

const claim = (reply: JoinReply) => ({ memberId: reply.memberId, instanceId: null, generation: reply.generation })
const beat = (world: World, reply: JoinReply) => world.groups.heartbeat('g', claim(reply))?.name ?? null

function commit(
  world: World,
  offset: number,
  who: Partial<{ memberId: string; generation: number }> = {},
  groupId = 'g',
) {
  return world.groups.commitOffsets({
    groupId,
    memberId: '',
    instanceId: null,
    generation: -1,
    missing: GROUP_ID_NOT_FOUND,
    offsets: [{ topicId: TOPIC, partition: 0, offset, leaderEpoch: 3, metadata: 'note' }],
    ...who,
  })
}

async function committed(world: World, groupId = 'g', topicId = TOPIC) {
  const reply = await world.groups.fetchOffsets({ groupId, topics: [{ topicId, partitions: [0] }] })
  assert.equal(reply.error, null)
  return reply.topics[0]?.offsets[0]?.offset ?? null
}

test('one consumer joins an empty group, leads it, syncs and is assigned what it assigned itself', async t => {
  const world = await open(t)
  const { joined, memberId } = await enter(world)
  await world.clock.advance(DELAY_MS - 1)
  assert.equal(joined.value, undefined)
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

test('a stable group goes on with its member ids, generation and assignments after a restart', async t => {
  const world = await open(t)
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
