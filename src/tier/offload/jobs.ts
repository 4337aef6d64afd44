// Offload jobs, one for each sealed segment that has to move to the table of its topic, and the moves between their
// states. All functions are pure: job-documents.ts stores the jobs, pipeline.ts does the work.
//
//   plan --> pending --claim--> running --finish--> done --evict--> (no job)
//             ^  ^  ^              | | |
//             |  |  +--notSpent----+ | +--takeOver--> pending, or failed if no attempt is left
//             |  |                   +----fail------> failed; suspended if no attempt is left
//             |  +--retry-- failed, cancelled
//             +--claim also takes a failed job that is not suspended
//
//   cancel: pending or failed --> cancelled          expire: every state but done --> cancelled
//   A job whose segment is in the table is done, whatever its state was: the table is the truth (plan-jobs.ts).
//
// An attempt counts when it begins, so that a segment that ends the process is suspended too.

import type { JobStatus } from '../../api/words.ts'

/** The last failure of a job, or the reason for its cancellation. */
export interface JobFailure {
  /** A sentence for people. */
  readonly why: string
  /** The offset of the batch that failed; null if it was no batch. */
  readonly offset: number | null
  readonly atMs: number
}

/** A sealed segment of a partition. It covers the offsets [base, next). */
export interface OffloadSegment {
  readonly partition: number
  readonly base: number
  readonly next: number
  /** Stored bytes of its batches. */
  readonly bytes: number
  /**
   * Bytes of its batches as clients see them; null if they are not known, as when the log start cuts the segment. If
   * they are known, an attempt that reads other bytes fails.
   */
  readonly plainBytes: number | null
  /** By the clock of the leader that sealed it. Its UTC day is that of the file. */
  readonly sealedAtMs: number
}

export interface OffloadJob extends OffloadSegment {
  readonly topicId: string
  readonly topicName: string
  readonly status: JobStatus
  /** Only a failed job is suspended: no broker claims it until an operator retries it. */
  readonly isSuspended: boolean
  /** Attempts that have begun since the job was planned or retried. */
  readonly attempts: number
  readonly maxAttempts: number
  /** By the clocks of the holders, in ms since 1970. */
  readonly createdAtMs: number
  /** The start of the last attempt; null before the first one. */
  readonly startedAtMs: number | null
  /** The duration of the last attempt in ms; null while it runs. */
  readonly tookMs: number | null
  readonly failure: JobFailure | null
  /** The fence of the holder that runs it; null if it does not run. */
  readonly fence: number | null
}

export interface Refused {
  readonly kind: 'refused'
  /** A sentence for people. */
  readonly why: string
}

export type Move = { readonly kind: 'moved'; readonly job: OffloadJob } | Refused

/** Returns the id by which operators name a job: `<topic id>:<partition>:<base>`. */
export const jobId = ({ topicId, partition, base }: Pick<OffloadJob, 'topicId' | 'partition' | 'base'>) =>
  `${topicId}:${partition}:${base}`

const moved = (job: OffloadJob, changes: Partial<OffloadJob>): Move => ({ kind: 'moved', job: { ...job, ...changes } })
const refused = (job: OffloadJob, why: string): Refused => ({
  kind: 'refused',
  why: `The offload job ${jobId(job)} ${why}.`,
})

const statusOf = ({ status, isSuspended }: OffloadJob) => (isSuspended ? 'suspended' : status)
const isSpent = ({ attempts, maxAttempts }: OffloadJob) => attempts >= maxAttempts
const durationOf = ({ startedAtMs }: OffloadJob, nowMs: number) =>
  startedAtMs === null ? null : Math.max(0, Math.floor(nowMs) - startedAtMs)

export interface NewJob extends OffloadSegment {
  readonly topicId: string
  readonly topicName: string
  readonly maxAttempts: number
}

export function newJob(of: NewJob, nowMs: number): OffloadJob {
  return {
    ...of,
    status: 'pending',
    isSuspended: false,
    attempts: 0,
    createdAtMs: Math.floor(nowMs),
    startedAtMs: null,
    tookMs: null,
    failure: null,
    fence: null,
  }
}

/** Says whether a holder may claim the job. */
export const isClaimable = ({ status, isSuspended }: OffloadJob) =>
  status === 'pending' || (status === 'failed' && !isSuspended)

/** The holder with this fence begins an attempt. */
export function claim(job: OffloadJob, fence: number, nowMs: number): Move {
  if (!isClaimable(job)) return refused(job, `is ${statusOf(job)}; only a pending or failed job can be claimed`)
  const changes = {
    status: 'running',
    isSuspended: false,
    fence,
    startedAtMs: Math.floor(nowMs),
    tookMs: null,
  } as const
  return moved(job, { ...changes, attempts: job.attempts + 1 })
}

/** The holder with this fence finds a job that a former holder left running. Its attempt counts. */
export function takeOver(job: OffloadJob, fence: number, nowMs: number): Move {
  if (job.status !== 'running') return refused(job, `is ${statusOf(job)}; only a running job can be taken over`)
  if (job.fence === fence) return refused(job, `is run by the holder with the fence ${fence} itself`)
  const failure = { why: 'The broker that ran it ended.', offset: null, atMs: Math.floor(nowMs) }
  if (isSpent(job)) return moved(job, { status: 'failed', isSuspended: true, fence: null, failure })
  return moved(job, { status: 'pending', fence: null, failure })
}

/** Returns the refusal to end an attempt that this holder does not run. */
function notRunBy(job: OffloadJob, fence: number): Refused | null {
  if (job.status !== 'running') return refused(job, `is ${statusOf(job)}, so its attempt cannot end`)
  if (job.fence !== fence)
    return refused(job, `is run by the holder with the fence ${job.fence}, and not with ${fence}`)
  return null
}

/** The segment is in the table. */
export function finish(job: OffloadJob, fence: number, nowMs: number): Move {
  return notRunBy(job, fence) ?? moved(job, doneAt(job, nowMs))
}

/** The changes of a job whose segment is in the table. */
export function doneAt(job: OffloadJob, nowMs: number): Partial<OffloadJob> {
  const tookMs = job.status === 'running' ? durationOf(job, nowMs) : job.tookMs
  return { status: 'done', isSuspended: false, fence: null, failure: null, tookMs }
}

/** The attempt failed. The job is suspended if that was the last one. */
export function fail(job: OffloadJob, fence: number, why: string, offset: number | null, nowMs: number): Move {
  const changes = { status: 'failed', isSuspended: isSpent(job), fence: null, tookMs: durationOf(job, nowMs) } as const
  return notRunBy(job, fence) ?? moved(job, { ...changes, failure: { why, offset, atMs: Math.floor(nowMs) } })
}

/**
 * The attempt ended for a reason that is not the segment's, such as a store that is away. It does not count, and the
 * job shows the reason.
 */
export function notSpent(job: OffloadJob, fence: number, why: string, nowMs: number): Move {
  const failure = { why, offset: null, atMs: Math.floor(nowMs) }
  const changes = { status: 'pending', fence: null, startedAtMs: null, tookMs: null, failure } as const
  return notRunBy(job, fence) ?? moved(job, { ...changes, attempts: Math.max(0, job.attempts - 1) })
}

/** An operator wants new attempts. */
export function retry(job: OffloadJob): Move {
  if (job.status !== 'failed' && job.status !== 'cancelled')
    return refused(job, `is ${job.status}; only a failed or cancelled job can be retried`)
  return moved(job, { status: 'pending', isSuspended: false, attempts: 0 })
}

/** An operator wants no attempt any more. */
export function cancel(job: OffloadJob): Move {
  if (job.status !== 'pending' && job.status !== 'failed')
    return refused(job, `is ${job.status}; only a pending or failed job can be cancelled`)
  return moved(job, { status: 'cancelled', isSuspended: false })
}

/** Retention has passed the segment. `why` is a sentence. An attempt that still runs is refused at its end. */
export function expire(job: OffloadJob, why: string, nowMs: number): Move {
  if (job.status === 'done' || job.status === 'cancelled') return refused(job, `is ${job.status}, so it cannot expire`)
  const tookMs = job.status === 'running' ? durationOf(job, nowMs) : job.tookMs
  const failure = { why, offset: job.failure?.offset ?? null, atMs: Math.floor(nowMs) }
  return moved(job, { status: 'cancelled', isSuspended: false, fence: null, tookMs, failure })
}
