// Offload jobs and their backlog in words.

import type { ShownJob } from '../../../src/api/offload-jobs.ts'
import type { StorageStats } from '../../../src/api/storage.ts'
import type { Tone } from '../../parts/badge.tsx'
import { bytes, count, counted, duration } from '../../text/format.ts'

export const STATUS_TONES: Readonly<Record<ShownJob['status'], Tone>> = {
  pending: 'neutral',
  running: 'info',
  done: 'ok',
  failed: 'danger',
  cancelled: 'warn',
}

const SECOND = 1_000

export const NOT_REPORTED = 'The storage worker has not reported it yet.'

/** Returns `12 MiB, the oldest was sealed 4 min ago`. */
export function backlogNote({ backlogSegments, backlogBytes, backlogAgeSeconds }: StorageStats): string {
  if (backlogSegments === null) return NOT_REPORTED
  if (backlogSegments === 0) return 'nothing waits'
  return `${bytes(backlogBytes)}, the oldest was sealed ${duration((backlogAgeSeconds ?? 0) * SECOND)} ago`
}

/** Returns `0 – 999`; the second offset belongs to the next segment. */
export function offsetsOf({ base, next }: Pick<ShownJob, 'base' | 'next'>): string {
  return `${count(base)} – ${count(next - 1)}`
}

/** Returns `orders 0, offsets 0 – 999`. */
export function nameOf(job: Pick<ShownJob, 'topic' | 'partition' | 'base' | 'next'>): string {
  return `${job.topic} ${job.partition}, offsets ${offsetsOf(job)}`
}

export const mayRetry = ({ status }: Pick<ShownJob, 'status'>) => status === 'failed' || status === 'cancelled'
export const mayCancel = ({ status }: Pick<ShownJob, 'status'>) => status === 'failed' || status === 'pending'

/** Returns `3 failed jobs are pending again.` */
export function retriedText(retried: number): string {
  return `${counted(retried, 'failed job')} ${retried === 1 ? 'is' : 'are'} pending again.`
}
