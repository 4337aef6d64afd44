// Lists the offload jobs and makes the moves that operators may make, from any broker: the jobs are in documents that
// every broker reads and changes by compare-and-set. tier/offload/ decides which moves are allowed; the holder of the
// storage worker's lease runs the jobs.

import type { JobCounts, ShownJob, UnreadableJobs } from '../api/offload-jobs.ts'
import { aFewAtATime } from '../base/a-few.ts'
import type { Clock } from '../base/clock.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { Jobs, Unreadable } from '../tier/offload/job-documents.ts'
import { jobId, type Move, type OffloadJob, retry } from '../tier/offload/jobs.ts'
import type { RemoteTier } from '../tier/remote/remote-tier.ts'

export interface JobRooms {
  readonly remoteTier: Pick<RemoteTier, 'jobs' | 'tables'>
  readonly catalogue: Pick<CatalogueKeeper, 'current'>
  readonly clock: Clock
}

/** A topic by both of its names. */
export interface NamedTopic {
  readonly id: string
  readonly name: string
}

export interface FoundJobs {
  readonly jobs: readonly ShownJob[]
  readonly unreadable: readonly UnreadableJobs[]
}

/** Resolves to the jobs of a topic, or with null of all topics. Throws what the store throws. */
export async function readJobs(rooms: JobRooms, topic: NamedTopic | null): Promise<FoundJobs> {
  const topics = topic === null ? topicsWithJobs(rooms) : [topic]
  const found = await aFewAtATime(
    rooms.clock,
    topics,
    async each => [each, await rooms.remoteTier.jobs.of(each.id)] as const,
  )
  const jobs: ShownJob[] = []
  const unreadable: UnreadableJobs[] = []
  for (const [each, ofTopic] of found) {
    if (isUnreadable(ofTopic)) unreadable.push(shownUnreadable(each, ofTopic))
    else for (const job of ofTopic.values()) jobs.push(shownJob(job))
  }
  return { jobs, unreadable }
}

export function countJobs(jobs: readonly ShownJob[]): JobCounts {
  const counts = { pending: 0, running: 0, done: 0, failed: 0, cancelled: 0, suspended: 0 }
  for (const { status, suspended } of jobs) {
    counts[status]++
    if (suspended) counts.suspended++
  }
  return counts
}

/** Resolves to the job; null if no job has this id. Resolves to a reason if the jobs of its topic cannot be read. */
export async function findJob({ remoteTier }: JobRooms, id: string): Promise<ShownJob | null | Unreadable> {
  const jobs = await remoteTier.jobs.of(topicIdOf(id))
  if (isUnreadable(jobs)) return jobs
  const job = jobs.get(id)
  return job === undefined ? null : shownJob(job)
}

export type JobMove = { readonly kind: 'moved'; readonly job: ShownJob } | Exclude<Move, { kind: 'moved' }> | Unreadable

/** Makes one move of a job. Resolves to null if no job has this id. Throws what the store throws. */
export async function moveJob(
  { remoteTier }: JobRooms,
  id: string,
  move: (job: OffloadJob) => Move,
): Promise<JobMove | null> {
  const topicId = topicIdOf(id)
  const known = await remoteTier.jobs.of(topicId)
  if (isUnreadable(known)) return known
  const topicName = known.get(id)?.topicName
  if (topicName === undefined) return null
  return await remoteTier.jobs.change<JobMove | null>({ topicId, topicName }, jobs => {
    const job = jobs.get(id)
    if (job === undefined) return { answer: null }
    const moved = move(job)
    if (moved.kind !== 'moved') return { answer: moved }
    return { answer: { kind: 'moved', job: shownJob(moved.job) }, put: [moved.job] }
  })
}

export interface MovedJob {
  readonly kind: 'moved'
  readonly before: ShownJob
  readonly after: ShownJob
}

/** Resolves to the job as it is and as the move would leave it, and changes nothing. Null if no job has this id. */
export async function previewMove(
  { remoteTier }: JobRooms,
  id: string,
  move: (job: OffloadJob) => Move,
): Promise<MovedJob | Exclude<JobMove, { kind: 'moved' }> | null> {
  const jobs = await remoteTier.jobs.of(topicIdOf(id))
  if (isUnreadable(jobs)) return jobs
  const job = jobs.get(id)
  if (job === undefined) return null
  const moved = move(job)
  return moved.kind === 'moved' ? { kind: 'moved', before: shownJob(job), after: shownJob(moved.job) } : moved
}

/** The members of a job that change when it moves. */
export type JobState = Pick<ShownJob, 'status' | 'suspended' | 'attempts'>

export const JOB_CHANGED = 'The offload job has moved since it was shown.'

/** Returns the move of a job that is made only in this state. */
export function movedFrom(expected: JobState, move: (job: OffloadJob) => Move): (job: OffloadJob) => Move {
  return job => {
    const { status, isSuspended, attempts } = job
    const isSame = status === expected.status && isSuspended === expected.suspended && attempts === expected.attempts
    return isSame ? move(job) : { kind: 'refused', why: JOB_CHANGED }
  }
}

export interface Retried {
  readonly retried: number
  readonly unreadable: readonly UnreadableJobs[]
}

/**
 * Retries the failed jobs of a topic, or with null of all topics. Throws what the store throws; some jobs may have been
 * retried then.
 */
export async function retryFailed(rooms: JobRooms, topic: NamedTopic | null): Promise<Retried> {
  const topics = topic === null ? topicsWithJobs(rooms) : [topic]
  const answers = await aFewAtATime(rooms.clock, topics, async each => [each, await retryIn(rooms, each)] as const)
  let retried = 0
  const unreadable: UnreadableJobs[] = []
  for (const [each, answer] of answers) {
    if (typeof answer === 'number') retried += answer
    else unreadable.push(shownUnreadable(each, answer))
  }
  return { retried, unreadable }
}

async function retryIn({ remoteTier }: JobRooms, { id, name }: NamedTopic): Promise<number | Unreadable> {
  const failed = (jobs: Jobs) => [...jobs.values()].filter(({ status }) => status === 'failed')
  const known = await remoteTier.jobs.of(id)
  if (isUnreadable(known)) return known
  if (failed(known).length === 0) return 0
  return await remoteTier.jobs.change({ topicId: id, topicName: name }, jobs => {
    const put = failed(jobs).flatMap(job => {
      const moved = retry(job)
      return moved.kind === 'moved' ? [moved.job] : []
    })
    return { answer: put.length, put }
  })
}

/** The topics that use the remote tier or still have a table. No other topic has jobs, so no version is asked for. */
function topicsWithJobs({ catalogue, remoteTier }: JobRooms): readonly NamedTopic[] {
  const { topics, topicsById } = catalogue.current()
  const named = new Map<string, string>()
  for (const { id, name, resolved } of topics.values()) if (resolved.remoteStorageEnable) named.set(id, name)
  for (const { topicId, topicName } of remoteTier.tables()) if (topicsById.has(topicId)) named.set(topicId, topicName)
  return Array.from(named, ([id, name]) => ({ id, name }))
}

function topicIdOf(id: string): string {
  return id.slice(0, id.indexOf(':'))
}

function isUnreadable(found: Jobs | Unreadable): found is Unreadable {
  return 'kind' in found
}

function shownUnreadable({ id, name }: NamedTopic, { why }: Unreadable): UnreadableJobs {
  return { topic: name, topicId: id, why }
}

function shownJob(job: OffloadJob): ShownJob {
  const { topicId, topicName, partition, base, next, bytes, plainBytes, status, isSuspended, failure } = job
  const timeOf = (ms: number) => new Date(ms).toISOString()
  return {
    ...{ id: jobId(job), topic: topicName, topicId, partition, base, next, bytes, plainBytes },
    ...{ sealedAt: timeOf(job.sealedAtMs), status, suspended: isSuspended },
    ...{ attempts: job.attempts, maxAttempts: job.maxAttempts, createdAt: timeOf(job.createdAtMs) },
    startedAt: job.startedAtMs === null ? null : timeOf(job.startedAtMs),
    tookMs: job.tookMs,
    failure: failure === null ? null : { why: failure.why, offset: failure.offset, failedAt: timeOf(failure.atMs) },
  }
}
