// Moves sealed segments of one topic into its table: makes their files (make-file.ts), commits all of them at once, and
// says what became of each job. It changes no job document. The archived ranges of the table make it exactly once:
// they change in the same version as the files, and a segment that they cover is dropped before anything is written.
//
// Each file is read back before the commit, not after it: the ranges then name only what can be read, also if the
// holder ends in between.

import { assert } from '../../base/assert.ts'
import { type Change, commit } from '../iceberg/commit.ts'
import { Fenced, fenced } from '../iceberg/fence.ts'
import type { TableMetadata } from '../iceberg/metadata.ts'
import { type CommitDeps, CommitUnknown, STAGED_FOR_MS } from '../iceberg/put-once.ts'
import { type Archived, addable, addRange, RangeOverlap, readArchived, writeArchived } from '../iceberg/ranges.ts'
import { refreshTable, type Table, TableGone } from '../iceberg/table.ts'
import { outcomeOf, StoreFailures } from './failures.ts'
import { piecesOf, planFiles, type SizeRatios } from './file-plan.ts'
import { jobId, type OffloadJob } from './jobs.ts'
import { type FileDeps, type FileSettings, type MadeFiles, makeFiles, SegmentFailed } from './make-file.ts'
import type { OffloadSource } from './offload-source.ts'

export type JobOutcome =
  /** The segment is in the table. The keys of its files; none if another attempt put it there, or it has no rows. */
  | { readonly kind: 'done'; readonly files: readonly string[] }
  /** The attempt is spent. The offset of the batch that failed; null if it was no batch. */
  | { readonly kind: 'failed'; readonly why: string; readonly offset: number | null }
  /** The attempt does not count. */
  | { readonly kind: 'notSpent'; readonly why: string }
  /** The segment may be in the table now or later. The job goes on running, and the ranges settle it. */
  | { readonly kind: 'unknown'; readonly why: string }

export interface OffloadSettings extends FileSettings {
  readonly targetFileBytes: number
  /** The size of the pool of encoders: the files that are encoded at the same time. */
  readonly threads: number
}

/** While one file is encoded, the end of another one is uploaded, or it is read back. */
const FILES_A_THREAD = 2

export interface OffloadDeps extends CommitDeps, FileDeps {
  readonly settings: OffloadSettings
  readonly ratios: SizeRatios
  /** The fence that this holder committed. */
  readonly fence: number
  /** Called before each request that may commit. Throws or rejects if this broker does not hold the lease. */
  confirm(): void | Promise<void>
  /**
   * Asks whether the place of the objects works. Called if it refused a request or was full. If not, the attempt is not
   * spent. By default it works.
   */
  probe?(): Promise<boolean>
  /** Called with the records of each file that was committed. */
  wrote?(records: number): void
}

export interface Offloaded {
  /** The newest version that is known. */
  readonly table: Table
  /** One for each job, by its id. */
  readonly outcomes: ReadonlyMap<string, JobOutcome>
  /** Another holder has taken over, the lease is lost, or the table is gone: this holder must not commit any more. */
  readonly stop: Error | null
  /** Errors of the commit that did no harm, for the log. */
  readonly leftovers: readonly Error[]
}

/** The lease is lost, or cannot be confirmed. */
class NotConfirmed extends Error {
  override readonly name = 'NotConfirmed'
}

/**
 * Offloads the segments of running jobs of one topic. Resolves with an outcome for every job, whatever fails. The jobs
 * may be of any partitions, and may be those of an earlier round whose outcome was unknown.
 */
export async function offloadTopic(
  deps: OffloadDeps,
  known: Table,
  jobs: readonly OffloadJob[],
  source: OffloadSource,
): Promise<Offloaded> {
  const outcomes = new Map<string, JobOutcome>()
  const failures = new StoreFailures(deps)
  let table = known
  let stop: Error | null = null
  let leftovers: readonly Error[] = []
  const settle = (of: readonly OffloadJob[], outcome: JobOutcome) => {
    for (const job of of) outcomes.set(jobId(job), outcome)
  }
  const left = () => jobs.filter(job => !outcomes.has(jobId(job)))

  try {
    // An earlier commit, of this holder or another one, may be in the table by now.
    table = await refreshTable(table)
    fenced(deps.fence)(table.metadata)
    const missing = dropCovered(jobs)
    const made = await makeAll(missing)
    await commitFiles(dropOld(made))
  } catch (error) {
    if (error instanceof Fenced || error instanceof TableGone || error instanceof NotConfirmed) stop = error
    settle(left(), stop === null ? await outcomeOf(error, failures) : { kind: 'notSpent', why: stop.message })
  }
  return { table, outcomes, stop, leftovers }

  /** Settles the jobs whose segments the table has, in whole or in part, and returns the others. */
  function dropCovered(of: readonly OffloadJob[]): readonly OffloadJob[] {
    const archived = readArchived(table.metadata.properties)
    return of.filter(job => {
      const part = addable(archived, job.partition, [job.base, job.next])
      if (part === null) settle([job], { kind: 'done', files: [] })
      else
        try {
          addRange(archived, job.partition, part)
          return true
        } catch (error) {
          if (!(error instanceof RangeOverlap)) throw error
          settle([job], { kind: 'failed', why: error.message, offset: null })
        }
      return false
    })
  }

  /** Resolves with the files that could be made, and settles the jobs of the others. */
  async function makeAll(missing: readonly OffloadJob[]): Promise<readonly MadeFiles[]> {
    const { settings, ratios } = deps
    const topicId = missing[0]?.topicId ?? ''
    const limits = { targetFileBytes: settings.targetFileBytes, ratio: ratios.of(topicId) }
    const waiting: (readonly OffloadJob[])[] = [...planFiles(missing, limits)]
    const made: MadeFiles[] = []
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        try {
          const files = await makeFiles(table, next, piecesOf(next, limits), source, deps)
          made.push(files)
          for (const { kafkaBytes, size } of files.files) ratios.learn(topicId, kafkaBytes, size)
        } catch (error) {
          const outcome = await outcomeOf(error, failures)
          if (!(error instanceof SegmentFailed) || outcome.kind === 'notSpent') settle(next, outcome)
          else {
            // Only its own job fails. The segments on both sides of it become files of their own.
            settle([error.job], outcome)
            const at = next.indexOf(error.job)
            waiting.unshift(...[next.slice(0, at), next.slice(at + 1)].filter(part => part.length > 0))
          }
        }
      }
    }
    // All end, whatever fails: none may go on when the round is over.
    const ended = await Promise.allSettled(Array.from({ length: FILES_A_THREAD * settings.threads }, work))
    for (const end of ended) if (end.status === 'rejected') throw end.reason
    return made
  }

  /** Leaves out files that the orphan sweep could take before they are committed. */
  function dropOld(made: readonly MadeFiles[]): readonly MadeFiles[] {
    const { clock } = deps
    const ageMs = ({ beganAtMs: { wall, monotonic } }: MadeFiles) =>
      Math.max(clock.now() - wall, clock.monotonic() - monotonic)
    return made.filter(file => {
      if (ageMs(file) <= STAGED_FOR_MS) return true
      const why = `the file was made ${Math.round(ageMs(file) / 3_600_000)} hours ago, and has to be made again`
      settle(file.jobs, { kind: 'notSpent', why })
      return false
    })
  }

  async function commitFiles(made: readonly MadeFiles[]): Promise<void> {
    for (let files = made; files.length > 0; ) {
      try {
        const change: Change = {
          append: files.flatMap(made => made.files),
          properties: ({ properties }) => writeArchived(withFiles(readArchived(properties), files)),
        }
        const committed = await commit(table, change, guard, deps)
        ;({ table, leftovers } = committed)
        for (const { jobs: of, files: added } of files) {
          settle(of, { kind: 'done', files: added.map(({ key }) => key) })
          for (const { rows } of added) deps.wrote?.(rows)
        }
        return
      } catch (error) {
        if (error instanceof CommitUnknown) {
          const { cause } = error
          const why = cause instanceof Error ? `${error.message}: ${cause.message}` : error.message
          if (cause instanceof Fenced || cause instanceof NotConfirmed) stop = cause
          return settle(left(), { kind: 'unknown', why })
        }
        if (!(error instanceof RangeOverlap)) throw error
        // A commit with an unknown outcome has arrived since, or somebody changed the ranges.
        table = await refreshTable(table)
        const fitting = withoutCovered(files)
        if (fitting.length === files.length) throw error
        files = fitting
      }
    }
  }

  async function guard(metadata: TableMetadata): Promise<void> {
    fenced(deps.fence)(metadata)
    try {
      await deps.confirm()
    } catch (cause) {
      throw new NotConfirmed(`the lease is not confirmed: ${(cause as Error).message}`, { cause })
    }
  }

  /** Returns the files of which the table has nothing. The segments of the others that it lacks need new files. */
  function withoutCovered(files: readonly MadeFiles[]): readonly MadeFiles[] {
    const archived = readArchived(table.metadata.properties)
    return files.filter(file => {
      try {
        withFiles(archived, [file])
        return true
      } catch (error) {
        if (!(error instanceof RangeOverlap)) throw error
        const missing = dropCovered(file.jobs)
        settle(missing, { kind: 'notSpent', why: 'the table got a part of the file from another attempt' })
        return false
      }
    })
  }
}

/** Returns the ranges with those of the files. Throws RangeOverlap if the table has any segment of them. */
function withFiles(archived: Archived, files: readonly MadeFiles[]): Archived {
  let next = archived
  for (const { jobs } of files) {
    const { partition } = jobs[0]!
    const range = [jobs[0]!.base, jobs.at(-1)!.next] as const
    assert(range[0] < range[1], `a file of ${jobs.length} segments covers nothing`)
    const part = addable(next, partition, range)
    if (part === null)
      throw new RangeOverlap(`the table has [${range[0]}, ${range[1]}) of partition ${partition} already`)
    next = addRange(next, partition, part)
  }
  return next
}
