// Which offload jobs a topic needs, from the documents of its partitions, and which of them are due. All functions
// are pure. offload/plan-jobs.ts has the rule for one segment; this file adds the log start and the rules of a round.

import type { SealedSegments } from '../../log/segments.ts'
import { type Archived, covers } from '../iceberg/ranges.ts'
import { clientBytes, dueJobs, planFiles, type WaitLimits } from '../offload/file-plan.ts'
import type { Jobs } from '../offload/job-documents.ts'
import { doneAt, expire, isClaimable, jobId, type OffloadJob, type OffloadSegment } from '../offload/jobs.ts'
import { type PlanRules, planJobs, type TopicOfJobs } from '../offload/plan-jobs.ts'

/** By partition number. */
export type Partitions = ReadonlyMap<number, SealedSegments>

const PASSED = 'Retention or DeleteRecords has passed the segment before it was offloaded.'

/** Says whether retention cancelled the job at this time or later. */
export const wasPassed = ({ status, failure }: OffloadJob, sinceMs: number) =>
  status === 'cancelled' && failure?.why === PASSED && failure.atMs >= sinceMs

/** Returns what the table has according to the documents. It may have more. */
export function archivedByDocuments(partitions: Partitions): Archived {
  const known = [...partitions].flatMap(([index, { remote }]) => (remote === null ? [] : [[index, remote] as const]))
  return {
    ranges: new Map(known.map(([index, { ranges }]) => [index, ranges])),
    logStarts: new Map(known.map(([index, { logStart }]) => [index, logStart])),
  }
}

/** Returns the sealed segments above the log start. A partition whose table its leader has not read yet has none. */
function segmentsOf(partitions: Partitions): readonly OffloadSegment[] {
  return [...partitions].flatMap(([partition, { segments, remote }]) => {
    if (remote === null) return []
    return segments
      .filter(({ next }) => next > remote.logStart)
      .map(({ base, next, bytes, plainBytes, sealedAtMs, cleanedAtMs }) => {
        // The bytes were counted when the segment was whole.
        const isWhole = base >= remote.logStart && cleanedAtMs === null
        return { partition, base, next, bytes, plainBytes: isWhole ? plainBytes : null, sealedAtMs }
      })
  })
}

export interface TopicPlan extends PlanRules {
  /** False: no segment gets a new job (remote.log.copy.disable). */
  readonly isCopied: boolean
}

/** Returns the jobs of a topic that are new or change. */
export function planTopic(
  topic: TopicOfJobs,
  partitions: Partitions,
  jobs: Jobs,
  archived: Archived,
  { isCopied, ...rules }: TopicPlan,
): readonly OffloadJob[] {
  const logStartOf = (partition: number) => partitions.get(partition)?.remote?.logStart ?? 0
  const [passed, live] = [[] as OffloadJob[], new Map<string, OffloadJob>()]
  for (const [id, job] of jobs) {
    if (job.next <= logStartOf(job.partition)) passed.push(job)
    else live.set(id, job)
  }
  const segments = isCopied ? segmentsOf(partitions) : []
  return [...planJobs(topic, segments, live, archived, rules), ...passed.flatMap(afterPassing)]

  /** A job of a segment that the table got before is done; one that comes too late is cancelled. */
  function afterPassing(job: OffloadJob): readonly OffloadJob[] {
    // The log start alone would cover it.
    const byRanges: Archived = { ...archived, logStarts: new Map() }
    if (job.status !== 'done' && job.status !== 'cancelled' && covers(byRanges, job.partition, [job.base, job.next]))
      return [{ ...job, ...doneAt(job, rules.nowMs) }]
    const move = expire(job, PASSED, rules.nowMs)
    return move.kind === 'moved' ? [move.job] : []
  }
}

/**
 * Returns the jobs to attempt in one pass, the oldest files first: about as many as give each encoder two files.
 * `tried` has the ids of jobs that this round has attempted already.
 */
export function chooseJobs(
  jobs: Jobs,
  partitions: Partitions,
  tried: ReadonlySet<string>,
  nowMs: number,
  limits: WaitLimits & { readonly threads: number },
): readonly OffloadJob[] {
  const ends = new Map([...partitions].map(([index, { end }]) => [index, end]))
  // A partition that the holder knows nothing of may have lost its leader, or its topic.
  const claimable = [...jobs.values()].filter(
    job => isClaimable(job) && partitions.has(job.partition) && !tried.has(jobId(job)),
  )
  const files = planFiles(dueJobs(claimable, ends, nowMs, limits), limits)
  const oldestFirst = [...files].sort((one, other) => one[0]!.sealedAtMs - other[0]!.sealedAtMs)
  const mostBytes = FILES_A_PASS * limits.threads * limits.targetFileBytes
  const chosen: OffloadJob[] = []
  let bytes = 0
  for (const file of oldestFirst) {
    if (bytes >= mostBytes) break
    chosen.push(...file)
    bytes += file.reduce((sum, job) => sum + clientBytes(job), 0) * limits.ratio
  }
  return chosen
}

/** Each pass is one commit, after which leaders may trim. */
const FILES_A_PASS = 2
