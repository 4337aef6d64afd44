// Deletes versions and subjects. A soft deletion hides them. A permanent one removes a version that was deleted softly.
// Its id stays resolvable, because records in topics still name it, and remembers the subject for those who may read
// that.

import { aFewAtATime } from '../../base/a-few.ts'
import { UnreadableDocument } from '../../store/store.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../refusals.ts'
import { latestLive, liveVersions, type Subject, type SubjectVersion } from '../state/subject.ts'
import { type VersionName, versionOf } from './look-up.ts'
import { type Referrer, referrersIn, referrersOf } from './referrers.ts'
import type { VerbRooms } from './rooms.ts'

export interface DeleteOptions {
  readonly isPermanent?: boolean | undefined
  /** Nothing is deleted, and referrers are no refusal. */
  readonly isDryRun?: boolean | undefined
}

export interface Deleted {
  readonly kind: 'deleted'
  readonly versions: readonly number[]
  /** The schemas that refer to a version of these. Empty after a deletion. */
  readonly referrers: readonly (Referrer & { readonly refersTo: number })[]
}

/** Deletes one version. Throws what the store throws. */
export async function deleteVersion(
  rooms: VerbRooms,
  name: string,
  version: VersionName,
  options: DeleteOptions = {},
): Promise<Deleted | RegistryRefusal> {
  const number = versionOf(version)
  if (isRefusal(number)) return number
  return await remove(rooms, name, options, subject => {
    if (subject.versions.length === 0) return refusals.subjectNotFound(name)
    const row = number === 'latest' ? latestLive(subject) : subject.versions.find(each => each.version === number)
    // The latest version is a live one, so without one the subject counts as deleted.
    if (row === null) return refusals.subjectNotFound(name)
    if (row === undefined) return refusals.versionNotFound(number)
    if (options.isPermanent === true && !row.isDeleted) return refusals.versionNotSoftDeleted(name, row.version)
    if (options.isPermanent !== true && row.isDeleted) return refusals.versionSoftDeleted(name, row.version)
    return [row]
  })
}

/**
 * Deletes all versions of a subject: softly those that are not deleted yet, or permanently all of them, with the level
 * and the mode of the subject. Throws what the store throws.
 */
export async function deleteSubject(
  rooms: VerbRooms,
  name: string,
  options: DeleteOptions = {},
): Promise<Deleted | RegistryRefusal> {
  return await remove(rooms, name, options, subject => {
    if (subject.versions.length === 0) return refusals.subjectNotFound(name)
    const live = liveVersions(subject)
    if (options.isPermanent === true) return live.length > 0 ? refusals.subjectNotSoftDeleted(name) : subject.versions
    return live.length > 0 ? live : refusals.subjectSoftDeleted(name)
  })
}

/** `choose` returns the versions that go. It is called again if another broker was faster. */
async function remove(
  rooms: VerbRooms,
  name: string,
  { isPermanent = false, isDryRun = false }: DeleteOptions,
  choose: (subject: Subject) => readonly SubjectVersion[] | RegistryRefusal,
): Promise<Deleted | RegistryRefusal> {
  const { state } = rooms
  const decide = async (subject: Subject) => {
    const rows = choose(subject)
    if (isRefusal(rows)) return { answer: rows }
    const mode = subject.mode ?? (await state.global.fresh()).mode
    if (mode === 'READONLY') return { answer: refusals.notPermitted(`Subject ${name} is in read-only mode`) }
    const view = await state.index.view()
    const referrers = rows.flatMap(({ version }) => {
      const its = referrersOf(view, name, version, { isDeletedToo: isPermanent })
      // The versions of a subject that go together may refer to each other.
      const others = its.filter(each => each.subject !== name || !rows.some(row => row.version === each.version))
      return others.map(each => ({ ...each, refersTo: version }))
    })
    const versions = rows.map(({ version }) => version)
    if (isDryRun) return { answer: { kind: 'deleted', versions, referrers } as const }
    if (referrers.length > 0) return { answer: refusals.referenced(name, referrers[0]!.refersTo) }
    const late = await lateReferrer(rooms, subject, versions, { isDeletedToo: isPermanent })
    if (late !== null) return { answer: refusals.referenced(name, late) }
    if (isPermanent) await rememberSubject(rooms, name, rows)
    const after = isPermanent ? withoutVersions(subject, rows) : withDeleted(subject, rows)
    return { answer: { kind: 'deleted', versions, referrers: [] } as const, after }
  }
  if (isDryRun) return (await decide(await state.subjects.fresh(name))).answer
  return await state.subjects.change<Deleted | RegistryRefusal>(name, decide)
}

/**
 * Resolves with the version to which a schema refers that was registered since the list of subjects was read, or with
 * null. A registration in progress is made to begin again.
 */
async function lateReferrer(
  { state }: VerbRooms,
  subject: Subject,
  versions: readonly number[],
  { isDeletedToo }: { readonly isDeletedToo: boolean },
): Promise<number | null> {
  const referred = (now: Subject) =>
    versions.find(version => referrersIn(now, subject.name, version, { isDeletedToo }).length > 0)
  const [found] = await state.holds.fence(subject, versions, now => referred(now) !== undefined)
  return found === undefined ? null : referred(found)!
}

async function rememberSubject({ state }: VerbRooms, name: string, rows: readonly SubjectVersion[]): Promise<void> {
  const guidOfId = new Map(rows.map(({ id, guid }) => [id, guid]))
  await aFewAtATime(state.clock, [...guidOfId], async ([id, guid]) => {
    try {
      await state.ids.remember(id, guid, name)
    } catch (error) {
      // The id resolves for no caller, and the state has named its document. The subject can be deleted all the same.
      if (!(error instanceof UnreadableDocument)) throw error
    }
  })
}

function withDeleted(subject: Subject, rows: readonly SubjectVersion[]): Subject {
  const versions = subject.versions.map(each => (rows.includes(each) ? { ...each, isDeleted: true } : each))
  return { ...subject, versions }
}

function withoutVersions(subject: Subject, rows: readonly SubjectVersion[]): Subject {
  const versions = subject.versions.filter(each => !rows.includes(each))
  return versions.length > 0 ? { ...subject, versions } : { ...subject, versions, config: {}, mode: null }
}
