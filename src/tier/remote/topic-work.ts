// The holder's work for one topic in a round: plans the jobs of its sealed segments, attempts those that are due, and
// lets upkeep follow. The table and its commits are in topic-table.ts and offload/pipeline.ts. A failure ends only
// the work for this topic, until the next round.

import { UnreadableBatch } from '../../log/read-range.ts'
import type { SealedSegments } from '../../log/segments.ts'
import { BadBatch } from '../columns/bad-batch.ts'
import { Fenced } from '../iceberg/fence.ts'
import { readArchived } from '../iceberg/ranges.ts'
import { refreshTable, type Table, TableGone } from '../iceberg/table.ts'
import { ObjectStoreError } from '../objects/objects.ts'
import type { Jobs, JobsChange, Unreadable } from '../offload/job-documents.ts'
import { claim, fail, finish, isClaimable, jobId, type Move, notSpent, type OffloadJob } from '../offload/jobs.ts'
import type { OffloadSource } from '../offload/offload-source.ts'
import { type JobOutcome, offloadTopic } from '../offload/pipeline.ts'
import type { TopicOfJobs } from '../offload/plan-jobs.ts'
import type { TierPhase } from './offload-meters.ts'
import { TableUpkeep } from './table-upkeep.ts'
import { archivedByDocuments, chooseJobs, planTopic } from './topic-jobs.ts'
import { NotHolder, PlaceUnsafe, TopicTable } from './topic-table.ts'
import type { WorkRooms } from './work-rooms.ts'

/** The rules of a round for a topic. */
export interface TopicConfig {
  /** False: no segment gets a new job or a new attempt (remote.log.copy.disable). */
  readonly isCopied: boolean
  /** Asks the place once in a round, before its first attempt. */
  isPlaceWorking(): Promise<boolean>
}

export class TopicWork {
  readonly topic: TopicOfJobs
  readonly partitions = new Map<number, SealedSegments>()
  readonly #rooms: WorkRooms
  readonly #table: TopicTable
  readonly #upkeep: TableUpkeep
  /** A document of a partition has changed, or the topic is new to this holder. */
  #isDirty = true

  constructor(rooms: WorkRooms, topic: TopicOfJobs) {
    this.#rooms = rooms
    this.topic = topic
    this.#table = new TopicTable(rooms.parts, rooms.term, topic)
    this.#upkeep = new TableUpkeep(rooms, topic, this.#table, this.partitions)
  }

  heard(partition: number, sealed: SealedSegments): void {
    this.partitions.set(partition, sealed)
    this.#isDirty = true
  }

  /** The table was dropped, or may have been. */
  loseTable(): void {
    this.#table.forget()
    this.#isDirty = true
  }

  /** Says whether a round has something to do for the topic. It asks neither the store nor the place. */
  isDue(jobs: Jobs | Unreadable, { isCopied }: Pick<TopicConfig, 'isCopied'>): boolean {
    if (this.#isDirty || !this.#table.isNotified || this.#upkeep.isDue()) return true
    if ('kind' in jobs) return false
    return [...jobs.values()].some(job => job.status === 'running' || (isCopied && isClaimable(job)))
  }

  /** Resolves when the round's work for the topic has ended, whatever failed. */
  async run(config: TopicConfig): Promise<void> {
    const { parts } = this.#rooms
    this.#isDirty = false
    await this.#inPhase('offload', async () => {
      const isKnown = await this.#load()
      const isPlanned = await this.#plan(config)
      if (!isPlanned || !isKnown || (await this.#isForeign())) return false
      if (config.isCopied) await this.#attemptAll(config)
      return true
    })
    if (this.#table.table === null || parts.breaker.isOpen || this.#isOver) return
    await this.#inPhase('remote-retention', () => this.#upkeep.moveLogStarts())
    await this.#inPhase('upkeep', () => this.#upkeep.tidy())
    await this.#inPhase('offload', () => this.#table.notify())
  }

  get #isOver(): boolean {
    return this.#rooms.term.patience.ended?.aborted === true
  }

  /** Runs a phase, and remembers that its work is left if it failed. */
  async #inPhase(phase: TierPhase, work: () => Promise<unknown>): Promise<void> {
    try {
      if ((await work()) !== false) return
    } catch (error) {
      // A holder that was replaced leaves the rest to the next one; both are as they should be.
      if (!(error instanceof NotHolder || error instanceof PlaceUnsafe))
        this.#rooms.meters.phaseFailed(phase, this.topic.topicName, error)
      if (error instanceof Fenced || error instanceof TableGone || error instanceof NotHolder) this.#table.forget()
    }
    this.#isDirty = true
  }

  /** Resolves with false if the place is away, or the table cannot be read. The jobs are planned all the same. */
  async #load(): Promise<boolean> {
    const { parts, meters } = this.#rooms
    const { breaker } = parts
    if (this.#table.isLoaded || breaker.isOpen) return !breaker.isOpen
    try {
      await this.#table.load()
      return true
    } catch (error) {
      meters.phaseFailed('offload', this.topic.topicName, error)
      if (error instanceof ObjectStoreError) await breaker.check()
      return false
    }
  }

  /** Resolves with false if the jobs cannot be read. */
  async #plan({ isCopied }: TopicConfig): Promise<boolean> {
    const { settings, parts } = this.#rooms
    const { table, fence } = this.#table
    // While the place is away, the documents say what their leaders have read of the table.
    const archived =
      table === null && !this.#table.isLoaded
        ? archivedByDocuments(this.partitions)
        : readArchived(table?.metadata.properties ?? {})
    // Before this holder has a fence of its own, every running job is of a former one.
    const rules = { isCopied, maxAttempts: settings.maxAttempts, fence: fence ?? -1, nowMs: parts.clock.now() }
    const answer = await this.#change(jobs => ({
      answer: true,
      put: planTopic(this.topic, this.partitions, jobs, archived, rules),
    }))
    return answer === true
  }

  /** Attempts what is due, a pass after the other. No job has two attempts in a round. */
  async #attemptAll(config: TopicConfig): Promise<void> {
    const { parts, term, ratios, settings } = this.#rooms
    const tried = new Set<string>()
    while (!term.patience.isOver) {
      const stored = await parts.jobs.of(this.topic.topicId)
      if ('kind' in stored) return
      const limits = { ...settings, ratio: ratios.of(this.topic.topicId) }
      const chosen = chooseJobs(stored, this.partitions, tried, parts.clock.now(), limits)
      const left = [...stored.values()].filter(job => job.status === 'running' && !tried.has(jobId(job)))
      if (chosen.length + left.length === 0 || !(await config.isPlaceWorking())) return
      const { table, fence } = await this.#table.fenced()
      const claimed = await this.#claim(chosen, fence)
      // Those left have an outcome that was unknown in an earlier round, or that the store did not take.
      const own = [...claimed, ...left.filter(job => job.fence === fence)]
      for (const job of [...chosen, ...left]) tried.add(jobId(job))
      if (own.length > 0) await this.#attempt(own, table, fence)
    }
  }

  async #claim(chosen: readonly OffloadJob[], fence: number): Promise<readonly OffloadJob[]> {
    const nowMs = this.#rooms.parts.clock.now()
    const claimed = await this.#change(jobs => {
      const put = chosen.flatMap(({ partition, base }) => {
        const job = jobs.get(jobId({ ...this.topic, partition, base }))
        return job === undefined ? [] : moved(claim(job, fence, nowMs))
      })
      return { answer: put, put }
    })
    return 'kind' in claimed ? [] : claimed
  }

  /** One pass: makes the files, commits them, settles the jobs, and tells the leaders. */
  async #attempt(jobs: readonly OffloadJob[], table: Table, fence: number): Promise<void> {
    const { parts, term, encoders, memory, ratios, settings, summarize } = this.#rooms
    const { clock, random, breaker, logger } = parts
    const beganAtMs = clock.monotonic()
    const deps = {
      ...{ clock, random, patience: term.patience, encoders, memory, ratios, settings, summarize, fence },
      confirm: this.#table.confirm,
      probe: () => breaker.check(),
      wrote: (records: number) => this.#rooms.meters.wrote(records),
    }
    const { outcomes: made, stop, leftovers, table: newest } = await offloadTopic(deps, table, jobs, this.#source())
    this.#table.table = newest
    for (const error of leftovers)
      logger
        .limited('leftover', 60_000)
        .warn('a commit has left something over', { topic: this.topic.topicName, error })
    // Leaders may trim what is in the table, also if the store does not take the states of the jobs.
    if (stop === null) await this.#table.notify()
    const outcomes = await this.#withoutPassed(jobs, made)
    await this.#settle(jobs, outcomes, fence)
    this.#count(jobs, outcomes, clock.monotonic() - beganAtMs)
    if (stop !== null) throw stop
  }

  /** A segment that the log start has passed during its attempt lacks batches, and that is no failure. */
  async #withoutPassed(
    of: readonly OffloadJob[],
    outcomes: ReadonlyMap<string, JobOutcome>,
  ): Promise<ReadonlyMap<string, JobOutcome>> {
    const checked = new Map(outcomes)
    for (const job of of) {
      if (outcomes.get(jobId(job))?.kind !== 'failed') continue
      const { remote } = await this.#rooms.logs.sealedSegments(this.topic.topicId, job.partition)
      if (remote === null || remote.logStart <= job.base) continue
      checked.set(jobId(job), { kind: 'notSpent', why: 'the log start has passed the segment, or a part of it' })
    }
    return checked
  }

  async #settle(of: readonly OffloadJob[], outcomes: ReadonlyMap<string, JobOutcome>, fence: number): Promise<void> {
    const nowMs = this.#rooms.parts.clock.now()
    await this.#change(jobs => ({
      answer: null,
      put: of.flatMap(each => {
        const job = jobs.get(jobId(each))
        const outcome = outcomes.get(jobId(each))
        return job === undefined || outcome === undefined ? [] : settled(job, outcome, fence, nowMs)
      }),
    }))
  }

  #count(of: readonly OffloadJob[], outcomes: ReadonlyMap<string, JobOutcome>, tookMs: number): void {
    const { meters } = this.#rooms
    for (const job of of) {
      const outcome = outcomes.get(jobId(job))
      if (outcome?.kind === 'done') meters.done(job, tookMs)
      else if (outcome?.kind === 'failed') meters.failed(job, outcome.why, outcome.offset, tookMs)
    }
  }

  #source(): OffloadSource {
    const { logs } = this.#rooms
    const { topicId } = this.topic
    return {
      async *read(partition, base, next) {
        try {
          yield* logs.readRange(topicId, partition, base, next)
        } catch (error) {
          throw error instanceof UnreadableBatch ? new BadBatch(error.offset, error.message) : error
        }
      },
    }
  }

  /**
   * Says whether a file that a reader missed is missing. Nothing more is committed then: another program rewrote or
   * deleted files, and a further commit could hide that. The mark goes when the table no longer names the file.
   */
  async #isForeign(): Promise<boolean> {
    const { notices } = this.#rooms.parts
    const { foreign } = notices.state.tables.get(this.topic.topicId) ?? { foreign: null }
    const { table } = this.#table
    if (foreign === null || table === null) return false
    this.#table.table = await refreshTable(table)
    if (await this.#upkeep.isMissing(foreign.path)) return true
    await this.#table.noteForeign(null)
    return false
  }

  #change<Answer>(decide: (jobs: Jobs) => JobsChange<Answer>): Promise<Answer | Unreadable> {
    return this.#rooms.parts.jobs.change(this.topic, decide)
  }
}

const moved = (move: Move): readonly OffloadJob[] => (move.kind === 'moved' ? [move.job] : [])

/** A move is refused if another holder has taken the job over, or retention has passed it. */
function settled(job: OffloadJob, outcome: JobOutcome, fence: number, nowMs: number): readonly OffloadJob[] {
  switch (outcome.kind) {
    case 'done':
      return moved(finish(job, fence, nowMs))
    case 'failed':
      return moved(fail(job, fence, outcome.why, outcome.offset, nowMs))
    case 'notSpent':
      return moved(notSpent(job, fence, outcome.why, nowMs))
    case 'unknown':
      return []
  }
}
