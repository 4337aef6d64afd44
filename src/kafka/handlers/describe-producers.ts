// DescribeProducers 0 (KIP-664): lists the idempotent producers of partitions. Only the leader of a partition lists
// them. Another broker answers NOT_LEADER_OR_FOLLOWER, because it does not keep them.
//
// A partition that is named more than once is refused in each of its rows, because a row costs much more than its
// name. There are no transactions, so the coordinator epoch and the start of a transaction are -1. Unlike in Apache
// Kafka, the last timestamp is the time when this broker wrote the producer's last batch, and not the newest time in
// the batch.

import { producersOf } from '../../admin/producers.ts'
import { cut } from '../../base/cut.ts'
import {
  because,
  INVALID_REQUEST,
  INVALID_TOPIC_EXCEPTION,
  isRefusal,
  NONE,
  type Refusal,
} from '../../protocol/errors.ts'
import { describeProducers } from '../../protocol/messages/describe-producers.ts'
import { checkTopicName } from '../../protocol/names.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onTopics } from '../needs.ts'
import { findPartition, findRepeated, findTopic, keyOf, lookForTopics } from '../partitions.ts'

type Row = ResponseInput<typeof describeProducers>['topics'][number]['partitions'][number]

const NO_TRANSACTION = -1
const TWICE = because(INVALID_REQUEST, 'Each partition must appear at most once.')

export const describeProducersHandler = handler(describeProducers, rooms => ({
  needs: ({ body }) => onTopics('READ', 'name', body.topics),
  async answer({ body, permissions }) {
    const asked = body.topics.map(({ name, partitionIndexes }) => ({ topic: name, partitions: partitionIndexes }))
    const repeated = findRepeated(asked)
    await lookForTopics(
      rooms,
      permissions,
      'name',
      asked.map(({ topic }) => topic),
    )
    const topics = body.topics.map(({ name, partitionIndexes }) => {
      const denied = permissions.topic('name', name)
      const wrong = checkTopicName(name)
      const topic = wrong === null ? findTopic(rooms.catalogue.current(), 'name', name) : invalidTopic(wrong)
      return {
        name,
        partitions: partitionIndexes.map((partitionIndex): Row => {
          if (denied !== null) return refusedRow(partitionIndex, denied)
          if (repeated.has(keyOf(name, partitionIndex))) return refusedRow(partitionIndex, TWICE)
          const partition = findPartition(rooms, topic, partitionIndex)
          if (isRefusal(partition)) return refusedRow(partitionIndex, partition)
          const activeProducers = producersOf(partition).map(({ producerId, epoch, lastSequence, lastAppendMs }) => ({
            producerId,
            producerEpoch: epoch,
            lastSequence,
            lastTimestamp: lastAppendMs,
            coordinatorEpoch: NO_TRANSACTION,
            currentTxnStartOffset: NO_TRANSACTION,
          }))
          return { partitionIndex, errorCode: NONE, errorMessage: null, activeProducers }
        }),
      }
    })
    return { topics }
  },
  refused: ({ body }, refusal) => ({
    topics: body.topics.map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map(partitionIndex => refusedRow(partitionIndex, refusal)),
    })),
  }),
}))

function invalidTopic(why: string): Refusal {
  return because(INVALID_TOPIC_EXCEPTION, `Topic name is invalid: ${cut(why)}`)
}

function refusedRow(partitionIndex: number, { code, message }: Refusal): Row {
  return { partitionIndex, errorCode: code, errorMessage: message, activeProducers: [] }
}
