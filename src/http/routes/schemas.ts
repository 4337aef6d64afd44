// The routes by which operators read the schema registry: subjects, versions, texts, comparisons, and checks before a
// registration.

import { checkSchema } from '../../admin/schemas/changes.ts'
import { describeRegistry, describeSubject, listSubjectPage } from '../../admin/schemas/subjects.ts'
import { diffVersions, showId, showVersion } from '../../admin/schemas/versions.ts'
import {
  checkedSchemaShape,
  describedSubjectShape,
  SCHEMA_BODY_BYTES,
  schemaByIdShape,
  schemaCheckShape,
  schemaDiffQuery,
  schemaDiffShape,
  schemaIdParams,
  schemaOverviewShape,
  schemaSubjectParams,
  schemaSubjectQuery,
  schemaSubjectsQuery,
  schemaSubjectsShape,
  schemaVersionParams,
  schemaVersionShape,
} from '../../api/schemas.ts'
import { reply } from '../route.ts'
import { found, schemaRoute } from '../schema-route.ts'

export const schemaRoutes = [
  schemaRoute({
    method: 'GET',
    path: '/api/v1/schemas',
    needs: 'viewer',
    verb: 'describe schema registry',
    doc: 'The numbers of subjects and versions, the global level and mode, and how many topics are judged.',
    answers: { 200: schemaOverviewShape },
    answer: async (_request, its) => reply(200, await describeRegistry(its)),
  }),
  schemaRoute({
    method: 'GET',
    path: '/api/v1/schemas/subjects',
    needs: 'viewer',
    verb: 'list schema subjects',
    doc: 'A page of the subjects, with their level, mode and judged topics. A subject without versions is listed if it has a level or a mode of its own.',
    query: schemaSubjectsQuery,
    answers: { 200: schemaSubjectsShape },
    answer: async ({ query }, its) => reply(200, await listSubjectPage(its, query)),
  }),
  schemaRoute({
    method: 'GET',
    path: '/api/v1/schemas/subjects/:subject',
    needs: 'viewer',
    verb: 'describe schema subject',
    doc: 'One subject with a page of its versions, the newest first.',
    params: schemaSubjectParams,
    query: schemaSubjectQuery,
    answers: { 200: describedSubjectShape },
    answer: async ({ params: { subject }, query }, its) => found(await describeSubject(its, subject, query)),
  }),
  schemaRoute({
    method: 'GET',
    path: '/api/v1/schemas/subjects/:subject/versions/:version',
    needs: 'viewer',
    verb: 'show schema version',
    doc: 'One version, deleted or not: its text, and its references in both directions. `latest` is the newest version that is not deleted.',
    params: schemaVersionParams,
    answers: { 200: schemaVersionShape },
    answer: async ({ params: { subject, version } }, { registry }) =>
      found(await showVersion(registry, subject, version)),
  }),
  schemaRoute({
    method: 'GET',
    path: '/api/v1/schemas/subjects/:subject/versions/:version/diff',
    needs: 'viewer',
    verb: 'compare schema versions',
    doc: 'The texts of two versions, and whether each of them reads all that the other one writes.',
    params: schemaVersionParams,
    query: schemaDiffQuery,
    answers: { 200: schemaDiffShape },
    answer: async ({ params: { subject, version }, query: { against } }, { registry }) =>
      found(await diffVersions(registry, subject, version, against)),
  }),
  schemaRoute({
    method: 'POST',
    path: '/api/v1/schemas/subjects/:subject/check',
    needs: 'viewer',
    onlyAsks: true,
    verb: 'check schema',
    doc: 'Says whether the schema is valid and fits the versions of the subject, with the reasons for each version that it does not fit. Nothing is stored.',
    params: schemaSubjectParams,
    body: schemaCheckShape,
    bodyLimit: SCHEMA_BODY_BYTES,
    audited: [],
    answers: { 200: checkedSchemaShape },
    answer: async ({ params: { subject }, body }, { registry }) => found(await checkSchema(registry, subject, body)),
  }),
  schemaRoute({
    method: 'GET',
    path: '/api/v1/schemas/ids/:id',
    needs: 'viewer',
    verb: 'show schema by id',
    doc: 'The schema of an id, also if all versions that had it were removed.',
    params: schemaIdParams,
    answers: { 200: schemaByIdShape },
    answer: async ({ params: { id } }, { registry }) => found(await showId(registry, id)),
  }),
]
