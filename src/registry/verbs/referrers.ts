// The versions that refer to a version.

import type { Subject } from '../state/subject.ts'
import type { SubjectView } from '../state/subject-index.ts'

export interface Referrer {
  readonly subject: string
  readonly version: number
  readonly id: number
}

/** Returns the versions that refer directly to this one, in the order of subjects and versions. */
export function referrersOf(
  view: SubjectView,
  name: string,
  version: number,
  { isDeletedToo }: { readonly isDeletedToo: boolean },
): readonly Referrer[] {
  return view.all().flatMap(subject => referrersIn(subject, name, version, { isDeletedToo }))
}

/** Returns the versions of one subject that refer directly to this one. */
export function referrersIn(
  subject: Subject,
  name: string,
  version: number,
  { isDeletedToo }: { readonly isDeletedToo: boolean },
): readonly Referrer[] {
  const found: Referrer[] = []
  for (const each of subject.versions) {
    if (each.references.length === 0 || (each.isDeleted && !isDeletedToo)) continue
    if (each.references.some(([subjectName, number]) => subjectName === name && number === version))
      found.push({ subject: subject.name, version: each.version, id: each.id })
  }
  return found
}
