// Topics: list, create, describe, configs, partitions, delete, and the deletion of records. The rules are in admin/.

import {
  alterTopicConfigs,
  createTopic,
  deleteOldestRecords,
  deleteTopic,
  growTopic,
} from '../../admin/topic-changes.ts'
import { describeTopic, listTopicPage, showTopicConfigs } from '../../admin/topic-listing.ts'
import {
  configChangeShape,
  createdTopicShape,
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
import { found, reply, route } from '../route.ts'

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
      return found(await listTopicPage(rooms, query))
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
      return found(await createTopic(rooms, body), body.validateOnly === true ? 200 : 201)
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
    async answer({ params: { topic } }, rooms) {
      return found(await describeTopic(rooms, topic))
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
    async answer({ params: { topic } }, rooms) {
      return (await deleteTopic(rooms, topic)) ?? reply(204)
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
    async answer({ params: { topic } }, rooms) {
      return found(await showTopicConfigs(rooms, topic))
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
    async answer({ params: { topic }, body }, rooms) {
      return found(await alterTopicConfigs(rooms, topic, body))
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
    async answer({ params: { topic }, body }, rooms) {
      return found(await growTopic(rooms, topic, body))
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
    async answer({ params: { topic }, body }, rooms) {
      return found(await deleteOldestRecords(rooms, topic, body))
    },
  }),
]
