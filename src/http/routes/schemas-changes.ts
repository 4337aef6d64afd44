// Registration of schemas, and deletion of versions and subjects.

import {
  checkSchema,
  type DeletionOptions,
  deleteSchemas,
  misfitInWords,
  referrersInWords,
  registerSchema,
} from '../../admin/schemas/changes.ts'
import type { SchemaRooms } from '../../admin/schemas/subjects.ts'
import {
  newSchemaShape,
  SCHEMA_BODY_BYTES,
  schemaDeletionQuery,
  schemaDeletionShape,
  schemaSubjectParams,
  schemaVersionParams,
  schemaVersionShape,
} from '../../api/schemas.ts'
import { cut } from '../../base/cut.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../../registry/refusals.ts'
import { problem } from '../problems.ts'
import { type Answer, reply } from '../route.ts'
import { schemaRoute } from '../schema-route.ts'

const INCOMPATIBLE = refusals.incompatible('', []).code
const REFERENCED = refusals.referenced('', 0).code

export const schemaChangeRoutes = [
  schemaRoute({
    method: 'POST',
    path: '/api/v1/schemas/subjects/:subject/versions',
    needs: 'admin',
    verb: 'register schema',
    doc: 'Adds a version with this schema, or answers the version that has it already.',
    params: schemaSubjectParams,
    body: newSchemaShape,
    bodyLimit: SCHEMA_BODY_BYTES,
    audited: ['type'],
    answers: { 200: schemaVersionShape },
    problems: { 400: 'INVALID_SCHEMA', 404: 'SCHEMA_REGISTRY_OFF', 409: 'INCOMPATIBLE_SCHEMA, CONFLICT, UNREADABLE' },
    async answer({ params: { subject }, body }, its) {
      const made = await registerSchema(its.registry, subject, body)
      if (!isRefusal(made)) return reply(200, made)
      if (made.code !== INCOMPATIBLE) return made
      const checked = await checkSchema(its.registry, subject, body)
      const why = isRefusal(checked) ? null : misfitInWords(checked)
      return why === null ? made : problem('INCOMPATIBLE_SCHEMA', why)
    },
  }),
  schemaRoute({
    method: 'DELETE',
    path: '/api/v1/schemas/subjects/:subject',
    needs: 'admin',
    verb: 'delete schema subject',
    doc: 'Deletes all versions of a subject. With `permanent` it removes a deleted subject, with its level and its mode.',
    params: schemaSubjectParams,
    query: schemaDeletionQuery,
    answers: { 200: schemaDeletionShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'REFERENCED, CONFLICT, UNREADABLE' },
    async answer({ params: { subject }, query }, its) {
      const options = { isPermanent: query.permanent === 'true', isDryRun: query.dryRun === 'true' }
      return await answerDeletion(its, subject, null, options)
    },
  }),
  schemaRoute({
    method: 'DELETE',
    path: '/api/v1/schemas/subjects/:subject/versions/:version',
    needs: 'admin',
    verb: 'delete schema version',
    doc: 'Deletes one version, or removes a deleted one with `permanent`.',
    params: schemaVersionParams,
    query: schemaDeletionQuery,
    answers: { 200: schemaDeletionShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'REFERENCED, CONFLICT, UNREADABLE' },
    async answer({ params: { subject, version }, query }, its) {
      const options = { isPermanent: query.permanent === 'true', isDryRun: query.dryRun === 'true' }
      return await answerDeletion(its, subject, version, options)
    },
  }),
]

/** With null the whole subject is deleted. */
async function answerDeletion(
  rooms: SchemaRooms,
  subject: string,
  version: string | null,
  options: DeletionOptions,
): Promise<Answer | RegistryRefusal> {
  const deleted = await deleteSchemas(rooms, subject, version, options)
  if (!isRefusal(deleted)) return reply(200, deleted)
  if (deleted.code !== REFERENCED) return deleted
  const who = await referrersInWords(rooms.registry, subject, version, options.isPermanent)
  const what =
    version === null ? `the subject '${cut(subject)}'` : `version ${version} of the subject '${cut(subject)}'`
  return who === null ? deleted : problem('REFERENCED', `Other schemas refer to ${what}: ${who}. Delete them first.`)
}
