// The local tier: where partitions rest, how much each takes, its segments, and the storage worker.

import { type Paging, pageOf, searchFor } from '../../admin/paging.ts'
import { checkPartition, findTopic, type Place } from '../../admin/reach.ts'
import { describeSegment } from '../../admin/segment-detail.ts'
import type { TieredSegment } from '../../admin/segment-tiers.ts'
import { segmentsOf } from '../../admin/segments.ts'
import { describeStore, measureSizes, measureStreams, type Partitions, partitionsOf } from '../../admin/storage.ts'
import { describeWorker, runRound, whyNoHolder } from '../../admin/storage-worker.ts'
import {
  roundRequestShape,
  segmentDetailShape,
  segmentParams,
  segmentsParams,
  segmentsQuery,
  segmentsShape,
  startedRoundShape,
  storageQuery,
  storageShape,
  workerShape,
} from '../../api/storage.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { problem } from '../problems.ts'
import { type HttpRooms, reply, route } from '../route.ts'

export const storageRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/storage',
    needs: 'viewer',
    verb: 'show storage',
    tag: 'storage',
    doc: 'The place where partitions rest, its free room, its circuit breaker, the waits for its connections, and the size of each partition. A store that does not answer is described as far as this broker knows it.',
    query: storageQuery,
    answers: { 200: storageShape },
    async answer({ query }, rooms) {
      const partitions = partitionsOf(rooms, searchFor(query.q))
      const shown = query.sort === 'sizeBytes' ? await bySize(rooms, partitions, query) : byTopic(partitions, query)
      const [streams, store] = await Promise.all([measureStreams(rooms, shown), describeStore(rooms)])
      return reply(200, { store, streams, total: partitions.total })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/storage/worker',
    needs: 'viewer',
    verb: 'show storage worker',
    tag: 'storage',
    doc: 'The broker that runs the storage worker of the cluster, its newest round, and whether partitions may be cleaned.',
    answers: { 200: workerShape },
    async answer(_request, rooms) {
      return reply(200, await describeWorker(rooms))
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/storage/worker/run',
    needs: 'admin',
    verb: 'run storage worker',
    tag: 'storage',
    doc: 'Starts a round of the storage worker over all partitions, or joins the one in progress, and waits up to 20 s for its end. Every broker takes the request.',
    body: roundRequestShape,
    audited: [],
    answers: { 200: startedRoundShape },
    problems: { 503: 'NO_STORAGE_WORKER, NOT_CONTROLLER, LEADER_NOT_AVAILABLE' },
    async answer(_request, rooms) {
      const round = await runRound(rooms)
      if (round === null) return problem('NO_STORAGE_WORKER', whyNoHolder(rooms))
      return isRefusal(round) ? round : reply(200, { round })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/topics/:topic/partitions/:partition/segments',
    needs: 'viewer',
    verb: 'list segments of partition',
    tag: 'storage',
    doc: 'A page of the segments of a partition, the oldest first. If its leader does not answer, `trouble` says why, and only the sealed segments are shown, from the store.',
    params: segmentsParams,
    query: segmentsQuery,
    answers: { 200: segmentsShape },
    problems: { 400: 'INVALID_TOPIC_EXCEPTION', 404: 'UNKNOWN_TOPIC_OR_PARTITION' },
    async answer({ params: { topic: name, partition }, query: { offset: skip, limit } }, rooms) {
      const topic = await findTopic(rooms, name)
      if (isRefusal(topic)) return topic
      const stranger = checkPartition(topic, partition)
      if (stranger !== null) return stranger
      const found = await segmentsOf(rooms, topic, partition, { skip, limit })
      const leader = rooms.cluster.leaderOf(topic.id, partition)
      const place = { topic: topic.name, partition, leaderId: leader < 0 ? null : leader }
      return reply(200, { ...place, ...found, segments: found.segments.map(shownSegment) })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/topics/:topic/partitions/:partition/segments/:base',
    needs: 'viewer',
    verb: 'show segment',
    tag: 'storage',
    doc: 'One row of the list of segments, with its offload job and its data files in the remote tier. If these are not known in time, `inspection` and `trouble` say why, and the rest is shown without them.',
    params: segmentParams,
    answers: { 200: segmentDetailShape },
    problems: { 400: 'INVALID_TOPIC_EXCEPTION', 404: 'UNKNOWN_TOPIC_OR_PARTITION, NOT_FOUND' },
    async answer({ params: { topic: name, partition, base } }, rooms) {
      const topic = await findTopic(rooms, name)
      if (isRefusal(topic)) return topic
      const stranger = checkPartition(topic, partition)
      if (stranger !== null) return stranger
      const found = await describeSegment(rooms, topic, partition, base)
      if ('missing' in found) {
        const said = `No segment of partition ${partition} of '${name}' begins at offset ${base}.`
        return problem('NOT_FOUND', found.missing === null ? said : `${said} ${found.missing}`)
      }
      const { segment, job, inspection, trouble } = found
      const leader = rooms.cluster.leaderOf(topic.id, partition)
      return reply(200, {
        ...{ topic: topic.name, partition, leaderId: leader < 0 ? null : leader },
        ...{ segment: shownSegment(segment), job },
        ...{ inspection: inspection.outcome, files: inspection.files, totalFiles: inspection.total, trouble },
      })
    },
  }),
]

function shownSegment({ sealedAtMs, firstAppendMs, lastAppendMs, cleanedAtMs, ...segment }: TieredSegment) {
  const times = {
    ...{ sealedAt: timeOf(sealedAtMs), firstAppendAt: timeOf(firstAppendMs) },
    ...{ lastAppendAt: timeOf(lastAppendMs), cleanedAt: timeOf(cleanedAtMs) },
  }
  return { ...segment, ...times }
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

function byTopic({ slice, total }: Partitions, { order, offset, limit }: Paging): readonly Place[] {
  if (order === 'asc') return slice(offset, offset + limit)
  return slice(Math.max(0, total - offset - limit), Math.max(0, total - offset)).toReversed()
}

async function bySize(rooms: HttpRooms, { slice, total }: Partitions, query: Paging): Promise<readonly Place[]> {
  const places = slice(0, total)
  const sizes = await measureSizes(rooms, places)
  const page = pageOf(
    places.map((place, at) => ({ place, size: sizes[at]! })),
    query,
    ({ size }) => size,
    ({ place: { topic } }) => topic.name,
    ({ place: { partition } }) => partition,
  )
  return page.map(({ place }) => place)
}
