// The eight APIs of group coordination, each through its codec in every version, on real rooms over the in-memory
// store.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { seededRandom } from '../../base/random.ts'
import { aloneInCluster } from '../../cluster/cluster.ts'
import { openClientQuotas } from '../../coordinator/client-quotas.ts'
import { openGroups, SOLE_COORDINATION } from '../../coordinator/groups.ts'
import { openProducerIds } from '../../coordinator/producer-ids.ts'
import { openReadPositions } from '../../coordinator/read-positions.ts'
import { openCatalogue, type Topic } from '../../log/catalogue.ts'
import { decodeRequest, decodeResponse, encodeRequest, encodeResponse } from '../../protocol/codec.ts'
import { COORDINATOR_NOT_AVAILABLE, isRefusal, REQUEST_TIMED_OUT } from '../../protocol/errors.ts'
import { findCoordinator } from '../../protocol/messages/find-coordinator.ts'
import { heartbeat } from '../../protocol/messages/heartbeat.ts'
import { initProducerId } from '../../protocol/messages/init-producer-id.ts'
import { joinGroup } from '../../protocol/messages/join-group.ts'
import { leaveGroup } from '../../protocol/messages/leave-group.ts'
import { offsetCommit } from '../../protocol/messages/offset-commit.ts'
import { offsetFetch } from '../../protocol/messages/offset-fetch.ts'
import { syncGroup } from '../../protocol/messages/sync-group.ts'
import { type Api, type RequestInput, type RequestOf, type ResponseOf, ZERO_UUID } from '../../protocol/schema.ts'
import { testSettings } from '../../settings/settings.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { Session } from '../connection/session.ts'
import type { Handler, Request, Rooms } from '../handler.ts'
import { ALL_ALLOWED } from '../permissions.ts'
import { createThrottle } from '../throttle.ts'
import { findCoordinatorHandler } from './find-coordinator.ts'
import { heartbeatHandler } from './heartbeat.ts'
import { initProducerIdHandler } from './init-producer-id.ts'
import { joinGroupHandler } from './join-group.ts'
import { leaveGroupHandler } from './leave-group.ts'
import { offsetCommitHandler } from './offset-commit.ts'
import { offsetFetchHandler } from './offset-fetch.ts'
import { syncGroupHandler } from './sync-group.ts'

const handlers: readonly Handler[] = [
  findCoordinatorHandler,
  joinGroupHandler,
  syncGroupHandler,
  heartbeatHandler,
  leaveGroupHandler,
  offsetCommitHandler,
  offsetFetchHandler,
  initProducerIdHandler,
]

const DELAY_MS = 3_000
const UNKNOWN_TOPIC_OR_PARTITION = 3
const OFFSET_METADATA_TOO_LARGE = 12
const ILLEGAL_GENERATION = 22
const INCONSISTENT_GROUP_PROTOCOL = 23
const INVALID_GROUP_ID = 24
const UNKNOWN_MEMBER_ID = 25
const INVALID_COMMIT_OFFSET_SIZE = 28
const INVALID_REQUEST = 42
const INVALID_TRANSACTION_TIMEOUT = 50
const TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
const GROUP_ID_NOT_FOUND = 69
const MEMBER_ID_REQUIRED = 79
const UNKNOWN_TOPIC_ID = 100

async function open(t: TestContext, overrides: Parameters<typeof testSettings>[0] = {}) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const random = seededRandom(3)
  const metrics = createMetrics()
  const logger = createLogger({ clock, write: () => {}, format: 'plain' })
  const settings = testSettings({ 'broker.rebalance-delay': DELAY_MS, ...overrides })
  const catalogue = await openCatalogue(store, settings, clock, random)
  const coordination = SOLE_COORDINATION
  const groups = await openGroups({ store, catalogue, coordination, settings, clock, random, metrics, logger })
  t.after(() => groups.close())
  const clientQuotas = await openClientQuotas(store)
  const rooms: Omit<Rooms, 'logs' | 'acls' | 'policies' | 'authentication' | 'history' | 'storageWorker'> = {
    store,
    catalogue,
    groups,
    readPositions: openReadPositions(clock),
    producerIds: openProducerIds(store),
    clientQuotas,
    throttle: createThrottle(clientQuotas, clock),
    cluster: aloneInCluster(5, null),
    nodeId: 5,
    settings,
    metrics,
    logger,
    clock,
    random,
  }
  const answering = new Map(handlers.map(each => [each.api.key, each.open(rooms as Rooms)]))

  function ask<A extends Api>(api: A, version: number, body: RequestInput<A>): Request<RequestOf<A>> {
    return about(version, decodeRequest(api, version, Buffer.concat(encodeRequest(api, version, body)), 0))
  }

  function about<Body>(version: number, body: Body): Request<Body> {
    return {
      body,
      apiVersion: version,
      correlationId: 1,
      clientId: 'app',
      connection: new Session(
        1,
        { name: 'main', host: 'kafka.example', port: 9093, security: 'plaintext' },
        '10.0.0.9',
        null,
      ),
      permissions: ALL_ALLOWED,
      receivedAtMs: clock.monotonic(),
      deadlineMs: clock.monotonic() + 30_000,
      drain: new AbortController().signal,
      closed: new AbortController().signal,
      scope: () => ({ correlationId: 1, clientId: 'app', apiKey: '', apiVersion: version }),
      onSent: null,
      waitedMs: 0,
    }
  }

  function read<A extends Api>(api: A, version: number, answer: unknown): ResponseOf<A> {
    assert(answer !== null && typeof answer === 'object')
    const bytes = Buffer.concat(encodeResponse(api, version, answer as never))
    const decoded = decodeResponse(api, version, bytes, 0)
    assert.equal((decoded as unknown as { throttleTimeMs: number }).throttleTimeMs, 0)
    return decoded
  }

  return {
    clock,
    store,
    send: async <A extends Api>(api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>> =>
      read(api, version, await answering.get(api.key)!.answer(ask(api, version, body))),
    /** For bytes that no encoder writes. */
    answerDecoded: async <A extends Api>(api: A, version: number, body: RequestOf<A>): Promise<ResponseOf<A>> =>
      read(api, version, await answering.get(api.key)!.answer(about(version, body))),
    refused: <A extends Api>(api: A, version: number, body: RequestInput<A>): ResponseOf<A> =>
      read(api, version, answering.get(api.key)!.refused(ask(api, version, body), REQUEST_TIMED_OUT)),
    patience: <A extends Api>(api: A, version: number, body: RequestInput<A>): number =>
      answering.get(api.key)!.patienceMs?.(ask(api, version, body)) ?? 0,
    async topic(name: string, partitions = 2): Promise<Topic> {
      const [topic] = await catalogue.add([{ name, partitions, configs: {} }])
      assert(topic !== undefined && !isRefusal(topic))
      return topic
    },
    removeTopic: async (topic: Topic) => {
      await catalogue.remove([topic.id])
      groups.topicsRemoved(new Set([topic.id]))
    },
  }
}

type Room = Awaited<ReturnType<typeof open>>

function versionsOf(api: Api, from = api.versions.min): number[] {
  return Array.from({ length: api.versions.max - from + 1 }, (_, index) => from + index)
}

const joining = (groupId: string, memberId = '') => ({
  groupId,
  memberId,
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 20_000,
  protocolType: 'consumer',
  protocols: [{ name: 'range', metadata: Buffer.from('topics') }],
})

/** Joins a group of its own in that version, as a client does. */
async function join(room: Room, version: number, groupId: string) {
  let memberId = ''
  if (version >= 4) {
    const promised = await room.send(joinGroup, version, joining(groupId))
    assert.equal(promised.errorCode, MEMBER_ID_REQUIRED)
    assert.equal(promised.protocolName, version >= 7 ? null : '')
    memberId = promised.memberId
  }
  const joined = room.send(joinGroup, version, joining(groupId, memberId))
  await room.clock.advance(DELAY_MS)
  return joined
}

async function member(room: Room, groupId: string) {
  const { memberId, generationId } = await join(room, 9, groupId)
  const assignments = [{ memberId, assignment: Buffer.from('mine') }]
  await room.send(syncGroup, 4, { groupId, generationId, memberId, assignments })
  return { memberId, generationId }
}

// ---- FindCoordinator

test('FindCoordinator names this broker with the advertised endpoint of the listener', async t => {
  const room = await open(t)
  for (const version of versionsOf(findCoordinator)) {
    const node = { nodeId: 5, host: 'kafka.example', port: 9093, errorCode: 0, errorMessage: null }
    if (version < 4) {
      const { throttleTimeMs: _, coordinators, ...found } = await room.send(findCoordinator, version, { key: 'g' })
      assert.deepEqual({ ...found, errorMessage: found.errorMessage || null }, node)
      assert.deepEqual(coordinators, [])
    } else {
      const found = await room.send(findCoordinator, version, { coordinatorKeys: ['a', '', 'a'] })
      assert.deepEqual(
        found.coordinators.map(each => ({ ...each })),
        ['a', '', 'a'].map(key => ({ key, ...node })),
      )
    }
  }
})

test('FindCoordinator says for a transactional id that there are no transactions', async t => {
  const room = await open(t)
  for (const version of versionsOf(findCoordinator).slice(1)) {
    const answer = await room.send(findCoordinator, version, {
      keyType: 1,
      ...(version < 4 ? { key: 'orders' } : { coordinatorKeys: ['orders'] }),
    })
    const found = version < 4 ? answer : answer.coordinators[0]!
    assert.deepEqual([found.errorCode, found.nodeId], [INVALID_REQUEST, -1])
    assert.match(found.errorMessage!, /^This broker has no transactions yet\./)
  }
})

test('FindCoordinator refuses share partitions and unknown key types, each key for itself', async t => {
  const room = await open(t)
  for (const keyType of [2, 3, -1]) {
    const many = await room.send(findCoordinator, 6, { keyType, coordinatorKeys: ['a', 'b'] })
    assert.deepEqual(
      many.coordinators.map(each => [each.key, each.errorCode, each.nodeId, each.port]),
      [
        ['a', INVALID_REQUEST, -1, -1],
        ['b', INVALID_REQUEST, -1, -1],
      ],
    )
    const one = await room.send(findCoordinator, 3, { key: 'a', keyType })
    assert.equal(one.errorCode, INVALID_REQUEST)
    assert.match(one.errorMessage!, /key type/)
  }
})

// ---- JoinGroup, SyncGroup, Heartbeat, LeaveGroup

test('a member joins, syncs, lives and leaves in every version of these APIs', async t => {
  const room = await open(t)
  for (const version of versionsOf(joinGroup)) {
    const groupId = `group of version ${version}`
    const joined = await join(room, version, groupId)
    assert.equal(joined.errorCode, 0)
    assert.equal(joined.generationId, 1)
    assert.equal(joined.protocolName, 'range')
    assert.equal(joined.protocolType, version >= 7 ? 'consumer' : null)
    assert.equal(joined.leader, joined.memberId)
    assert.deepEqual(
      joined.members.map(each => [each.memberId, each.groupInstanceId, String(each.metadata)]),
      [[joined.memberId, null, 'topics']],
    )
    const { memberId, generationId } = joined
    const who = { groupId, memberId, generationId }
    const sync = Math.min(version, 5)
    const synced = await room.send(syncGroup, sync, {
      ...who,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments: [{ memberId, assignment: Buffer.from('mine') }],
    })
    assert.equal(synced.errorCode, 0)
    assert.equal(String(synced.assignment), 'mine')
    assert.deepEqual([synced.protocolType, synced.protocolName], sync >= 5 ? ['consumer', 'range'] : [null, null])
    const beat = Math.min(version, 4)
    assert.equal((await room.send(heartbeat, beat, who)).errorCode, 0)
    const left = Math.min(version, 5)
    const leaving = left < 3 ? { groupId, memberId } : { groupId, members: [{ memberId }] }
    const answer = await room.send(leaveGroup, left, leaving)
    assert.equal(answer.errorCode, 0)
    assert.deepEqual(
      answer.members.map(each => [each.memberId, each.errorCode]),
      left < 3 ? [] : [[memberId, 0]],
    )
    assert.equal((await room.send(heartbeat, beat, who)).errorCode, UNKNOWN_MEMBER_ID)
  }
})

test('refusals of the group APIs can be written in every version', async t => {
  const room = await open(t)
  const who = { groupId: '', memberId: 'm', generationId: 1 }
  for (const version of versionsOf(joinGroup)) {
    const refused = await room.send(joinGroup, version, joining(''))
    assert.equal(refused.errorCode, INVALID_GROUP_ID)
    assert.equal(refused.generationId, -1)
    assert.equal(room.refused(joinGroup, version, joining('g', 'm')).memberId, 'm')
  }
  for (const version of versionsOf(syncGroup)) {
    const asked = { ...who, protocolType: 'consumer', protocolName: 'range', assignments: [] }
    assert.equal((await room.send(syncGroup, version, asked)).errorCode, INVALID_GROUP_ID)
    assert.equal(room.refused(syncGroup, version, asked).errorCode, REQUEST_TIMED_OUT.code)
  }
  for (const version of versionsOf(heartbeat)) {
    assert.equal((await room.send(heartbeat, version, who)).errorCode, INVALID_GROUP_ID)
    assert.equal(room.refused(heartbeat, version, who).errorCode, REQUEST_TIMED_OUT.code)
  }
  for (const version of versionsOf(leaveGroup)) {
    const asked = version < 3 ? { groupId: 'none', memberId: 'm' } : { groupId: 'none', members: [{ memberId: 'm' }] }
    const refused = await room.send(leaveGroup, version, asked)
    assert.equal(refused.errorCode, version < 3 ? UNKNOWN_MEMBER_ID : 0)
    assert.deepEqual(
      refused.members.map(each => each.errorCode),
      version < 3 ? [] : [UNKNOWN_MEMBER_ID],
    )
    assert.equal((await room.send(leaveGroup, version, { ...asked, groupId: '' })).errorCode, INVALID_GROUP_ID)
    assert.equal(room.refused(leaveGroup, version, asked).errorCode, REQUEST_TIMED_OUT.code)
  }
})

test('SyncGroup 5 must name the right protocol', async t => {
  const room = await open(t)
  const { memberId, generationId } = await member(room, 'g')
  const asked = { groupId: 'g', memberId, generationId, assignments: [] }
  const named = { protocolType: 'consumer', protocolName: 'range' }
  assert.equal((await room.send(syncGroup, 5, { ...asked, ...named })).errorCode, 0)
  for (const misfit of [{ protocolType: null }, { protocolName: null }, { protocolName: 'sticky' }]) {
    const answer = await room.send(syncGroup, 5, { ...asked, ...named, ...misfit })
    assert.equal(answer.errorCode, INCONSISTENT_GROUP_PROTOCOL)
  }
})

test('JoinGroup and SyncGroup may wait as long as the group may rebalance', async t => {
  const room = await open(t)
  assert.equal(room.patience(joinGroup, 9, joining('g')), 20_000)
  assert.equal(
    room.patience(joinGroup, 0, { ...joining('g'), rebalanceTimeoutMs: 0 }),
    10_000,
    'version 0 has only sessions',
  )
  const sync = { groupId: 'g', generationId: 1, memberId: 'm', assignments: [] }
  assert.equal(room.patience(syncGroup, 5, sync), 0)
  await member(room, 'g')
  assert.equal(room.patience(syncGroup, 5, sync), 20_000)
  assert.equal(room.patience(joinGroup, 9, { ...joining('g'), rebalanceTimeoutMs: 1 }), 20_000)
})

// ---- OffsetCommit and OffsetFetch

interface Position {
  readonly partitionIndex: number
  readonly committedOffset: number
  readonly committedLeaderEpoch?: number
  readonly committedMetadata?: string | null
}

async function commit(
  room: Room,
  version: number,
  topic: Pick<Topic, 'id' | 'name'>,
  positions: readonly Position[],
  who = {},
) {
  const answer = await room.send(offsetCommit, version, {
    groupId: 'g',
    memberId: '',
    ...who,
    topics: [
      {
        name: topic.name,
        topicId: topic.id,
        partitions: positions.map(each => ({ committedMetadata: null, ...each })),
      },
    ],
  })
  const [only] = answer.topics
  assert.equal(answer.topics.length, 1)
  assert.equal(version >= 10 ? only!.topicId : only!.name, version >= 10 ? topic.id : topic.name)
  return only!.partitions.map(each => each.errorCode)
}

test('positions are committed and fetched in every version, with metadata and leader epoch', async t => {
  const room = await open(t)
  const topic = await room.topic('t')
  for (const version of versionsOf(offsetCommit)) {
    const position = {
      committedOffset: 100 + version,
      committedLeaderEpoch: version,
      committedMetadata: `note ${version}`,
    }
    assert.deepEqual(await commit(room, version, topic, [{ partitionIndex: 1, ...position }]), [0])
    for (const fetch of versionsOf(offsetFetch)) {
      const wanted = [{ name: 't', topicId: topic.id, partitionIndexes: [1, 0] }]
      const many = {
        groups: [
          { groupId: 'g', topics: wanted },
          { groupId: 'none', topics: wanted },
        ],
      }
      const answer = await room.send(offsetFetch, fetch, fetch >= 8 ? many : { groupId: 'g', topics: wanted })
      assert.equal(answer.errorCode, 0)
      const [found] = fetch >= 8 ? answer.groups[0]!.topics : answer.topics
      assert.equal(
        fetch >= 10 ? (found as unknown as { topicId: string }).topicId : found!.name,
        fetch >= 10 ? topic.id : 't',
      )
      assert.deepEqual(
        found!.partitions.map(each => ({ ...each })),
        [
          {
            partitionIndex: 1,
            committedOffset: 100 + version,
            committedLeaderEpoch: fetch >= 5 && version >= 6 ? version : -1,
            metadata: `note ${version}`,
            errorCode: 0,
          },
          { partitionIndex: 0, committedOffset: -1, committedLeaderEpoch: -1, metadata: '', errorCode: 0 },
        ],
      )
      if (fetch >= 8) {
        assert.equal(answer.groups[1]!.groupId, 'none')
        assert.deepEqual(
          answer.groups[1]!.topics[0]!.partitions.map(each => each.committedOffset),
          [-1, -1],
        )
      }
    }
  }
})

test('null topics ask for every position, and those of deleted topics are gone', async t => {
  const room = await open(t)
  const kept = await room.topic('kept')
  const gone = await room.topic('gone')
  for (const topic of [kept, gone]) await commit(room, 9, topic, [{ partitionIndex: 0, committedOffset: 5 }])
  await room.removeTopic(gone)
  const again = await room.topic('gone')
  for (const version of versionsOf(offsetFetch, 2)) {
    const asked = version >= 8 ? { groups: [{ groupId: 'g', topics: null }] } : { groupId: 'g', topics: null }
    const answer = await room.send(offsetFetch, version, asked)
    const topics = version >= 8 ? answer.groups[0]!.topics : answer.topics
    assert.deepEqual(
      topics.map(each => [
        version >= 10 ? (each as unknown as { topicId: string }).topicId : each.name,
        each.partitions.length,
      ]),
      [[version >= 10 ? kept.id : 'kept', 1]],
    )
  }
  const asked = { groups: [{ groupId: 'g', topics: [{ name: 'gone', partitionIndexes: [0] }] }] }
  const named = await room.send(offsetFetch, 9, asked)
  assert.equal(named.groups[0]!.topics[0]!.partitions[0]!.committedOffset, -1, `${again.name} begins anew`)
})

test('a topic that is named twice in one fetch has all of its rows answered', async t => {
  const room = await open(t)
  const topic = await room.topic('t')
  await commit(
    room,
    9,
    topic,
    [0, 1].map(partitionIndex => ({ partitionIndex, committedOffset: 7 + partitionIndex })),
  )
  const topics = [0, 1].map(index => ({ name: 't', partitionIndexes: [index] }))
  const answer = await room.send(offsetFetch, 9, { groups: [{ groupId: 'g', topics }] })
  assert.deepEqual(
    answer.groups[0]!.topics.map(each => each.partitions[0]!.committedOffset),
    [7, 8],
  )
})

test('a position or a group that is named twice in one fetch is refused, and the one beside it is answered', async t => {
  const room = await open(t)
  const topic = await room.topic('t')
  const metadata = 'm'.repeat(1_000)
  const rows = [0, 1].map(partitionIndex => ({ partitionIndex, committedOffset: 7, committedMetadata: metadata }))
  await commit(room, 9, topic, rows)
  const twice = [{ name: 't', topicId: topic.id, partitionIndexes: [0, 0, 1] }]
  for (const version of versionsOf(offsetFetch)) {
    const asked = version >= 8 ? { groups: [{ groupId: 'g', topics: twice }] } : { groupId: 'g', topics: twice }
    const answer = await room.send(offsetFetch, version, asked)
    const [found] = version >= 8 ? answer.groups[0]!.topics : answer.topics
    assert.deepEqual(
      found!.partitions.map(each => [each.committedOffset, each.metadata, each.errorCode]),
      [
        [-1, '', INVALID_REQUEST],
        [-1, '', INVALID_REQUEST],
        [7, metadata, 0],
      ],
      `version ${version}`,
    )
  }
  const groups = ['g', 'other', 'g'].map(groupId => ({ groupId, topics: null }))
  for (const version of versionsOf(offsetFetch, 8)) {
    const answer = await room.send(offsetFetch, version, { groups })
    assert.deepEqual(
      answer.groups.map(each => [each.groupId, each.errorCode, each.topics.length]),
      [
        ['g', INVALID_REQUEST, 0],
        ['other', 0, 0],
        ['g', INVALID_REQUEST, 0],
      ],
    )
  }
})

test('an unknown topic is refused when committed; when fetched only an unknown id is', async t => {
  const room = await open(t)
  const topic = await room.topic('t')
  const nowhere = { id: 'AAAAAAAAAAAAAAAAAAAAAQ', name: 'nowhere' }
  const position = { partitionIndex: 0, committedOffset: 1 }
  assert.deepEqual(await commit(room, 9, nowhere, [position]), [UNKNOWN_TOPIC_OR_PARTITION])
  assert.deepEqual(await commit(room, 10, nowhere, [position]), [UNKNOWN_TOPIC_ID])
  assert.deepEqual(await commit(room, 10, { id: ZERO_UUID, name: '' }, [position]), [UNKNOWN_TOPIC_ID])
  const indexes = [0, 2, -1, 2 ** 31 - 1]
  assert.deepEqual(
    await commit(
      room,
      9,
      topic,
      indexes.map(partitionIndex => ({ ...position, partitionIndex })),
    ),
    [0, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_OR_PARTITION],
  )
  for (const version of [9, 10]) {
    const topics = [{ name: 'nowhere', topicId: nowhere.id, partitionIndexes: [0] }]
    const answer = await room.send(offsetFetch, version, { groups: [{ groupId: 'g', topics }] })
    const row = answer.groups[0]!.topics[0]!.partitions[0]!
    assert.deepEqual([row.errorCode, row.committedOffset], [version >= 10 ? UNKNOWN_TOPIC_ID : 0, -1])
  }
})

test('each row of a commit gets its own error code', async t => {
  const room = await open(t)
  const topic = await room.topic('t', 7)
  const rows: [Partial<Position>, number][] = [
    [{ committedOffset: -1 }, 0],
    [{ committedMetadata: 'm'.repeat(4_096) }, 0],
    [{ committedMetadata: 'm'.repeat(5_000) }, OFFSET_METADATA_TOO_LARGE],
    [{ committedMetadata: 'ü'.repeat(4_096) }, 0],
    [{ committedMetadata: 'ü'.repeat(4_097) }, OFFSET_METADATA_TOO_LARGE],
    [{ committedOffset: Number.MAX_SAFE_INTEGER }, 0],
    [{ committedMetadata: null }, 0],
  ]
  const positions = rows.map(([row], partitionIndex) => ({ partitionIndex, committedOffset: 1, ...row }))
  const expected = rows.map(([, code]) => code)
  assert.deepEqual(await commit(room, 9, topic, positions), expected)
})

test('an offset above the largest exact number is refused, and the other rows are stored', async t => {
  const room = await open(t)
  await room.topic('t')
  const rows = [2 ** 63, 3].map((committedOffset, partitionIndex) => ({
    partitionIndex,
    committedOffset,
    committedLeaderEpoch: -1,
    committedMetadata: null,
  }))
  const answer = await room.answerDecoded(offsetCommit, 9, {
    groupId: 'g',
    generationIdOrMemberEpoch: -1,
    memberId: '',
    groupInstanceId: null,
    retentionTimeMs: -1,
    topics: [{ name: 't', topicId: ZERO_UUID, partitions: rows }],
  })
  assert.deepEqual(
    answer.topics[0]!.partitions.map(each => each.errorCode),
    [INVALID_REQUEST, 0],
  )
})

test('an offset that there is no room for is refused in its row, and the other offsets are stored', async t => {
  const room = await open(t, { 'broker.groups-max-bytes': 5_000 })
  const topic = await room.topic('t', 10)
  const positions = (...offsets: number[]) =>
    offsets.map((committedOffset, partitionIndex) => ({ partitionIndex, committedOffset }))
  for (const version of versionsOf(offsetCommit)) {
    const answered = await commit(room, version, topic, positions(version, version, version, version))
    assert.deepEqual(answered, [0, 0, INVALID_COMMIT_OFFSET_SIZE, INVALID_COMMIT_OFFSET_SIZE])
  }
})

test('a commit is checked against the membership, unless the group has no members', async t => {
  const room = await open(t)
  const topic = await room.topic('t')
  const position = [{ partitionIndex: 0, committedOffset: 1 }]
  const stranger = { memberId: 'm', generationIdOrMemberEpoch: 1 }
  for (const version of versionsOf(offsetCommit)) {
    const expected = version >= 9 ? GROUP_ID_NOT_FOUND : ILLEGAL_GENERATION
    assert.deepEqual(await commit(room, version, topic, position, stranger), [expected])
  }
  const { memberId, generationId } = await member(room, 'g')
  const own = { memberId, generationIdOrMemberEpoch: generationId }
  assert.deepEqual(await commit(room, 9, topic, position, own), [0])
  assert.deepEqual(await commit(room, 9, topic, position, { ...own, generationIdOrMemberEpoch: 0 }), [
    ILLEGAL_GENERATION,
  ])
  assert.deepEqual(await commit(room, 9, topic, position, stranger), [UNKNOWN_MEMBER_ID])
  assert.deepEqual(await commit(room, 9, topic, position), [UNKNOWN_MEMBER_ID])
  const large = [{ ...position[0]!, committedMetadata: 'm'.repeat(5_000) }]
  assert.deepEqual(
    await commit(room, 9, topic, large, stranger),
    [UNKNOWN_MEMBER_ID],
    'membership comes first, as in Kafka',
  )
})

test('a request that came too late is refused row by row', async t => {
  const room = await open(t)
  const code = REQUEST_TIMED_OUT.code
  for (const version of versionsOf(offsetCommit)) {
    const partitions = [{ partitionIndex: 0, committedOffset: 1, committedMetadata: null }]
    const answer = room.refused(offsetCommit, version, {
      groupId: 'g',
      memberId: '',
      topics: [{ name: 't', partitions }],
    })
    assert.equal(answer.topics[0]!.partitions[0]!.errorCode, code)
  }
  for (const version of versionsOf(offsetFetch)) {
    const topics = [{ name: 't', partitionIndexes: [0] }]
    const asked = version >= 8 ? { groups: [{ groupId: 'g', topics }] } : { groupId: 'g', topics }
    const answer = room.refused(offsetFetch, version, asked)
    if (version >= 8) assert.equal(answer.groups[0]!.errorCode, code)
    else if (version >= 2) assert.equal(answer.errorCode, code)
    else assert.equal(answer.topics[0]!.partitions[0]!.errorCode, code)
  }
  for (const version of versionsOf(findCoordinator)) {
    const answer = room.refused(findCoordinator, version, version >= 4 ? { coordinatorKeys: ['k'] } : { key: 'k' })
    assert.equal(version >= 4 ? answer.coordinators[0]!.errorCode : answer.errorCode, code)
  }
  for (const version of versionsOf(initProducerId)) {
    const answer = room.refused(initProducerId, version, { transactionalId: null, transactionTimeoutMs: 1 })
    assert.deepEqual([answer.errorCode, answer.producerId, answer.producerEpoch], [code, -1, -1])
  }
})

test('while the store is unavailable, a commit gets a code after which clients retry', async t => {
  const room = await open(t)
  const topic = await room.topic('t')
  room.store.faults.failNext('commit', 'unavailable')
  const answer = await commit(room, 9, topic, [{ partitionIndex: 0, committedOffset: 1 }])
  assert.deepEqual(answer, [COORDINATOR_NOT_AVAILABLE.code])
})

// ---- InitProducerId

test('an idempotent producer is given an id of its own with epoch 0, in every version', async t => {
  const room = await open(t)
  const seen = new Set<number>()
  for (const version of versionsOf(initProducerId)) {
    for (const timeout of [0, 60_000, 2 ** 31 - 1]) {
      const answer = await room.send(initProducerId, version, { transactionalId: null, transactionTimeoutMs: timeout })
      assert.equal(answer.errorCode, 0)
      assert.equal(answer.producerEpoch, 0)
      seen.add(answer.producerId)
    }
  }
  assert.equal(seen.size, 18)
})

test('a producer that names its former id and epoch is given a fresh id, and has to name both', async t => {
  const room = await open(t)
  const ask = (producerId: number, producerEpoch: number) =>
    room.send(initProducerId, 5, { transactionalId: null, transactionTimeoutMs: 1, producerId, producerEpoch })
  const fresh = await ask(77, 3)
  assert.deepEqual([fresh.errorCode, fresh.producerEpoch], [0, 0])
  assert.notEqual(fresh.producerId, 77)
  assert.equal((await ask(77, -1)).errorCode, INVALID_REQUEST)
  assert.equal((await ask(-1, 3)).errorCode, INVALID_REQUEST)
})

test('a transactional id is refused with a code after which clients do not retry, and an invalid request with its own code', async t => {
  const room = await open(t)
  const ask = async (transactionalId: string, transactionTimeoutMs: number) => {
    const answer = await room.send(initProducerId, 5, { transactionalId, transactionTimeoutMs })
    assert.deepEqual([answer.producerId, answer.producerEpoch], [-1, -1])
    return answer.errorCode
  }
  assert.equal(await ask('orders', 60_000), TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
  assert.equal(await ask('', 60_000), INVALID_REQUEST)
  assert.equal(await ask('i'.repeat(65_536), 60_000), INVALID_REQUEST)
  for (const timeout of [0, -1, 900_001, 2 ** 31 - 1])
    assert.equal(await ask('orders', timeout), INVALID_TRANSACTION_TIMEOUT)
  assert.equal(room.store.calls.commit, 1, 'the catalogue’s own, and nothing for what was refused')
})
