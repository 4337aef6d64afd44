// The routes of schemas by id and by guid, and of all schemas. A schema is readable if one of the subjects is that have
// it, or had it until they were deleted for good: records in their topics still name it. To other callers it does not
// exist, because ids are easily tried one after the other.

import { z } from 'zod'
import { isRefusal, type RegistryRefusal, refusals } from '../../../registry/refusals.ts'
import type { Registry } from '../../../registry/registry.ts'
import type { Schema } from '../../../registry/verbs/rooms.ts'
import { type AnyRoute, reply } from '../../route.ts'
import type { RegistryRights } from '../schema-registry-access.ts'
import { REGISTRY_TYPES } from '../schema-registry-media.ts'
import { flag, numberSegment, registryRoute } from '../schema-registry-route.ts'
import { listOf } from './long-list.ts'
import { bareText, deletedQuery, names, pageQuery, shownSchema, text } from './shapes.ts'
import { showAsStored, shown, showSchema } from './shown.ts'

const idParams = z.object({ id: numberSegment })
const guidParams = z.object({
  guid: z.string().meta({ examples: ['00000000-0000-0000-0000-000000000000'] }),
})
const NOT_FOUND = { 404: 'SCHEMA_NOT_FOUND' }

export const schemaRoutes: readonly AnyRoute[] = [
  registryRoute({
    method: 'GET',
    path: '/schemas',
    needs: 'read',
    verb: 'list schemas',
    doc: 'Versions that the caller may read with their schemas, at most 1,000.',
    query: z.object({ subjectPrefix: text, latestOnly: flag, ...deletedQuery, ...pageQuery }),
    answers: { 200: z.array(shownSchema) },
    async answer(
      { registry, caller, headers, query: { subjectPrefix: prefix, latestOnly, deleted, ...page }, isWide },
      { clock },
    ) {
      const options = { prefix, isLatestOnly: latestOnly, isDeletedToo: deleted, mayShow: caller.rights.mayRead }
      const found = await registry.schemas({ ...options, ...page })
      return listOf(
        found.map(each => showAsStored(each, isWide)),
        headers,
        clock,
      )
    },
  }),
  registryRoute({
    method: 'GET',
    path: '/schemas/ids/:id',
    needs: 'read',
    verb: 'show schema',
    doc: 'The schema of an id, also if all its versions were deleted.',
    params: idParams,
    query: z.object({ subject: text, format: text, fetchMaxId: flag, includeSubjects: flag }),
    answers: { 200: shownSchema },
    problems: NOT_FOUND,
    async answer({ registry, caller: { rights }, params: { id }, query, isWide }) {
      const { subject, format, fetchMaxId, includeSubjects } = query
      const schema = await readable(registry, rights, id)
      if (isRefusal(schema)) return schema
      const holder = isWide ? await holderOf(registry, rights, schema, subject) : {}
      const body = await showSchema(registry, schema, { isWide, format })
      if (isRefusal(body)) return body
      // Karapace's clients ask for the subjects here.
      const subjects = includeSubjects ? await registry.subjectsOfId(id, { mayShow: rights.mayRead }) : null
      return reply(200, {
        ...holder,
        ...body,
        ...(fetchMaxId ? { maxId: await registry.maxId() } : {}),
        ...(subjects === null || isRefusal(subjects) ? {} : { subjects }),
      })
    },
  }),
  registryRoute({
    method: 'GET',
    path: '/schemas/ids/:id/schema',
    needs: 'read',
    verb: 'show the text of a schema',
    doc: 'The bare text of the schema of an id.',
    params: idParams,
    query: z.object({ format: text }),
    answers: { 200: bareText },
    contentType: REGISTRY_TYPES,
    problems: NOT_FOUND,
    async answer({ registry, caller, params: { id }, query: { format } }) {
      const schema = await readable(registry, caller.rights, id)
      return isRefusal(schema) ? schema : shown(await registry.formatted(schema, format))
    },
  }),
  registryRoute({
    method: 'GET',
    path: '/schemas/ids/:id/subjects',
    needs: 'read',
    verb: 'list subjects of a schema',
    doc: 'The subjects that have a version with this id.',
    params: idParams,
    query: z.object({ ...deletedQuery, ...pageQuery }),
    answers: { 200: names },
    problems: NOT_FOUND,
    async answer({ registry, caller: { rights }, params: { id }, query: { deleted, ...page } }) {
      const schema = await readable(registry, rights, id)
      if (isRefusal(schema)) return refusals.schemaNotFound()
      const found = await registry.subjectsOfId(id, { isDeletedToo: deleted, mayShow: rights.mayRead, ...page })
      return isRefusal(found) ? found : reply(200, found)
    },
  }),
  registryRoute({
    method: 'GET',
    path: '/schemas/ids/:id/versions',
    needs: 'read',
    verb: 'list versions of a schema',
    doc: 'The versions of subjects that have this id.',
    params: idParams,
    query: z.object({ ...deletedQuery, ...pageQuery }),
    answers: { 200: z.array(z.object({ subject: z.string(), version: z.int() })) },
    problems: NOT_FOUND,
    async answer({ registry, caller: { rights }, params: { id }, query: { deleted, ...page } }) {
      const schema = await readable(registry, rights, id)
      if (isRefusal(schema)) return refusals.schemaNotFound()
      const found = await registry.versionsOfId(id, { isDeletedToo: deleted, mayShow: rights.mayRead, ...page })
      return isRefusal(found) ? found : reply(200, found)
    },
  }),
  registryRoute({
    method: 'GET',
    path: '/schemas/guids/:guid',
    needs: 'read',
    verb: 'show schema by guid',
    doc: 'The schema of a guid, which producers may put into a header of records in place of the id.',
    params: guidParams,
    query: z.object({ format: text }),
    answers: { 200: shownSchema },
    problems: NOT_FOUND,
    async answer({ registry, caller: { rights }, params: { guid }, query: { format }, isWide }) {
      const ids = await readableIds(registry, rights, guid)
      const schema = isRefusal(ids) ? ids : await registry.byGuid(guid)
      return isRefusal(schema) ? schema : shown(await showSchema(registry, schema, { isWide, format }))
    },
  }),
  registryRoute({
    method: 'GET',
    path: '/schemas/guids/:guid/ids',
    needs: 'read',
    verb: 'list ids of a guid',
    doc: 'The ids of the schema of a guid: one, or several after imports.',
    params: guidParams,
    answers: { 200: z.array(z.object({ context: z.string(), id: z.int() })) },
    problems: NOT_FOUND,
    async answer({ registry, caller: { rights }, params: { guid } }) {
      const ids = await readableIds(registry, rights, guid)
      return isRefusal(ids)
        ? ids
        : reply(
            200,
            ids.map(id => ({ context: '.', id })),
          )
    },
  }),
]

/** Resolves with the schema of an id if the caller may read it. */
async function readable(registry: Registry, rights: RegistryRights, id: number): Promise<Schema | RegistryRefusal> {
  const schema = await registry.byId(id)
  if (isRefusal(schema)) return schema
  return (await mayRead(registry, rights, id)) ? schema : refusals.idNotFound(id)
}

async function readableIds(
  registry: Registry,
  rights: RegistryRights,
  guid: string,
): Promise<readonly number[] | RegistryRefusal> {
  const ids = await registry.idsOfGuid(guid)
  if (isRefusal(ids) || rights.mayReadAll) return ids
  const which = await Promise.all(ids.map(id => mayRead(registry, rights, id)))
  const shown = ids.filter((_, at) => which[at])
  return shown.length > 0 ? shown : refusals.idNotFound(guid)
}

async function mayRead(registry: Registry, rights: RegistryRights, id: number): Promise<boolean> {
  if (rights.mayReadAll) return true
  const held = await registry.subjectsOfId(id, { isDeletedToo: true, mayShow: rights.mayRead, limit: 1 })
  if (!isRefusal(held) && held.length > 0) return true
  return (await registry.formerSubjectsOfId(id, { mayShow: rights.mayRead })).length > 0
}

/** Resolves with a version that has the schema: a live one first, and of the subject that the client names. */
async function holderOf(registry: Registry, { mayRead: mayShow }: RegistryRights, { id }: Schema, subject?: string) {
  const find = async (isDeletedToo: boolean) => {
    const found = await registry.versionsOfId(id, { isDeletedToo, mayShow })
    return isRefusal(found) ? undefined : (found.find(each => each.subject === subject) ?? found[0])
  }
  const holder = (await find(false)) ?? (await find(true))
  if (holder === undefined) return { deleted: true }
  const version = await registry.byVersion(holder.subject, holder.version, { isDeletedToo: true })
  return isRefusal(version) ? {} : { ...holder, ts: version.atMs, deleted: version.isDeleted }
}
