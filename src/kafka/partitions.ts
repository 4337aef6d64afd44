// Which partition a row of a request means, and which rows mean the same one. Requests name topics by name or, in later
// versions (KIP-516), by id; what is not there has a code of its own for each.

import type { Catalogue, Topic } from '../log/catalogue.ts'
import type { Partition } from '../log/partition.ts'
import {
  isRefusal,
  LEADER_NOT_AVAILABLE,
  NONE,
  type Refusal,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import type { Rooms } from './handlers/handler.ts'

/** How a request names its topics: by `name`, or by `topicId`. */
export type Naming = 'name' | 'topicId'

/** What the request says, as a text of that naming. */
export function findTopic(catalogue: Catalogue, naming: Naming, said: string): Topic | Refusal {
  if (naming === 'topicId') return catalogue.topicsById.get(said) ?? UNKNOWN_TOPIC_ID
  return catalogue.topics.get(said) ?? UNKNOWN_TOPIC_OR_PARTITION
}

export function findPartition(rooms: Rooms, topic: Topic | Refusal, index: number): Partition | Refusal {
  if (isRefusal(topic)) return topic
  return rooms.logs.partition(topic.id, index) ?? UNKNOWN_TOPIC_OR_PARTITION
}

/** Who leads a partition and who holds it, as Metadata and DescribeTopicPartitions answer it. */
export function placePartition({ logs, nodeId }: Rooms, topic: Topic, partitionIndex: number) {
  const partition = logs.partition(topic.id, partitionIndex)
  const replicas = { replicaNodes: [nodeId], isrNodes: [nodeId], offlineReplicas: [] }
  if (partition === null) {
    return { errorCode: LEADER_NOT_AVAILABLE.code, partitionIndex, leaderId: -1, leaderEpoch: -1, ...replicas }
  }
  return { errorCode: NONE, partitionIndex, leaderId: nodeId, leaderEpoch: partition.leaderEpoch, ...replicas }
}

/** One topic of a request with the partitions that its rows name. */
export interface Named {
  readonly topic: string
  readonly partitions: readonly number[]
}

/** The rows that are named more than once, as keyOf says them. Empty for nearly every request. */
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

/** Most clients ask in order. */
function isAscending(numbers: readonly number[]): boolean {
  for (let at = 1; at < numbers.length; at++) if (numbers[at]! <= numbers[at - 1]!) return false
  return true
}

export function keyOf(topic: string, partition: number): string {
  return `${partition}:${topic}`
}
