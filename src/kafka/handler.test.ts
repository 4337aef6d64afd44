import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { seededRandom } from '../base/random.ts'
import { openCatalogue } from '../log/catalogue.ts'
import { type Fields, ZERO_UUID } from '../protocol/schema.ts'
import { testSettings } from '../settings/settings.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Request, Rooms } from './handler.ts'
import { handlers } from './handlers/all.ts'
import type { Need, Permission } from './needs.ts'

const ID = 'AAAAAAAAAAAAAAAAAAAAAQ'
const TOPIC = 2
const BROKER = 4
const GROUP = 32

/** An API, a version, the part of a request that its needs depend on, and the needs. */
type Case = readonly [api: string, version: number, body: Values, ...needs: string[]]

const cases: readonly Case[] = [
  [
    'Produce',
    9,
    { topicData: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] },
    'row: WRITE TOPIC a',
    'row: WRITE TOPIC b',
  ],
  ['Produce', 13, { topicData: [{ topicId: ID }] }, `row: WRITE TOPIC #${ID}`],
  ['Produce', 9, { transactionalId: 'x', topicData: [] }, 'request: WRITE TRANSACTIONAL_ID x'],
  ['Fetch', 12, { replicaId: -1, topics: [{ topic: 'a' }] }, 'row: READ TOPIC a'],
  ['Fetch', 13, { replicaId: -1, topics: [{ topicId: ID }] }, `row: READ TOPIC #${ID}`],
  ['Fetch', 12, { replicaId: 1, topics: [{ topic: 'a' }] }, 'request: CLUSTER_ACTION CLUSTER kafka-cluster'],
  ['Fetch', 15, { replicaState: { replicaId: 1 }, topics: [] }, 'request: CLUSTER_ACTION CLUSTER kafka-cluster'],
  ['ListOffsets', 7, { topics: [{ name: 'a' }] }, 'row: DESCRIBE TOPIC a'],
  ['Metadata', 9, { topics: null }, 'hidden: DESCRIBE TOPIC each'],
  ['Metadata', 0, { topics: [] }, 'hidden: DESCRIBE TOPIC each'],
  ['Metadata', 9, { topics: [], allowAutoTopicCreation: true }],
  [
    'Metadata',
    12,
    { topics: [{ name: 'a' }, { name: null, topicId: ID }], allowAutoTopicCreation: true },
    'row: DESCRIBE TOPIC a',
    `row: DESCRIBE TOPIC #${ID}`,
    'hidden: CREATE TOPIC a or CREATE CLUSTER kafka-cluster',
  ],
  ['OffsetCommit', 8, { groupId: 'g', topics: [{ name: 'a' }] }, 'request: READ GROUP g', 'row: READ TOPIC a'],
  ['OffsetCommit', 10, { groupId: 'g', topics: [{ topicId: ID }] }, 'request: READ GROUP g', `row: READ TOPIC #${ID}`],
  ['OffsetFetch', 7, { groupId: 'g', topics: null }, 'row: DESCRIBE GROUP g', 'hidden: DESCRIBE TOPIC each'],
  [
    'OffsetFetch',
    8,
    {
      groups: [
        { groupId: 'g', topics: [{ name: 'a' }] },
        { groupId: 'h', topics: [{ name: 'b' }] },
      ],
    },
    'row: DESCRIBE GROUP g',
    'row: DESCRIBE TOPIC a',
    'row: DESCRIBE GROUP h',
    'row: DESCRIBE TOPIC b',
  ],
  ['FindCoordinator', 3, { key: 'g', keyType: 0 }, 'row: DESCRIBE GROUP g'],
  ['FindCoordinator', 4, { keyType: 1, coordinatorKeys: ['x'] }, 'row: DESCRIBE TRANSACTIONAL_ID x'],
  ['FindCoordinator', 4, { keyType: 9, coordinatorKeys: ['x'] }],
  ['JoinGroup', 5, { groupId: 'g' }, 'request: READ GROUP g'],
  ['Heartbeat', 3, { groupId: 'g' }, 'request: READ GROUP g'],
  ['LeaveGroup', 3, { groupId: 'g' }, 'request: READ GROUP g'],
  ['SyncGroup', 3, { groupId: 'g' }, 'request: READ GROUP g'],
  ['DescribeGroups', 0, { groups: ['g', 'h'] }, 'row: DESCRIBE GROUP g', 'row: DESCRIBE GROUP h'],
  ['ListGroups', 0, {}, 'hidden: DESCRIBE GROUP each or DESCRIBE CLUSTER kafka-cluster'],
  ['SaslHandshake', 1, { mechanism: 'PLAIN' }],
  ['ApiVersions', 0, {}],
  ['CreateTopics', 4, { topics: [{ name: 'a' }] }, 'row: CREATE TOPIC a or CREATE CLUSTER kafka-cluster'],
  [
    'CreateTopics',
    5,
    { topics: [{ name: 'a' }] },
    'row: CREATE TOPIC a or CREATE CLUSTER kafka-cluster',
    'hidden: DESCRIBE_CONFIGS TOPIC a',
  ],
  ['DeleteTopics', 5, { topicNames: ['a'] }, 'row: DELETE TOPIC a'],
  [
    'DeleteTopics',
    6,
    { topics: [{ name: 'a' }, { name: null, topicId: ID }] },
    'row: DELETE TOPIC a',
    `row: DELETE TOPIC #${ID}`,
  ],
  ['DeleteRecords', 0, { topics: [{ name: 'a' }] }, 'row: DELETE TOPIC a'],
  [
    'InitProducerId',
    3,
    { transactionalId: null },
    'request: IDEMPOTENT_WRITE CLUSTER kafka-cluster or WRITE TOPIC each',
  ],
  ['InitProducerId', 3, { transactionalId: 'x' }, 'request: WRITE TRANSACTIONAL_ID x'],
  ['OffsetForLeaderEpoch', 3, { replicaId: -1, topics: [{ topic: 'a' }] }, 'row: DESCRIBE TOPIC a'],
  ['OffsetForLeaderEpoch', 3, { replicaId: 2, topics: [] }, 'request: CLUSTER_ACTION CLUSTER kafka-cluster'],
  [
    'DescribeConfigs',
    1,
    {
      resources: [
        { resourceType: TOPIC, resourceName: 'a' },
        { resourceType: BROKER, resourceName: '0' },
      ],
    },
    'row: DESCRIBE_CONFIGS TOPIC a',
    'row: DESCRIBE_CONFIGS CLUSTER kafka-cluster',
  ],
  ['AlterConfigs', 0, { resources: [{ resourceType: GROUP, resourceName: 'g' }] }, 'row: ALTER_CONFIGS GROUP g'],
  [
    'IncrementalAlterConfigs',
    0,
    { resources: [{ resourceType: TOPIC, resourceName: 'a' }] },
    'row: ALTER_CONFIGS TOPIC a',
  ],
  ['DescribeLogDirs', 1, {}, 'request: DESCRIBE CLUSTER kafka-cluster'],
  ['SaslAuthenticate', 2, {}],
  ['CreatePartitions', 0, { topics: [{ name: 'a' }] }, 'row: ALTER TOPIC a'],
  ['DeleteGroups', 0, { groupsNames: ['g'] }, 'row: DELETE GROUP g'],
  ['OffsetDelete', 0, { groupId: 'g', topics: [{ name: 'a' }] }, 'request: DELETE GROUP g', 'row: READ TOPIC a'],
  ['AlterPartitionReassignments', 0, { topics: [] }, 'request: ALTER CLUSTER kafka-cluster'],
  ['ListPartitionReassignments', 0, { topics: null }, 'request: DESCRIBE CLUSTER kafka-cluster'],
  ['ElectLeaders', 0, { topicPartitions: null }, 'request: ALTER CLUSTER kafka-cluster'],
  ['AlterReplicaLogDirs', 0, { dirs: [] }, 'request: ALTER CLUSTER kafka-cluster'],
  ['DescribeProducers', 0, { topics: [{ name: 'a' }] }, 'row: READ TOPIC a'],
  ['DescribeQuorum', 0, { topics: [] }, 'request: DESCRIBE CLUSTER kafka-cluster'],
  ['DescribeDeliveries', 0, { groups: [], readers: [] }, 'request: CLUSTER_ACTION CLUSTER kafka-cluster'],
  ['DescribeClientQuotas', 0, {}, 'request: DESCRIBE_CONFIGS CLUSTER kafka-cluster'],
  ['AlterClientQuotas', 0, {}, 'request: ALTER_CONFIGS CLUSTER kafka-cluster'],
  ['DescribeUserScramCredentials', 0, {}, 'request: DESCRIBE CLUSTER kafka-cluster'],
  ['AlterUserScramCredentials', 0, {}, 'request: ALTER CLUSTER kafka-cluster'],
  ['DescribeCluster', 0, {}],
  ['DescribeCluster', 0, { includeClusterAuthorizedOperations: true }, 'hidden: DESCRIBE CLUSTER kafka-cluster'],
  ['ListConfigResources', 1, {}, 'request: DESCRIBE_CONFIGS CLUSTER kafka-cluster'],
  ['DescribeTopicPartitions', 0, { topics: [] }, 'hidden: DESCRIBE TOPIC each'],
  ['DescribeTopicPartitions', 0, { topics: [{ name: 'a' }] }, 'row: DESCRIBE TOPIC a'],
]

function say({ operation, resource }: Permission): string {
  const said = 'id' in resource ? `#${resource.id}` : (resource.name ?? 'each')
  return `${operation} ${resource.type} ${said}`
}

const sayNeed = ({ scope, or, ...need }: Need) => `${scope}: ${say(need)}${or === undefined ? '' : ` or ${say(or)}`}`

type Values = Readonly<Record<string, unknown>>

/** The request with these fields, and the fallbacks of the others, as a decoder delivers it. */
function filled(fields: Fields, said: Values): Values {
  const entries = Object.entries(fields).map(([name, { kind, fallback, nullable, element, fields: inner }]) => {
    const value = said[name]
    if (inner !== undefined) return [name, filled(inner, (value ?? {}) as Values)]
    if (Array.isArray(value) && element?.fields !== undefined) {
      return [name, value.map(each => filled(element.fields!, each as Values))]
    }
    return [name, value === undefined ? (fallback ?? (nullable === null ? EMPTY[kind] : null)) : value]
  })
  return Object.fromEntries(entries) as Values
}

const EMPTY: Values = { array: [], string: '', uuid: ZERO_UUID, bool: false, int8: 0, int16: 0, int32: 0, int64: 0 }

/** The parts of the rooms that handlers use when they are opened. */
async function openRooms(): Promise<Rooms> {
  const clock = new SimulatedClock()
  const settings = testSettings()
  const random = seededRandom(1)
  const catalogue = await openCatalogue(createMemoryStore(clock), settings, clock, random)
  const logger = createLogger({ clock, write: () => {}, format: 'plain' })
  return { clock, settings, random, catalogue, logger, metrics: createMetrics() } as unknown as Rooms
}

test('each API says which operations on which resources its request needs, as Kafka authorizes it', async () => {
  const rooms = await openRooms()
  const untested = new Set(handlers.map(({ api }) => api.name))
  for (const [name, apiVersion, said, ...expected] of cases) {
    const handler = handlers.find(({ api }) => api.name === name)
    assert.ok(handler, name)
    const body = filled(handler.api.request.fields, said)
    const needs = handler.open(rooms).needs({ body, apiVersion } as unknown as Request<never>)
    assert.deepEqual(needs.map(sayNeed), expected, `${name} ${apiVersion} ${JSON.stringify(said)}`)
    untested.delete(name)
  }
  assert.deepEqual([...untested], [], 'each API has an example')
})

test('the APIs of a coordinator tell clients to look for it again while the store is away, or to wait', async () => {
  const rooms = await openRooms()
  const away = handlers.map(each => [each.api.name, each.open(rooms).storeAway?.name ?? null] as const)
  assert.deepEqual(Object.fromEntries(away.filter(([, code]) => code !== null)), {
    OffsetCommit: 'COORDINATOR_NOT_AVAILABLE',
    OffsetFetch: 'COORDINATOR_LOAD_IN_PROGRESS',
    FindCoordinator: 'COORDINATOR_NOT_AVAILABLE',
    JoinGroup: 'COORDINATOR_NOT_AVAILABLE',
    SyncGroup: 'COORDINATOR_NOT_AVAILABLE',
    Heartbeat: 'COORDINATOR_NOT_AVAILABLE',
    LeaveGroup: 'COORDINATOR_NOT_AVAILABLE',
    InitProducerId: 'COORDINATOR_LOAD_IN_PROGRESS',
  })
})
