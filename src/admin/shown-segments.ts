// Segments of a partition as the admin API shows them: a page of the list, and one segment in detail.

import type { SegmentDetail, SegmentList } from '../api/storage.ts'
import { isRefusal, type Refusal } from '../protocol/errors.ts'
import { type Declined, declined } from './declined.ts'
import { checkPartition, findTopic, type Place, type ReachRooms } from './reach.ts'
import { type DetailRooms, describeSegment } from './segment-detail.ts'
import type { TieredSegment } from './segment-tiers.ts'
import { segmentsOf } from './segments.ts'

/** A partition by the name of its topic. */
export interface NamedPartition {
  readonly topic: string
  readonly partition: number
}

/** Resolves to a page of the segments, the oldest first. Throws what the store throws. */
export async function listSegmentPage(
  rooms: ReachRooms,
  named: NamedPartition,
  { offset: skip, limit }: { readonly offset: number; readonly limit: number },
): Promise<SegmentList | Refusal> {
  const place = await findPlace(rooms, named)
  if (isRefusal(place)) return place
  const { segments, uncleanable, remote, ...found } = await segmentsOf(rooms, place.topic, place.partition, {
    skip,
    limit,
  })
  return {
    ...ledPlace(rooms, place),
    ...found,
    uncleanable,
    remote: remote === null ? null : { ranges: [...remote.ranges], version: remote.version },
    segments: segments.map(shownSegment),
  }
}

/** Resolves to the segment that begins at this offset. Throws what the store throws. */
export async function showSegment(
  rooms: DetailRooms,
  { base, ...named }: NamedPartition & { readonly base: number },
): Promise<SegmentDetail | Refusal | Declined> {
  const place = await findPlace(rooms, named)
  if (isRefusal(place)) return place
  const found = await describeSegment(rooms, place.topic, place.partition, base)
  if ('missing' in found) {
    const said = `No segment of partition ${named.partition} of '${named.topic}' begins at offset ${base}.`
    return declined('NOT_FOUND', found.missing === null ? said : `${said} ${found.missing}`)
  }
  const { segment, job, inspection, trouble } = found
  return {
    ...ledPlace(rooms, place),
    ...{ segment: shownSegment(segment), job },
    ...{ inspection: inspection.outcome, files: [...inspection.files], totalFiles: inspection.total, trouble },
  }
}

async function findPlace(rooms: ReachRooms, { topic: name, partition }: NamedPartition): Promise<Place | Refusal> {
  const topic = await findTopic(rooms, name)
  if (isRefusal(topic)) return topic
  return checkPartition(topic, partition) ?? { topic, partition }
}

function ledPlace({ cluster }: Pick<ReachRooms, 'cluster'>, { topic, partition }: Place) {
  const leader = cluster.leaderOf(topic.id, partition)
  return { topic: topic.name, partition, leaderId: leader < 0 ? null : leader }
}

function shownSegment(segment: TieredSegment): SegmentList['segments'][number] {
  const { sealedAtMs, firstAppendMs, lastAppendMs, cleanedAtMs, epochs, ...rest } = segment
  return {
    ...rest,
    epochs: [...epochs],
    ...{ sealedAt: timeOf(sealedAtMs), firstAppendAt: timeOf(firstAppendMs) },
    ...{ lastAppendAt: timeOf(lastAppendMs), cleanedAt: timeOf(cleanedAtMs) },
  }
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
