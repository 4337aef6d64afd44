// Produce 3-13: appends one record batch to each named partition.
//
// For acks -1 and 1 the answer is sent after the store has accepted the append. The store has one copy, or waits for
// replicas by its own setting, so there is no difference between the two. For acks 0 there is no answer. A failure
// closes the connection, and the producer learns of it that way. An append may take at most the smaller of
// `broker.produce-timeout` and the client's timeout. After that the answer is REQUEST_TIMED_OUT, and the records may
// still be written, as in Kafka.
//
// Versions: 7 is the first that may have zstd (KIP-110). 8 has error messages (KIP-467). 10 names the leader if it is
// not this broker (KIP-951). 13 names topics by id only (KIP-516).
//
// Unlike in Apache Kafka, a partition that is named twice in one request is refused in both of its rows. There are no
// transactions yet: a transactional id or batch gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED.

import type { Topic } from '../../log/catalogue.ts'
import type { Appended } from '../../log/lane.ts'
import { partitionName } from '../../log/refused-batches.ts'
import {
  because,
  INVALID_REQUEST,
  INVALID_REQUIRED_ACKS,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  NONE,
  OUT_OF_ORDER_SEQUENCE_NUMBER,
  type Refusal,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
} from '../../protocol/errors.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { checkTopicName } from '../../protocol/names.ts'
import { type BatchView, checkBatches } from '../../protocol/records.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { isStoreFailure } from '../../store/store.ts'
import { CLOSE, handler } from '../handler.ts'
import { onTopics, onTransactionalId } from '../needs.ts'
import {
  createLeaderNames,
  findPartition,
  findRepeated,
  findTopic,
  keyOf,
  lookInOrder,
  type Naming,
} from '../partitions.ts'

type Body = RequestOf<typeof produce>
type PartitionData = Body['topicData'][number]['partitionData'][number]
type Answer = ResponseInput<typeof produce>
type PartitionRow = Answer['responses'][number]['partitionResponses'][number]

const FIRST_WITH_IDS = 13

const TWICE = because(INVALID_REQUEST, 'The partition is named twice in this request.')
const NO_TRANSACTIONS = because(TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'Transactions are not supported.')

export const produceHandler = handler(produce, rooms => {
  const look = lookInOrder(rooms)
  const logger = rooms.logger.named('kafka.produce')
  return {
    needs: ({ apiVersion, body }) => [
      ...(body.transactionalId === null ? [] : [onTransactionalId('WRITE', body.transactionalId)]),
      ...onTopics('WRITE', namingOf(apiVersion), body.topicData),
    ],
    answer({ body, apiVersion, connection, clientId, permissions }) {
      const refusal = refusalOf(body)
      if (refusal !== null) return body.acks === 0 ? CLOSE : refuseAll(body, refusal)
      // A negative timeout of a client counts as 0.
      const timeoutMs = Math.max(0, body.timeoutMs)
      const stallMs = rooms.settings.get('broker.produce-timeout')
      const naming = namingOf(apiVersion)
      const repeated = findRepeated(
        body.topicData.map(topic => ({
          topic: topic[naming],
          partitions: topic.partitionData.map(data => data.index),
        })),
      )
      // Every append is queued at its partition here, before any await, so that requests stay in order. If another
      // broker may have created a topic, it is looked up first, and later requests for it wait behind.
      const appends: Promise<Appended | Refusal>[] = []
      for (const topic of body.topicData) {
        const said = topic[naming]
        const looked = permissions.topic(naming, said) === null ? look(permissions, naming, said) : null
        for (const data of topic.partitionData) {
          if (looked === null) appends.push(append(said, data, null))
          else {
            const unlooked = looked.then(() => null, awayFor)
            appends.push(unlooked.then(refusal => append(said, data, refusal)))
          }
        }
      }
      const answered = (appended: readonly (Appended | Refusal)[]) => {
        if (body.acks === 0) return appended.some(isRefusal) ? CLOSE : null
        return answerOf(body, appended)
      }
      // A small request usually has one batch, and does not need Promise.all.
      return appends.length === 1 ? appends[0]!.then(only => answered([only])) : Promise.all(appends).then(answered)

      /** `unlooked` is the refusal if the topic could not be looked up, else null. */
      function append(
        said: string,
        { index, records }: PartitionData,
        unlooked: Refusal | null,
      ): Promise<Appended | Refusal> {
        const isTwice = repeated.size > 0 && repeated.has(keyOf(said, index))
        const found = findTopic(rooms.catalogue.current(), naming, said)
        const denied = permissions.topic(naming, said)
        const partition = denied ?? (isTwice ? TWICE : (unlooked ?? findPartition(rooms, found, index)))
        if (isRefusal(partition) && !partition.retriable) return Promise.resolve(partition)
        const batch = checkBatches(records, apiVersion)
        if (isRefusal(batch)) return Promise.resolve(batch)
        if (!isRefusal(partition)) return partition.append(batch, timeoutMs, stallMs)
        noteRefused(said, found, index, batch, partition)
        return Promise.resolve(partition)
      }

      function noteRefused(
        said: string,
        found: Topic | Refusal,
        index: number,
        batch: BatchView,
        refusal: Refusal,
      ): void {
        if (!isRefusal(found)) rooms.logs.refused(found, index, batch, refusal)
        else if (naming === 'topicId') rooms.logs.refused({ id: said }, index, batch, refusal)
        else if (checkTopicName(said) === null) rooms.logs.refused({ name: said }, index, batch, refusal)
      }

      /**
       * Logs a batch that is out of order. Usually the next attempt succeeds. If a store has lost the end of a log,
       * some clients never recover.
       */
      function tellOutOfOrder(partition: string, { message }: Refusal): void {
        logger
          .limited('out of order', 10_000)
          .warn(
            'a producer is refused: its sequence numbers do not follow those in the log; restart the client if this goes on',
            { partition, clientId, address: connection.address, reason: message },
          )
      }

      /**
       * Returns the refusal for the rows of one topic: records for other topics of the same request may be in the
       * log.
       */
      function awayFor(error: unknown): Refusal {
        if (!isStoreFailure(error)) throw error
        logger.limited('unlooked', 10_000).warn('a topic could not be looked up for a producer', { error })
        return because(KAFKA_STORAGE_ERROR, `The topic could not be looked up, nothing was written: ${error.message}`)
      }

      function answerOf(body: Body, appended: readonly (Appended | Refusal)[]): Answer {
        let next = 0
        const leaders = createLeaderNames(rooms, connection.listener)
        const responses = body.topicData.map(({ name, topicId, partitionData }) => ({
          name,
          topicId,
          partitionResponses: partitionData.map(({ index }): PartitionRow => {
            const result = appended[next++]!
            const row = rowOf(index, result)
            if (!isRefusal(result)) return row
            if (result.code === OUT_OF_ORDER_SEQUENCE_NUMBER.code) {
              tellOutOfOrder(partitionName(naming === 'name' ? name : topicId, index), result)
            }
            return { ...row, currentLeader: leaders.nameFor(result, naming, naming === 'name' ? name : topicId, index) }
          }),
        }))
        return { responses, nodeEndpoints: leaders.endpoints() }
      }
    },
    refused: ({ body }, refusal) => (body.acks === 0 ? CLOSE : refuseAll(body, refusal)),
    throttleMs: (request, frameBytes) => rooms.throttle.produced(request, frameBytes),
  }
})

function namingOf(apiVersion: number): Naming {
  return apiVersion >= FIRST_WITH_IDS ? 'topicId' : 'name'
}

/** Returns the refusal of the whole request; null if it may be written. */
function refusalOf(body: Body): Refusal | null {
  if (body.acks !== -1 && body.acks !== 0 && body.acks !== 1) {
    return because(INVALID_REQUIRED_ACKS, `acks must be -1, 0 or 1, got ${body.acks}.`)
  }
  return body.transactionalId === null ? null : NO_TRANSACTIONS
}

function rowOf(index: number, appended: Appended | Refusal): PartitionRow {
  if (isRefusal(appended)) {
    const { code, message, recordErrors = [] } = appended
    return { index, errorCode: code, baseOffset: -1, recordErrors: [...recordErrors], errorMessage: message }
  }
  const { baseOffset, logAppendTimeMs, logStartOffset } = appended
  return { index, errorCode: NONE, baseOffset, logAppendTimeMs, logStartOffset }
}

function refuseAll(body: Body, refusal: Refusal): Answer {
  return {
    responses: body.topicData.map(({ name, topicId, partitionData }) => ({
      name,
      topicId,
      partitionResponses: partitionData.map(({ index }) => rowOf(index, refusal)),
    })),
  }
}
