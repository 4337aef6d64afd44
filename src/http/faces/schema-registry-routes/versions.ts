// The routes of versions of subjects.

import { z } from 'zod'
import { isRefusal } from '../../../registry/refusals.ts'
import { isProblem } from '../../problems.ts'
import { type AnyRoute, reply } from '../../route.ts'
import { REGISTRY_TYPES } from '../schema-registry-media.ts'
import { flag, registryRoute } from '../schema-registry-route.ts'
import { schemaIn } from './sent.ts'
import {
  bareText,
  deletedQuery,
  numbers,
  pageQuery,
  registerBody,
  shownSchema,
  subjectParams,
  text,
  versionParams,
} from './shapes.ts'
import { shown, showSchema, showVersion } from './shown.ts'

const NOT_FOUND = 'SUBJECT_NOT_FOUND, VERSION_NOT_FOUND'

export const versionRoutes: readonly AnyRoute[] = [
  registryRoute({
    method: 'GET',
    path: '/subjects/:subject/versions',
    needs: 'read',
    verb: 'list versions',
    doc: 'The numbers of the versions of a subject. With deletedAsNegative, those of deleted versions are negative.',
    params: subjectParams,
    query: z.object({ deletedOnly: flag, deletedAsNegative: flag, ...deletedQuery, ...pageQuery }),
    answers: { 200: numbers },
    problems: { 404: 'SUBJECT_NOT_FOUND' },
    async answer({ registry, params, query: { deleted, deletedOnly, deletedAsNegative, ...page } }) {
      const options = { isDeletedToo: deleted, isDeletedOnly: deletedOnly, isNegative: deletedAsNegative, ...page }
      const found = await registry.versions(params.subject, options)
      return isRefusal(found) ? found : reply(200, found)
    },
  }),
  registryRoute({
    method: 'POST',
    path: '/subjects/:subject/versions',
    needs: 'register',
    verb: 'register schema',
    doc: 'Registers a schema as the next version of a subject. A schema that the subject has already is answered with its id.',
    params: subjectParams,
    query: z.object({ normalize: flag, format: text }),
    body: registerBody,
    audited: ['schemaType', 'id', 'version'],
    answers: { 200: shownSchema },
    problems: {
      409: 'INCOMPATIBLE_SCHEMA',
      422: 'INVALID_SCHEMA, INVALID_VERSION, OPERATION_NOT_PERMITTED, INVALID_SUBJECT, SCHEMA_TOO_LARGE',
    },
    async answer({ registry, caller, params, query: { normalize, format }, body, isWide }) {
      const sent = schemaIn(body, caller, { mayBeEmpty: true })
      if (isProblem(sent)) return sent
      const [id, version] = [numberIn(body.id, 0), numberIn(body.version, 1)]
      const found = await registry.register(params.subject, { ...sent, id, version, normalize })
      if (isRefusal(found)) return found
      if (!isWide) return reply(200, { id: found.id })
      // Confluent answers the canonical text. Its client for Python keeps this schema for its deserializer, which reads
      // Protobuf only as it was sent: in base64.
      const sentAs = found.type === 'PROTOBUF' && /^[\w+/]+=*$/.test(sent.schema) ? 'serialized' : undefined
      const its = await showSchema(registry, found, { isWide, format: format ?? sentAs })
      return isRefusal(its) ? its : reply(200, { id: found.id, version: found.version, ...its })
    },
  }),
  registryRoute({
    method: 'GET',
    path: '/subjects/:subject/versions/:version',
    needs: 'read',
    verb: 'show version',
    doc: 'A version of a subject: a number, or latest.',
    params: versionParams,
    query: z.object({ format: text, ...deletedQuery }),
    answers: { 200: shownSchema },
    problems: { 404: NOT_FOUND, 422: 'INVALID_VERSION' },
    async answer({ registry, params, query: { deleted, format }, isWide }) {
      const found = await registry.byVersion(params.subject, params.version, { isDeletedToo: deleted })
      return isRefusal(found) ? found : shown(await showVersion(registry, found, { isWide, format }))
    },
  }),
  registryRoute({
    method: 'GET',
    path: '/subjects/:subject/versions/:version/schema',
    needs: 'read',
    verb: 'show the text of a version',
    doc: 'The bare text of a version of a subject.',
    params: versionParams,
    query: z.object({ format: text, ...deletedQuery }),
    answers: { 200: bareText },
    contentType: REGISTRY_TYPES,
    problems: { 404: NOT_FOUND, 422: 'INVALID_VERSION' },
    async answer({ registry, params, query: { deleted, format } }) {
      const found = await registry.byVersion(params.subject, params.version, { isDeletedToo: deleted })
      return isRefusal(found) ? found : shown(await registry.formatted(found, format))
    },
  }),
  registryRoute({
    method: 'GET',
    path: '/subjects/:subject/versions/:version/referencedby',
    needs: 'read',
    verb: 'list referrers of a version',
    doc: 'The ids of the schemas that refer to a version, which may be deleted.',
    params: versionParams,
    query: z.object({ ...deletedQuery, ...pageQuery }),
    answers: { 200: numbers },
    problems: { 404: NOT_FOUND, 422: 'INVALID_VERSION' },
    async answer({ registry, caller, params, query: { deleted, ...page } }) {
      const options = { isDeletedToo: deleted, mayShow: caller.rights.mayRead, ...page }
      const found = await registry.referencedBy(params.subject, params.version, options)
      return isRefusal(found) ? found : reply(200, found)
    },
  }),
  registryRoute({
    method: 'DELETE',
    path: '/subjects/:subject/versions/:version',
    needs: 'administer',
    verb: 'delete version',
    doc: 'Deletes a version of a subject. With permanent=true, a deleted version is removed. Its id stays resolvable.',
    params: versionParams,
    query: z.object({ permanent: flag }),
    answers: { 200: z.int() },
    problems: {
      404: `${NOT_FOUND}, VERSION_SOFT_DELETED, VERSION_NOT_SOFT_DELETED`,
      422: 'INVALID_VERSION, OPERATION_NOT_PERMITTED, REFERENCE_EXISTS',
    },
    async answer({ registry, params, query }) {
      const deleted = await registry.deleteVersion(params.subject, params.version, { isPermanent: query.permanent })
      return isRefusal(deleted) ? deleted : reply(200, deleted.versions[0])
    },
  }),
]

/** Returns the number of a body; undefined if it stands for none, as clients without a null write it. */
function numberIn(sent: number | null | undefined, least: number): number | undefined {
  return sent == null || sent < least ? undefined : sent
}
