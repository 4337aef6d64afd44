import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RemoteLog } from '../../log/remote-log.ts'
import { NO_SEGMENTS, type SealedSegments } from '../../log/segments.ts'
import { readArchived, writeArchived } from '../iceberg/ranges.ts'
import { claim, fail, jobId, type OffloadJob } from '../offload/jobs.ts'
import { backlogOf, evictable } from './backlog.ts'
import { archivedByDocuments, chooseJobs, type Partitions, planTopic } from './topic-jobs.ts'

const TOPIC = { topicId: 'topic', topicName: 'orders' }
const NOW_MS = 1_000_000
const NOTHING = readArchived({})
const RULES = { isCopied: true, fence: 4, maxAttempts: 2, nowMs: NOW_MS }
const LIMITS = { targetFileBytes: 100, ratio: 1, maxFileWaitMs: 0, threads: 1 }

/** A partition with segments of ten offsets and 40 bytes each. */
function sealed(count: number, remote: Partial<RemoteLog> | null = {}, from = 0): SealedSegments {
  const segments = Array.from({ length: count }, (_, i) => ({
    ...{ base: from + i * 10, next: from + i * 10 + 10, sealedAtMs: NOW_MS + i, bytes: 40, plainBytes: 40, batches: 1 },
    ...{
      records: 10,
      minTimestamp: 0,
      maxTimestamp: 0,
      firstAppendMs: 0,
      lastAppendMs: 0,
      epochs: [],
      cleanedAtMs: null,
    },
  }))
  const first = { logStart: 0, ranges: [], lost: [], epochs: [], version: 0, readUnder: '' }
  return { ...NO_SEGMENTS, segments, end: from + count * 10, remote: remote === null ? null : { ...first, ...remote } }
}

const byId = (jobs: readonly OffloadJob[]) => new Map(jobs.map(job => [jobId(job), job]))
const plan = (partitions: Partitions, jobs: readonly OffloadJob[] = [], archived = NOTHING, rules = RULES) =>
  planTopic(TOPIC, partitions, byId(jobs), archived, rules)

test('each sealed segment above the log start gets a job; a partition whose table was not read gets none', () => {
  const jobs = plan(
    new Map([
      [0, sealed(3, { logStart: 12 })],
      [1, sealed(1, null)],
    ]),
  )
  assert.deepEqual(
    jobs.map(({ partition, base, plainBytes }) => [partition, base, plainBytes]),
    [
      [0, 10, null],
      [0, 20, 40],
    ],
  )
  assert.deepEqual(plan(new Map([[0, sealed(3)]]), [], NOTHING, { ...RULES, isCopied: false }), [])
})

test('a job that the log start has passed is cancelled, unless the table had its segment before', () => {
  const jobs = plan(new Map([[0, sealed(3)]]))
  const passed = new Map([[0, sealed(1, { logStart: 20 }, 20)]])
  const archived = readArchived(writeArchived({ ranges: new Map([[0, [[0, 10]]]]), logStarts: new Map() }))
  const changed = plan(passed, jobs, archived)
  assert.deepEqual(
    changed.map(({ base, status }) => [base, status]),
    [
      [0, 'done'],
      [10, 'cancelled'],
    ],
  )
  // The log start is in the table by now, and a cancelled job stays cancelled.
  const after = readArchived(writeArchived({ ranges: new Map(), logStarts: new Map([[0, 20]]) }))
  assert.deepEqual(plan(passed, [...changed, jobs[2]!], after), [])
})

test('a pass takes the oldest files first and no more than two for each encoder', () => {
  const partitions: Partitions = new Map([
    [0, sealed(20)],
    [1, sealed(1)],
  ])
  const jobs = byId(plan(partitions))
  const chosen = chooseJobs(jobs, partitions, new Set(), NOW_MS, LIMITS)
  assert.ok(chosen.length >= 5 && chosen.length <= 8)
  assert.deepEqual(
    chosen.map(jobId).filter(id => id.startsWith('topic:1')),
    ['topic:1:0'],
  )
  assert.equal(Math.max(...chosen.map(({ base }) => base)), (chosen.length - 2) * 10)
  const next = chooseJobs(jobs, partitions, new Set(chosen.map(jobId)), NOW_MS, LIMITS)
  assert.equal(
    chosen.some(job => next.includes(job)),
    false,
  )
  assert.deepEqual(
    chooseJobs(jobs, new Map(), new Set(), NOW_MS, LIMITS),
    [],
    'without news of a partition nothing is due',
  )
})

test('the documents tell what the table has while the place is away', () => {
  const partitions: Partitions = new Map([
    [0, sealed(3, { ranges: [[0, 20]], logStart: 5 })],
    [1, sealed(1, null)],
  ])
  const { ranges, logStarts } = archivedByDocuments(partitions)
  assert.deepEqual([[...ranges], [...logStarts]], [[[0, [[0, 20]]]], [[0, 5]]])
})

test('the backlog counts what is not offloaded, suspended jobs too, and not topics that take none', () => {
  const [one, two, three] = plan(new Map([[0, sealed(3)]])) as [OffloadJob, OffloadJob, OffloadJob]
  const running = claim({ ...two, attempts: 1 }, 4, NOW_MS)
  assert(running.kind === 'moved')
  const failed = fail(running.job, 4, 'It is damaged.', 12, NOW_MS)
  assert(failed.kind === 'moved' && failed.job.isSuspended)
  const jobs = new Map([['topic', byId([{ ...one, status: 'done' }, failed.job, three])]])
  assert.deepEqual(
    backlogOf(jobs, NOW_MS, () => true),
    {
      ...{ segments: 2, bytes: 80, oldestSealedAtMs: NOW_MS + 1, suspended: 1, passed: 0 },
    },
  )
  assert.equal(backlogOf(jobs, NOW_MS, () => false).segments, 0)
  const unreadable = new Map([['topic', { kind: 'unreadable' as const, why: 'It is not JSON.' }]])
  assert.equal(backlogOf(unreadable, NOW_MS, () => true).oldestSealedAtMs, null)
})

test('done jobs beyond the count are forgotten, and cancelled ones only when their segments are gone', () => {
  const all = plan(new Map([[0, sealed(4)]]))
  const jobs = new Map([['topic', byId(all.map((job, i) => ({ ...job, status: i < 2 ? 'cancelled' : 'done' })))]])
  const forgotten = (partitions: Partitions) =>
    evictable(jobs, 0, () => partitions)
      .map(({ base }) => base)
      .sort((a, b) => a - b)
  assert.deepEqual(forgotten(new Map([[0, sealed(4)]])), [20, 30])
  assert.deepEqual(forgotten(new Map([[0, sealed(3, { logStart: 10 }, 10)]])), [0, 20, 30])
  assert.deepEqual(forgotten(new Map()), [20, 30])
})
