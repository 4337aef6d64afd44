// Describes one segment of a partition: its row in the list, its offload job, and its files in the remote tier. A part
// that is not known in time is missing, and the description says why.

import type { ShownJob } from '../api/offload-jobs.ts'
import type { Topic } from '../log/catalogue.ts'
import { jobId } from '../tier/offload/jobs.ts'
import type { RemoteTier } from '../tier/remote/remote-tier.ts'
import { findJob } from './offload-jobs.ts'
import type { ReachRooms } from './reach.ts'
import { whyNoTier } from './remote-storage.ts'
import type { Inspection, SegmentInspections } from './segment-inspections.ts'
import type { TieredSegment } from './segment-tiers.ts'
import { type KnownSegments, segmentsOf } from './segments.ts'
import { sentences } from './sentences.ts'

export interface DetailRooms extends ReachRooms {
  readonly remoteTier: RemoteTier | null
  readonly segmentInspections: SegmentInspections
}

export interface DescribedSegment {
  readonly segment: TieredSegment
  readonly job: ShownJob | null
  readonly inspection: Inspection
  /** The missing parts and the reasons, in sentences; null if nothing is missing. */
  readonly trouble: string | null
}

/** The most rows that one request to the leader asks for. */
const ROWS = 1_000

const NOT_THERE: Inspection = Object.freeze({ outcome: 'none', files: Object.freeze([]), total: 0, trouble: null })

/** Resolves to the segment that begins at this offset. `missing` says why the list that lacks it is not whole. */
export async function describeSegment(
  rooms: DetailRooms,
  topic: Topic,
  partition: number,
  base: number,
): Promise<DescribedSegment | { readonly missing: string | null }> {
  const { segment, page } = await findSegment(rooms, topic, partition, base)
  if (segment === null) return { missing: page.trouble }
  const isArchived = page.remote?.ranges.some(range => range.base < segment.next && segment.base < range.next) === true
  const { remoteTier: tier } = rooms
  const place = { topicId: topic.id, topicName: topic.name, partition }
  const [job, inspection] = await Promise.all([
    tier === null ? null : findJob({ ...rooms, remoteTier: tier }, jobId({ ...place, base })),
    !isArchived
      ? NOT_THERE
      : tier === null
        ? { ...NOT_THERE, outcome: 'failed' as const, trouble: whyNoTier(rooms.settings) }
        : rooms.segmentInspections.inspect(tier, place, segment.base, segment.next),
  ])
  const isUnread = job !== null && 'kind' in job
  const troubles = [page.trouble, isUnread ? job.why : null, inspection.trouble].filter(each => each !== null)
  const trouble = troubles.length === 0 ? null : sentences(troubles)
  return { segment, job: isUnread ? null : job, inspection, trouble }
}

/** Asks for page after page: the rows are in the order of their offsets. */
async function findSegment(
  rooms: ReachRooms,
  topic: Topic,
  partition: number,
  base: number,
): Promise<{ readonly segment: TieredSegment | null; readonly page: KnownSegments }> {
  for (let skip = 0; ; skip += ROWS) {
    const page = await segmentsOf(rooms, topic, partition, { skip, limit: ROWS })
    const segment = page.segments.find(each => each.base === base)
    if (segment !== undefined) return { segment, page }
    const last = page.segments.at(-1)
    if (last === undefined || last.base > base || skip + ROWS >= page.total) return { segment: null, page }
  }
}
