// The offload jobs: each moves one sealed segment to the remote tier. Every broker answers, because the jobs are in the
// store; the broker that holds the lease of the storage worker runs them.

import { cancelJob, listJobPage, retryFailedJobs, retryJob, showJob } from '../../admin/shown-jobs.ts'
import {
  jobActionShape,
  offloadJobParams,
  offloadJobQuery,
  offloadJobShape,
  offloadJobsShape,
  retriedJobsShape,
  retryFailedShape,
} from '../../api/offload-jobs.ts'
import { found, route } from '../route.ts'

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
    async answer({ query }, rooms) {
      return found(await listJobPage(rooms, query))
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
      return found(await showJob(rooms, id))
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
      return found(await retryJob(rooms, id))
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
      return found(await cancelJob(rooms, id))
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
      return found(await retryFailedJobs(rooms, body?.topic))
    },
  }),
]
