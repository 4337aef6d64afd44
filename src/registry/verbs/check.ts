// Checks whether a schema would fit a subject, without registering it.

import type { Difference } from '../format.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../refusals.ts'
import type { Subject } from '../state/subject.ts'
import { type Candidate, candidateOf } from './candidate.ts'
import { checkAll, checkOne, type Incompatible, type InForce, inForce } from './compatibility.ts'
import { contentOf } from './dependencies.ts'
import { rowOf, type VersionName, versionOf } from './look-up.ts'
import type { SchemaRequest, VerbRooms } from './rooms.ts'

export interface Checked {
  readonly kind: 'checked'
  readonly isCompatible: boolean
  /** As in Confluent's answers. Empty if it is compatible. */
  readonly messages: readonly string[]
  readonly differences: readonly Difference[]
  /** The version that it does not fit; null if it fits. */
  readonly version: number | null
  readonly level: InForce['level']
}

/**
 * Compares with exactly this version, in the direction of the level. The latest version of a subject without versions
 * fits everything. Throws what the store throws.
 */
export async function checkVersion(
  rooms: VerbRooms,
  name: string,
  version: VersionName,
  request: SchemaRequest,
  { normalize = false }: { readonly normalize?: boolean | undefined } = {},
): Promise<Checked | RegistryRefusal> {
  const number = versionOf(version)
  if (isRefusal(number)) return number
  return await check(rooms, name, request, normalize, async (subject, candidate, force) => {
    const row = rowOf(subject, number, false)
    if (row === null) return number === 'latest' ? null : refusals.versionNotFound(number)
    return await checkOne(rooms, row, await contentOf(rooms.state, row.guid), candidate, force)
  })
}

/** Compares with all versions that a registration would be compared with. Throws what the store throws. */
export async function checkSubject(
  rooms: VerbRooms,
  name: string,
  request: SchemaRequest,
  { normalize = false }: { readonly normalize?: boolean | undefined } = {},
): Promise<Checked | RegistryRefusal> {
  return await check(rooms, name, request, normalize, (...args) => checkAll(rooms, ...args))
}

async function check(
  rooms: VerbRooms,
  name: string,
  request: SchemaRequest,
  normalize: boolean,
  compare: (subject: Subject, candidate: Candidate, force: InForce) => Promise<Incompatible | RegistryRefusal | null>,
): Promise<Checked | RegistryRefusal> {
  const { subject, global } = await rooms.state.fresh(name)
  const force = inForce(rooms, subject, global)
  const isNormalized = normalize || force.isNormalizing
  const candidate = await candidateOf(rooms, request, { own: subject, isNormalized })
  if (isRefusal(candidate)) return candidate
  const found = await compare(subject, candidate, force)
  if (isRefusal(found)) return found
  const { level } = force
  if (found === null)
    return { kind: 'checked', isCompatible: true, messages: [], differences: [], version: null, level }
  const { messages, differences, version } = found
  return { kind: 'checked', isCompatible: false, messages, differences, version, level }
}
