// Registers a schema as a version of a subject. The documents are written in the order counter, content, id, subject
// (state.ts), so that a broker that ends between two of them leaves at most an id without a version, which only the
// same schema gets later.

import { OutcomeUnknown } from '../../store/store.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../refusals.ts'
import type { StoredContent, StoredReference } from '../state/content.ts'
import { MOST_IMPORTED_ID } from '../state/id-counter.ts'
import {
  latestLive,
  type Mode,
  nextVersion,
  type Subject,
  type SubjectVersion,
  subjectBytes,
  withVersion,
} from '../state/subject.ts'
import { objectionToSubject } from '../subject-names.ts'
import { type Candidate, candidateOf, withObjects } from './candidate.ts'
import { checkAll, inForce } from './compatibility.ts'
import { contentOf, holdReferences, othersOf } from './dependencies.ts'
import { findExact, findVersion } from './find.ts'
import { referrersOf } from './referrers.ts'
import { type SchemaOfSubject, type SchemaRequest, schemaOfSubject, type VerbRooms } from './rooms.ts'

export interface RegisterRequest extends SchemaRequest {
  /** Only in mode IMPORT. */
  readonly id?: number | undefined
  /** Outside of mode IMPORT it must be the next one. */
  readonly version?: number | undefined
  readonly normalize?: boolean | undefined
}

/** A version that has the schema already, or the schema that must be added. */
type Plan =
  | { readonly kind: 'found'; readonly row: SubjectVersion }
  | { readonly kind: 'add'; readonly candidate: Candidate; readonly version: number }

const MOST_VERSION = 2 ** 31 - 2
/**
 * A subject is one document, which each change reads and each broker that follows it reads again: 5,000 versions are
 * 0.6 MB, and take about ten milliseconds. Confluent's clients give up at 1,000 schemas of one subject
 * (`max.schemas.per.subject`).
 */
export const MOST_VERSIONS = 5_000
/** About the bytes of memory, with the references: those of 500 versions that refer to a hundred schemas each. */
const MOST_VERSIONS_BYTES = 8 << 20

/**
 * Resolves with the version that has the schema, which may have been there before; then compatibility does not count.
 * Throws what the store throws.
 */
export async function register(
  rooms: VerbRooms,
  name: string,
  request: RegisterRequest,
): Promise<SchemaOfSubject | RegistryRefusal> {
  const objection = objectionToSubject(name)
  if (objection !== null) return objection
  const { state } = rooms
  const { subject, global } = await state.fresh(name)
  // The work in threads is done before the subject is locked for other requests.
  const first = await plan(rooms, subject, global, request)
  if (isRefusal(first)) return first
  if (first.kind === 'found') return await answer(rooms, subject, first.row)
  const holdKey = state.holds.newKey()
  const held = new Set<StoredReference>()
  let mayComeLate = false
  try {
    return await state.subjects.change(name, async now => {
      // The level may have changed while this request waited for its turn at the subject.
      const next = await plan(rooms, now, await state.global.fresh(), request)
      if (isRefusal(next)) return { answer: next }
      if (next.kind === 'found') return { answer: await answer(rooms, now, next.row) }
      const { references } = next.candidate.content
      for (const each of othersOf(references, name)) held.add(each)
      const options = { own: now, mayBeDeleted: request.id !== undefined }
      const gone = await holdReferences(state, holdKey, references, options)
      return gone === null ? await add(rooms, now, next, request) : { answer: gone }
    })
  } catch (error) {
    mayComeLate = error instanceof OutcomeUnknown
    throw error
  } finally {
    if (!mayComeLate) await state.holds.release(holdKey, [...held])
  }
}

async function plan(
  rooms: VerbRooms,
  subject: Subject,
  global: Subject,
  request: RegisterRequest,
): Promise<Plan | RegistryRefusal> {
  const mode = subject.mode ?? global.mode ?? 'READWRITE'
  const objection = objectionToMode(subject.name, mode, request)
  if (objection !== null) return objection
  return mode === 'IMPORT' ? await planImport(rooms, subject, request) : await planNew(rooms, subject, global, request)
}

function objectionToMode(name: string, mode: Mode, { id, version }: RegisterRequest): RegistryRefusal | null {
  if (mode === 'READONLY') return refusals.readOnly(name)
  if (id !== undefined && mode !== 'IMPORT') return refusals.notPermitted(`Subject ${name} is not in import mode`)
  if (id === undefined && mode === 'IMPORT')
    return refusals.notPermitted(
      `Subject ${name} is not in read-write mode: in the mode IMPORT a schema brings the id that it has elsewhere`,
    )
  if (version !== undefined && !(Number.isInteger(version) && version >= 1 && version <= MOST_VERSION))
    return refusals.invalidVersion(String(version))
  return null
}

async function planNew(
  rooms: VerbRooms,
  subject: Subject,
  global: Subject,
  request: RegisterRequest,
): Promise<Plan | RegistryRefusal> {
  const force = inForce(rooms, subject, global)
  const isNormalized = force.isNormalizing || request.normalize === true
  const latest = latestLive(subject)
  const previous = latest === null ? null : await contentOf(rooms.state, latest.guid)
  if (request.schema === '' && previous === null) return refusals.invalidSchema('Empty schema')
  const sent =
    request.schema === '' && previous !== null
      ? { ...request, type: previous.type, schema: previous.schema, references: previous.references }
      : request
  const given = await candidateOf(rooms, sent, { own: subject, isNormalized })
  if (isRefusal(given)) return given
  const found = await findVersion(rooms, subject, given)
  if (isRefusal(found)) return found
  if (found !== null) return foundAs(found, request)
  const metadata = request.metadata == null ? (previous?.metadata ?? null) : given.content.metadata
  const ruleSet = request.ruleSet == null ? (previous?.ruleSet ?? null) : given.content.ruleSet
  const candidate = withObjects(given, { metadata, ruleSet })
  const inherited = findExact(
    subject.versions.filter(({ isDeleted }) => !isDeleted),
    candidate,
  )
  if (inherited !== null) return foundAs(inherited, request)
  const full = objectionToMore(subject)
  if (full !== null) return full
  const version = nextVersion(subject)
  if (request.version !== undefined && request.version !== version) return refusals.wrongVersion()
  const verdict = await checkAll(rooms, subject, candidate, force)
  if (verdict === null) return { kind: 'add', candidate, version }
  return isRefusal(verdict) ? verdict : refusals.incompatible(subject.name, verdict.messages)
}

function foundAs(row: SubjectVersion, { version }: RegisterRequest): Plan | RegistryRefusal {
  if (version === undefined || version === row.version) return { kind: 'found', row }
  return refusals.wrongVersion()
}

async function planImport(
  rooms: VerbRooms,
  subject: Subject,
  request: RegisterRequest,
): Promise<Plan | RegistryRefusal> {
  const { id } = request
  if (!Number.isInteger(id) || id! < 1 || id! > MOST_IMPORTED_ID)
    return refusals.notPermitted(`Schema id ${id} cannot be imported: the ids are from 1 to ${MOST_IMPORTED_ID}`)
  if (request.schema === '') return refusals.invalidSchema('Empty schema')
  const candidate = await candidateOf(rooms, request, {
    own: subject,
    isNormalized: false,
    strictness: 'stored',
    mayBeDeleted: true,
  })
  if (isRefusal(candidate)) return candidate
  const same = subject.versions.findLast(each => each.guid === candidate.guid && each.id === id)
  if (same !== undefined && !same.isDeleted && (request.version ?? same.version) === same.version)
    return { kind: 'found', row: same }
  const version = request.version ?? nextVersion(subject)
  const before = subject.versions.find(each => each.version === version)
  if (before !== undefined && (before.guid !== candidate.guid || before.id !== id))
    return refusals.notPermitted(`Overwrite version ${version} of subject ${subject.name} is not permitted.`)
  const full = before === undefined ? objectionToMore(subject) : null
  return full ?? { kind: 'add', candidate, version }
}

function objectionToMore(subject: Subject): RegistryRefusal | null {
  const { name, versions } = subject
  if (versions.length < MOST_VERSIONS && subjectBytes(subject) < MOST_VERSIONS_BYTES) return null
  const bound = versions.length < MOST_VERSIONS ? 'with their references' : `and the most are ${MOST_VERSIONS}`
  return refusals.notPermitted(
    `Subject ${name} is full: it has ${versions.length} versions, deleted ones included, ${bound}. ` +
      'Delete old versions permanently, or register in another subject.',
  )
}

async function add(
  { state }: VerbRooms,
  now: Subject,
  { candidate, version }: Plan & { readonly kind: 'add' },
  { id: given }: RegisterRequest,
): Promise<{ readonly answer: SchemaOfSubject | RegistryRefusal; readonly after?: Subject }> {
  if (version > MOST_VERSION) return { answer: refusals.invalidSchema(`There is no version above ${MOST_VERSION}`) }
  const { content, guid, bareGuid } = candidate
  const stored = given === undefined ? await state.store(content) : await state.storeAs(content, given)
  if (stored === null) {
    return { answer: refusals.notPermitted(`Overwrite new schema with id ${given} is not permitted.`) }
  }
  // A client that knows the id of a deleted version of this subject gets the same id again.
  const former = now.versions.findLast(each => each.guid === guid)
  const id = given ?? former?.id ?? stored.id
  const references = content.references.map(({ subject, version: referred }) => [subject, referred] as const)
  const row = { version, id, guid, bareGuid, isDeleted: false, atMs: state.clock.now(), references }
  const after = withVersion(await withoutDeleted(state, now, row), row)
  return { answer: schemaOfSubject(after, row, { ...stored, id }), after }
}

/** Leaves out the deleted versions with the same schema, unless other schemas refer to them. */
async function withoutDeleted(
  state: VerbRooms['state'],
  subject: Subject,
  { guid, id, version }: SubjectVersion,
): Promise<Subject> {
  const deleted = subject.versions.filter(
    each => each.isDeleted && each.guid === guid && each.id === id && each.version !== version,
  )
  if (deleted.length === 0) return subject
  const view = await state.index.view()
  const referred = { name: subject.name, versions: new Set(deleted.map(each => each.version)), isDeletedToo: true }
  const kept = new Set(referrersOf(view, referred).map(({ refersTo }) => refersTo))
  const dropped = deleted.filter(each => !kept.has(each.version) && !state.holds.isHeld(subject, each.version))
  return { ...subject, versions: subject.versions.filter(each => !dropped.includes(each)) }
}

async function answer({ state }: VerbRooms, subject: Subject, row: SubjectVersion): Promise<SchemaOfSubject> {
  const content: StoredContent = await contentOf(state, row.guid)
  return schemaOfSubject(subject, row, content)
}
