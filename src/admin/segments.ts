// Describes the segments of a partition, whichever broker leads it: only the leader knows its active segment. If the
// leader does not answer, the description says so, and has the sealed segments from their document in the store. This
// file changes nothing.

import { SEGMENT_TIERS } from '../api/words.ts'
import type { Topic } from '../log/catalogue.ts'
import type { Partition } from '../log/partition.ts'
import {
  because,
  errorOf,
  isRefusal,
  NONE,
  NOT_LEADER_OR_FOLLOWER,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
} from '../protocol/errors.ts'
import { describeSegments } from '../protocol/messages/describe-segments.ts'
import type { ResponseOf } from '../protocol/schema.ts'
import { ask, type ReachRooms } from './reach.ts'
import { type ArchivedPart, type TieredSegment, withTiers } from './segment-tiers.ts'
import { answerOf } from './storage.ts'

/** A page of a list: how many rows to leave out, and the most rows to return. */
export interface Page {
  readonly skip: number
  readonly limit: number
}

/** The offsets that the remote tier has, ascending, and the version of the table that has them; 0: no table. */
export interface RemotePart {
  readonly ranges: readonly { readonly base: number; readonly next: number }[]
  readonly version: number
}

export interface SegmentPage {
  /** The lowest offset that clients may read. */
  readonly startOffset: number
  readonly localStartOffset: number
  readonly endOffset: number
  /** The first offset that no pass of the cleaner has reached. */
  readonly cleanedTo: number
  /** Why the partition cannot be cleaned, and the offset that prevents it; null if it can. */
  readonly uncleanable: { readonly offset: number; readonly why: string } | null
  /** False if the document of the sealed segments cannot be read: then the one segment is the whole log. */
  readonly areReadable: boolean
  /** Null if the topic does not use the remote tier. */
  readonly remote: RemotePart | null
  readonly segments: readonly TieredSegment[]
  /** The number of segments on all pages. */
  readonly total: number
}

/** A page of the segments as far as they are known. Null: only the leader knows it, and does not answer. */
export interface KnownSegments extends Pick<SegmentPage, 'remote' | 'segments' | 'total' | 'uncleanable'> {
  readonly startOffset: number | null
  readonly localStartOffset: number | null
  readonly endOffset: number | null
  readonly cleanedTo: number | null
  /** The missing parts and the reasons, in sentences; null if nothing is missing. */
  readonly trouble: string | null
}

const VERSION = 0

const UNREADABLE = 'The document of the sealed segments cannot be read, so the one segment is the whole log.'
const ONLY_SEALED =
  'These are the sealed segments. The active segment, and how far the partition is cleaned, are unknown until the leader answers.'
const NO_SEALED = 'The store does not tell the sealed segments either:'

/** Resolves to a page of the segments, the oldest first. */
export async function segmentsOf(
  rooms: ReachRooms,
  topic: Topic,
  partition: number,
  page: Page,
): Promise<KnownSegments> {
  const told = await askLeader(rooms, topic, partition, page)
  if (isRefusal(told)) return await sealedSegmentsOf(rooms, topic, partition, page, told.message)
  const { areReadable, ...known } = told
  return { ...known, trouble: areReadable ? null : UNREADABLE }
}

/** Resolves to the segments that the store knows, for a partition whose leader does not answer for this reason. */
async function sealedSegmentsOf(
  rooms: ReachRooms,
  topic: Topic,
  partition: number,
  page: Page,
  why: string,
): Promise<KnownSegments> {
  const stored = await answerOf(rooms, rooms.logs.sealedSegments(topic.id, partition))
  const unknown = { startOffset: null, localStartOffset: null, endOffset: null, cleanedTo: null, uncleanable: null }
  if (typeof stored === 'string')
    return { ...unknown, remote: null, segments: [], total: 0, trouble: `${why} ${NO_SEALED} ${stored}` }
  const { remote, end } = stored
  // The leader knows where the local tier begins. The document has lost the segments below it.
  const from = stored.segments[0]?.base ?? end
  const segments = withTiers(
    stored.segments.map(segment => ({ ...segment, isActive: false })),
    remote,
    from,
  )
  const trouble = `${why} ${ONLY_SEALED}`
  return { ...unknown, ...pageOf(segments, page), remote: remotePart(remote), trouble }
}

/** The refusal says why the leader does not answer. */
async function askLeader(
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
      if (errorCode === NONE) return [pageFrom(answer)]
      const error = errorOf(errorCode) ?? UNKNOWN_SERVER_ERROR
      return [because(error, `Broker ${brokerId}: ${errorMessage ?? error.message}`)]
    },
  })
  return found!
}

function pageOf(rows: readonly TieredSegment[], { skip, limit }: Page): Pick<SegmentPage, 'segments' | 'total'> {
  const from = Math.max(0, skip)
  return { segments: rows.slice(from, from + Math.max(0, limit)), total: rows.length }
}

function remotePart(remote: (ArchivedPart & { readonly version: number }) | null): RemotePart | null {
  if (remote === null) return null
  return { version: remote.version, ranges: remote.ranges.map(([base, next]) => ({ base, next })) }
}

/** Returns a page of the segments of a partition that this broker leads. */
export function segmentsHere(partition: Partition | null, page: Page): SegmentPage | Refusal {
  const refusal = partition === null ? NOT_LEADER_OR_FOLLOWER : partition.checkEpoch(-1)
  if (partition === null || refusal !== null) return refusal ?? NOT_LEADER_OR_FOLLOWER
  const { areReadable, segments } = partition.listSegments()
  const { remote } = partition.state.sealed
  return {
    startOffset: partition.logStartOffset,
    localStartOffset: partition.localStartOffset,
    endOffset: partition.highWatermark,
    cleanedTo: Math.max(partition.state.cleaned.cleanedTo, partition.logStartOffset),
    uncleanable: partition.uncleanable,
    areReadable,
    remote: remotePart(remote),
    ...pageOf(withTiers(segments, remote, partition.localStartOffset), page),
  }
}

type Told = ResponseOf<typeof describeSegments>

function pageFrom(told: Told): SegmentPage {
  const { startOffset, endOffset, cleanedTo, uncleanable, areReadable, segments, total, ranges } = told
  // A leader of a version without the remote tier tells only of the local one.
  const localStartOffset = told.localStartOffset < 0 ? startOffset : told.localStartOffset
  const remote = told.remoteVersion < 0 ? null : { version: told.remoteVersion, ranges }
  const known = { startOffset, localStartOffset, endOffset, cleanedTo, uncleanable, areReadable, remote, total }
  return { ...known, segments: segments.map(withNulls) }
}

/** Replaces the numbers that the leader does not know, which travel as NaN. */
function withNulls({ tier, ...told }: Told['segments'][number]): TieredSegment {
  const entries = Object.entries(told).map(([name, value]) => [name, Number.isNaN(value) ? null : value])
  return { ...Object.fromEntries(entries), tier: SEGMENT_TIERS[tier] ?? 'local' } as unknown as TieredSegment
}
