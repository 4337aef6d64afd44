// Metadata 0-13: returns the living brokers, and the partitions of topics with their leaders. It creates topics that
// a topic pattern allows.
//
// Which topics: in version 0 an empty list asks for all topics. In later versions null asks for all topics, and an
// empty list for none. From version 12 on, a request may name a topic by its id alone (KIP-516). Versions 10 and 11
// have the field and must not use it. An unknown id gets UNKNOWN_TOPIC_ID. A topic that is named twice is answered
// once.
//
// Auto-creation: an unknown name is created if the request and a topic pattern (svc.topics) allow it. This happens
// before the answer, so that the first answer has the partitions. One request creates at most MOST_CREATED topics.
// The rest of its names get LEADER_NOT_AVAILABLE, after which clients ask again.
//
// From version 5 on, the answer lists unreachable replicas as offline. Version 0 leaves them out, as in Kafka: the
// partition has REPLICA_NOT_AVAILABLE and only the reachable replicas.
//
// Differences from Apache Kafka: Kafka creates topics in the background and answers UNKNOWN_TOPIC_OR_PARTITION first.
// If the client's listener does not reach a leader, the partition gets LISTENER_NOT_FOUND, as in Kafka; here also in
// versions before 6.

import { createTopics } from '../../admin/topics.ts'
import { type Catalogue, type Topic, unreadableTopic } from '../../log/catalogue.ts'
import {
  INVALID_REQUEST,
  INVALID_TOPIC_EXCEPTION,
  isRefusal,
  LEADER_NOT_AVAILABLE,
  NONE,
  REPLICA_NOT_AVAILABLE,
  REQUEST_TIMED_OUT,
  type Refusal,
  TOPIC_AUTHORIZATION_FAILED,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { checkTopicName } from '../../protocol/names.ts'
import { type RequestOf, type ResponseInput, ZERO_UUID } from '../../protocol/schema.ts'
import { matchPattern } from '../../settings/patterns.ts'
import { handler, type Request, type Rooms } from '../handler.ts'
import { CLUSTER, type Need, onCluster, onEach, onListed, onTopics, orElse } from '../needs.ts'
import { controllerOf, nodesOf } from '../nodes.ts'
import { NOT_ASKED, operationsOf } from '../operations.ts'
import { lookForTopics, placing } from '../partitions.ts'
import { clusterOperationsOf, type Permissions } from '../permissions.ts'

type Body = RequestOf<typeof metadata>
type Asked = NonNullable<Body['topics']>[number]
type Answer = ResponseInput<typeof metadata>
type TopicRow = Answer['topics'][number]

const FIRST_WITH_NULL = 1
const FIRST_WITH_ALL_REPLICAS = 1
const FIRST_WITH_IDS = 12
const FIRST_WITH_TOP_LEVEL_ERROR = 13

/** The most topics that one request may create. */
const MOST_CREATED = 100
/** How long a request waits for the creation of its topics. */
const CREATION_MS = 5000

export const metadataHandler = handler(metadata, rooms => ({
  needs: needsOf,
  answer(request) {
    const { body, apiVersion, permissions } = request
    if (isForAll(body, apiVersion)) {
      const { topics } = rooms.catalogue.current()
      const place = placing(rooms, request.connection.listener)
      return answerOf(
        rooms,
        request,
        [...topics.values()]
          .filter(({ name }) => permissions.shows('TOPIC', name))
          .map(topic => rowOf(place, topic, apiVersion)),
      )
    }
    const asked = distinct(body.topics ?? [])
    const looked = lookFor(rooms, permissions, asked)
    return looked === null ? answerFor(rooms, request, asked) : looked.then(() => answerFor(rooms, request, asked))
  },
  refused(request, refusal) {
    const { body, apiVersion } = request
    const rows = (body.topics ?? []).map(({ name, topicId }) => refusedRow(name, topicId, refusal, apiVersion))
    const answer = answerOf(rooms, request, rows)
    return apiVersion >= FIRST_WITH_TOP_LEVEL_ERROR ? { ...answer, errorCode: refusal.code } : answer
  },
}))

/**
 * Returns the needs of a request. A name that the request may create also needs the permission to create it. Whether
 * it is unknown is found out later.
 */
function needsOf({ body, apiVersion }: Request<Body>): readonly Need[] {
  const cluster = body.includeClusterAuthorizedOperations ? [onCluster('DESCRIBE', 'hidden')] : []
  if (isForAll(body, apiVersion)) return [onListed('DESCRIBE', 'TOPIC'), ...cluster]
  const asked = distinct(body.topics ?? [])
  const names = asked.flatMap(({ name }) => name ?? [])
  const create = orElse(onEach('CREATE', 'TOPIC', body.allowAutoTopicCreation ? names : [], 'hidden'), () => ({
    operation: 'CREATE',
    resource: CLUSTER,
  }))
  return [
    ...onEach('DESCRIBE', 'TOPIC', names),
    ...onTopics(
      'DESCRIBE',
      'topicId',
      asked.filter(({ name }) => name === null),
    ),
    ...create,
    ...cluster,
  ]
}

function isForAll({ topics }: Body, apiVersion: number): boolean {
  return topics === null || (apiVersion < FIRST_WITH_NULL && topics.length === 0)
}

/** Looks for topics that another broker may have created. Returns null if all requested topics are known. */
function lookFor(rooms: Rooms, permissions: Permissions, asked: readonly Asked[]): Promise<void> | null {
  const names = asked.flatMap(({ name }) => name ?? [])
  const ids = asked.flatMap(({ name, topicId }) => (name === null ? [topicId] : []))
  return lookForTopics(rooms, permissions, 'name', names) ?? lookForTopics(rooms, permissions, 'topicId', ids)
}

function answerFor(rooms: Rooms, request: Request<Body>, asked: readonly Asked[]): Answer | Promise<Answer> {
  const { body, permissions } = request
  const missing = body.allowAutoTopicCreation ? creatable(rooms, permissions, asked) : []
  if (missing.length === 0) return answerOf(rooms, request, rowsOf(rooms, request, asked, NOTHING_CREATED))
  return create(rooms, permissions, missing).then(refusals =>
    answerOf(rooms, request, rowsOf(rooms, request, asked, refusals)),
  )
}

/** Returns each topic once, by name or by id, in the order of the request. */
function distinct(asked: readonly Asked[]): readonly Asked[] {
  return [...new Map(asked.map(topic => [topic.name ?? `${topic.topicId}\0`, topic])).values()]
}

/** Returns the unknown names that a topic pattern lets a client create. */
function creatable(rooms: Rooms, permissions: Permissions, asked: readonly Asked[]): readonly string[] {
  const { topics, unreadable } = rooms.catalogue.current()
  return asked.flatMap(({ name, topicId }) => {
    if (name === null || topicId !== ZERO_UUID || topics.has(name) || checkTopicName(name) !== null) return []
    if (unreadable.has(name) || permissions.topic('name', name) !== null) return []
    return matchPattern(rooms.settings, name).autoCreate ? [name] : []
  })
}

type Refusals = ReadonlyMap<string, Refusal>

const NOTHING_CREATED: Refusals = new Map()

/** Creates the topics. Returns the refusals of those that were not created, by name. */
async function create(rooms: Rooms, permissions: Permissions, missing: readonly string[]): Promise<Refusals> {
  const names = missing.filter(name => permissions.shows('TOPIC', name))
  const refusals = new Map<string, Refusal>([
    ...missing.map(name => [name, TOPIC_AUTHORIZATION_FAILED] as const),
    ...names.map(name => [name, LEADER_NOT_AVAILABLE] as const),
  ])
  const requests = names
    .slice(0, MOST_CREATED)
    .map(name => ({ name, partitions: -1, replicationFactor: -1, assignments: [], configs: [] }))
  const outcomes = await createTopics(rooms, requests, { validateOnly: false, timeoutMs: CREATION_MS, auto: true })
  for (const { name, result } of outcomes) {
    // A topic that takes long may still be created: the client asks again.
    if (!isRefusal(result)) refusals.delete(name)
    else refusals.set(name, result.code === REQUEST_TIMED_OUT.code ? LEADER_NOT_AVAILABLE : result)
  }
  return refusals
}

function rowsOf(
  rooms: Rooms,
  { apiVersion, connection, permissions }: Request<Body>,
  asked: readonly Asked[],
  refusals: Refusals,
): readonly TopicRow[] {
  const catalogue = rooms.catalogue.current()
  const place = placing(rooms, connection.listener)
  return asked.map(({ name, topicId }) => {
    const found = find(catalogue, permissions, apiVersion, name, topicId, refusals)
    return isRefusal(found) ? refusedRow(name, topicId, found, apiVersion) : rowOf(place, found, apiVersion)
  })
}

function find(
  catalogue: Catalogue,
  permissions: Permissions,
  apiVersion: number,
  name: string | null,
  topicId: string,
  refusals: Refusals,
): Topic | Refusal {
  if (apiVersion < FIRST_WITH_IDS && (name === null || topicId !== ZERO_UUID)) return INVALID_REQUEST
  const denied = name === null ? permissions.topic('topicId', topicId) : permissions.topic('name', name)
  if (denied !== null) return denied
  if (name === null) return catalogue.topicsById.get(topicId) ?? UNKNOWN_TOPIC_ID
  const topic = catalogue.topics.get(name)
  if (topic !== undefined) return topic
  if (catalogue.unreadable.has(name)) return unreadableTopic(name)
  if (checkTopicName(name) !== null) return INVALID_TOPIC_EXCEPTION
  return refusals.get(name) ?? UNKNOWN_TOPIC_OR_PARTITION
}

function rowOf(place: ReturnType<typeof placing>, topic: Topic, apiVersion: number): TopicRow {
  const partitions = Array.from({ length: topic.partitions }, (_, index) => {
    const row = place(topic, index)
    return apiVersion < FIRST_WITH_ALL_REPLICAS && row.offlineReplicas.length > 0 ? withoutOffline(row) : row
  })
  return { errorCode: NONE, name: topic.name, topicId: topic.id, isInternal: false, partitions }
}

function withoutOffline(row: ReturnType<ReturnType<typeof placing>>) {
  const { errorCode, replicaNodes, isrNodes, offlineReplicas: offline } = row
  return {
    ...row,
    errorCode: errorCode === NONE ? REPLICA_NOT_AVAILABLE.code : errorCode,
    replicaNodes: replicaNodes.filter(id => !offline.includes(id)),
    isrNodes: isrNodes.filter(id => !offline.includes(id)),
  }
}

function refusedRow(name: string | null, topicId: string, refusal: Refusal, apiVersion: number): TopicRow {
  // Only versions with ids may leave the name out of an answer.
  const said = name ?? (apiVersion >= FIRST_WITH_IDS ? null : '')
  return { errorCode: refusal.code, name: said, topicId, isInternal: false, partitions: [] }
}

function answerOf(rooms: Rooms, { body, connection, permissions }: Request<Body>, rows: readonly TopicRow[]): Answer {
  const { policy } = permissions
  const topicOperations = ({ name, errorCode }: TopicRow) => {
    const isShown = body.includeTopicAuthorizedOperations && errorCode !== TOPIC_AUTHORIZATION_FAILED.code
    return isShown ? operationsOf(policy, 'TOPIC', name ?? '') : NOT_ASKED
  }
  return {
    brokers: nodesOf(rooms.cluster, connection.listener).map(({ id, ...node }) => ({ nodeId: id, ...node })),
    clusterId: rooms.catalogue.current().clusterId,
    controllerId: controllerOf(rooms.cluster),
    topics: rows.map(row => ({ ...row, topicAuthorizedOperations: topicOperations(row) })),
    clusterAuthorizedOperations: body.includeClusterAuthorizedOperations ? clusterOperationsOf(permissions) : NOT_ASKED,
    errorCode: NONE,
  }
}
