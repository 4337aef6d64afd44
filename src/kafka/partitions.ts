// Finds the partition that a row of a request names, and rows that name the same partition. Requests name topics by
// name or, in later versions (KIP-516), by id. An unknown name and an unknown id have different error codes.

import { replicasOf } from '../admin/replicas.ts'
import { type Catalogue, type Topic, unreadableTopic } from '../log/catalogue.ts'
import type { Partition } from '../log/partition.ts'
import {
  because,
  isRefusal,
  LEADER_NOT_AVAILABLE,
  LISTENER_NOT_FOUND,
  NONE,
  NOT_LEADER_OR_FOLLOWER,
  type Refusal,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import type { Listener } from './connection/session.ts'
import type { Rooms } from './handler.ts'
import type { Naming } from './needs.ts'
import { nodesOf } from './nodes.ts'
import type { Permissions } from './permissions.ts'

export type { Naming } from './needs.ts'

/** Returns the topic that a request names in this way, or the refusal if it is unknown or unreadable. */
export function findTopic(catalogue: Catalogue, naming: Naming, said: string): Topic | Refusal {
  if (naming === 'topicId') return catalogue.topicsById.get(said) ?? UNKNOWN_TOPIC_ID
  const topic = catalogue.topics.get(said)
  if (topic !== undefined) return topic
  return catalogue.unreadable.has(said) ? unreadableTopic(said) : UNKNOWN_TOPIC_OR_PARTITION
}

/**
 * Looks for topics that another broker may have created, if one of these is unknown. A handler waits for this before
 * it refuses topics as unknown. Returns null if all are known, or if no other broker can create topics. A topic that
 * the client may not ask for is not looked for: the time of the answer would tell whether it exists.
 */
export function lookForTopics(
  { catalogue }: Rooms,
  permissions: Permissions,
  naming: Naming,
  said: readonly string[],
): Promise<void> | null {
  if (!catalogue.isShared) return null
  const known = catalogue.current()
  const isMissing = (each: string) =>
    isRefusal(findTopic(known, naming, each)) && permissions.topic(naming, each) === null
  return said.some(isMissing) ? catalogue.catchUp() : null
}

/**
 * Returns a function that does the same for one topic and keeps requests in order. If an earlier request waits for
 * the topic, a later one waits with it, even if the topic is known by then.
 */
export function lookInOrder(rooms: Rooms) {
  const looks = new Map<string, Promise<void>>()
  return (permissions: Permissions, naming: Naming, said: string): Promise<void> | null => {
    const earlier = looks.get(said)
    if (earlier !== undefined) return earlier
    const look = lookForTopics(rooms, permissions, naming, [said])
    if (look === null) return null
    looks.set(said, look)
    const over = () => void looks.delete(said)
    look.then(over, over)
    return look
  }
}

export function findPartition(rooms: Rooms, topic: Topic | Refusal, index: number): Partition | Refusal {
  if (isRefusal(topic)) return topic
  const partition = rooms.logs.partition(topic.id, index)
  if (partition !== null) return partition
  return index >= 0 && index < topic.partitions ? LED_ELSEWHERE : UNKNOWN_TOPIC_OR_PARTITION
}

const LED_ELSEWHERE = because(NOT_LEADER_OR_FOLLOWER, 'Another broker leads the partition.')

/**
 * Returns a function that gives the leader and the replicas of a partition (admin/replicas.ts), in the form of
 * Metadata and DescribeTopicPartitions. A replica that clients of this listener cannot reach is offline for them.
 */
export function placing({ cluster, logs }: Rooms, listener: Listener) {
  const reachable = new Set(nodesOf(cluster, listener).map(node => node.id))
  return (topic: Topic, partitionIndex: number) => {
    const { leaderId, ids, inSync } = replicasOf(cluster, topic, partitionIndex)
    const offlineReplicas = ids.filter(id => !reachable.has(id))
    const replicas = { partitionIndex, replicaNodes: ids, isrNodes: inSync, offlineReplicas }
    const unled = ({ code }: Refusal) => ({ errorCode: code, leaderId: -1, leaderEpoch: -1, ...replicas })
    if (leaderId < 0) return unled(LEADER_NOT_AVAILABLE)
    if (leaderId !== cluster.brokerId) {
      if (!reachable.has(leaderId)) return unled(LISTENER_NOT_FOUND)
      return { errorCode: NONE, leaderId, leaderEpoch: cluster.epochOf(topic.id, partitionIndex), ...replicas }
    }
    const partition = logs.partition(topic.id, partitionIndex)
    if (partition === null || !cluster.isConfirmed) return unled(LEADER_NOT_AVAILABLE)
    return { errorCode: NONE, leaderId, leaderEpoch: partition.leaderEpoch, ...replicas }
  }
}

/** The leader of a partition, for clients that sent their request to another broker (KIP-951). */
export interface CurrentLeader {
  readonly leaderId: number
  readonly leaderEpoch: number
}

/**
 * Collects the leaders of partitions that a client requested from the wrong broker, and their endpoints on this
 * listener. So the client needs no Metadata request to continue (KIP-951).
 */
export function createLeaderNames({ cluster, catalogue }: Rooms, listener: Listener) {
  const named = new Set<number>()
  return {
    /**
     * Returns the leader of a refused partition. Returns NO_LEADER if the refusal does not say that another broker
     * leads, or if no other leader is known.
     */
    nameFor(refusal: Refusal, naming: Naming, said: string, index: number): CurrentLeader {
      const topic = findTopic(catalogue.current(), naming, said)
      if (refusal.code !== NOT_LEADER_OR_FOLLOWER.code || isRefusal(topic)) return NO_LEADER
      const leaderId = cluster.leaderOf(topic.id, index)
      if (leaderId === cluster.brokerId || leaderId < 0) return NO_LEADER
      named.add(leaderId)
      return { leaderId, leaderEpoch: cluster.epochOf(topic.id, index) }
    },
    /** Returns the endpoints of the named leaders. */
    endpoints() {
      if (named.size === 0) return []
      return nodesOf(cluster, listener).flatMap(({ id, ...node }) => (named.has(id) ? [{ nodeId: id, ...node }] : []))
    },
  }
}

const NO_LEADER: CurrentLeader = Object.freeze({ leaderId: -1, leaderEpoch: -1 })

/** One topic of a request with the partitions that its rows name. */
export interface Named {
  readonly topic: string
  readonly partitions: readonly number[]
}

/**
 * Returns the keys (see keyOf) of the rows that are named more than once. The set is empty for nearly every request.
 */
export function findRepeated(topics: readonly Named[]): ReadonlySet<string> {
  if (areDistinct(topics)) return NONE_REPEATED
  const repeated = new Set<string>()
  const seen = new Set<string>()
  for (const { topic, partitions } of topics) {
    for (const partition of partitions) {
      const key = keyOf(topic, partition)
      if (seen.has(key)) repeated.add(key)
      seen.add(key)
    }
  }
  return repeated
}

const NONE_REPEATED: ReadonlySet<string> = new Set()

function areDistinct(topics: readonly Named[]): boolean {
  if (topics.length > 1 && new Set(topics.map(({ topic }) => topic)).size < topics.length) return false
  return topics.every(({ partitions }) => isAscending(partitions) || new Set(partitions).size === partitions.length)
}

/** Most clients name partitions in ascending order. */
function isAscending(numbers: readonly number[]): boolean {
  for (let at = 1; at < numbers.length; at++) if (numbers[at]! <= numbers[at - 1]!) return false
  return true
}

export function keyOf(topic: string, partition: number): string {
  return `${partition}:${topic}`
}
