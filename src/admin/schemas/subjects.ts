// Lists and describes the subjects of the schema registry for operators.

import type { JudgedPart } from '../../api/judged-topics.ts'
import type {
  DescribedSchemaSubject,
  SchemaOverview,
  SchemaSubject,
  SchemaSubjects,
  SchemaSubjectsQuery,
  SchemaVersionRow,
} from '../../api/schemas.ts'
import type { DELETED_CHOICES } from '../../api/words.ts'
import { aFewAtATime } from '../../base/a-few.ts'
import type { Clock } from '../../base/clock.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../../registry/refusals.ts'
import type { Registry } from '../../registry/registry.ts'
import { latestLive, liveVersions, type Subject, type SubjectVersion } from '../../registry/state/subject.ts'
import { pageOf, searchFor } from '../paging.ts'
import { type JudgedRooms, judgedTopics, liveSubjects, topicsOfSubject } from './judged.ts'

type Surveyed = Awaited<ReturnType<Registry['surveyAll']>>['subjects'][number]
type Rules = ReturnType<SchemaRooms['judge']['judged']>
type DeletedChoice = (typeof DELETED_CHOICES)[number]

export interface SchemaRooms extends JudgedRooms {
  readonly registry: Registry
  readonly clock: Clock
}

/** A row of the list without the members that cost a read of each schema. */
type BareRow = Omit<SchemaSubject, 'type' | 'topics'>

interface SubjectRow extends BareRow {
  /** The newest version that is not deleted, or the newest one; null without versions. */
  readonly newestGuid: string | null
}

export async function describeRegistry(rooms: SchemaRooms): Promise<SchemaOverview> {
  const { registry } = rooms
  const [{ subjects, global }, highestId] = await Promise.all([registry.surveyAll(), registry.maxId()])
  const withVersions = subjects.filter(({ subject }) => subject.versions.length > 0)
  const live = withVersions.map(({ subject }) => liveVersions(subject).length).filter(count => count > 0)
  const judged = judgedTopics(rooms, await liveSubjects(registry))
  return {
    subjects: live.length,
    deletedSubjects: withVersions.length - live.length,
    versions: live.reduce((sum, count) => sum + count, 0),
    highestId,
    level: global.level,
    mode: global.mode,
    judgedTopics: judged.length,
    refused: judged.reduce((sum, { refused }) => sum + refused, 0),
  }
}

/** Resolves with a page of the subjects, with their level, mode and judged topics. */
export async function listSubjectPage(
  rooms: SchemaRooms,
  { q, deleted, ...page }: SchemaSubjectsQuery,
): Promise<SchemaSubjects> {
  const isWanted = searchFor(q)
  const wanted = (await listSubjects(rooms, deleted)).filter(({ subject }) => isWanted(subject))
  const shown = pageOf(
    wanted,
    page,
    each => each[page.sort],
    each => each.subject,
  )
  return { subjects: [...(await completeSubjects(rooms, shown))], total: wanted.length }
}

/** Resolves with the names of the subjects that have a version that is not deleted, in their order. */
export async function listSubjectNames(registry: Pick<Registry, 'surveyAll'>): Promise<readonly string[]> {
  const { subjects } = await registry.surveyAll()
  return subjects.filter(({ subject }) => latestLive(subject) !== null).map(({ subject }) => subject.name)
}

/** Resolves with all subjects that the choice names, in the order of their names. */
async function listSubjects({ registry }: SchemaRooms, deleted: DeletedChoice): Promise<readonly SubjectRow[]> {
  const { subjects } = await registry.surveyAll()
  return subjects
    .map(each => ({ ...rowOf(each), newestGuid: newestOf(each.subject)?.guid ?? null }))
    .filter(row => isChosen(deleted, row.deleted))
}

/** Resolves with the rows of a page, complete. */
async function completeSubjects(rooms: SchemaRooms, page: readonly SubjectRow[]): Promise<readonly SchemaSubject[]> {
  return await aFewAtATime(rooms.clock, page, async ({ newestGuid, ...row }) => {
    const type = newestGuid === null ? null : await rooms.registry.typeOfSchema(newestGuid)
    const isLive = () => row.latestVersion !== null
    // The record names of each schema would cost a thread, so only the topics that the name tells are here.
    return { ...row, type, topics: [...topicsOfSubject(rooms, isLive, row.subject)] }
  })
}

export interface VersionPage {
  readonly deleted: DeletedChoice
  readonly offset: number
  readonly limit: number
}

/** Resolves with a subject and a page of its versions; with a refusal if it has neither versions nor settings. */
export async function describeSubject(
  rooms: SchemaRooms,
  name: string,
  { deleted, offset, limit }: VersionPage,
): Promise<DescribedSchemaSubject | RegistryRefusal> {
  const { registry } = rooms
  const found = await registry.surveyOne(name)
  if (found.subject.documentVersion === 0) return refusals.subjectNotFound(name)
  const newest = newestOf(found.subject)
  const [referrers, type, topics] = await Promise.all([
    registry.referrersTo(name),
    newest === null ? null : registry.typeOfSchema(newest.guid),
    topicsJudgedBy(rooms, name),
  ])
  const counts = Map.groupBy(referrers, ({ refersTo }) => refersTo)
  const chosen = found.subject.versions.filter(({ isDeleted }) => isChosen(deleted, isDeleted)).toReversed()
  const versions = chosen.slice(offset, offset + limit).map(
    ({ version, id, guid, isDeleted, atMs, references }): SchemaVersionRow => ({
      ...{ version, id, guid },
      deleted: isDeleted,
      registeredAt: new Date(atMs).toISOString(),
      references: references.map(([subject, number]) => ({ subject, version: number })),
      referrerCount: counts.get(version)?.length ?? 0,
    }),
  )
  const { config } = found.subject
  return { ...rowOf(found), type, topics: [...topics], config: { ...config }, versions, total: chosen.length }
}

/** Resolves with the topics that a subject judges, also those whose records name their own subject. */
export async function topicsJudgedBy(rooms: SchemaRooms, name: string): Promise<readonly JudgedPart[]> {
  const { registry } = rooms
  const { subject } = await registry.surveyOne(name)
  const latest = latestLive(subject)
  return topicsOfSubject(rooms, each => each === name && latest !== null, name, await recordNamesOf(rooms, subject))
}

/** Resolves with the names of records in the newest schema; with none if in no topic records name their own subject. */
async function recordNamesOf(
  { registry, catalogue, judge }: SchemaRooms,
  subject: Subject,
): Promise<readonly string[]> {
  const latest = latestLive(subject)
  const needsThem = ({ key, value }: Rules) => key.subject === null || value.subject === null
  const isNeeded = [...catalogue.current().topics.values()].some(topic => needsThem(judge.judged(topic)))
  if (latest === null || !isNeeded) return []
  const program = await registry.judged.programOf(latest.guid)
  return program === null || isRefusal(program) ? [] : program.recordNames
}

function rowOf({ subject, level, ownLevel, mode, ownMode }: Surveyed): BareRow {
  const latest = latestLive(subject)
  const live = liveVersions(subject).length
  const newest = subject.versions.at(-1)
  return {
    subject: subject.name,
    latestVersion: latest?.version ?? null,
    latestId: latest?.id ?? null,
    versionCount: live,
    deletedVersionCount: subject.versions.length - live,
    registeredAt: newest === undefined ? null : new Date(newest.atMs).toISOString(),
    ...{ level, ownLevel, mode, ownMode },
    deleted: live === 0 && newest !== undefined,
  }
}

/** Returns the newest version that is not deleted, or the newest one; null without versions. */
function newestOf(subject: Subject): SubjectVersion | null {
  return latestLive(subject) ?? subject.versions.at(-1) ?? null
}

function isChosen(choice: DeletedChoice, isDeleted: boolean): boolean {
  return choice === 'show' || isDeleted === (choice === 'only')
}
