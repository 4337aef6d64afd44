// CreateTopics 2-7: creates topics, or with validateOnly says whether it could. The rules are in admin/topics.ts.
//
// One row for each topic name; a name that is given twice is refused with INVALID_REQUEST in its one row, as in Kafka. The
// answer comes when the topics are durable and take appends, or with REQUEST_TIMED_OUT after the client's timeout; they may
// be created all the same.
//
// Versions: 4 takes -1 partitions and replicas for the defaults (KIP-464), earlier ones do here too. 5 answers what the topic
// came to be: partitions, replicas, configs (KIP-525). 7 answers the id (KIP-516).

import type { CreatedTopic } from '../../admin/contract.ts'
import { createTopics as create } from '../../admin/topics.ts'
import { isRefusal, NONE, type Refusal } from '../../protocol/errors.ts'
import { createTopics } from '../../protocol/messages/create-topics.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import { CONFIG_SOURCES } from '../configs.ts'
import { handler } from './handler.ts'

type Row = ResponseInput<typeof createTopics>['topics'][number]

export const createTopicsHandler = handler(createTopics, rooms => ({
  async answer({ body }) {
    const requests = body.topics.map(({ name, numPartitions, replicationFactor, assignments, configs }) => ({
      name,
      partitions: numPartitions,
      replicationFactor,
      assignments: assignments.map(({ partitionIndex, brokerIds }) => ({ partition: partitionIndex, brokerIds })),
      configs,
    }))
    const { validateOnly, timeoutMs } = body
    const outcomes = await create(rooms, requests, { validateOnly, timeoutMs, auto: false })
    return { topics: outcomes.map(({ name, result }) => rowOf(name, result)) }
  },
  refused: ({ body }, refusal) => ({
    topics: [...new Set(body.topics.map(topic => topic.name))].map(name => rowOf(name, refusal)),
  }),
}))

function rowOf(name: string, result: CreatedTopic | Refusal): Row {
  if (isRefusal(result)) return { name, errorCode: result.code, errorMessage: result.message, configs: null }
  const configs = result.configs.map(each => ({
    name: each.name,
    value: each.value,
    readOnly: each.isReadOnly,
    configSource: CONFIG_SOURCES[each.source],
    isSensitive: each.isSensitive,
  }))
  const { topicId, partitions, replicationFactor } = result
  return { name, topicId, errorCode: NONE, errorMessage: null, numPartitions: partitions, replicationFactor, configs }
}
