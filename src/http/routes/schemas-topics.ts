// The topics whose records are judged against the schemas of a subject, and how many records were refused.

import { pageOf, searchFor } from '../../admin/paging.ts'
import { findTopic } from '../../admin/reach.ts'
import { judgedTopic, judgedTopics, liveSubjects } from '../../admin/schemas/judged.ts'
import { judgedTopicParams, judgedTopicShape, judgedTopicsQuery, judgedTopicsShape } from '../../api/judged-topics.ts'
import { isRefusal as isTopicRefusal } from '../../protocol/errors.ts'
import { reply } from '../route.ts'
import { schemaRoute } from '../schema-route.ts'

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
    async answer({ query: { q, all, ...page } }, its) {
      const isWanted = searchFor(q)
      const wanted = judgedTopics(its, await liveSubjects(its.registry), { isAll: all === 'true' }).filter(
        ({ topic }) => isWanted(topic),
      )
      const shown = pageOf(
        wanted,
        page,
        each => each[page.sort],
        each => each.topic,
      )
      return reply(200, { topics: shown, total: wanted.length })
    },
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
    async answer({ params: { topic: name } }, its) {
      const topic = await findTopic(its, name)
      return isTopicRefusal(topic) ? topic : reply(200, judgedTopic(its, await liveSubjects(its.registry), topic))
    },
  }),
]
