// The routes of subjects.

import { z } from 'zod'
import { isRefusal } from '../../../registry/refusals.ts'
import { isProblem } from '../../problems.ts'
import { type AnyRoute, reply } from '../../route.ts'
import { flag, registryRoute } from '../schema-registry-route.ts'
import { schemaIn } from './sent.ts'
import { deletedQuery, names, numbers, pageQuery, schemaBody, shownSchema, subjectParams, text } from './shapes.ts'
import { shown, showVersion } from './shown.ts'

export const subjectRoutes: readonly AnyRoute[] = [
  registryRoute({
    method: 'GET',
    path: '/subjects',
    needs: 'read',
    verb: 'list subjects',
    doc: 'The subjects that the caller may read, in the order of their names.',
    query: z.object({ subjectPrefix: text, deletedOnly: flag, ...deletedQuery, ...pageQuery }),
    answers: { 200: names },
    async answer({ registry, caller, query: { subjectPrefix: prefix, deleted, deletedOnly, ...page } }) {
      const { mayRead } = caller.rights
      const options = { prefix, isDeletedToo: deleted, isDeletedOnly: deletedOnly, mayShow: mayRead, ...page }
      return reply(200, await registry.subjects(options))
    },
  }),
  registryRoute({
    method: 'POST',
    path: '/subjects/:subject',
    needs: 'lookup',
    verb: 'look up a schema',
    doc: 'The version of the subject that has this schema.',
    params: subjectParams,
    query: z.object({ normalize: flag, format: text, ...deletedQuery }),
    body: schemaBody,
    answers: { 200: shownSchema },
    problems: { 404: 'SUBJECT_NOT_FOUND, SCHEMA_NOT_FOUND', 422: 'INVALID_SCHEMA, SCHEMA_TOO_LARGE' },
    async answer({ registry, caller, params, query, body, isWide }) {
      const sent = schemaIn(body, caller)
      if (isProblem(sent)) return sent
      const { normalize, deleted, format } = query
      const found = await registry.lookUp(params.subject, sent, { normalize, isDeletedToo: deleted })
      return isRefusal(found) ? found : shown(await showVersion(registry, found, { isWide, format }))
    },
  }),
  registryRoute({
    method: 'DELETE',
    path: '/subjects/:subject',
    needs: 'administer',
    verb: 'delete subject',
    doc: 'Deletes all versions of a subject. With permanent=true, a subject whose versions are all deleted is removed, with its level and its mode. Its ids stay resolvable.',
    params: subjectParams,
    query: z.object({ permanent: flag }),
    answers: { 200: numbers },
    problems: {
      404: 'SUBJECT_NOT_FOUND, SUBJECT_SOFT_DELETED, SUBJECT_NOT_SOFT_DELETED',
      422: 'OPERATION_NOT_PERMITTED, REFERENCE_EXISTS',
    },
    async answer({ registry, params, query }) {
      const deleted = await registry.deleteSubject(params.subject, { isPermanent: query.permanent })
      return isRefusal(deleted) ? deleted : reply(200, deleted.versions)
    },
  }),
  registryRoute({
    method: 'GET',
    path: '/subjects/:subject/metadata',
    needs: 'read',
    verb: 'find a version by metadata',
    doc: 'The newest version of the subject whose metadata has all of these properties. Keys and values come in pairs.',
    params: subjectParams,
    query: z.object({ key: list(), value: list(), format: text, ...deletedQuery }),
    answers: { 200: shownSchema },
    problems: { 404: 'SUBJECT_NOT_FOUND, SCHEMA_NOT_FOUND' },
    async answer({ registry, params, query: { key, value, deleted, format }, isWide }) {
      const properties = new Map(key.map((each, at) => [each, value[at] ?? '']))
      const found = await registry.byMetadata(params.subject, properties, { isDeletedToo: deleted })
      return isRefusal(found) ? found : shown(await showVersion(registry, found, { isWide, format }))
    },
  }),
]

function list() {
  return z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform(sent => (sent === undefined ? [] : [sent].flat()))
}
