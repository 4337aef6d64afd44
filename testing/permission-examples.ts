// One or more requests of every Kafka API, with the permissions that they need (src/kafka/needs.ts). A test compares
// them with the needs that the handlers declare, another sends them with every kind of rule, and
// docs/reference/authorization.md lists them.

import type { Api, Fields } from '../src/protocol/schema.ts'
import { ZERO_UUID } from '../src/protocol/schema.ts'
import { batchOf } from './kafka.ts'

/** The id of the topic `a` in the examples. A test that sends them replaces it. */
export const ID_OF_A = 'AAAAAAAAAAAAAAAAAAAAAQ'
const TOPIC = 2
const BROKER = 4
const GROUP = 32
/** A topic that does not exist, and that a client may create by using it. */
export const NEW_TOPIC = 'auto-1'
/** Numbers of Kafka's ACLs. */
const ANY = 1
const LITERAL = 3
const READ = 3
const ALLOW = 3

type Values = Readonly<Record<string, unknown>>

/**
 * An API, a version, the part of a request that its needs depend on, and the needs: `scope: OPERATION TYPE name`, and
 * after `or` another permission that is enough. The name is `each` for every resource that the answer has.
 */
export type Example = readonly [api: string, version: number, body: Values, ...needs: string[]]

const RECORDS = batchOf(['x'])
const a = { name: 'a' }
const onePartition = [{ partitionIndex: 0 }]

export const examples: readonly Example[] = [
  [
    'Produce',
    9,
    {
      acks: -1,
      topicData: [
        { name: 'a', partitionData: [{ index: 0, records: RECORDS }] },
        { name: 'b', partitionData: [{ index: 0, records: RECORDS }] },
        { name: 'a', partitionData: [{ index: 1, records: RECORDS }] },
      ],
    },
    'row: WRITE TOPIC a',
    'row: WRITE TOPIC b',
  ],
  [
    'Produce',
    13,
    { acks: -1, topicData: [{ topicId: ID_OF_A, partitionData: [{ index: 0, records: RECORDS }] }] },
    'row: WRITE TOPIC #a',
  ],
  [
    'Produce',
    9,
    { acks: -1, transactionalId: 'x', topicData: [{ name: 'a', partitionData: [{ index: 0, records: RECORDS }] }] },
    'request: WRITE TRANSACTIONAL_ID x',
    'row: WRITE TOPIC a',
  ],
  [
    'Fetch',
    12,
    { replicaId: -1, sessionEpoch: -1, topics: [{ topic: 'a', partitions: [{ partition: 0 }] }] },
    'row: READ TOPIC each',
  ],
  [
    'Fetch',
    13,
    { replicaId: -1, sessionEpoch: -1, topics: [{ topicId: ID_OF_A, partitions: [{ partition: 0 }] }] },
    'row: READ TOPIC each',
  ],
  [
    'Fetch',
    12,
    { replicaId: 1, sessionEpoch: -1, topics: [{ topic: 'a', partitions: [{ partition: 0 }] }] },
    'request: CLUSTER_ACTION CLUSTER kafka-cluster',
    'row: READ TOPIC each',
  ],
  [
    'Fetch',
    15,
    { replicaState: { replicaId: 1 }, sessionEpoch: -1, topics: [] },
    'request: CLUSTER_ACTION CLUSTER kafka-cluster',
    'row: READ TOPIC each',
  ],
  ['ListOffsets', 7, { topics: [{ ...a, partitions: onePartition }] }, 'row: DESCRIBE TOPIC a'],
  ['Metadata', 9, { topics: null }, 'hidden: DESCRIBE TOPIC each'],
  ['Metadata', 0, { topics: [] }, 'hidden: DESCRIBE TOPIC each'],
  ['Metadata', 9, { topics: [], allowAutoTopicCreation: true }],
  ['Metadata', 9, { topics: [], includeClusterAuthorizedOperations: true }, 'hidden: DESCRIBE CLUSTER kafka-cluster'],
  [
    'Metadata',
    12,
    { topics: [a, { name: null, topicId: ID_OF_A }], allowAutoTopicCreation: true },
    'row: DESCRIBE TOPIC a',
    'row: DESCRIBE TOPIC #a',
    'hidden: CREATE TOPIC a or CREATE CLUSTER kafka-cluster',
  ],
  [
    'Metadata',
    9,
    { topics: [{ name: NEW_TOPIC }], allowAutoTopicCreation: true },
    `row: DESCRIBE TOPIC ${NEW_TOPIC}`,
    `hidden: CREATE TOPIC ${NEW_TOPIC} or CREATE CLUSTER kafka-cluster`,
  ],
  [
    'OffsetCommit',
    8,
    { groupId: 'g', topics: [{ ...a, partitions: onePartition }] },
    'request: READ GROUP g',
    'row: READ TOPIC a',
  ],
  [
    'OffsetCommit',
    10,
    { groupId: 'g', topics: [{ topicId: ID_OF_A, partitions: onePartition }] },
    'request: READ GROUP g',
    'row: READ TOPIC #a',
  ],
  ['OffsetFetch', 7, { groupId: 'g', topics: null }, 'row: DESCRIBE GROUP g', 'hidden: DESCRIBE TOPIC each'],
  [
    'OffsetFetch',
    8,
    {
      groups: [
        { groupId: 'g', topics: [{ name: 'a', partitionIndexes: [0] }] },
        { groupId: 'h', topics: [{ name: 'b', partitionIndexes: [0] }] },
      ],
    },
    'row: DESCRIBE GROUP g',
    'row: DESCRIBE TOPIC a',
    'row: DESCRIBE GROUP h',
    'row: DESCRIBE TOPIC b',
  ],
  ['FindCoordinator', 3, { key: 'g', keyType: 0 }, 'row: DESCRIBE GROUP g or DELETE GROUP g'],
  ['FindCoordinator', 4, { keyType: 1, coordinatorKeys: ['x'] }, 'row: DESCRIBE TRANSACTIONAL_ID x'],
  ['FindCoordinator', 4, { keyType: 9, coordinatorKeys: ['x'] }],
  [
    'JoinGroup',
    5,
    { groupId: 'g', protocolType: 'consumer', protocols: [{ name: 'p', metadata: Buffer.alloc(0) }] },
    'request: READ GROUP g',
  ],
  ['Heartbeat', 3, { groupId: 'g' }, 'request: READ GROUP g'],
  ['LeaveGroup', 3, { groupId: 'g', members: [{ memberId: 'm' }] }, 'request: READ GROUP g'],
  ['SyncGroup', 3, { groupId: 'g' }, 'request: READ GROUP g'],
  ['DescribeGroups', 0, { groups: ['g', 'h'] }, 'row: DESCRIBE GROUP g', 'row: DESCRIBE GROUP h'],
  ['ListGroups', 0, {}, 'hidden: DESCRIBE GROUP each or DESCRIBE CLUSTER kafka-cluster'],
  ['ApiVersions', 0, {}],
  ['SaslHandshake', 1, { mechanism: 'PLAIN' }],
  ['SaslAuthenticate', 2, {}],
  [
    'CreateTopics',
    4,
    { topics: [{ name: 'a', numPartitions: 1, replicationFactor: 1 }] },
    'row: CREATE TOPIC a or CREATE CLUSTER kafka-cluster',
  ],
  [
    'CreateTopics',
    5,
    { topics: [{ name: 'a', numPartitions: 1, replicationFactor: 1 }] },
    'row: CREATE TOPIC a or CREATE CLUSTER kafka-cluster',
    'hidden: DESCRIBE_CONFIGS TOPIC a',
  ],
  ['DeleteTopics', 5, { topicNames: ['a'], timeoutMs: 10_000 }, 'row: DELETE TOPIC a'],
  [
    'DeleteTopics',
    6,
    { topics: [{ name: 'b' }, { name: null, topicId: ID_OF_A }], timeoutMs: 10_000 },
    'row: DELETE TOPIC b',
    'row: DELETE TOPIC #a',
  ],
  [
    'DeleteRecords',
    0,
    { topics: [{ ...a, partitions: [{ partitionIndex: 0, offset: 0 }] }] },
    'row: DELETE TOPIC a or WRITE TOPIC a',
  ],
  [
    'InitProducerId',
    3,
    { transactionalId: null, producerId: -1, producerEpoch: -1 },
    'request: IDEMPOTENT_WRITE CLUSTER kafka-cluster or WRITE TOPIC each',
  ],
  ['InitProducerId', 3, { transactionalId: 'x' }, 'request: WRITE TRANSACTIONAL_ID x'],
  [
    'OffsetForLeaderEpoch',
    3,
    { replicaId: -1, topics: [{ topic: 'a', partitions: [{ partition: 0 }] }] },
    'row: DESCRIBE TOPIC a or CLUSTER_ACTION CLUSTER kafka-cluster',
  ],
  [
    'DescribeAcls',
    2,
    { resourceTypeFilter: ANY, operation: ANY, permissionType: ANY },
    'request: DESCRIBE CLUSTER kafka-cluster',
  ],
  [
    'CreateAcls',
    2,
    {
      creations: [
        {
          resourceType: TOPIC,
          resourceName: 'a',
          resourcePatternType: LITERAL,
          principal: 'User:stranger',
          host: '*',
          operation: READ,
          permissionType: ALLOW,
        },
      ],
    },
    'request: ALTER CLUSTER kafka-cluster',
  ],
  [
    'DeleteAcls',
    2,
    { filters: [{ resourceTypeFilter: ANY, principalFilter: 'User:stranger', operation: ANY, permissionType: ANY }] },
    'request: ALTER CLUSTER kafka-cluster',
  ],
  [
    'DescribeConfigs',
    1,
    {
      resources: [
        { resourceType: TOPIC, resourceName: 'a' },
        { resourceType: BROKER, resourceName: '1' },
        { resourceType: GROUP, resourceName: 'g' },
      ],
    },
    'row: DESCRIBE_CONFIGS TOPIC a',
    'row: DESCRIBE_CONFIGS GROUP g',
    'row: DESCRIBE_CONFIGS CLUSTER kafka-cluster',
  ],
  ['AlterConfigs', 0, { resources: [{ resourceType: GROUP, resourceName: 'g' }] }, 'row: ALTER_CONFIGS GROUP g'],
  [
    'IncrementalAlterConfigs',
    0,
    {
      resources: [
        { resourceType: TOPIC, resourceName: 'a' },
        { resourceType: BROKER, resourceName: '1' },
      ],
    },
    'row: ALTER_CONFIGS TOPIC a',
    'row: ALTER_CONFIGS CLUSTER kafka-cluster',
  ],
  ['DescribeLogDirs', 3, { topics: null }, 'request: DESCRIBE CLUSTER kafka-cluster'],
  ['CreatePartitions', 0, { topics: [{ ...a, count: 1 }] }, 'row: ALTER TOPIC a'],
  ['DeleteGroups', 0, { groupsNames: ['g'] }, 'row: DELETE GROUP g'],
  [
    'OffsetDelete',
    0,
    { groupId: 'g', topics: [{ ...a, partitions: onePartition }] },
    'request: DELETE GROUP g',
    'row: READ TOPIC a',
  ],
  ['AlterPartitionReassignments', 0, { topics: [] }, 'request: ALTER CLUSTER kafka-cluster'],
  ['ListPartitionReassignments', 0, { topics: null }, 'request: DESCRIBE CLUSTER kafka-cluster'],
  ['ElectLeaders', 1, { topicPartitions: null }, 'request: ALTER CLUSTER kafka-cluster'],
  [
    'AlterReplicaLogDirs',
    1,
    { dirs: [{ path: '/x', topics: [{ ...a, partitions: [0] }] }] },
    'request: ALTER CLUSTER kafka-cluster',
  ],
  ['DescribeProducers', 0, { topics: [{ ...a, partitionIndexes: [0] }] }, 'row: READ TOPIC a'],
  ['DescribeQuorum', 0, { topics: [] }, 'request: DESCRIBE CLUSTER kafka-cluster'],
  ['DescribeDeliveries', 0, { groups: ['g'], readers: [] }, 'request: CLUSTER_ACTION CLUSTER kafka-cluster'],
  ['DescribeBrokerMetrics', 0, { withHistory: true }, 'request: CLUSTER_ACTION CLUSTER kafka-cluster'],
  ['DescribeTopicMetrics', 0, { names: ['a'], samples: 1 }, 'request: CLUSTER_ACTION CLUSTER kafka-cluster'],
  [
    'RunStorageRound',
    0,
    { holderId: 0, incarnation: '', fence: 0, round: 1, concurrency: 1, isCleaningAllowed: false },
    'request: CLUSTER_ACTION CLUSTER kafka-cluster',
  ],
  ['DescribeStorageWorker', 0, { start: false, number: -1 }, 'request: CLUSTER_ACTION CLUSTER kafka-cluster'],
  [
    'DescribeSegments',
    0,
    { topicId: ID_OF_A, partition: 0, skip: 0, limit: 1 },
    'request: CLUSTER_ACTION CLUSTER kafka-cluster',
  ],
  ['DescribeClientQuotas', 0, {}, 'request: DESCRIBE_CONFIGS CLUSTER kafka-cluster'],
  [
    'AlterClientQuotas',
    0,
    { entries: [{ entity: [{ entityType: 'user', entityName: 'u' }] }], validateOnly: true },
    'request: ALTER_CONFIGS CLUSTER kafka-cluster',
  ],
  [
    'AlterUserScramCredentials',
    0,
    { deletions: [{ name: 'u', mechanism: 1 }] },
    'request: ALTER CLUSTER kafka-cluster',
  ],
  ['DescribeUserScramCredentials', 0, { users: [{ name: 'u' }] }, 'request: DESCRIBE CLUSTER kafka-cluster'],
  ['DescribeCluster', 0, {}],
  ['DescribeCluster', 0, { includeClusterAuthorizedOperations: true }, 'hidden: DESCRIBE CLUSTER kafka-cluster'],
  ['ListConfigResources', 1, {}, 'request: DESCRIBE_CONFIGS CLUSTER kafka-cluster'],
  ['DescribeTopicPartitions', 0, { topics: [], responsePartitionLimit: 100 }, 'hidden: DESCRIBE TOPIC each'],
  ['DescribeTopicPartitions', 0, { topics: [a], responsePartitionLimit: 100 }, 'row: DESCRIBE TOPIC a'],
]

/** Returns the body of an example as a decoder delivers it: with the fallbacks of the fields that it leaves out. */
export function bodyOf({ request }: Api, said: Values): Values {
  return filled(request.fields, said)
}

function filled(fields: Fields, said: Values): Values {
  const entries = Object.entries(fields).map(([name, { kind, fallback, nullable, element, fields: inner }]) => {
    const value = said[name]
    if (inner !== undefined) {
      return [name, value === undefined && nullable !== null ? null : filled(inner, (value ?? {}) as Values)]
    }
    if (Array.isArray(value) && element?.fields !== undefined) {
      return [name, value.map(each => filled(element.fields!, each as Values))]
    }
    return [name, value === undefined ? (fallback ?? (nullable === null ? EMPTY[kind] : null)) : value]
  })
  return Object.fromEntries(entries) as Values
}

const EMPTY: Values = {
  ...{ array: [], string: '', bytes: Buffer.alloc(0), uuid: ZERO_UUID, bool: false },
  ...{ int8: 0, int16: 0, int32: 0, int64: 0, float64: 0 },
}
