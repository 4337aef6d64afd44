// Registration of schemas, and deletion of versions and subjects.

import {
  newSchemaShape,
  registeredSchemaShape,
  SCHEMA_BODY_BYTES,
  schemaDeletionQuery,
  schemaDeletionShape,
  schemaSubjectParams,
  schemaVersionParams,
} from '../../api/schemas.ts'
import { route } from '../route.ts'
import { registryOf } from '../schema-problems.ts'

export const schemaChangeRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/schemas/subjects/:subject/versions',
    needs: 'admin',
    verb: 'register schema',
    tag: 'schemas',
    doc: 'Adds a version with this schema, or answers the version that has it already.',
    params: schemaSubjectParams,
    body: newSchemaShape,
    bodyLimit: SCHEMA_BODY_BYTES,
    audited: ['type'],
    answers: { 200: registeredSchemaShape },
    problems: { 400: 'INVALID_SCHEMA', 404: 'SCHEMA_REGISTRY_OFF', 409: 'INCOMPATIBLE_SCHEMA, CONFLICT' },
    answer: (_request, rooms) => registryOf(rooms) as never,
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/schemas/subjects/:subject',
    needs: 'admin',
    verb: 'delete schema subject',
    tag: 'schemas',
    doc: 'Deletes all versions of a subject. With `permanent` it removes a deleted subject, with its level and its mode.',
    params: schemaSubjectParams,
    query: schemaDeletionQuery,
    answers: { 200: schemaDeletionShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'REFERENCED, CONFLICT' },
    answer: (_request, rooms) => registryOf(rooms) as never,
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/schemas/subjects/:subject/versions/:version',
    needs: 'admin',
    verb: 'delete schema version',
    tag: 'schemas',
    doc: 'Deletes one version, or removes a deleted one with `permanent`.',
    params: schemaVersionParams,
    query: schemaDeletionQuery,
    answers: { 200: schemaDeletionShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'REFERENCED, CONFLICT' },
    answer: (_request, rooms) => registryOf(rooms) as never,
  }),
]
