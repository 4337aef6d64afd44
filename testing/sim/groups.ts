// The group coordinator on the memory store and the simulated clock, for the tests of the coordinator's room. Its
// helpers let members join, sync and commit as clients do.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { seededRandom } from '../../src/base/random.ts'
import type { JoinReply, JoinRequest } from '../../src/coordinator/classic/requests.ts'
import { type Groups, openGroups, SOLE_COORDINATION } from '../../src/coordinator/groups.ts'
import type { CommitReply } from '../../src/coordinator/offsets/group-offsets.ts'
import type { Topic } from '../../src/log/catalogue.ts'
import { encodeMessage } from '../../src/protocol/codec.ts'
import { GROUP_ID_NOT_FOUND, type Refusal } from '../../src/protocol/errors.ts'
import {
  consumerProtocolAssignment,
  consumerProtocolSubscription,
} from '../../src/protocol/messages/consumer-protocol.ts'
import { testSettings } from '../../src/settings/settings.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { SimulatedClock } from './clock.ts'
import { createMemoryStore, type MemoryStore } from './memory-store.ts'

export const DELAY_MS = 3_000
export const SESSION_MS = 10_000
export const REBALANCE_MS = 60_000
export const TOPIC = 'AAAAAAAAAAAAAAAAAAAAAQ'
export const OTHER_TOPIC = 'AAAAAAAAAAAAAAAAAAAAAg'

/** The existing topics. The coordinator reads only their names, ids and numbers of partitions. */
const TOPICS = [
  { id: TOPIC, name: 'topic', partitions: 2 },
  { id: OTHER_TOPIC, name: 'other', partitions: 2 },
].map(topic => ({ ...topic, configs: {}, createdAtMs: 0 }) as unknown as Topic)
const CATALOGUE = {
  topics: new Map(TOPICS.map(topic => [topic.name, topic])),
  topicsById: new Map(TOPICS.map(topic => [topic.id, topic])),
  unreadable: new Map(),
}

export const bytes = (text: string) => Buffer.from(text)
export const text = (value: Uint8Array) => Buffer.from(value).toString()

export interface World {
  readonly clock: SimulatedClock
  readonly store: MemoryStore
  readonly groups: Groups
  readonly rebalances: () => number
  /** Returns the memory of the members of all groups, in bytes. */
  readonly heldBytes: () => number
  /** Returns the memory that all groups use while they have no members, in bytes. */
  readonly keptBytes: () => number
  /** Starts a new coordinator on the same store, as after kill -9. */
  restart(): Promise<World>
}

/** Opens a world. It closes with the test. */
export async function openGroupWorld(
  t: TestContext,
  clock = new SimulatedClock(),
  store = createMemoryStore(clock),
  overrides: Parameters<typeof testSettings>[0] = {},
  catalogue: Parameters<typeof openGroups>[0]['catalogue'] = { current: () => CATALOGUE, catchUp: async () => {} },
  coordination = SOLE_COORDINATION,
): Promise<World> {
  const metrics = createMetrics()
  const logger = createLogger({ clock, write: () => {}, format: 'plain' })
  const settings = testSettings({ 'broker.rebalance-delay': DELAY_MS, ...overrides })
  const random = seededRandom(7)
  const groups = await openGroups({ store, catalogue, coordination, settings, clock, random, metrics, logger })
  t.after(() => groups.close())
  return {
    clock,
    store,
    groups,
    rebalances: () => metrics.total('svc.broker.rebalances'),
    heldBytes: () => metrics.read('svc.broker.group_bytes', {}),
    keptBytes: () => metrics.read('svc.broker.group_offset_bytes', {}),
    restart: () => openGroupWorld(t, clock, store.reopen(), overrides, catalogue, coordination),
  }
}

export function joining(asked: Partial<JoinRequest> = {}): JoinRequest {
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

/** Watches a promise: `got()` returns undefined until the promise has resolved. */
export function watch<T>(promise: Promise<T>) {
  let outcome: T | undefined
  void promise.then(value => {
    outcome = value
  })
  return { promise, got: () => outcome }
}

export const errorOf = (reply: { readonly error: { readonly name: string } | null } | undefined) =>
  reply?.error?.name ?? null

/** Joins, takes the id of the MEMBER_ID_REQUIRED answer, and joins with it. */
export async function enter(world: World, asked: Partial<JoinRequest> = {}) {
  const promised = await world.groups.join(joining(asked))
  assert.equal(errorOf(promised), 'MEMBER_ID_REQUIRED')
  const joined = watch(world.groups.join(joining({ ...asked, memberId: promised.memberId })))
  await world.clock.settle()
  return { memberId: promised.memberId, joined }
}

/** Lets `count` members join and sync until the group is stable. Each member is assigned `to <member id>`. */
export async function stable(
  world: World,
  count: number,
  asked: Partial<JoinRequest> = {},
): Promise<readonly JoinReply[]> {
  const entered = []
  for (let index = 0; index < count; index++) {
    entered.push(
      asked.instanceId === undefined || asked.instanceId === null
        ? (await enter(world, asked)).joined
        : watch(world.groups.join(joining({ ...asked, instanceId: `${asked.instanceId}${index}` }))),
    )
  }
  await world.clock.advance(DELAY_MS)
  const replies = await Promise.all(entered.map(each => each.promise))
  await settle(world, replies)
  return replies
}

/** Lets all members sync; the leader sends assignments for all. */
export async function settle(world: World, replies: readonly JoinReply[], groupId = 'g') {
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

export const claim = (reply: JoinReply) => ({
  memberId: reply.memberId,
  instanceId: null,
  generation: reply.generation,
})
export const beat = (world: World, reply: JoinReply) => world.groups.heartbeat('g', claim(reply))?.name ?? null

/** Returns the first refusal of a commit; null if all offsets were stored. */
export function refusalIn(reply: CommitReply): Refusal | null {
  return Array.isArray(reply) ? reply.find(row => row !== null) : (reply as Refusal | null)
}

export async function commit(
  world: World,
  offset: number,
  who: Partial<Parameters<Groups['commitOffsets']>[0]> = {},
  groupId = 'g',
) {
  const reply = await world.groups.commitOffsets({
    groupId,
    memberId: '',
    instanceId: null,
    generation: -1,
    missing: GROUP_ID_NOT_FOUND,
    offsets: [{ topicId: TOPIC, partition: 0, offset, leaderEpoch: 3, metadata: 'note', retentionMs: -1 }],
    ...who,
  })
  return refusalIn(reply)
}

export async function committed(world: World, groupId = 'g', topicId = TOPIC) {
  const reply = await world.groups.fetchOffsets({ groupId, topics: [{ topicId, partitions: [0] }] })
  assert.equal(reply.error, null)
  return reply.topics[0]?.offsets[0]?.offset ?? null
}

/** Returns the protocols that a consumer of these topics sends when it joins. */
export function subscribing(...topics: readonly string[]): Pick<JoinRequest, 'protocols'> {
  const message = encodeMessage(consumerProtocolSubscription, 0, { topics, userData: null })
  return { protocols: [{ name: 'range', metadata: Buffer.concat([VERSION_0, ...message]) }] }
}

/** Returns the assignment that the leader sends for a member that should read these partitions. */
export function assigning(assigned: Readonly<Record<string, readonly number[]>>): Buffer {
  const assignedPartitions = Object.entries(assigned).map(([topic, partitions]) => ({ topic, partitions }))
  const message = encodeMessage(consumerProtocolAssignment, 0, { assignedPartitions, userData: null })
  return Buffer.concat([VERSION_0, ...message])
}

const VERSION_0 = Buffer.alloc(2)
