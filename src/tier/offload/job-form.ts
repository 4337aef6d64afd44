// The form of offload jobs in their documents (job-documents.ts). A later version of the form has another number.

import { JOB_STATUSES } from '../../api/words.ts'
import { LATEST_DATE_MS } from '../../base/clock.ts'
import type { Row } from '../../store/store.ts'
import { type JobFailure, jobId, type OffloadJob } from './jobs.ts'

const HEAD = 'offload'
const FORMAT = 1

const fieldOf = ({ partition, base }: Pick<OffloadJob, 'partition' | 'base'>) => `${partition}:${base}`
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))

/** Returns the rows that write these jobs of a topic, and delete the others. */
export function encodeJobs(topicName: string, put: readonly OffloadJob[], remove: readonly OffloadJob[] = []): Row[] {
  return [
    ...(put.length === 0 ? [] : [{ key: HEAD, value: bytesOf({ format: FORMAT, topicName }) }]),
    ...put.map(job => {
      const { topicId, topicName: _, partition, base, ...members } = job
      return { key: fieldOf(job), value: bytesOf(members) }
    }),
    ...remove.map(job => ({ key: fieldOf(job), value: null })),
  ]
}

/** Returns the jobs by their ids. Throws an Error that says what is wrong if encodeJobs did not write the fields. */
export function decodeJobs(topicId: string, fields: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, OffloadJob> {
  const { format, topicName } = objectOf(fields.get(HEAD))
  if (format !== FORMAT) throw new Error(`its format is ${JSON.stringify(format)}, and this version reads ${FORMAT}`)
  if (typeof topicName !== 'string') throw new Error('it names no topic')
  const jobs = new Map<string, OffloadJob>()
  for (const [field, value] of fields) {
    if (field === HEAD) continue
    const job = { ...decodeJob(field, value), topicId, topicName }
    jobs.set(jobId(job), job)
  }
  return jobs
}

function decodeJob(field: string, value: Uint8Array): Omit<OffloadJob, 'topicId' | 'topicName'> {
  const place = /^(0|[1-9]\d{0,9}):(0|[1-9]\d{0,15})$/.exec(field)
  const found = objectOf(value) as Partial<OffloadJob>
  const job = { ...found, partition: Number(place?.[1]), base: Number(place?.[2]) } as OffloadJob
  const isKnown =
    place !== null &&
    isCount(job.base) &&
    isCount(job.next) &&
    job.base < job.next &&
    isCount(job.bytes) &&
    isNullOr(isCount)(job.plainBytes) &&
    isTime(job.sealedAtMs) &&
    JOB_STATUSES.includes(job.status) &&
    typeof job.isSuspended === 'boolean' &&
    isCount(job.attempts) &&
    isCount(job.maxAttempts) &&
    isTime(job.createdAtMs) &&
    isNullOr(isTime)(job.startedAtMs) &&
    isNullOr(isCount)(job.tookMs) &&
    isNullOr(isFailure)(job.failure) &&
    isNullOr(isCount)(job.fence) &&
    (job.status === 'running') === (job.fence !== null)
  if (!isKnown) throw new Error(`its field ${JSON.stringify(field.slice(0, 40))} describes no offload job`)
  return job
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const isTime = (value: unknown): boolean => Number.isInteger(value) && Math.abs(value as number) <= LATEST_DATE_MS
const isNullOr = (is: (value: unknown) => boolean) => (value: unknown) => value === null || is(value)

function isFailure(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { why, offset, atMs } = value as Partial<JobFailure>
  // A damaged batch may have any offset in its header.
  return typeof why === 'string' && isNullOr(Number.isFinite)(offset) && isTime(atMs)
}

function objectOf(value: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  const found: unknown = JSON.parse(Buffer.from(value ?? []).toString())
  if (typeof found !== 'object' || found === null || Array.isArray(found)) throw new Error('it is no object')
  return found as Readonly<Record<string, unknown>>
}
