// The topics whose records are judged against the schemas of a subject, and how many records were refused.

import { judgedTopicParams, judgedTopicShape, judgedTopicsQuery, judgedTopicsShape } from '../../api/schemas.ts'
import { route } from '../route.ts'
import { registryOf } from '../schema-problems.ts'

export const schemaTopicRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/schemas/topics',
    needs: 'viewer',
    verb: 'list judged topics',
    tag: 'schemas',
    doc: 'A page of the topics whose keys or values are judged, with the records that were not valid.',
    query: judgedTopicsQuery,
    answers: { 200: judgedTopicsShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF' },
    answer: (_request, rooms) => registryOf(rooms) as never,
  }),
  route({
    method: 'GET',
    path: '/api/v1/schemas/topics/:topic',
    needs: 'viewer',
    verb: 'show judged topic',
    tag: 'schemas',
    doc: 'How the keys and the values of one topic are judged.',
    params: judgedTopicParams,
    answers: { 200: judgedTopicShape },
    problems: { 400: 'INVALID_TOPIC_EXCEPTION', 404: 'UNKNOWN_TOPIC_OR_PARTITION, SCHEMA_REGISTRY_OFF' },
    answer: (_request, rooms) => registryOf(rooms) as never,
  }),
]
