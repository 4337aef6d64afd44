// Topics: list, create, describe, configs, partitions, delete, and the deletion of records. The rules are in admin/.

import { alterConfigs } from '../../admin/configs.ts'
import { createPartitions } from '../../admin/partitions.ts'
import { checkPartition, deleteBelow, findTopic } from '../../admin/reach.ts'
import {
  describeConfigsOf,
  describeTopic,
  isRanked,
  listTopicNames,
  listTopics,
  showConfig,
} from '../../admin/topic-listing.ts'
import { createTopics, deleteTopics } from '../../admin/topics.ts'
import {
  configChangeShape,
  createdTopicShape,
  DEFAULT_TOPIC_LIMIT,
  deletedRecordsShape,
  grownTopicShape,
  MAX_DELETIONS,
  newPartitionsShape,
  newTopicShape,
  recordDeletionShape,
  topicConfigsShape,
  topicListQuery,
  topicListShape,
  topicParams,
  topicShape,
} from '../../api/topics.ts'
import { RANKED_TOPIC_SORTS } from '../../api/words.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { problem } from '../problems.ts'
import { reply, route } from '../route.ts'

/** The time in ms that the store has to make the change; browsers and proxies wait longer. */
const TIMEOUT_MS = 20_000
const RANKED_SORTS = RANKED_TOPIC_SORTS.join(', ')

const topicProblems = { 400: 'INVALID_TOPIC_EXCEPTION', 404: 'UNKNOWN_TOPIC_OR_PARTITION', 503: 'REQUEST_TIMED_OUT' }

export const topicRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/topics',
    needs: 'viewer',
    verb: 'list topics',
    tag: 'topics',
    doc:
      'A page of the topics whose names contain `q`, upper and lower case alike, and how many there are. `names` leaves only the topics that ' +
      'it lists. With `fields=name` each has only its name, and without a `limit` there is one page.',
    query: topicListQuery,
    answers: { 200: topicListShape },
    async answer({ query }, rooms) {
      const { fields, limit, names, internal, ...rest } = query
      const request = { ...rest, names: names?.split(','), hasInternal: internal === 'true' }
      const { sort, offset } = request
      if (fields === undefined)
        return reply(200, { ...(await listTopics(rooms, { ...request, limit: limit ?? DEFAULT_TOPIC_LIMIT })), offset })
      if (!isRanked(sort)) {
        const why = `takes ${RANKED_SORTS} with fields=name; ${sort} has to be asked of every partition`
        return problem('INVALID_REQUEST', `sort ${why}.`, { fields: { sort: why } })
      }
      const found = await listTopicNames(rooms, { ...request, sort, limit: limit ?? Number.POSITIVE_INFINITY })
      return reply(200, { ...found, offset })
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/topics',
    needs: 'admin',
    verb: 'create topic',
    tag: 'topics',
    doc: 'Creates a topic; with `validateOnly` it only checks.',
    body: newTopicShape,
    audited: ['name', 'partitions', 'replicationFactor', 'configs', 'validateOnly'],
    answers: { 200: createdTopicShape, 201: createdTopicShape },
    problems: {
      400: 'INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, INVALID_CONFIG',
      409: 'TOPIC_ALREADY_EXISTS',
      503: 'REQUEST_TIMED_OUT',
    },
    async answer({ body }, rooms) {
      const { name, partitions = -1, replicationFactor = -1, configs = {}, validateOnly = false } = body
      const overrides = Object.entries(configs).map(([config, value]) => ({ name: config, value }))
      const request = { name, partitions, replicationFactor, assignments: [], configs: overrides }
      const [outcome] = await createTopics(rooms, [request], { validateOnly, timeoutMs: TIMEOUT_MS, auto: false })
      const { result } = outcome!
      if (isRefusal(result)) return result
      return reply(validateOnly ? 200 : 201, {
        name,
        id: validateOnly ? null : result.topicId,
        partitions: result.partitions,
        replicationFactor: result.replicationFactor,
        configs: result.configs.map(showConfig),
      })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/topics/:topic',
    needs: 'viewer',
    verb: 'describe topic',
    tag: 'topics',
    doc: 'A topic with its partitions: the leader and the replicas of each, its first and its end offset, and its size.',
    params: topicParams,
    answers: { 200: topicShape },
    problems: topicProblems,
    async answer({ params }, rooms) {
      const found = await describeTopic(rooms, params.topic)
      return isRefusal(found) ? found : reply(200, found)
    },
  }),

  route({
    method: 'DELETE',
    path: '/api/v1/topics/:topic',
    needs: 'admin',
    verb: 'delete topic',
    tag: 'topics',
    doc: 'Deletes a topic with everything in it.',
    params: topicParams,
    answers: { 204: null },
    problems: topicProblems,
    async answer({ params }, rooms) {
      const topic = await findTopic(rooms, params.topic)
      if (isRefusal(topic)) return topic
      const reference = { name: topic.name, topicId: null }
      const [outcome] = await deleteTopics(rooms, [reference], { timeoutMs: TIMEOUT_MS })
      return isRefusal(outcome!.result) ? outcome!.result : reply(204)
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/topics/:topic/configs',
    needs: 'viewer',
    verb: 'describe topic configs',
    tag: 'topics',
    doc: 'Every config of the topic, the source of its value, and its meaning. Values are text: some pass 2^53.',
    params: topicParams,
    answers: { 200: topicConfigsShape },
    problems: topicProblems,
    async answer({ params }, rooms) {
      const configs = await describeConfigsOf(rooms, params.topic)
      return isRefusal(configs) ? configs : reply(200, { configs })
    },
  }),

  route({
    method: 'PUT',
    path: '/api/v1/topics/:topic/configs',
    needs: 'admin',
    verb: 'alter topic configs',
    tag: 'topics',
    doc: 'Sets some configs of the topic and takes others back to their setting or default. Other configs stay. The broker applies all changes or none.',
    params: topicParams,
    body: configChangeShape,
    audited: ['set', 'delete', 'validateOnly'],
    answers: { 200: topicConfigsShape },
    problems: { ...topicProblems, 400: 'INVALID_TOPIC_EXCEPTION, INVALID_CONFIG' },
    async answer({ params, body: { set = {}, delete: gone = [], validateOnly = false } }, rooms) {
      const topic = await findTopic(rooms, params.topic)
      if (isRefusal(topic)) return topic
      const edits = [
        ...Object.entries(set).map(([name, value]) => ({ name, operation: 'set' as const, value })),
        ...gone.map(name => ({ name, operation: 'delete' as const, value: null })),
      ]
      const change = { resource: { type: 'topic' as const, name: topic.name }, isWhole: false, edits }
      const [refusal] = await alterConfigs(rooms, [change], { validateOnly })
      if (isRefusal(refusal)) return refusal
      const configs = await describeConfigsOf(rooms, topic.name)
      return isRefusal(configs) ? configs : reply(200, { configs })
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/topics/:topic/partitions',
    needs: 'admin',
    verb: 'add partitions',
    tag: 'topics',
    doc: 'Gives a topic more partitions, never fewer; with `validateOnly` it only checks. A key may go to another partition from then on.',
    params: topicParams,
    body: newPartitionsShape,
    audited: ['count', 'validateOnly'],
    answers: { 200: grownTopicShape },
    problems: { ...topicProblems, 400: 'INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS' },
    async answer({ params, body: { count, validateOnly = false } }, rooms) {
      const topic = await findTopic(rooms, params.topic)
      if (isRefusal(topic)) return topic
      const request = { name: topic.name, count, assignments: null }
      const [outcome] = await createPartitions(rooms, [request], { validateOnly, timeoutMs: TIMEOUT_MS })
      const { result } = outcome!
      return isRefusal(result) ? result : reply(200, { name: topic.name, partitions: result })
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/topics/:topic/records/delete',
    needs: 'admin',
    verb: 'delete records',
    tag: 'topics',
    doc:
      'Deletes the oldest records of partitions, up to an offset or all. Partitions do not wait for each other: each row has the result of ' +
      'one partition, and a second request is safe.',
    params: topicParams,
    body: recordDeletionShape,
    // Each row is an object of two members.
    mostValues: 5 * MAX_DELETIONS + 10,
    audited: ['offsets'],
    answers: { 200: deletedRecordsShape },
    problems: {
      ...topicProblems,
      400: 'INVALID_TOPIC_EXCEPTION, OFFSET_OUT_OF_RANGE',
      503: 'REQUEST_TIMED_OUT, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR',
    },
    async answer({ params, body: { offsets } }, rooms) {
      const topic = await findTopic(rooms, params.topic)
      if (isRefusal(topic)) return topic
      if (new Set(offsets.map(({ partition }) => partition)).size < offsets.length)
        return problem('INVALID_REQUEST', 'offsets: a partition is named more than once.')
      const stranger = offsets.map(({ partition }) => checkPartition(topic, partition)).find(isRefusal)
      if (stranger !== undefined) return stranger
      const places = offsets.map(({ partition, before }) => ({
        topic,
        partition,
        offset: before === 'end' ? -1 : before,
      }))
      const results = await deleteBelow(rooms, places)
      if (results.every(isRefusal)) return results[0]!
      const partitions = places.map(({ partition }, i) => {
        const result = results[i]!
        if (!isRefusal(result)) return { partition, start: result, error: null }
        return { partition, start: null, error: { code: result.name, detail: result.message } }
      })
      return reply(200, { partitions })
    },
  }),
]
