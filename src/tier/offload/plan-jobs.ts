// Decides which jobs a holder adds, settles and forgets, from the sealed segments of partitions and the archived ranges
// of the table. All functions are pure.

import { type Archived, covers } from '../iceberg/ranges.ts'
import { doneAt, jobId, newJob, type OffloadJob, type OffloadSegment, takeOver } from './jobs.ts'

export interface TopicOfJobs {
  readonly topicId: string
  readonly topicName: string
}

export interface PlanRules {
  /** The fence of this holder. Jobs that run under another one are taken over. */
  readonly fence: number
  readonly maxAttempts: number
  readonly nowMs: number
}

/**
 * Returns the jobs of a topic that are new or change. `segments` are the sealed segments below the limit of their
 * partition (the high watermark, or the last stable offset).
 *
 * A segment without a job gets a pending one, unless the table covers it. A job of a covered segment is done. A job
 * that is done although the table does not cover its segment begins again: the table went back, and its ranges decide.
 */
export function planJobs(
  topic: TopicOfJobs,
  segments: readonly OffloadSegment[],
  jobs: ReadonlyMap<string, OffloadJob>,
  archived: Archived,
  { fence, maxAttempts, nowMs }: PlanRules,
): readonly OffloadJob[] {
  const changed: OffloadJob[] = []
  const isCovered = ({ partition, base, next }: OffloadSegment) => covers(archived, partition, [base, next])
  const planned = new Set<string>()
  for (const segment of segments) {
    const { partition, base, next, bytes, plainBytes, sealedAtMs } = segment
    const id = jobId({ ...topic, partition, base })
    planned.add(id)
    const job = jobs.get(id)
    if (isCovered(segment)) {
      if (job !== undefined) changed.push(...settled(job, nowMs))
      continue
    }
    const facts = { partition, base, next, bytes, plainBytes, sealedAtMs }
    if (job === undefined || job.status === 'done') {
      changed.push(newJob({ topicId: topic.topicId, topicName: topic.topicName, maxAttempts, ...facts }, nowMs))
      continue
    }
    const current = afterTakeOver(job, fence, nowMs)
    // The log start may have cut the segment since, or a cleaning may have changed its bytes.
    const isSame = job.next === next && job.bytes === bytes && job.plainBytes === plainBytes
    if (current.status === 'running' || isSame) {
      if (current !== job) changed.push(current)
    } else changed.push({ ...current, ...facts })
  }
  // Segments that are not local any more, or that their leader did not name.
  for (const [id, job] of jobs) {
    if (planned.has(id)) continue
    const current = isCovered(job) ? settled(job, nowMs)[0] : afterTakeOver(job, fence, nowMs)
    if (current !== undefined && current !== job) changed.push(current)
  }
  return changed
}

function settled(job: OffloadJob, nowMs: number): readonly OffloadJob[] {
  return job.status === 'done' ? [] : [{ ...job, ...doneAt(job, nowMs) }]
}

function afterTakeOver(job: OffloadJob, fence: number, nowMs: number): OffloadJob {
  const move = takeOver(job, fence, nowMs)
  return move.kind === 'moved' ? move.job : job
}

/**
 * Returns the jobs to forget, over all topics: done ones beyond the newest `retentionCount`, and cancelled ones of gone
 * segments beyond as many of their own. Retention cancels a job for each segment that it passes, so these may not stay
 * for ever, and may not push out done ones. A cancelled job of a segment that still exists stays: without it the
 * segment would get a new job.
 */
export function evict(
  jobs: Iterable<OffloadJob>,
  retentionCount: number,
  isGone: (job: OffloadJob) => boolean,
): readonly OffloadJob[] {
  const all = Array.from(jobs)
  const done = all.filter(({ status }) => status === 'done')
  const gone = all.filter(job => job.status === 'cancelled' && isGone(job))
  return [done, gone].flatMap(each => each.sort(newestFirst).slice(Math.max(0, retentionCount)).reverse())
}

const newestFirst = (a: OffloadJob, b: OffloadJob) =>
  endOf(b) - endOf(a) || b.partition - a.partition || b.base - a.base

const endOf = ({ createdAtMs, startedAtMs, tookMs, failure }: OffloadJob) =>
  Math.max(createdAtMs, (startedAtMs ?? 0) + (tookMs ?? 0), failure?.atMs ?? 0)
