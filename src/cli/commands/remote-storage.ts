// The remote tier on the command line: its tables, its offload jobs, and the segments of a partition.

import type { JobList, RetriedJobs, ShownJob } from '../../api/offload-jobs.ts'
import type { RemoteStorage, RemoteTable, SegmentDetail, SegmentList } from '../../api/storage.ts'
import { JOB_STATUSES } from '../../api/words.ts'
import { printable } from '../../base/printable.ts'
import { type Call, type Command, integerOf, integerOption, segment, wordOption } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { bytes, counted, list, table, time } from '../table.ts'

const JOBS = '/api/v1/storage/offload-jobs'

/** A page of tables asks the object store for each of them. */
const TABLES_AT_ONCE = 100

export const remoteStorageCommands: readonly Command[] = [
  {
    name: 'storage remote',
    doc: 'Shows the place of the remote tier, whether it works, and the tables with their sizes.',
    args: [],
    options: { filter: { value: 'text', doc: 'Only tables of topics whose name contains this text, in any case.' } },
    async run(call) {
      const query = { q: call.option('filter'), pageRows: TABLES_AT_ONCE }
      const { rows: tables, last } = await everyRow<RemoteTable, RemoteStorage>(
        call,
        '/api/v1/storage/remote',
        'tables',
        query,
      )
      const answer = { ...last, tables: [...tables] }
      call.show(answer, () => remoteText(answer))
      return EXIT.OK
    },
  },
  {
    name: 'storage jobs',
    doc: 'Lists the offload jobs, each of which moves one sealed segment to the remote tier.',
    args: [],
    options: {
      status: { value: 'status', doc: `Only jobs with this status: ${JOB_STATUSES.join(', ')}.` },
      topic: { value: 'topic', doc: 'Only jobs of this topic.' },
      limit: { value: 'count', doc: 'Shows at most this many jobs; all by default.' },
    },
    async run(call) {
      const status =
        call.option('status') === undefined ? undefined : wordOption(call, 'status', JOB_STATUSES, 'failed')
      const most = integerOption(call, 'limit', 1)
      const query = { status, topic: call.option('topic'), ...(most === undefined ? {} : { most }) }
      const { rows: jobs, last } = await everyRow<ShownJob, JobList>(call, JOBS, 'jobs', query)
      const { counts, unreadable } = last
      sayUnreadable(call, unreadable)
      call.show({ jobs, total: last.total, counts, unreadable }, () =>
        jobs.length === 0 ? 'There are no such jobs.\n' : jobTable(jobs),
      )
      return unreadable.length === 0 ? EXIT.OK : EXIT.REFUSED
    },
  },
  {
    name: 'storage retry',
    doc: 'Gives a failed or cancelled offload job all of its attempts again, or --all-failed jobs. The next round of the storage worker runs them.',
    args: [{ name: 'job', isOptional: true }],
    options: {
      'all-failed': { value: null, doc: 'Retries every failed job instead of one.' },
      topic: { value: 'topic', doc: 'With --all-failed: only jobs of this topic.' },
    },
    async run(call) {
      const [id] = call.args
      const topic = call.option('topic')
      if ((id === undefined) !== call.has('all-failed'))
        throw new CommandFailed(EXIT.USAGE, 'name one job, or give --all-failed')
      if (id !== undefined) {
        if (topic !== undefined) throw new CommandFailed(EXIT.USAGE, '--topic goes with --all-failed')
        const job = await call.api.post<ShownJob>(`${JOBS}/${segment(id)}/retry`)
        call.show(job, () => `The job ${job.id} is pending again.\n`)
        return EXIT.OK
      }
      const answer = await call.api.post<RetriedJobs>(`${JOBS}/retry-failed`, topic === undefined ? {} : { topic })
      sayUnreadable(call, answer.unreadable)
      call.show(
        answer,
        () => `${counted(answer.retried, 'failed job')} ${answer.retried === 1 ? 'is' : 'are'} pending again.\n`,
      )
      return answer.unreadable.length === 0 ? EXIT.OK : EXIT.REFUSED
    },
  },
  {
    name: 'storage cancel',
    doc: 'Cancels a pending or failed offload job. Its segment stays in the local tier until the job is retried or total retention drops it.',
    args: [{ name: 'job' }],
    options: {},
    async run(call) {
      const job = await call.api.post<ShownJob>(`${JOBS}/${segment(call.args[0]!)}/cancel`)
      call.show(job, () => `The job ${job.id} is cancelled.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'storage segments',
    doc: 'Lists the segments of a partition and the tiers that have them, or shows one with its files in the remote tier.',
    args: [{ name: 'topic' }, { name: 'partition' }],
    options: { base: { value: 'offset', doc: 'Shows the segment that begins at this offset.' } },
    async run(call) {
      const [topic, partition] = call.args
      const index = integerOf(partition!, 'the partition', 0)
      const path = `/api/v1/topics/${segment(topic!)}/partitions/${index}/segments`
      const base = integerOption(call, 'base', 0)
      if (base !== undefined) {
        const detail = await call.api.get<SegmentDetail>(`${path}/${base}`)
        call.show(detail, () => detailText(detail))
        return EXIT.OK
      }
      const found = await everyRow<SegmentList['segments'][number], SegmentList>(call, path, 'segments')
      const answer = { ...found.last, segments: [...found.rows] }
      if (answer.trouble !== null) call.terminal.err(`ketch: ${printable(answer.trouble)}\n`)
      call.show(answer, () => segmentsText(answer))
      return answer.trouble === null ? EXIT.OK : EXIT.UNAVAILABLE
    },
  },
]

function sayUnreadable(call: Call, unreadable: JobList['unreadable']): void {
  for (const { topic, why } of unreadable)
    call.terminal.err(`ketch: the jobs of topic ${printable(topic)} are missing: ${printable(why)}\n`)
}

function jobTable(jobs: readonly ShownJob[]): string {
  return table(
    ['JOB', 'TOPIC', 'PARTITION', 'BASE', 'NEXT', 'SIZE', 'STATUS', 'ATTEMPTS', 'STARTED', 'TOOK MS', 'FAILURE'],
    jobs.map(({ id, topic, partition, base, next, status, suspended, startedAt, tookMs, ...job }) => [
      ...[id, topic, partition, base, next, bytes(job.bytes)],
      suspended ? `${status}, suspended` : status,
      `${job.attempts} of ${job.maxAttempts}`,
      ...[startedAt, tookMs, job.failure?.why],
    ]),
  )
}

function remoteText(of: RemoteStorage): string {
  const { reads, tables } = of
  const facts = list([
    ['place', of.place],
    ['namespace', of.namespace],
    ['breaker', `${of.breaker} since ${of.breakerChangedAt}`],
    ['trouble', of.trouble],
    ['creates once', of.createOnly],
    ['reads', `${reads.threads} threads, ${reads.waiting} of ${reads.queueCapacity} waiting`],
    ['cache', `${bytes(reads.cacheBytes)} of ${bytes(reads.cacheCapacityBytes)}`],
    ['suspended', counted(of.suspended, 'job')],
    ['passed by retention', counted(of.passed, 'job')],
  ])
  if (tables.length === 0) return `${facts}\nNo topic has a table.\n`
  const rows = tables.map(each => [
    ...[each.topic, each.version, each.snapshots, each.files, each.rows, bytes(each.bytes), each.location],
    each.trouble,
  ])
  return `${facts}\n${table(['TOPIC', 'VERSION', 'SNAPSHOTS', 'FILES', 'ROWS', 'SIZE', 'LOCATION', 'TROUBLE'], rows)}`
}

function segmentsText({ segments, remote, ...of }: SegmentList): string {
  const facts = list([
    ['start offset', of.startOffset],
    ['local start offset', of.localStartOffset],
    ['end offset', of.endOffset],
    ['remote ranges', remote === null ? null : remote.ranges.map(({ base, next }) => `${base}-${next - 1}`).join(', ')],
  ])
  const rows = segments.map(each => [
    ...[each.base, each.next, each.tier, each.isActive ? 'active' : 'sealed', each.records, bytes(each.bytes)],
    ...[time(each.maxTimestamp), each.sealedAt],
  ])
  return `${facts}\n${table(['BASE', 'NEXT', 'TIER', 'STATE', 'RECORDS', 'SIZE', 'MAX TIMESTAMP', 'SEALED'], rows)}`
}

function detailText({ segment: of, job, files, totalFiles, inspection, trouble }: SegmentDetail): string {
  const facts = list([
    ['base', of.base],
    ['next', of.next],
    ['tier', of.tier],
    ['records', of.records],
    ['size', bytes(of.bytes)],
    ['sealed', of.sealedAt],
    ['job', job === null ? null : `${job.id} ${job.status}`],
    ['inspection', inspection],
    ['trouble', trouble],
  ])
  if (files.length === 0) return facts
  const rows = files.map(each => [each.base, each.next, each.rows, bytes(each.bytes), each.path])
  const more = totalFiles > files.length ? `${counted(totalFiles - files.length, 'further file')}.\n` : ''
  return `${facts}\n${table(['BASE', 'NEXT', 'ROWS', 'SIZE', 'FILE'], rows)}${more}`
}
