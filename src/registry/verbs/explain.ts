// Checks and comparisons for people: every version that a schema does not fit, with its reasons, and two versions in
// both directions. Clients get the first version only (check.ts).

import type { Difference } from '../format.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../refusals.ts'
import type { StoredContent } from '../state/content.ts'
import {
  type Level,
  latestLive,
  liveVersions,
  nextVersion,
  type Subject,
  type SubjectVersion,
} from '../state/subject.ts'
import { objectionToSubject } from '../subject-names.ts'
import { isUnusable } from '../work/unusable.ts'
import { candidateOf, refusalOf } from './candidate.ts'
import { checkOne, groupOf, inForce } from './compatibility.ts'
import { contentOf, sourceOf } from './dependencies.ts'
import { findVersion } from './find.ts'
import { hasVersions, rowOf, type VersionName, versionOf } from './look-up.ts'
import { type SchemaOfSubject, type SchemaRequest, schemaOfSubject, type VerbRooms } from './rooms.ts'

export interface ExplainOptions {
  readonly normalize?: boolean | undefined
  /** By default the level in force. */
  readonly level?: Level | undefined
}

export interface Misfit {
  readonly version: number
  readonly id: number
  readonly type: StoredContent['type']
  readonly differences: readonly Difference[]
}

export interface Explained {
  readonly kind: 'explained'
  /** As it would be stored. */
  readonly schema: string
  readonly type: StoredContent['type']
  readonly level: Level
  /** The versions that it was compared with, the newest first. */
  readonly compared: readonly number[]
  readonly misfits: readonly Misfit[]
  /** The version that has the schema already. */
  readonly existing: Pick<SubjectVersion, 'version' | 'id'> | null
  readonly nextVersion: number
}

/** The comparison ends after this number of versions that do not fit. */
const MOST_MISFITS = 100

/** Compares a schema with all versions that the level demands, and goes on behind one that it does not fit. */
export async function explain(
  rooms: VerbRooms,
  name: string,
  request: SchemaRequest,
  { normalize = false, level }: ExplainOptions = {},
): Promise<Explained | RegistryRefusal> {
  const objection = objectionToSubject(name)
  if (objection !== null) return objection
  if (request.schema === '') return refusals.invalidSchema('Empty schema')
  const { state } = rooms
  const { subject, global } = await state.fresh(name)
  const now = inForce(rooms, subject, global)
  const force = { ...now, level: level ?? now.level }
  const candidate = await candidateOf(rooms, request, { own: subject, isNormalized: normalize || now.isNormalizing })
  if (isRefusal(candidate)) return candidate
  const latest = latestLive(subject)
  const existing = await findVersion(rooms, subject, candidate)
  if (isRefusal(existing)) return existing
  // As in a registration: a schema without metadata takes over that of the newest version.
  const metadata =
    candidate.content.metadata ?? (latest === null ? null : (await contentOf(state, latest.guid)).metadata)
  const compared: number[] = []
  const misfits: Misfit[] = []
  for (const row of force.level === 'NONE' ? [] : liveVersions(subject).toReversed()) {
    const old = await contentOf(state, row.guid)
    if (force.group !== null && groupOf(old, force.group) !== groupOf({ metadata }, force.group)) continue
    const found = await checkOne(rooms, row, old, candidate, force)
    if (isRefusal(found)) return found
    compared.push(row.version)
    if (found !== null) {
      const { differences } = found
      misfits.push({ version: row.version, id: row.id, type: old.type, differences })
    }
    if (!force.level.endsWith('_TRANSITIVE') || misfits.length === MOST_MISFITS) break
  }
  return {
    kind: 'explained',
    ...{ schema: candidate.content.schema, type: candidate.content.type, level: force.level },
    ...{ compared, misfits },
    existing: existing === null ? null : { version: existing.version, id: existing.id },
    nextVersion: nextVersion(subject),
  }
}

/** Whether one version reads all that the other one writes. `trouble`: the comparison was not possible. */
export interface Direction {
  readonly differences: readonly Difference[]
  readonly trouble: string | null
}

export interface Compared {
  readonly kind: 'compared'
  readonly before: SchemaOfSubject
  readonly after: SchemaOfSubject
  readonly level: Level
  /** `after` reads what `before` writes. */
  readonly backward: Direction
  readonly forward: Direction
}

/**
 * Compares a version with another one, deleted or not; by default with the one before. Throws what the store throws.
 */
export async function compareVersions(
  rooms: VerbRooms,
  name: string,
  version: VersionName,
  against: VersionName | undefined,
): Promise<Compared | RegistryRefusal> {
  const { state } = rooms
  const { subject, global } = await state.fresh(name)
  const later = rowNamed(subject, version)
  if (isRefusal(later)) return later
  const earlier = against === undefined ? rowBefore(subject, later) : rowNamed(subject, against)
  if (isRefusal(earlier)) return earlier
  const { level, policy } = inForce(rooms, subject, global)
  const [before, after] = await Promise.all([contentOf(state, earlier.guid), contentOf(state, later.guid)])
  const direction = async (reader: StoredContent, writer: StoredContent): Promise<Direction | RegistryRefusal> => {
    if (reader.guid === writer.guid) return { differences: [], trouble: null }
    if (reader.type !== writer.type)
      return { differences: [], trouble: `a schema of type ${reader.type} does not read one of type ${writer.type}` }
    const sources = await Promise.all([sourceOf(state, reader), sourceOf(state, writer)])
    const found = await rooms.work.compare(reader.type, ...sources, policy)
    if (!isUnusable(found)) return { differences: found, trouble: null }
    return found.kind === 'busy' ? refusalOf(reader.type, found) : { differences: [], trouble: found.why }
  }
  const [backward, forward] = await Promise.all([direction(after, before), direction(before, after)])
  if (isRefusal(backward)) return backward
  if (isRefusal(forward)) return forward
  return {
    kind: 'compared',
    before: schemaOfSubject(subject, earlier, before),
    after: schemaOfSubject(subject, later, after),
    ...{ level, backward, forward },
  }
}

function rowNamed(subject: Subject, version: VersionName): SubjectVersion | RegistryRefusal {
  const number = versionOf(version)
  if (isRefusal(number)) return number
  const row = rowOf(subject, number, true)
  if (row !== null) return row
  return hasVersions(subject, true) ? refusals.versionNotFound(number) : refusals.subjectNotFound(subject.name)
}

function rowBefore({ versions }: Subject, { version }: SubjectVersion): SubjectVersion | RegistryRefusal {
  return versions.findLast(each => each.version < version) ?? refusals.versionNotFound(`before ${version}`)
}
