// Counts what waits for its offload, and says which jobs may be forgotten, over all topics. All functions are pure.

import type { Jobs, Unreadable } from '../offload/job-documents.ts'
import type { OffloadJob } from '../offload/jobs.ts'
import { evict } from '../offload/plan-jobs.ts'
import type { WorkerNotice } from './notices.ts'
import { type Partitions, wasPassed } from './topic-jobs.ts'

/** By topic id. */
export type JobsOfTopics = ReadonlyMap<string, Jobs | Unreadable>

const DAY_MS = 86_400_000

export type Waiting = Omit<WorkerNotice, 'atMs' | 'segmentsPerMin' | 'bytesPerMin'>

function* allOf(jobs: JobsOfTopics): Generator<OffloadJob> {
  for (const each of jobs.values()) if (!('kind' in each)) yield* each.values()
}

const WAITING: ReadonlySet<string> = new Set(['pending', 'running', 'failed'])

/** Topics that take no new offloads have nothing that waits. */
export function backlogOf(jobs: JobsOfTopics, nowMs: number, isCopied: (topicId: string) => boolean): Waiting {
  let [segments, bytes, suspended, passed] = [0, 0, 0, 0]
  let oldestSealedAtMs: number | null = null
  for (const job of allOf(jobs)) {
    if (wasPassed(job, nowMs - DAY_MS)) passed++
    if (!WAITING.has(job.status) || !isCopied(job.topicId)) continue
    segments++
    bytes += job.bytes
    if (job.isSuspended) suspended++
    oldestSealedAtMs = Math.min(oldestSealedAtMs ?? job.sealedAtMs, job.sealedAtMs)
  }
  return { segments, bytes, oldestSealedAtMs, suspended, passed }
}

/**
 * Returns the jobs to forget; see evict. A cancelled job's segment is gone if the holder knows its partition without
 * it.
 */
export function evictable(
  jobs: JobsOfTopics,
  retentionCount: number,
  partitionsOf: (topicId: string) => Partitions,
): readonly OffloadJob[] {
  return evict(allOf(jobs), retentionCount, ({ topicId, partition, base, next }) => {
    const sealed = partitionsOf(topicId).get(partition)
    if (sealed === undefined || sealed.remote === null) return false
    return next <= sealed.remote.logStart || !sealed.segments.some(segment => segment.base === base)
  })
}
