// The offload jobs: each moves one sealed segment to the remote tier. Every broker answers, because the jobs are in the
// store; the broker that holds the lease of the storage worker runs them.

import { countJobs, findJob, type JobMove, moveJob, readJobs, retryFailed } from '../../admin/offload-jobs.ts'
import { pageOf } from '../../admin/paging.ts'
import { findTopic } from '../../admin/reach.ts'
import { whyNoTier } from '../../admin/remote-storage.ts'
import {
  jobActionShape,
  offloadJobParams,
  offloadJobQuery,
  offloadJobShape,
  offloadJobsShape,
  retriedJobsShape,
  retryFailedShape,
  type ShownJob,
} from '../../api/offload-jobs.ts'
import type { Topic } from '../../log/catalogue.ts'
import { isRefusal, type Refusal } from '../../protocol/errors.ts'
import { cancel, retry } from '../../tier/offload/jobs.ts'
import type { RemoteTier } from '../../tier/remote/remote-tier.ts'
import { isProblem, type Problem, problem } from '../problems.ts'
import { type Answer, type HttpRooms, reply, route } from '../route.ts'

const OFF = 'REMOTE_TIER_OFF'

export const offloadJobRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/storage/offload-jobs',
    needs: 'viewer',
    verb: 'list offload jobs',
    tag: 'storage',
    doc: 'A page of the offload jobs, by topic, partition and offset or as `sort` asks, and the number of jobs in each state.',
    query: offloadJobQuery,
    answers: { 200: offloadJobsShape },
    problems: { 400: 'INVALID_TOPIC_EXCEPTION', 404: `UNKNOWN_TOPIC_OR_PARTITION, ${OFF}` },
    async answer({ query: { status, topic: name, sort, ...page } }, rooms) {
      const tiered = withTier(rooms)
      if (isProblem(tiered)) return tiered
      const topic = await topicOrAll(rooms, name)
      if (isRefusal(topic)) return topic
      const { jobs, unreadable } = await readJobs(tiered, topic)
      const wanted = status === undefined ? jobs : jobs.filter(job => job.status === status)
      const byPlace = [(job: ShownJob) => job.topic, (job: ShownJob) => job.partition, (job: ShownJob) => job.base]
      const shown = pageOf(wanted, page, job => job[sort], ...byPlace)
      return reply(200, { jobs: shown, total: wanted.length, counts: countJobs(jobs), unreadable })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/storage/offload-jobs/:id',
    needs: 'viewer',
    verb: 'show offload job',
    tag: 'storage',
    doc: 'One offload job.',
    params: offloadJobParams,
    answers: { 200: offloadJobShape },
    problems: { 404: `NOT_FOUND, ${OFF}`, 409: 'UNREADABLE' },
    async answer({ params: { id } }, rooms) {
      const tiered = withTier(rooms)
      if (isProblem(tiered)) return tiered
      const found = await findJob(tiered, id)
      if (found === null) return noJob(id)
      return 'kind' in found ? problem('UNREADABLE', found.why) : reply(200, found)
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/storage/offload-jobs/:id/retry',
    needs: 'admin',
    verb: 'retry offload job',
    tag: 'storage',
    doc: 'Gives a failed or cancelled job all of its attempts again. The next round of the storage worker offloads its segment.',
    params: offloadJobParams,
    body: jobActionShape,
    audited: [],
    answers: { 200: offloadJobShape },
    problems: { 404: `NOT_FOUND, ${OFF}`, 409: 'CONFLICT, UNREADABLE' },
    async answer({ params: { id } }, rooms) {
      const tiered = withTier(rooms)
      return isProblem(tiered) ? tiered : answerOf(id, await moveJob(tiered, id, retry))
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/storage/offload-jobs/:id/cancel',
    needs: 'admin',
    verb: 'cancel offload job',
    tag: 'storage',
    doc: 'Cancels a pending or failed job. Its segment stays in the local tier, and the storage worker skips it until the job is retried or total retention drops it.',
    params: offloadJobParams,
    body: jobActionShape,
    audited: [],
    answers: { 200: offloadJobShape },
    problems: { 404: `NOT_FOUND, ${OFF}`, 409: 'CONFLICT, UNREADABLE' },
    async answer({ params: { id } }, rooms) {
      const tiered = withTier(rooms)
      return isProblem(tiered) ? tiered : answerOf(id, await moveJob(tiered, id, cancel))
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/storage/offload-jobs/retry-failed',
    needs: 'admin',
    verb: 'retry failed offload jobs',
    tag: 'storage',
    doc: 'Gives all failed jobs, or those of one topic, all of their attempts again. Cancelled jobs stay cancelled.',
    body: retryFailedShape,
    audited: ['topic'],
    answers: { 200: retriedJobsShape },
    problems: { 400: 'INVALID_TOPIC_EXCEPTION', 404: `UNKNOWN_TOPIC_OR_PARTITION, ${OFF}` },
    async answer({ body }, rooms) {
      const tiered = withTier(rooms)
      if (isProblem(tiered)) return tiered
      const topic = await topicOrAll(rooms, body?.topic)
      return isRefusal(topic) ? topic : reply(200, await retryFailed(tiered, topic))
    },
  }),
]

function withTier(rooms: HttpRooms): (HttpRooms & { readonly remoteTier: RemoteTier }) | Problem {
  const { remoteTier } = rooms
  return remoteTier === null ? problem(OFF, whyNoTier(rooms.settings)) : { ...rooms, remoteTier }
}

/** Null stands for all topics. */
async function topicOrAll(rooms: HttpRooms, name: string | undefined): Promise<Topic | null | Refusal> {
  return name === undefined ? null : await findTopic(rooms, name)
}

function noJob(id: string): Problem {
  return problem('NOT_FOUND', `There is no offload job '${id}'.`)
}

function answerOf(id: string, moved: JobMove | null): Answer {
  if (moved === null) return noJob(id)
  if (moved.kind === 'moved') return reply(200, moved.job)
  return moved.kind === 'refused' ? problem('CONFLICT', moved.why) : problem('UNREADABLE', moved.why)
}
