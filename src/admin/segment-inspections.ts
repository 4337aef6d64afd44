// Looks into the remote tier for the data files of a segment, for people. An inspection reads the index of a table, so
// few run at one time and few wait; a caller waits a limited time, and a later caller gets the result of an inspection
// that was late for an earlier one. It keeps results for a short time and changes nothing.

import type { RemoteFile } from '../api/storage.ts'
import type { InspectionOutcome } from '../api/words.ts'
import { type Clock, within } from '../base/clock.ts'
import type { ArchivePlace } from '../log/archive.ts'
import type { Settings } from '../settings/settings.ts'
import type { RemoteTier } from '../tier/remote/remote-tier.ts'

export interface InspectionRooms {
  readonly settings: Settings
  readonly clock: Clock
}

export interface Inspection {
  readonly outcome: InspectionOutcome
  /** At most MOST_FILES, in the order of their offsets. */
  readonly files: readonly RemoteFile[]
  readonly total: number
  /** Why the outcome is another one than `done`. */
  readonly trouble: string | null
}

const MOST_FILES = 1_000
/** The most results that are kept. */
const MOST_KEPT = 1_000

interface Kept {
  readonly answer: Promise<Inspection>
  /** By Clock.monotonic(); Infinity while the inspection runs. */
  untilMs: number
}

export class SegmentInspections {
  readonly #clock: Clock
  readonly #threads: number
  readonly #capacity: number
  readonly #timeoutMs: number
  readonly #ttlMs: number
  readonly #kept = new Map<string, Kept>()
  /** Those that wait for a thread, in the order of their arrival. */
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor({ settings, clock }: InspectionRooms) {
    this.#clock = clock
    this.#threads = settings.get('admin.segment-inspection.threads')
    this.#capacity = settings.get('admin.segment-inspection.queue-capacity')
    this.#timeoutMs = settings.get('admin.segment-inspection.timeout')
    this.#ttlMs = settings.get('admin.segment-inspection.ttl')
  }

  /** Resolves to the data files that have offsets in [base, next), or to the reason why they are not known in time. */
  async inspect(
    tier: Pick<RemoteTier, 'inspect'>,
    place: ArchivePlace,
    base: number,
    next: number,
  ): Promise<Inspection> {
    const key = `${place.topicId}:${place.partition}:${base}:${next}`
    const nowMs = this.#clock.monotonic()
    let found = this.#kept.get(key)
    if (found === undefined || found.untilMs <= nowMs) {
      if (this.#running >= this.#threads && this.#waiting.length >= this.#capacity) return FULL
      found = this.#keep(key, this.#run(tier, place, base, next))
    }
    return await within(this.#clock, this.#timeoutMs, found.answer, () => LATE)
  }

  #keep(key: string, answer: Promise<Inspection>): Kept {
    const kept: Kept = { answer, untilMs: Number.POSITIVE_INFINITY }
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    const end = (isDone: boolean) => {
      kept.untilMs = isDone ? this.#clock.monotonic() + this.#ttlMs : Number.NEGATIVE_INFINITY
      this.#forget()
    }
    // Each caller that still waits gets the error itself.
    answer.then(
      ({ outcome }) => end(outcome === 'done'),
      () => end(false),
    )
    return kept
  }

  #forget(): void {
    const nowMs = this.#clock.monotonic()
    for (const [key, { untilMs }] of this.#kept)
      if (untilMs <= nowMs || (this.#kept.size > MOST_KEPT && untilMs < Number.POSITIVE_INFINITY))
        this.#kept.delete(key)
  }

  async #run(tier: Pick<RemoteTier, 'inspect'>, place: ArchivePlace, base: number, next: number): Promise<Inspection> {
    if (this.#running < this.#threads) this.#running++
    // The one that ends gives its thread to this one.
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return inspectionOf(await tier.inspect(place, base, next))
    } finally {
      const following = this.#waiting.shift()
      if (following === undefined) this.#running--
      else following()
    }
  }
}

const NOTHING = Object.freeze({ files: Object.freeze([]), total: 0 })

const FULL: Inspection = Object.freeze({
  ...NOTHING,
  outcome: 'full',
  trouble: 'Too many inspections of segments wait (svc.admin.segment-inspection.queue-capacity). Ask again later.',
})

const LATE: Inspection = Object.freeze({
  ...NOTHING,
  outcome: 'late',
  trouble: 'The remote tier has not answered within svc.admin.segment-inspection.timeout. Ask again later.',
})

function inspectionOf(found: Awaited<ReturnType<RemoteTier['inspect']>>): Inspection {
  if (!('kind' in found)) {
    const files = found.slice(0, MOST_FILES).map(({ kafkaBytes, ...file }) => ({ ...file, plainBytes: kafkaBytes }))
    return { outcome: 'done', files, total: found.length, trouble: null }
  }
  if (found.kind !== 'busy') return { ...NOTHING, outcome: 'failed', trouble: found.why }
  const trouble = 'Too many reads of the remote tier wait (svc.storage.remote.iceberg.read.queue-capacity).'
  return { ...NOTHING, outcome: 'full', trouble }
}
