// Keeps a version that is being deleted and a schema that is being registered with a reference to it apart. They are in
// two documents, and no commit of the store changes two.
//
//   the registration, with S as its subject      the deletion, of version 1 of T
//   ---------------------------------------      -------------------------------
//   reads S                                      reads T
//   commits a hold to T, if version 1 is there   looks for schemas that refer to version 1
//   commits the version to S                     for each hold: reads S, and commits nothing to it (a fence)
//   removes the hold                             commits the deletion to T
//
// Each commit counts only if its document is as it was read. So if the hold is made after T was read, the deletion is
// not made and begins again. If it was made before, the deletion finds the hold, and the fence comes before or after
// the version of S: the registration begins again, or the deletion finds the reference. The holds of registrations
// whose broker has ended do no harm: they cost a fence, for an hour.

import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { isStoreFailure, UnreadableDocument } from '../../store/store.ts'
import { emptySubject, type Hold, ROWS_OF_NOTHING, rowsOfHolds, type Subject } from './subject.ts'
import type { Subjects } from './subjects.ts'

/** No registration takes this long, not even with a broker that was paused, or with clocks that differ. */
const HELD_MS = 3_600_000
const KEY_BYTES = 9

export interface Referred {
  readonly subject: string
  readonly version: number
}

export class ReferenceHolds {
  readonly #subjects: Subjects
  readonly #clock: Clock
  readonly #random: Random

  constructor(subjects: Subjects, { clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#subjects = subjects
    this.#clock = clock
    this.#random = random
  }

  /** Returns the key of the holds of one registration. */
  newKey(): string {
    return `hold-${Buffer.from(this.#random.bytes(KEY_BYTES)).toString('hex')}`
  }

  /**
   * Makes or renews the holds of a registration in `subject`. Resolves with null, or with the first reference for which
   * `isThere` is false. Throws what the store throws.
   */
  async hold<Its extends Referred>(
    key: string,
    subject: string,
    references: readonly Its[],
    isThere: (now: Subject, reference: Its) => boolean,
  ): Promise<Its | null> {
    const missing = await Promise.all(
      [...bySubject(references)].map(([name, its]) =>
        this.#subjects.changeBeside<Its | null>(name, 'hold', now => {
          const absent = its.find(each => !isThere(now, each))
          if (absent !== undefined) return { answer: absent }
          const versions = [...new Set(its.map(({ version }) => version))]
          const others = now.holds.filter(each => each.key !== key && !this.#isOver(each))
          const hold = { key, subject, versions, atMs: this.#clock.now() }
          return { answer: null, rows: [...ROWS_OF_NOTHING, ...rowsOfHolds(now.holds, [...others, hold])] }
        }),
      ),
    )
    return missing.find(each => each !== null) ?? null
  }

  /** Removes the holds, if the store can do it. */
  async release(key: string, references: readonly Referred[]): Promise<void> {
    const releasing = [...bySubject(references).keys()].map(name =>
      this.#subjects.changeBeside(name, 'hold', now => {
        const others = now.holds.filter(each => each.key !== key)
        if (others.length === now.holds.length) return { answer: null }
        return { answer: null, rows: [...ROWS_OF_NOTHING, ...rowsOfHolds(now.holds, others)] }
      }),
    )
    // The registration is made or refused already, and each hold ends by itself.
    await Promise.all(releasing.map(each => each.catch(unlessStoreFailed)))
  }

  /** Returns whether a schema may be in the course of registration that refers to the version. */
  isHeld({ holds }: Subject, version: number): boolean {
    return holds.some(each => each.versions.includes(version) && !this.#isOver(each))
  }

  /**
   * Fences the registrations in progress that refer to one of the versions. Resolves with those of their subjects for
   * which `refers` is true: they were registered meanwhile. Throws what the store throws.
   */
  async fence(
    { name, holds }: Subject,
    versions: readonly number[],
    refers: (now: Subject) => boolean,
  ): Promise<readonly Subject[]> {
    const its = holds.filter(each => each.versions.some(version => versions.includes(version)) && !this.#isOver(each))
    // A registration in the same subject has the same document.
    const holders = new Set(its.map(({ subject }) => subject).filter(each => each !== name))
    const found = await Promise.all(
      [...holders].map(holder =>
        this.#subjects
          .changeBeside(holder, 'fence', now =>
            refers(now) ? { answer: now } : { answer: now, rows: ROWS_OF_NOTHING },
          )
          .catch(error => unreadable(error, holder)),
      ),
    )
    return found.filter(refers)
  }

  #isOver({ atMs }: Hold): boolean {
    return Math.abs(this.#clock.now() - atMs) > HELD_MS
  }
}

function bySubject<Its extends Referred>(references: readonly Its[]): ReadonlyMap<string, readonly Its[]> {
  return Map.groupBy(references, ({ subject }) => subject)
}

function unlessStoreFailed(error: unknown): void {
  if (!isStoreFailure(error)) throw error
}

/** A subject that cannot be read cannot be changed either: no registration is made in it. */
function unreadable(error: unknown, name: string): Subject {
  if (error instanceof UnreadableDocument) return emptySubject(name)
  throw error
}
