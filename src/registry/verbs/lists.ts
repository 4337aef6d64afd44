// Lists of subjects, of versions and of schemas.

import { takingTurns } from '../../base/clock.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../refusals.ts'
import { latestLive, liveVersions, type Subject, type SubjectVersion } from '../state/subject.ts'
import { contentOf } from './dependencies.ts'
import { hasVersions, rowOf, type VersionName, versionOf } from './look-up.ts'
import { referrersOf } from './referrers.ts'
import { type Page, pageOf, type SchemaOfSubject, schemaOfSubject, type VerbRooms } from './rooms.ts'

/** A subject that `mayShow` refuses is left out, as if it did not exist. By default all are shown. */
export interface Filter {
  readonly mayShow?: ((subject: string) => boolean) | undefined
}

const showAll = () => true

/** With `isDeletedOnly`, `isDeletedToo` does not count. */
export interface ListOptions extends Page {
  readonly isDeletedToo?: boolean | undefined
  readonly isDeletedOnly?: boolean | undefined
}

export interface SubjectListOptions extends ListOptions, Filter {
  readonly prefix?: string | undefined
}

/** The prefix that stands for the subjects of all contexts. */
const ALL_CONTEXTS = ':*:'

/** Resolves with the names of the subjects that have versions, in their order. */
export async function subjects(
  { state }: VerbRooms,
  { prefix = '', isDeletedToo = false, isDeletedOnly = false, mayShow = showAll, ...page }: SubjectListOptions = {},
): Promise<readonly string[]> {
  const beginning = prefix.startsWith(ALL_CONTEXTS) ? prefix.slice(ALL_CONTEXTS.length) : prefix
  const isListed = (subject: Subject) => {
    if (!subject.name.startsWith(beginning) || subject.versions.length === 0 || !mayShow(subject.name)) return false
    const isLive = latestLive(subject) !== null
    return isDeletedOnly ? !isLive : isLive || isDeletedToo
  }
  const view = await state.index.view()
  return pageOf(view.all().filter(isListed), page).map(({ name }) => name)
}

/** Resolves with the numbers of the versions. With `isNegative`, those of deleted versions are negative. */
export async function versions(
  { state }: VerbRooms,
  name: string,
  {
    isDeletedToo = false,
    isDeletedOnly = false,
    isNegative = false,
    ...page
  }: ListOptions & { readonly isNegative?: boolean } = {},
): Promise<readonly number[] | RegistryRefusal> {
  const subject = await state.subjects.fresh(name)
  const rows = isDeletedOnly
    ? subject.versions.filter(({ isDeleted }) => isDeleted)
    : isDeletedToo || isNegative
      ? subject.versions
      : liveVersions(subject)
  if (rows.length === 0) return refusals.subjectNotFound(name)
  return pageOf(rows, page).map(({ version, isDeleted }) => (isDeleted && isNegative ? -version : version))
}

/** Resolves with the versions that have this id, in the order of their subjects. */
export async function versionsOfId(
  { state }: VerbRooms,
  id: number,
  {
    subject: only,
    isDeletedToo = false,
    mayShow = showAll,
    ...page
  }: Page & Filter & { readonly subject?: string | undefined; readonly isDeletedToo?: boolean | undefined } = {},
): Promise<readonly { readonly subject: string; readonly version: number }[] | RegistryRefusal> {
  if ((await state.byId(id)) === null) return refusals.schemaNotFound()
  const view = await state.index.view()
  const found = view
    .holders(id)
    .filter(({ name }) => (only === undefined || name === only) && mayShow(name))
    .flatMap(({ name, versions: rows }) => {
      const its = rows.filter(each => each.id === id && (isDeletedToo || !each.isDeleted))
      return its.map(({ version }) => ({ subject: name, version }))
    })
  return pageOf(found, page)
}

/** Resolves with the subjects that have this id. */
export async function subjectsOfId(
  rooms: VerbRooms,
  id: number,
  { offset, limit, ...options }: Parameters<typeof versionsOfId>[2] = {},
): Promise<readonly string[] | RegistryRefusal> {
  const found = await versionsOfId(rooms, id, options)
  if (isRefusal(found)) return found
  return pageOf([...new Set(found.map(({ subject }) => subject))], { offset, limit })
}

/** Resolves with the last hundred subjects that had this id and from which it was deleted for good. */
export async function formerSubjectsOfId(
  { state }: VerbRooms,
  id: number,
  { mayShow = showAll }: Filter = {},
): Promise<readonly string[]> {
  return (await state.ids.formerSubjects(id)).filter(mayShow)
}

/** Resolves with the ids of the schemas that refer to a version, which may be deleted. */
export async function referencedBy(
  { state }: VerbRooms,
  name: string,
  version: VersionName,
  {
    isDeletedToo = false,
    mayShow = showAll,
    ...page
  }: Page & Filter & { readonly isDeletedToo?: boolean | undefined } = {},
): Promise<readonly number[] | RegistryRefusal> {
  const number = versionOf(version)
  if (isRefusal(number)) return number
  const subject = await state.subjects.fresh(name)
  const row = rowOf(subject, number, true)
  if (row === null) {
    return hasVersions(subject, true)
      ? refusals.versionNotFound(number === 'latest' ? -1 : number)
      : refusals.subjectNotFound(name)
  }
  const referrers = referrersOf(await state.index.view(), name, row.version, { isDeletedToo })
  const shown = referrers.filter(({ subject: referrer }) => mayShow(referrer))
  const ids = [...new Set(shown.map(({ id }) => id))].sort((one, other) => one - other)
  return pageOf(ids, page)
}

export interface SchemaListOptions extends Page, Filter {
  readonly prefix?: string | undefined
  readonly isDeletedToo?: boolean | undefined
  readonly isLatestOnly?: boolean | undefined
}

/** A list has at most this many schemas, and ends earlier once their texts have this many characters. */
const MOST_SCHEMAS = 1_000
const MOST_CHARACTERS = 16 << 20
/** The schemas that are read at once: a large one takes ten milliseconds. */
const AT_ONCE = 4
/** In ms: a long list holds the event loop for this long, and for one more reading. */
const TURN_MS = 5

/** Resolves with versions and their schemas, in the order of subjects and versions. */
export async function schemas(
  { state }: VerbRooms,
  {
    prefix = '',
    isDeletedToo = false,
    isLatestOnly = false,
    mayShow = showAll,
    offset,
    limit = -1,
  }: SchemaListOptions = {},
): Promise<readonly SchemaOfSubject[]> {
  const beginning = prefix.startsWith(ALL_CONTEXTS) ? prefix.slice(ALL_CONTEXTS.length) : prefix
  const view = await state.index.view()
  const found: { readonly subject: Subject; readonly row: SubjectVersion }[] = []
  for (const subject of view.all()) {
    if (!subject.name.startsWith(beginning) || !mayShow(subject.name)) continue
    const rows = isDeletedToo ? subject.versions : liveVersions(subject)
    for (const row of isLatestOnly ? rows.slice(-1) : rows) found.push({ subject, row })
  }
  const most = limit < 0 ? MOST_SCHEMAS : Math.min(limit, MOST_SCHEMAS)
  const page = pageOf(found, { offset, limit: most })
  const schemasOf = (some: typeof page) =>
    Promise.all(some.map(async ({ subject, row }) => schemaOfSubject(subject, row, await contentOf(state, row.guid))))
  const read: SchemaOfSubject[] = []
  let length = 0
  const turn = takingTurns(state.clock, TURN_MS)
  for (let at = 0; at < page.length && length < MOST_CHARACTERS; at += AT_ONCE) {
    await turn()
    const some = await schemasOf(page.slice(at, at + AT_ONCE))
    for (const { schema } of some) length += schema.length
    read.push(...some)
  }
  return read
}
