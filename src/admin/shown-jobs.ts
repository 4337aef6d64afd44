// The offload jobs as the admin API shows and moves them. Each verb says which setting switched the remote tier off.

import type { JobList, OffloadJobQuery, RetriedJobs, ShownJob } from '../api/offload-jobs.ts'
import type { Clock } from '../base/clock.ts'
import type { CatalogueKeeper, Topic } from '../log/catalogue.ts'
import { isRefusal, type Refusal } from '../protocol/errors.ts'
import type { Settings } from '../settings/settings.ts'
import { cancel, type Move, type OffloadJob, retry } from '../tier/offload/jobs.ts'
import type { RemoteTier } from '../tier/remote/remote-tier.ts'
import { type Declined, declined, isDeclined } from './declined.ts'
import { countJobs, findJob, moveJob, readJobs, retryFailed } from './offload-jobs.ts'
import { pageOf } from './paging.ts'
import { findTopic } from './reach.ts'
import { withTier } from './remote-storage.ts'

export interface ShownJobRooms {
  /** Null on a broker without storage.remote.path. */
  readonly remoteTier: RemoteTier | null
  readonly catalogue: CatalogueKeeper
  readonly settings: Settings
  readonly clock: Clock
}

/** Resolves to a page of the jobs, with the number of jobs in each state. Throws what the store throws. */
export async function listJobPage(
  rooms: ShownJobRooms,
  { status, topic: name, sort, ...page }: OffloadJobQuery,
): Promise<JobList | Refusal | Declined> {
  const tiered = withTier(rooms)
  if (isDeclined(tiered)) return tiered
  const topic = await topicOrAll(rooms, name)
  if (isRefusal(topic)) return topic
  const { jobs, unreadable } = await readJobs(tiered, topic)
  const wanted = status === undefined ? jobs : jobs.filter(job => job.status === status)
  const byPlace = [(job: ShownJob) => job.topic, (job: ShownJob) => job.partition, (job: ShownJob) => job.base]
  const shown = pageOf(wanted, page, job => job[sort], ...byPlace)
  return { jobs: shown, total: wanted.length, counts: countJobs(jobs), unreadable: [...unreadable] }
}

/** Resolves to one job. Throws what the store throws. */
export async function showJob(rooms: ShownJobRooms, id: string): Promise<ShownJob | Declined> {
  const tiered = withTier(rooms)
  if (isDeclined(tiered)) return tiered
  const found = await findJob(tiered, id)
  if (found === null) return noJob(id)
  return 'kind' in found ? declined('UNREADABLE', found.why) : found
}

/** Gives a failed or cancelled job all of its attempts again. Throws what the store throws. */
export async function retryJob(rooms: ShownJobRooms, id: string): Promise<ShownJob | Declined> {
  return await move(rooms, id, retry)
}

/** Cancels a pending or failed job. Throws what the store throws. */
export async function cancelJob(rooms: ShownJobRooms, id: string): Promise<ShownJob | Declined> {
  return await move(rooms, id, cancel)
}

/**
 * Retries the failed jobs of a topic, or without a name of all topics. Throws what the store throws; some jobs may
 * have been retried then.
 */
export async function retryFailedJobs(
  rooms: ShownJobRooms,
  topicName: string | undefined,
): Promise<RetriedJobs | Refusal | Declined> {
  const tiered = withTier(rooms)
  if (isDeclined(tiered)) return tiered
  const topic = await topicOrAll(rooms, topicName)
  if (isRefusal(topic)) return topic
  const { retried, unreadable } = await retryFailed(tiered, topic)
  return { retried, unreadable: [...unreadable] }
}

async function move(rooms: ShownJobRooms, id: string, by: (job: OffloadJob) => Move): Promise<ShownJob | Declined> {
  const tiered = withTier(rooms)
  if (isDeclined(tiered)) return tiered
  const moved = await moveJob(tiered, id, by)
  if (moved === null) return noJob(id)
  if (moved.kind === 'moved') return moved.job
  return declined(moved.kind === 'refused' ? 'CONFLICT' : 'UNREADABLE', moved.why)
}

/** Null stands for all topics. */
async function topicOrAll(
  rooms: Pick<ShownJobRooms, 'catalogue'>,
  name: string | undefined,
): Promise<Topic | null | Refusal> {
  return name === undefined ? null : await findTopic(rooms, name)
}

function noJob(id: string): Declined {
  return declined('NOT_FOUND', `There is no offload job '${id}'.`)
}
