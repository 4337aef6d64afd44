// Sends the examples of every API with every kind of rule, and compares each resource of the answer with the needs
// that the handlers declare. What a rule allows is decided here once more, in the simplest way, from the table of
// operations that follow from rules.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pattern, startBroker, type TestBroker } from '../../testing/broker.ts'
import { batchOf } from '../../testing/kafka.ts'
import { bodyOf, type Example, examples, ID_OF_A } from '../../testing/permission-examples.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import type { Wire } from '../../testing/wire.ts'
import type { Operation, ResourceType } from '../api/words.ts'
import type { Grant } from '../auth/clients/acl-rules.ts'
import { type Client, derivations, EVERYTHING, type Policy, policyOf } from '../auth/clients/policy.ts'
import { systemClock } from '../base/clock.ts'
import { createTopics } from '../protocol/messages/create-topics.ts'
import { deleteGroups } from '../protocol/messages/delete-groups.ts'
import { describeTopicPartitions } from '../protocol/messages/describe-topic-partitions.ts'
import { fetch } from '../protocol/messages/fetch.ts'
import { findCoordinator } from '../protocol/messages/find-coordinator.ts'
import { joinGroup } from '../protocol/messages/join-group.ts'
import { leaveGroup } from '../protocol/messages/leave-group.ts'
import { listOffsets } from '../protocol/messages/list-offsets.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { offsetCommit } from '../protocol/messages/offset-commit.ts'
import { offsetFetch } from '../protocol/messages/offset-fetch.ts'
import { produce } from '../protocol/messages/produce.ts'
import { handlers } from './handlers/all.ts'

const CODES = { TOPIC: 29, GROUP: 30, CLUSTER: 31, TRANSACTIONAL_ID: 53 } as const
type Type = keyof typeof CODES
const AUTHORIZATION: ReadonlySet<number> = new Set(Object.values(CODES))

const ADA: Client = { name: 'ada', groups: ['team'] }

interface World extends TestBroker {
  /** Connects a client that has this policy. */
  connectAs(policy: Policy | null): Promise<Wire>
  /** Replaces the policy of a connection that is open, as a re-authentication does, on its next request. */
  readonly admin: Wire
}

async function start(t: { after(fn: () => Promise<void>): void }): Promise<World> {
  const store = createMemoryStore(systemClock)
  let next: Policy | null = null
  const broker = await startBroker(
    t,
    { topics: [pattern('auto-*')] },
    {
      openStore: async () => store,
      policies: { current: () => next, resolve: async () => next },
    },
  )
  const connectAs = async (policy: Policy | null) => {
    next = policy
    const wire = await broker.connect()
    // The connection has its policy when it has an answer.
    await wire.send(listOffsets, 7, { replicaId: -1, topics: [] } as never)
    return wire
  }
  return { ...broker, connectAs, admin: await connectAs(null) }
}

/** Makes the topics `a` and `b` and the groups `g` and `h` if they are missing. Returns the id of `a`. */
async function restore(admin: Wire): Promise<string> {
  const topics = ['a', 'b'].map(name => ({
    name,
    numPartitions: 1,
    replicationFactor: 1,
    assignments: [],
    configs: [],
  }))
  await admin.send(createTopics, 7, { topics, timeoutMs: 10_000, validateOnly: false })
  for (const groupId of ['g', 'h']) {
    const partitions = [{ partitionIndex: 0, committedOffset: 0, committedLeaderEpoch: -1, committedMetadata: null }]
    await admin.send(offsetCommit, 8, {
      ...{ groupId, generationIdOrMemberEpoch: -1, memberId: '', groupInstanceId: null },
      topics: [{ name: 'a', partitions }],
    } as never)
  }
  const described = await admin.send(metadata, 12, { topics: [{ name: 'a' }] } as never)
  return described.topics[0]!.topicId
}

const everyGrant: readonly (Grant | null)[] = [
  null,
  ...(['TOPIC', 'GROUP'] as const).flatMap(resourceType =>
    (['READ', 'WRITE'] as const).flatMap(operation =>
      ['*', ...(resourceType === 'TOPIC' ? ['a', 'a*', 'A', 'A*', 'aa'] : ['g', 'g*', 'G', 'G*', 'gg'])].map(
        resource => ({
          ...{ resourceType, operation, resource },
        }),
      ),
    ),
  ),
]

/** The simplest form of a policy. */
function allows(grant: Grant | null, operation: string, type: Type, name: string | null): boolean {
  const derivation = (
    derivations[type] as Record<string, { of: ResourceType; rules: readonly Operation[]; any?: true }>
  )[operation]
  if (grant === null || derivation === undefined || derivation.of !== grant.resourceType) return false
  if (!derivation.rules.includes(grant.operation)) return false
  if (name === null || derivation.any === true) return true
  const { resource } = grant
  return resource.endsWith('*') ? name.startsWith(resource.slice(0, -1)) : name === resource
}

interface ReadNeed {
  readonly scope: string
  readonly type: Type
  readonly name: string
  isMet(name: string | null): boolean
}

function readNeed(text: string, isAllowed: (operation: string, type: Type, name: string | null) => boolean): ReadNeed {
  const [, scope, first, second] = /^(\w+): (.+?)(?: or (.+))?$/.exec(text)!
  const read = (permission: string) => {
    const [operation, type, name] = permission.split(' ') as [string, Type, string]
    return { operation, type, name: name.replace('#', '') }
  }
  const { type, name } = read(first!)
  const isMet = (asked: string | null) =>
    [first, second].some(each => {
      if (each === undefined) return false
      const said = read(each)
      const about = said.type === type ? asked : said.name === 'each' ? null : said.name
      return isAllowed(said.operation, said.type, about)
    })
  return { scope: scope!, type, name, isMet }
}

const NAMES = ['name', 'topic', 'topicName', 'groupId', 'key', 'resourceName', 'topicId'] as const

interface Seen {
  /** By the name of the resource, '' for the answer itself: the error codes of its rows. */
  readonly codes: Map<string, Set<number>>
  readonly names: Set<string>
}

/** Collects the error codes of an answer by the resource that the nearest row names. */
function look(answer: unknown, idOfA: string): Seen {
  const seen: Seen = { codes: new Map(), names: new Set() }
  const visit = (value: unknown, above: string) => {
    if (Array.isArray(value)) for (const each of value) visit(each, above)
    if (typeof value !== 'object' || value === null || Array.isArray(value) || Buffer.isBuffer(value)) return
    const struct = value as Record<string, unknown>
    const own = NAMES.map(name => struct[name]).find(name => typeof name === 'string' && name !== '') as
      | string
      | undefined
    const name = own === undefined ? above : own === idOfA ? 'a' : own
    seen.names.add(name)
    if (typeof struct.errorCode === 'number') {
      const codes = seen.codes.get(name) ?? new Set()
      seen.codes.set(name, codes.add(struct.errorCode))
    }
    for (const each of Object.values(struct)) visit(each, name)
  }
  visit(answer, '')
  return seen
}

async function send(wire: Wire, [name, version, said]: Example, idOfA: string): Promise<unknown> {
  const { api } = handlers.find(each => each.api.name === name)!
  const body = bodyOf(api, said)
  const withId = JSON.parse(JSON.stringify(body, keepBytes).replaceAll(ID_OF_A, idOfA), (_, value) =>
    typeof value === 'object' && value?.bytes === true ? Buffer.alloc(0) : value,
  )
  return await wire.send(api, version, withId as never)
}

function keepBytes(_: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer'
    ? { bytes: true }
    : value
}

/** Checks the answer to an example against its needs. */
function check(
  [name, version, , ...texts]: Example,
  answer: unknown,
  idOfA: string,
  isAllowed: (operation: string, type: Type, name: string | null) => boolean,
  what: string,
): void {
  const said = `${name} ${version}, ${what}: ${JSON.stringify(answer, keepBytes)}`
  const { codes, names } = look(answer, idOfA)
  const all = new Set([...codes.values()].flatMap(each => [...each]))
  const needs = texts.map(text => readNeed(text, isAllowed))
  const whole = needs.find(need => need.scope === 'request' && !need.isMet(need.name === 'each' ? null : need.name))
  if (whole !== undefined) {
    // This API is only between brokers, and has no errors.
    if (name === 'DescribeDeliveries') assert.deepEqual((answer as { groups: unknown[] }).groups, [], said)
    // A request without rows, and without an error of its own, has no place for the code.
    else if (all.size > 0 || codes.size > 0)
      assert.deepEqual(
        [...all].filter(code => code !== 0),
        [CODES[whole.type]],
        said,
      )
    return
  }
  const codesOf = (type: Type, resource: string) => {
    const shown = type === 'CLUSTER' ? '0' : resource
    return [...(codes.get(shown) ?? codes.get('') ?? [])]
  }
  const isGroupDenied = needs.some(need => need.scope === 'row' && need.type === 'GROUP' && !need.isMet(need.name))
  for (const need of needs) {
    if (need.scope === 'row') {
      if (need.type === 'TOPIC' && name === 'OffsetFetch' && isGroupDenied) continue
      for (const resource of need.name === 'each' ? [...codes.keys()].filter(key => key !== '') : [need.name]) {
        const found = codesOf(need.type, resource)
        if (!need.isMet(resource)) assert.deepEqual(found, [CODES[need.type]], `${resource}: ${said}`)
        else if (need.type !== 'TRANSACTIONAL_ID') {
          const others = needs.filter(each => each.name === need.name && !each.isMet(need.name))
          if (others.length === 0) assert.ok(!found.includes(CODES[need.type]), `${resource}: ${said}`)
        }
      }
    } else if (need.scope === 'hidden' && need.type === 'CLUSTER') {
      const { clusterAuthorizedOperations: bits } = answer as { clusterAuthorizedOperations: number }
      assert.equal(bits !== 0, need.isMet(need.name), said)
    } else if (need.scope === 'hidden' && need.name === 'each' && !isGroupDenied) {
      for (const resource of need.type === 'TOPIC' ? ['a'] : ['g']) {
        assert.equal(names.has(resource), need.isMet(resource), `${resource}: ${said}`)
      }
    }
  }
  for (const need of needs) {
    if (need.scope !== 'request' || need.type === 'TRANSACTIONAL_ID') continue
    assert.ok(!all.has(CODES[need.type]), `${need.type}: ${said}`)
  }
  if (needs.length === 0) assert.ok(![...all].some(code => AUTHORIZATION.has(code)), said)
}

test('every API answers every kind of rule with the error of each resource, as its declared needs say', {
  timeout: 300_000,
}, async t => {
  const world = await start(t)
  assert.deepEqual(
    handlers.map(({ api }) => api.name).filter(name => !examples.some(([example]) => example === name)),
    [],
    'each API has an example',
  )
  let count = 0
  const run = async (policy: Policy, isAllowed: Parameters<typeof check>[3], what: string) => {
    let wire = await world.connectAs(policy)
    for (const example of examples) {
      const idOfA = await restore(world.admin)
      if (wire.socket.destroyed) wire = await world.connectAs(policy)
      check(example, await send(wire, example, idOfA), idOfA, isAllowed, what)
      count++
    }
    await wire.close()
  }
  for (const grant of everyGrant) {
    const isAllowed = (operation: string, type: Type, name: string | null) => allows(grant, operation, type, name)
    const said = JSON.stringify(grant)
    const principals = grant === null ? ['nobody'] : ['ada', 'group:team']
    for (const principal of principals) {
      const grants = new Map(grant === null ? [] : [[principal, [grant]]])
      await run(policyOf(grants, new Set(), ADA), isAllowed, `${principal} ${said}`)
    }
    if (grant !== null) {
      const grants = new Map([['bob', [grant]]])
      await run(policyOf(grants, new Set(), ADA), () => false, `bob ${said}`)
    }
  }
  await run(policyOf(new Map(), new Set(['ada']), ADA), () => true, 'a super-user')
  await run(policyOf(new Map(), new Set(['group:team']), ADA), () => true, 'a group of super-users')
  await run(policyOf(new Map(), new Set(), { ...ADA, isBroker: true }), () => true, 'a broker')
  t.diagnostic(`${count} requests`)
})

const policy = (...grants: readonly Grant[]) => policyOf(new Map([['ada', grants]]), new Set(), ADA)
const on = (resourceType: ResourceType, operation: Operation, resource: string): Grant => ({
  ...{ resourceType, operation, resource },
})
const produced = (wire: Wire, name: string, acks = -1) =>
  wire.send(produce, 9, {
    ...{ transactionalId: null, acks, timeoutMs: 1000 },
    topicData: [{ name, partitionData: [{ index: 0, records: batchOf(['x']) }] }],
  })
const endOf = async (world: World, name: string) => {
  const topics = [{ name, partitions: [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp: -1 }] }]
  const answer = await world.admin.send(listOffsets, 7, { replicaId: -1, isolationLevel: 0, topics })
  return answer.topics[0]!.partitions[0]!.offset
}

test('a denied produce stores nothing, and a denied Metadata, Produce or commit creates nothing', async t => {
  const world = await start(t)
  await restore(world.admin)
  const reader = await world.connectAs(policy(on('TOPIC', 'READ', '*'), on('GROUP', 'WRITE', '*')))
  assert.equal((await produced(reader, 'a')).responses[0]!.partitionResponses[0]!.errorCode, CODES.TOPIC)
  assert.equal(await endOf(world, 'a'), 0)
  assert.equal((await produced(reader, 'auto-1')).responses[0]!.partitionResponses[0]!.errorCode, CODES.TOPIC)
  const asked = await reader.send(metadata, 9, { topics: [{ name: 'auto-1' }], allowAutoTopicCreation: true } as never)
  assert.deepEqual(
    asked.topics.map(({ name, errorCode }) => [name, errorCode]),
    [['auto-1', CODES.TOPIC]],
  )
  const committed = await reader.send(offsetCommit, 8, {
    ...{ groupId: 'fresh', generationIdOrMemberEpoch: -1, memberId: '', groupInstanceId: null },
    topics: [
      {
        name: 'a',
        partitions: [{ partitionIndex: 0, committedOffset: 7, committedLeaderEpoch: -1, committedMetadata: null }],
      },
    ],
  } as never)
  assert.equal(committed.topics[0]!.partitions[0]!.errorCode, CODES.GROUP)
  const all = await world.admin.send(metadata, 9, { topics: null } as never)
  assert.deepEqual(all.topics.map(({ name }) => name).sort(), ['a', 'b'])
  const kept = await world.admin.send(offsetFetch, 7, { groupId: 'fresh', topics: null } as never)
  assert.deepEqual(kept.topics, [])
  const stopped = await world.connectAs(policy())
  await stopped.post(produce, 9, {
    ...{ transactionalId: null, acks: 0, timeoutMs: 1000 },
    topicData: [{ name: 'a', partitionData: [{ index: 0, records: batchOf(['x']) }] }],
  })
  await stopped.closed
  assert.equal(await endOf(world, 'a'), 0)
})

test('a rule to write a name lets its client create the topic and delete its records, as Kafka Streams does', async t => {
  const world = await start(t)
  const writer = await world.connectAs(policy(on('TOPIC', 'WRITE', 'auto-*')))
  const asked = await writer.send(metadata, 9, {
    topics: [{ name: 'auto-1' }, { name: 'other' }],
    allowAutoTopicCreation: true,
  } as never)
  assert.deepEqual(
    asked.topics.map(({ name, errorCode }) => [name, errorCode]),
    [
      ['auto-1', 0],
      ['other', CODES.TOPIC],
    ],
  )
  const operations = await writer.send(metadata, 9, {
    topics: [{ name: 'auto-1' }],
    includeTopicAuthorizedOperations: true,
  } as never)
  const bits = [4, 5, 8, 10].reduce((sum, code) => sum | (1 << code), 0)
  assert.equal(operations.topics[0]!.topicAuthorizedOperations, bits, 'WRITE, CREATE, DESCRIBE, DESCRIBE_CONFIGS')
})

test('a fetch session shows another client only the partitions that it may read', async t => {
  const world = await start(t)
  await restore(world.admin)
  await produced(world.admin, 'a')
  await produced(world.admin, 'b')
  const both = policy(on('TOPIC', 'READ', '*'))
  const owner = await world.connectAs(both)
  const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1000, currentLeaderEpoch: -1 }]
  const opened = await owner.send(fetch, 12, {
    ...{ maxWaitMs: 0, minBytes: 0, sessionId: 0, sessionEpoch: 0 },
    topics: ['a', 'b'].map(topic => ({ topic, partitions })),
  })
  assert.ok(opened.sessionId !== 0)
  const codes = ({ responses }: typeof opened) =>
    responses.map(({ topic, partitions: [row] }) => [topic, row!.errorCode])
  assert.deepEqual(codes(opened), [
    ['a', 0],
    ['b', 0],
  ])
  const next = { maxWaitMs: 0, minBytes: 0, sessionId: opened.sessionId, topics: [] }
  const thief = await world.connectAs(policy(on('TOPIC', 'READ', 'b')))
  assert.deepEqual(codes(await thief.send(fetch, 12, { ...next, sessionEpoch: 1 })).sort(), [
    ['a', CODES.TOPIC],
    ['b', 0],
  ])
  assert.deepEqual(codes(await owner.send(fetch, 12, { ...next, sessionEpoch: 2 })).sort(), [
    ['a', 0],
    ['b', 0],
  ])
})

test('a member id does not let another client act in a group that it may not read', async t => {
  const world = await start(t)
  await restore(world.admin)
  const owner = await world.connectAs(policy(on('GROUP', 'READ', 'own')))
  const join = {
    ...{ groupId: 'own', sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 10_000, groupInstanceId: null },
    protocolType: 'consumer',
    protocols: [{ name: 'p', metadata: Buffer.alloc(0) }],
  }
  const { memberId } = await owner.send(joinGroup, 5, { ...join, memberId: '' })
  const joined = await owner.send(joinGroup, 5, { ...join, memberId })
  assert.equal(joined.errorCode, 0)
  const other = await world.connectAs(policy(on('GROUP', 'READ', 'other'), on('TOPIC', 'READ', '*')))
  const left = await other.send(leaveGroup, 3, {
    groupId: 'own',
    members: [{ memberId, groupInstanceId: null }],
  } as never)
  assert.equal(left.errorCode, CODES.GROUP)
  const found = await other.send(findCoordinator, 3, { key: 'own', keyType: 0 } as never)
  assert.equal(found.errorCode, CODES.GROUP)
  const again = await owner.send(joinGroup, 5, { ...join, memberId })
  assert.equal(again.errorCode, 0)
})

test('a client that may only write a group deletes it, and finds its coordinator for that', async t => {
  const world = await start(t)
  await restore(world.admin)
  const client = await world.connectAs(policy(on('GROUP', 'WRITE', 'g')))
  assert.equal((await client.send(findCoordinator, 3, { key: 'g', keyType: 0 } as never)).errorCode, 0)
  const deleted = await client.send(deleteGroups, 1, { groupsNames: ['h', 'g'] })
  assert.deepEqual(
    deleted.results.map(({ groupId, errorCode }) => [groupId, errorCode]),
    [
      ['h', CODES.GROUP],
      ['g', 0],
    ],
  )
})

test('pages of topics leave out those that the client may not see', async t => {
  const world = await start(t)
  await restore(world.admin)
  const client = await world.connectAs(policy(on('TOPIC', 'READ', 'b')))
  const page = await client.send(describeTopicPartitions, 0, { topics: [], responsePartitionLimit: 10 } as never)
  assert.deepEqual(
    page.topics.map(({ name }) => name),
    ['b'],
  )
})

test('each denied permission is logged with the client, and a client that may do everything causes no line', async t => {
  const world = await start(t)
  await restore(world.admin)
  const client = await world.connectAs(policy())
  await produced(client, 'a')
  assert.match(
    world.log(),
    /svc\.kafka\.authorization.*no rule allows.*principal=User:ANONYMOUS.*operation=WRITE.*type=TOPIC.*name=a/,
  )
  const before = world.log().length
  await produced(await world.connectAs(EVERYTHING), 'a')
  assert.doesNotMatch(world.log().slice(before), /no rule allows/)
})
