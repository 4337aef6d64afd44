// Registration of schemas, and deletion of versions and subjects.

import { deleteSchemas, registerSchema } from '../../admin/schemas/changes.ts'
import {
  newSchemaShape,
  SCHEMA_BODY_BYTES,
  schemaDeletionQuery,
  schemaDeletionShape,
  schemaSubjectParams,
  schemaVersionParams,
  schemaVersionShape,
} from '../../api/schemas.ts'
import { found, schemaRoute } from '../schema-route.ts'

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
      return found(await registerSchema(its.registry, subject, body))
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
      return found(await deleteSchemas(its, subject, null, options))
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
      return found(await deleteSchemas(its, subject, version, options))
    },
  }),
]
