// The routes by which operators read the schema registry: subjects, versions, texts, comparisons, and checks before a
// registration.

import { checkSchema } from '../../admin/schemas/changes.ts'
import { completeSubjects, describeRegistry, describeSubject, listSubjects } from '../../admin/schemas/subjects.ts'
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
import { isRefusal } from '../../registry/refusals.ts'
import { pageOf, searchFor } from '../paging.ts'
import { isProblem } from '../problems.ts'
import { reply, route } from '../route.ts'
import { fromRegistry, REGISTRY_READS, withRegistry } from '../schema-problems.ts'

export const schemaRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/schemas',
    needs: 'viewer',
    verb: 'describe schema registry',
    tag: 'schemas',
    doc: 'The numbers of subjects and versions, the global level and mode, and how many topics are judged.',
    answers: { 200: schemaOverviewShape },
    problems: REGISTRY_READS,
    async answer(_request, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return reply(200, await describeRegistry(its))
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/schemas/subjects',
    needs: 'viewer',
    verb: 'list schema subjects',
    tag: 'schemas',
    doc: 'A page of the subjects, with their level, mode and judged topics. A subject without versions is listed if it has a level or a mode of its own.',
    query: schemaSubjectsQuery,
    answers: { 200: schemaSubjectsShape },
    problems: REGISTRY_READS,
    async answer({ query: { q, deleted, ...page } }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      const isWanted = searchFor(q)
      const wanted = (await listSubjects(its, deleted)).filter(({ subject }) => isWanted(subject))
      const shown = pageOf(
        wanted,
        page,
        each => each[page.sort],
        each => each.subject,
      )
      return reply(200, { subjects: await completeSubjects(its, shown), total: wanted.length })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/schemas/subjects/:subject',
    needs: 'viewer',
    verb: 'describe schema subject',
    tag: 'schemas',
    doc: 'One subject with a page of its versions, the newest first.',
    params: schemaSubjectParams,
    query: schemaSubjectQuery,
    answers: { 200: describedSubjectShape },
    problems: REGISTRY_READS,
    async answer({ params: { subject }, query }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      const found = await describeSubject(its, subject, query)
      return isRefusal(found) ? fromRegistry(found, { subject }) : reply(200, found)
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/schemas/subjects/:subject/versions/:version',
    needs: 'viewer',
    verb: 'show schema version',
    tag: 'schemas',
    doc: 'One version, deleted or not: its text, and its references in both directions. `latest` is the newest version that is not deleted.',
    params: schemaVersionParams,
    answers: { 200: schemaVersionShape },
    problems: REGISTRY_READS,
    async answer({ params: { subject, version } }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      const found = await showVersion(its.registry, subject, version)
      return isRefusal(found) ? fromRegistry(found, { subject, version }) : reply(200, found)
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/schemas/subjects/:subject/versions/:version/diff',
    needs: 'viewer',
    verb: 'compare schema versions',
    tag: 'schemas',
    doc: 'The texts of two versions, and whether each of them reads all that the other one writes.',
    params: schemaVersionParams,
    query: schemaDiffQuery,
    answers: { 200: schemaDiffShape },
    problems: REGISTRY_READS,
    async answer({ params: { subject, version }, query: { against } }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      const found = await diffVersions(its.registry, subject, version, against)
      return isRefusal(found) ? fromRegistry(found, { subject, version }) : reply(200, found)
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/schemas/subjects/:subject/check',
    needs: 'viewer',
    onlyAsks: true,
    verb: 'check schema',
    tag: 'schemas',
    doc: 'Says whether the schema is valid and fits the versions of the subject, with the reasons for each version that it does not fit. Nothing is stored.',
    params: schemaSubjectParams,
    body: schemaCheckShape,
    bodyLimit: SCHEMA_BODY_BYTES,
    audited: [],
    answers: { 200: checkedSchemaShape },
    problems: REGISTRY_READS,
    async answer({ params: { subject }, body }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      const checked = await checkSchema(its.registry, subject, body)
      return isRefusal(checked) ? fromRegistry(checked, { subject }) : reply(200, checked)
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/schemas/ids/:id',
    needs: 'viewer',
    verb: 'show schema by id',
    tag: 'schemas',
    doc: 'The schema of an id, also if all versions that had it were removed.',
    params: schemaIdParams,
    answers: { 200: schemaByIdShape },
    problems: REGISTRY_READS,
    async answer({ params: { id } }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      const found = await showId(its.registry, id)
      return isRefusal(found) ? fromRegistry(found, { id }) : reply(200, found)
    },
  }),
]
