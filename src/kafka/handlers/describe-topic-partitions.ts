// DescribeTopicPartitions 0 (KIP-966): returns topics with their partitions in pages, in the order of the topics'
// names.
//
// An empty list asks for all topics. An answer has as many partitions as the request allows, at least one and at most
// MOST_PARTITIONS (Kafka's max.request.partition.size.limit). If there are more, its cursor names the topic and the
// partition at which the next request should begin. A topic that does not exist has a row without partitions.
//
// The message has no error of the whole request. If the cursor is invalid, the row of each named topic has
// INVALID_REQUEST, as in Kafka.

import type { Topic } from '../../log/catalogue.ts'
import {
  because,
  INVALID_REQUEST,
  INVALID_TOPIC_EXCEPTION,
  NONE,
  type Refusal,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { describeTopicPartitions } from '../../protocol/messages/describe-topic-partitions.ts'
import { checkTopicName } from '../../protocol/names.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { ZERO_UUID } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onListed, onTopics } from '../needs.ts'
import { operationsOf } from '../operations.ts'
import { placing } from '../partitions.ts'

type Body = RequestOf<typeof describeTopicPartitions>
type Answer = ResponseInput<typeof describeTopicPartitions>
type Row = Answer['topics'][number]

const MOST_PARTITIONS = 2000

export const describeTopicPartitionsHandler = handler(describeTopicPartitions, rooms => ({
  needs: ({ body }) =>
    body.topics.length === 0 ? [onListed('DESCRIBE', 'TOPIC')] : onTopics('DESCRIBE', 'name', body.topics),
  answer({ body, connection, permissions }) {
    const { topics: known } = rooms.catalogue.current()
    const { cursor } = body
    const place = placing(rooms, connection.listener)
    const isForAll = body.topics.length === 0
    const listed = () => [...known.keys()].filter(name => permissions.shows('TOPIC', name))
    const asked = isForAll ? listed() : body.topics.map(topic => topic.name)
    const names = [...new Set(asked)].filter(name => name >= (cursor?.topicName ?? '')).sort()
    const refusal = checkCursor(body, names)
    if (refusal !== null) return refuseAll(body, refusal)
    const topics: Row[] = []
    let left = Math.max(Math.min(body.responsePartitionLimit, MOST_PARTITIONS), 1)
    for (const name of names) {
      if (left === 0) return { topics, nextCursor: { topicName: name, partitionIndex: 0 } }
      const denied = permissions.topic('name', name)
      if (denied !== null) {
        topics.push(refusedRow(name, denied))
        continue
      }
      const topic = known.get(name)
      if (topic === undefined) {
        topics.push(
          refusedRow(name, checkTopicName(name) === null ? UNKNOWN_TOPIC_OR_PARTITION : INVALID_TOPIC_EXCEPTION),
        )
        continue
      }
      const from = name === cursor?.topicName ? cursor.partitionIndex : 0
      const until = Math.min(topic.partitions, from + left)
      const topicAuthorizedOperations = operationsOf(permissions.policy, 'TOPIC', name)
      topics.push({ ...rowOf(place, topic, from, until), topicAuthorizedOperations })
      if (until < topic.partitions) {
        return { topics, nextCursor: { topicName: name, partitionIndex: until } }
      }
      left -= Math.max(until - from, 0)
    }
    return { topics }
  },
  refused: ({ body }, refusal) => refuseAll(body, refusal),
}))

function checkCursor({ topics, cursor }: Body, names: readonly string[]): Refusal | null {
  if (cursor === null) return null
  if (topics.length > 0 && !names.includes(cursor.topicName)) {
    return because(INVALID_REQUEST, `The topic list should contain the cursor topic: ${cursor.topicName}`)
  }
  if (cursor.partitionIndex >= 0) return null
  return because(INVALID_REQUEST, `The cursor partition must be valid: ${cursor.partitionIndex}`)
}

function rowOf(place: ReturnType<typeof placing>, topic: Topic, from: number, until: number): Row {
  const partitions = Array.from({ length: Math.max(until - from, 0) }, (_, i) => ({
    ...place(topic, from + i),
    eligibleLeaderReplicas: [],
    lastKnownElr: [],
  }))
  return {
    errorCode: NONE,
    name: topic.name,
    topicId: topic.id,
    partitions,
  }
}

function refusedRow(name: string, { code }: Refusal): Row {
  return { errorCode: code, name, topicId: ZERO_UUID, partitions: [] }
}

function refuseAll({ topics }: Body, refusal: Refusal): Answer {
  return { topics: topics.map(({ name }) => refusedRow(name, refusal)) }
}
