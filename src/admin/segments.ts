// Describes the segments of a partition, whichever broker leads it: only the leader knows its active segment. If the
// leader does not answer, the description says so and has no numbers. This file changes nothing.

import type { Topic } from '../log/catalogue.ts'
import type { Partition } from '../log/partition.ts'
import {
  because,
  errorOf,
  NONE,
  NOT_LEADER_OR_FOLLOWER,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
} from '../protocol/errors.ts'
import { describeSegments } from '../protocol/messages/describe-segments.ts'
import type { EpochStart } from '../store/store.ts'
import { ask, type ReachRooms } from './reach.ts'

/** A page of a list: how many rows to leave out, and the most rows to return. */
export interface Page {
  readonly skip: number
  readonly limit: number
}

/** One segment [base, next) of a partition. Null: unknown. Times and timestamps are ms since 1970. */
export interface ShownSegment {
  readonly base: number
  readonly next: number
  /** The last segment, to which records are appended. */
  readonly isActive: boolean
  readonly sealedAtMs: number | null
  /** Stored bytes of its batches. */
  readonly bytes: number | null
  /** The bytes of its batches as clients see them. */
  readonly plainBytes: number | null
  readonly batches: number | null
  readonly records: number | null
  readonly minTimestamp: number | null
  readonly maxTimestamp: number | null
  readonly firstAppendMs: number | null
  readonly lastAppendMs: number | null
  /** The leader epochs that own its offsets. */
  readonly epochs: readonly EpochStart[]
  readonly cleanedAtMs: number | null
}

export interface SegmentPage {
  readonly startOffset: number
  readonly endOffset: number
  /** The first offset that no pass of the cleaner has reached. */
  readonly cleanedTo: number
  /** Why the partition cannot be cleaned, and the offset that prevents it; null if it can. */
  readonly uncleanable: { readonly offset: number; readonly why: string } | null
  readonly segments: readonly ShownSegment[]
  /** The number of segments on all pages. */
  readonly total: number
}

const VERSION = 0

/** Resolves to a page of the segments, the oldest first. The refusal says why the leader does not answer. */
export async function segmentsOf(
  rooms: ReachRooms,
  topic: Topic,
  partition: number,
  page: Page,
): Promise<SegmentPage | Refusal> {
  const [found] = await ask(rooms, [{ topic, partition }], {
    here: led => segmentsHere(led, page),
    async there(brokerId) {
      const answer = await rooms.peers.ask(brokerId, describeSegments, VERSION, {
        topicId: topic.id,
        partition,
        ...page,
      })
      const { errorCode, errorMessage } = answer
      if (errorCode === NONE) return [{ ...answer, segments: answer.segments.map(withNulls) }]
      const error = errorOf(errorCode) ?? UNKNOWN_SERVER_ERROR
      return [because(error, `Broker ${brokerId}: ${errorMessage ?? error.message}`)]
    },
  })
  return found!
}

/** Returns a page of the segments of a partition that this broker leads. */
export function segmentsHere(partition: Partition | null, { skip, limit }: Page): SegmentPage | Refusal {
  const refusal = partition === null ? NOT_LEADER_OR_FOLLOWER : partition.checkEpoch(-1)
  if (partition === null || refusal !== null) return refusal ?? NOT_LEADER_OR_FOLLOWER
  const all = allSegments(partition)
  return {
    startOffset: partition.logStartOffset,
    endOffset: partition.highWatermark,
    cleanedTo: partition.logStartOffset,
    uncleanable: null,
    segments: all.slice(Math.max(0, skip), Math.max(0, skip) + Math.max(0, limit)),
    total: all.length,
  }
}

/**
 * TO BE REPLACED when Partition has `segments` and `activeFrom`, together with the two constants above: until then the
 * whole log is one active segment, made of the chunks of the time index.
 */
function allSegments({ state, logStartOffset, endOffset, sizeBytes }: Partition): readonly ShownSegment[] {
  const known = state.timeIndex.chunks.filter(({ isKnown, bytes }) => isKnown && bytes > 0)
  const isWhole = known.reduce((sum, { bytes }) => sum + bytes, 0) === sizeBytes
  return [
    {
      base: logStartOffset,
      next: endOffset,
      isActive: true,
      sealedAtMs: null,
      bytes: sizeBytes,
      plainBytes: null,
      batches: null,
      records: null,
      minTimestamp: null,
      maxTimestamp: isWhole ? known.reduce((most, { maxTimestamp }) => Math.max(most, maxTimestamp), -1) : null,
      firstAppendMs: null,
      lastAppendMs: null,
      epochs: state.epochs,
      cleanedAtMs: null,
    },
  ]
}

type Unknown<T> = { readonly [K in keyof T]: T[K] extends number ? number | null : T[K] }

/** Replaces the numbers that the leader does not know, which travel as NaN. */
function withNulls<T extends object>(segment: T): T & Unknown<T> {
  const entries = Object.entries(segment).map(([name, value]) => [name, Number.isNaN(value) ? null : value])
  return Object.fromEntries(entries)
}
