// The versions that refer to versions of a subject.

import type { Subject } from '../state/subject.ts'
import type { SubjectView } from '../state/subject-index.ts'

export interface Referrer {
  readonly subject: string
  readonly version: number
  readonly id: number
  /** The version to which it refers directly. */
  readonly refersTo: number
}

export interface Referred {
  readonly name: string
  readonly versions: ReadonlySet<number>
  /** Versions that are deleted softly count too. */
  readonly isDeletedToo: boolean
}

/** Returns the versions that refer to one of these, in the order of these, of the subjects and of the versions. */
export function referrersOf(view: SubjectView, referred: Referred): readonly Referrer[] {
  const found = view.all().flatMap(subject => referrersIn(subject, referred))
  return found.sort((one, other) => one.refersTo - other.refersTo)
}

/** Returns the versions of one subject that refer to one of these. */
export function referrersIn(subject: Subject, { name, versions, isDeletedToo }: Referred): readonly Referrer[] {
  const found: Referrer[] = []
  for (const { version, id, isDeleted, references } of subject.versions) {
    if (references.length === 0 || (isDeleted && !isDeletedToo)) continue
    const its = references.filter(([subjectName, number]) => subjectName === name && versions.has(number))
    for (const refersTo of new Set(its.map(([, number]) => number)))
      found.push({ subject: subject.name, version, id, refersTo })
  }
  return found
}
