// The reads of a partition that the archive answers: batches below the local start, and those that the stream has lost.
// It turns the archive's faults into refusals. partition.ts decides which offsets are cold, and goes on in the stream.

import type { Patience } from '../base/patience.ts'
import { because, isRefusal, KAFKA_STORAGE_ERROR, REQUEST_TIMED_OUT, type Refusal } from '../protocol/errors.ts'
import type { ArchivePlace, ArchiveRead, ArchiveTrouble, ColdTier, SearchTrouble } from './archive.ts'
import type { PartitionState } from './partition-state.ts'
import type { Span } from './remote-log.ts'
import type { FoundOffset } from './time-search.ts'

/** Batches as clients see them. */
export interface ColdBatches {
  readonly batches: readonly Uint8Array[]
  readonly bytes: number
  /** As ArchiveRead has it. */
  readonly release: (() => void) | null
}

export function placeIn({ topic, index }: PartitionState): ArchivePlace {
  return { topicId: topic.id, topicName: topic.name, partition: index }
}

export class ColdReads {
  readonly #tier: ColdTier | null

  constructor(tier: ColdTier | null) {
    this.#tier = tier
  }

  /**
   * Returns batches of cold offsets below `until`, as Archive.read does; null if the archive has none of them.
   * Synchronous if the archive answers from memory, or refuses because too many reads wait.
   */
  read(
    state: PartitionState,
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    until: number,
  ): ColdBatches | null | Refusal | Promise<ColdBatches | null | Refusal> {
    if (this.#tier === null) return withoutTier(state)
    const found = this.#tier.archive.read(placeIn(state), offset, maxBytes, minOneBatch, until)
    return found instanceof Promise ? found.then(answer => answered(state, answer)) : answered(state, found)
  }

  /** Resolves with the first cold record at or after this time, in the order of offsets; null if none is. */
  firstSince(state: PartitionState, timestamp: number, patience: Patience): Promise<FoundOffset | null | Refusal> {
    return this.#search(
      state,
      patience,
      (tier, [from, until]) => tier.archive.firstSince(placeIn(state), timestamp, from, until, patience),
      earlier,
    )
  }

  /** Resolves with the cold record that has the largest timestamp, the first one of several; null if none has one. */
  largest(state: PartitionState, patience: Patience): Promise<FoundOffset | null | Refusal> {
    return this.#search(
      state,
      patience,
      (tier, [from, until]) => tier.archive.largest(placeIn(state), from, until, patience),
      larger,
    )
  }

  /** Searches all cold spans, and returns the better one of what was found. */
  async #search(
    state: PartitionState,
    patience: Patience,
    search: (tier: ColdTier, span: Span) => Promise<FoundOffset | null | SearchTrouble>,
    better: (one: FoundOffset, other: FoundOffset) => FoundOffset,
  ): Promise<FoundOffset | null | Refusal> {
    let best: FoundOffset | null = null
    for (const span of coldSpans(state)) {
      if (this.#tier === null) return withoutTier(state)
      if (patience.isOver) return TIMED_OUT
      const found = await search(this.#tier, span)
      if (found === null) continue
      if ('kind' in found) {
        // A timer can come a millisecond before the clock says that the patience is over.
        if (found.kind === 'late' || patience.isOver) return TIMED_OUT
        return refused(state, found)
      }
      best = best === null ? found : better(best, found)
    }
    return best
  }
}

const TIMED_OUT = because(REQUEST_TIMED_OUT, 'The search through the archived records took too long.')

/** Returns the record with the lower offset. */
export function earlier(one: FoundOffset, other: FoundOffset): FoundOffset {
  return other.offset < one.offset ? other : one
}

/** Returns the record with the larger timestamp, or the lower offset if both have the same. */
export function larger(one: FoundOffset, other: FoundOffset): FoundOffset {
  if (one.timestamp === other.timestamp) return earlier(one, other)
  return other.timestamp > one.timestamp ? other : one
}

/** Returns the better one of two results of a search; a refusal is worse than anything. */
export function betterOf(
  one: FoundOffset | null | Refusal,
  other: FoundOffset | null | Refusal,
  better: (one: FoundOffset, other: FoundOffset) => FoundOffset,
): FoundOffset | null | Refusal {
  if (isRefusal(one)) return one
  if (isRefusal(other)) return other
  if (one === null || other === null) return one ?? other
  return better(one, other)
}

/** Returns the spans of offsets that only the archive has, ascending. */
function coldSpans({ remote, start, lost }: PartitionState): readonly Span[] {
  if (remote === null) return []
  const { logStart } = remote
  const below: readonly Span[] = logStart < start ? [[logStart, start]] : []
  const above = lost.filter(([, next]) => next > start)
  return [...below, ...above.map(([base, next]): Span => [Math.max(base, start, logStart), next])]
}

function answered(state: PartitionState, answer: ArchiveRead): ColdBatches | null | Refusal {
  if (answer.kind === 'read') return answer
  return answer.kind === 'nothing' ? null : refused(state, answer)
}

function refused({ name }: PartitionState, trouble: ArchiveTrouble): Refusal {
  switch (trouble.kind) {
    case 'busy':
      return because(
        KAFKA_STORAGE_ERROR,
        `Too many reads of the remote tier wait on this broker; ${name} was not read.`,
      )
    case 'away':
      return because(KAFKA_STORAGE_ERROR, `The remote tier cannot read ${name} at the moment: ${trouble.why}`)
    case 'damaged':
      return {
        ...because(KAFKA_STORAGE_ERROR, `The archive of ${name} cannot be read: ${trouble.why}`),
        isDamage: true,
      }
  }
}

function withoutTier({ name }: PartitionState): Refusal {
  return because(
    KAFKA_STORAGE_ERROR,
    `A part of ${name} is in the remote tier, and this broker has none; its storage.remote.path must be set.`,
  )
}
