// The local tier: where partitions rest, how much each takes, its segments, and the storage worker.

import { listSegmentPage, showSegment } from '../../admin/shown-segments.ts'
import { showStorage } from '../../admin/storage.ts'
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
import { found, reply, route } from '../route.ts'

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
      return reply(200, await showStorage(rooms, query))
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
    async answer({ params, query }, rooms) {
      return found(await listSegmentPage(rooms, params, query))
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
    async answer({ params }, rooms) {
      return found(await showSegment(rooms, params))
    },
  }),
]
