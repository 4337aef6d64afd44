// Finds a schema that a client sends among the versions of a subject. A client may send it with other words: without
// the metadata that was added later, or with its references written out.

import type { RegistryRefusal } from '../refusals.ts'
import { liveVersions, type Subject, type SubjectVersion } from '../state/subject.ts'
import { isUnusable } from '../work/unusable.ts'
import { type Candidate, refusalOf } from './candidate.ts'
import { contentOf, sourceOf } from './dependencies.ts'
import type { VerbRooms } from './rooms.ts'

/**
 * Resolves with the version that has this schema, the newest one that fits; null if no version has it. It is refused if
 * the threads have too much to do. Throws what the store throws.
 */
export async function findVersion(
  rooms: VerbRooms,
  subject: Subject,
  candidate: Candidate,
  { isDeletedToo = false } = {},
): Promise<SubjectVersion | RegistryRefusal | null> {
  const versions = isDeletedToo ? subject.versions : liveVersions(subject)
  const exact = findExact(versions, candidate)
  if (exact !== null) return exact
  if (!candidate.isBare) return null
  const bare = versions.findLast(each => each.bareGuid === candidate.bareGuid)
  if (bare !== undefined) return bare
  return await findInlined(rooms, versions, candidate)
}

export function findExact(versions: readonly SubjectVersion[], { guid }: Candidate): SubjectVersion | null {
  return (
    versions.findLast(each => each.guid === guid && !each.isDeleted) ??
    versions.findLast(each => each.guid === guid) ??
    null
  )
}

/** Avro's clients send a schema with all of its types in one text. */
async function findInlined(
  { state, work }: VerbRooms,
  versions: readonly SubjectVersion[],
  { content, examined }: Candidate,
): Promise<SubjectVersion | RegistryRefusal | null> {
  if (content.references.length > 0 || content.type !== 'AVRO') return null
  for (const version of versions.toReversed()) {
    if (version.references.length === 0) continue
    const stored = await contentOf(state, version.guid)
    if (stored.type !== content.type) continue
    const its = await work.examine(stored.type, await sourceOf(state, stored), 'stored')
    if (!isUnusable(its)) {
      if (its.inlined === examined.inlined) return version
    } else if (its.kind === 'busy') return refusalOf(stored.type, its)
  }
  return null
}
