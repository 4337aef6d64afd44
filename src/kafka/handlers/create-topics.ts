// CreateTopics 2-7: creates topics. With validateOnly it only says whether it could. The rules are in
// admin/topics.ts.
//
// The answer has one row for each topic name. A name that is given twice has one row with INVALID_REQUEST, as in
// Kafka. The answer is sent when the topics are durable and accept appends. After the client's timeout the answer is
// REQUEST_TIMED_OUT, although the topics may still be created.
//
// Versions: from 4 on, -1 partitions or replicas mean the defaults (KIP-464); this broker accepts -1 in earlier
// versions too. From 5 on, the answer has the partitions, replicas and configs of the new topic (KIP-525). From 7 on,
// it has the id (KIP-516).

import type { CreatedTopic } from '../../admin/contract.ts'
import { createTopics as create } from '../../admin/topics.ts'
import { isRefusal, NONE, type Refusal, TOPIC_AUTHORIZATION_FAILED } from '../../protocol/errors.ts'
import { createTopics } from '../../protocol/messages/create-topics.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { CONFIG_SOURCES } from '../configs.ts'
import { handler } from '../handler.ts'
import { CLUSTER, type Need, onEach, orElse } from '../needs.ts'

type Row = ResponseInput<typeof createTopics>['topics'][number]

export const createTopicsHandler = handler(createTopics, rooms => ({
  needs: ({ apiVersion, body }) => needsOf(body, apiVersion),
  audit: ({ body }) => ({ verb: 'create topics', what: body.topics.map(({ name }) => name) }),
  async answer({ body, permissions }) {
    const denied = (name: string) => permissions.topic('name', name)
    const allowed = body.topics.filter(({ name }) => denied(name) === null)
    const requests = allowed.map(({ name, numPartitions, replicationFactor, assignments, configs }) => ({
      name,
      partitions: numPartitions,
      replicationFactor,
      assignments: assignments.map(({ partitionIndex, brokerIds }) => ({ partition: partitionIndex, brokerIds })),
      configs,
    }))
    const { validateOnly, timeoutMs } = body
    const outcomes = await create(rooms, requests, { validateOnly, timeoutMs, auto: false })
    const results = new Map(outcomes.map(({ name, result }) => [name, result]))
    const rows = Array.from(new Set(body.topics.map(({ name }) => name)), name => {
      const row = rowOf(name, results.get(name) ?? denied(name)!)
      return row.errorCode !== NONE || permissions.shows('TOPIC', name) ? row : withoutConfigs(row)
    })
    return { topics: rows }
  },
  refused: ({ body }, refusal) => ({
    topics: [...new Set(body.topics.map(topic => topic.name))].map(name => rowOf(name, refusal)),
  }),
}))

/**
 * Returns the needs of a request. From version 5 on an answer shows the configs of a topic to clients that may
 * describe them.
 */
function needsOf({ topics }: RequestOf<typeof createTopics>, apiVersion: number): readonly Need[] {
  const names = topics.map(({ name }) => name)
  const create = orElse(onEach('CREATE', 'TOPIC', names), () => ({ operation: 'CREATE', resource: CLUSTER }))
  return apiVersion < 5 ? create : [...create, ...onEach('DESCRIBE_CONFIGS', 'TOPIC', names, 'hidden')]
}

/** Returns the row for a client that may create the topic and not see its configs, as in Kafka. */
function withoutConfigs({ name, topicId, errorCode }: Row): Row {
  return {
    name,
    topicId,
    errorCode,
    errorMessage: null,
    topicConfigErrorCode: TOPIC_AUTHORIZATION_FAILED.code,
    configs: [],
  }
}

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
