// The topics whose records are judged against the schemas of a subject, and how many records were refused.

import { listJudgedPage, showJudgedTopic } from '../../admin/schemas/judged.ts'
import { judgedTopicParams, judgedTopicShape, judgedTopicsQuery, judgedTopicsShape } from '../../api/judged-topics.ts'
import { reply } from '../route.ts'
import { found, schemaRoute } from '../schema-route.ts'

export const schemaTopicRoutes = [
  schemaRoute({
    method: 'GET',
    path: '/api/v1/schemas/topics',
    needs: 'viewer',
    verb: 'list judged topics',
    doc: 'A page of the topics whose keys or values are judged, with the records that were not valid.',
    query: judgedTopicsQuery,
    answers: { 200: judgedTopicsShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF' },
    answer: async ({ query }, its) => reply(200, await listJudgedPage(its, query)),
  }),
  schemaRoute({
    method: 'GET',
    path: '/api/v1/schemas/topics/:topic',
    needs: 'viewer',
    verb: 'show judged topic',
    doc: 'How the keys and the values of one topic are judged.',
    params: judgedTopicParams,
    answers: { 200: judgedTopicShape },
    problems: { 400: 'INVALID_TOPIC_EXCEPTION', 404: 'UNKNOWN_TOPIC_OR_PARTITION, SCHEMA_REGISTRY_OFF' },
    answer: async ({ params: { topic } }, its) => found(await showJudgedTopic(its, topic)),
  }),
]
