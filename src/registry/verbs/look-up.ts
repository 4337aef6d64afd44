// Look-ups of schemas: by content, by id, by guid, and by subject and version. This broker finds all
// that any broker has answered: it asks the store before it says that something does not exist.

import { isRefusal, type RegistryRefusal, refusals } from '../refusals.ts'
import type { StoredContent } from '../state/content.ts'
import { latestLive, liveVersions, type Subject, type SubjectVersion } from '../state/subject.ts'
import { isUnusable, type Unusable } from '../work/unusable.ts'
import { candidateOf, refusalOf } from './candidate.ts'
import { inForce } from './compatibility.ts'
import { contentOf, sourceOf } from './dependencies.ts'
import { findVersion } from './find.ts'
import {
  type Schema,
  type SchemaOfSubject,
  type SchemaRequest,
  schemaOf,
  schemaOfSubject,
  type VerbRooms,
} from './rooms.ts'

/** A version as clients name it: a number, `latest`, or -1 for the latest. */
export type VersionName = number | string

export interface LookUpOptions {
  readonly normalize?: boolean | undefined
  readonly isDeletedToo?: boolean | undefined
}

/** Resolves with the version of the subject that has this schema. */
export async function lookUp(
  rooms: VerbRooms,
  name: string,
  request: SchemaRequest,
  { normalize = false, isDeletedToo = false }: LookUpOptions,
): Promise<SchemaOfSubject | RegistryRefusal> {
  const { state } = rooms
  const { subject, global } = await state.fresh(name)
  const isNormalized = normalize || inForce(rooms, subject, global).isNormalizing
  // A schema that came in by an import may have mistakes that a new one must not have.
  const candidate = await candidateOf(rooms, request, {
    own: subject,
    isNormalized,
    strictness: 'stored',
    mayBeDeleted: isDeletedToo,
  })
  if (isRefusal(candidate)) return candidate
  const row = await findVersion(rooms, subject, candidate, { isDeletedToo })
  if (isRefusal(row)) return row
  if (row !== null) return schemaOfSubject(subject, row, await contentOf(state, row.guid))
  return hasVersions(subject, isDeletedToo) ? refusals.schemaNotFound() : refusals.subjectNotFound(name)
}

/** Resolves with the schema of an id, also if all its versions were deleted. */
export async function byId({ state }: VerbRooms, id: number): Promise<Schema | RegistryRefusal> {
  if (!Number.isInteger(id) || id < 1 || id >= 2 ** 31) return refusals.idNotFound(id)
  const content = await state.byId(id)
  return content === null ? refusals.idNotFound(id) : schemaOf(content, id)
}

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export async function byGuid({ state }: VerbRooms, guid: string): Promise<Schema | RegistryRefusal> {
  const named = guid.toLowerCase()
  const content = GUID.test(named) ? await state.contents.get(named) : null
  return content === null ? refusals.idNotFound(guid) : schemaOf(content, content.id)
}

/** Resolves with all ids of a schema: an import may have given it several. */
export async function idsOfGuid({ state }: VerbRooms, guid: string): Promise<readonly number[] | RegistryRefusal> {
  const content = GUID.test(guid.toLowerCase()) ? await state.contents.get(guid.toLowerCase()) : null
  if (content === null) return refusals.idNotFound(guid)
  const ids = new Set([content.id])
  const view = await state.index.view()
  for (const { versions } of view.all()) {
    for (const each of versions) if (each.guid === content.guid) ids.add(each.id)
  }
  return [...ids].sort((one, other) => one - other)
}

/** Resolves with a version of a subject. */
export async function byVersion(
  { state }: VerbRooms,
  name: string,
  version: VersionName,
  { isDeletedToo = false } = {},
): Promise<SchemaOfSubject | RegistryRefusal> {
  const number = versionOf(version)
  if (isRefusal(number)) return number
  const subject = await state.subjects.fresh(name)
  const row = rowOf(subject, number, isDeletedToo)
  if (row !== null) return schemaOfSubject(subject, row, await contentOf(state, row.guid))
  if (!hasVersions(subject, isDeletedToo)) return refusals.subjectNotFound(name)
  return refusals.versionNotFound(number === 'latest' ? -1 : number)
}

/** Resolves with the newest version whose metadata has all of these properties. */
export async function byMetadata(
  { state }: VerbRooms,
  name: string,
  properties: ReadonlyMap<string, string>,
  { isDeletedToo = false } = {},
): Promise<SchemaOfSubject | RegistryRefusal> {
  const subject = await state.subjects.fresh(name)
  const versions = isDeletedToo ? subject.versions : liveVersions(subject)
  for (const row of versions.toReversed()) {
    // A version without metadata and rules has the same two digests.
    if (row.guid === row.bareGuid && properties.size > 0) continue
    const content = await contentOf(state, row.guid)
    const its = (content.metadata?.properties ?? {}) as Readonly<Record<string, string>>
    if ([...properties].every(([key, value]) => Object.hasOwn(its, key) && its[key] === value))
      return schemaOfSubject(subject, row, content)
  }
  return versions.length === 0 ? refusals.subjectNotFound(name) : refusals.schemaNotFound()
}

/**
 * Resolves with the text in another form, as `format` asks for it: `resolved` (Avro), `serialized` (Protobuf). Any
 * other one is the text itself.
 */
export async function formatted(
  { state, work }: VerbRooms,
  schema: Pick<Schema, 'guid'>,
  format: string | undefined,
): Promise<string | RegistryRefusal> {
  const content: StoredContent = await contentOf(state, schema.guid)
  if (format === 'resolved' && content.type === 'AVRO') {
    const examined = await work.examine(content.type, await sourceOf(state, content), 'stored')
    return isUnusable(examined) ? orBusy(content, examined) : examined.inlined
  }
  if (format !== 'serialized' || content.type !== 'PROTOBUF') return content.schema
  const serialized = await work.serialize(content.type, await sourceOf(state, content))
  return isUnusable(serialized) ? orBusy(content, serialized) : (serialized ?? content.schema)
}

/** A schema that has not the other form is shown as it is. One that had no turn may have it. */
function orBusy({ type, schema }: StoredContent, why: Unusable): string | RegistryRefusal {
  return why.kind === 'busy' ? refusalOf(type, why) : schema
}

/** Returns the number of a version, `latest`, or the refusal of a name that is no version. */
export function versionOf(version: VersionName): number | 'latest' | RegistryRefusal {
  if (version === 'latest' || version === -1 || version === '-1') return 'latest'
  const number = typeof version === 'number' ? version : /^\d{1,10}$/.test(version) ? Number(version) : Number.NaN
  if (Number.isInteger(number) && number >= 1 && number < 2 ** 31) return number
  return refusals.invalidVersion(String(version))
}

/** Returns the version; the latest one is the newest that is not deleted, unless all are, with `isDeletedToo`. */
export function rowOf(subject: Subject, version: number | 'latest', isDeletedToo: boolean): SubjectVersion | null {
  if (version === 'latest') return latestLive(subject) ?? (isDeletedToo ? (subject.versions.at(-1) ?? null) : null)
  const row = subject.versions.find(each => each.version === version)
  return row === undefined || (row.isDeleted && !isDeletedToo) ? null : row
}

export function hasVersions(subject: Subject, isDeletedToo: boolean): boolean {
  return isDeletedToo ? subject.versions.length > 0 : latestLive(subject) !== null
}
