// A topic with sealed segments in memory, and a holder of the storage worker's lease that offloads them round by round,
// as the broker will. Its rounds can be stopped at any change of the object store and of the job documents.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Clock, systemClock } from '../src/base/clock.ts'
import { ENDLESS } from '../src/base/patience.ts'
import { type Random, seededRandom } from '../src/base/random.ts'
import type { Store } from '../src/store/store.ts'
import { EncoderThreads } from '../src/tier/columns/encoder-thread.ts'
import { openDataFile } from '../src/tier/columns/open-file.ts'
import { readGroup } from '../src/tier/columns/read.ts'
import { takeFence } from '../src/tier/iceberg/fence.ts'
import { filesOf, OffsetIndexer } from '../src/tier/iceberg/offset-index.ts'
import { readArchived } from '../src/tier/iceberg/ranges.ts'
import { createTable, type Table } from '../src/tier/iceberg/table.ts'
import { tableLocation } from '../src/tier/iceberg/table-files.ts'
import type { Objects } from '../src/tier/objects/objects.ts'
import { EncoderMemory } from '../src/tier/offload/encoder-memory.ts'
import { SizeRatios } from '../src/tier/offload/file-plan.ts'
import { JobDocuments, type Jobs } from '../src/tier/offload/job-documents.ts'
import {
  claim,
  fail,
  finish,
  isClaimable,
  jobId,
  type Move,
  notSpent,
  type OffloadJob,
  type OffloadSegment,
} from '../src/tier/offload/jobs.ts'
import type { OffloadSource } from '../src/tier/offload/offload-source.ts'
import { type JobOutcome, type OffloadDeps, offloadTopic } from '../src/tier/offload/pipeline.ts'
import { planJobs } from '../src/tier/offload/plan-jobs.ts'
import { craftBatch } from './data-files.ts'
import { auditTable } from './iceberg-audit.ts'
import { PromptClock } from './iceberg-table.ts'
import { MemoryObjects } from './memory-objects.ts'
import { createMemoryStore } from './sim/memory-store.ts'

export const TOPIC = { topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', topicName: 'orders' }
export const LOCATION = tableLocation('default', TOPIC.topicName, TOPIC.topicId)
export const SEALED_AT = Date.UTC(2026, 10, 20, 12)

export interface SealedForTest {
  readonly segment: OffloadSegment
  readonly batches: readonly Buffer[]
}

/** A segment of batches of three records each. */
export function sealed(
  partition: number,
  base: number,
  count: number,
  { valueBytes = 40, sealedAtMs = SEALED_AT, random = seededRandom(base + 1) as Random } = {},
): SealedForTest {
  const batches = Array.from({ length: count }, (_, i) =>
    craftBatch({
      baseOffset: base + i * 3,
      records: [{ key: Buffer.from(`${partition} ${i}`), value: random.bytes(valueBytes) }, {}, {}],
    }),
  )
  const bytes = batches.reduce((sum, { length }) => sum + length, 0)
  const next = base + Math.max(1, count * 3)
  return { segment: { partition, base, next, bytes, plainBytes: bytes, sealedAtMs }, batches }
}

/** Yields each batch of a segment; `at` is called before each. */
export function sourceOf(
  all: readonly SealedForTest[],
  at: (partition: number, batch: Buffer) => void | Promise<void> = () => {},
): OffloadSource {
  return {
    async *read(partition, base, next) {
      const found = all.find(({ segment }) => segment.partition === partition && segment.base === base)
      assert.equal(found?.segment.next, next, `no segment of partition ${partition} is [${base}, ${next})`)
      for (const batch of found!.batches) {
        await at(partition, batch)
        yield [batch]
      }
    },
  }
}

export interface HolderRooms {
  readonly objects: Objects
  readonly store: Store
  readonly encoders: EncoderThreads
  readonly clock?: Clock
  readonly seed?: number
  readonly more?: Partial<OffloadDeps>
  readonly topic?: typeof TOPIC
}

export interface Holder {
  readonly deps: OffloadDeps
  readonly documents: JobDocuments
  table: Table
  /** Plans, claims, offloads and settles. `stopped` is asked after the offload: true if the process is dead. */
  round(all: readonly SealedForTest[], source?: OffloadSource, stopped?: () => boolean): Promise<Outcomes>
  jobs(): Promise<OffloadJob[]>
}

export type Outcomes = ReadonlyMap<string, JobOutcome>

export function testOffloadDeps(
  encoders: EncoderThreads,
  { clock = new PromptClock() as Clock, seed = 1, more = {} as Partial<OffloadDeps> } = {},
): OffloadDeps {
  return {
    clock,
    random: seededRandom(seed),
    patience: ENDLESS,
    encoders,
    memory: new EncoderMemory(64e6),
    ratios: new SizeRatios(),
    fence: 0,
    confirm() {},
    settings: { rowGroupBytes: 1e6, targetFileBytes: 1e6, batchBytes: 'when-needed', verify: 'full', threads: 2 },
    ...more,
  }
}

/** A new holder: it loads the table, which is the truth, and commits its fence first. */
export async function newHolder(rooms: HolderRooms): Promise<Holder> {
  const { objects, store, encoders, clock, seed, more, topic = TOPIC } = rooms
  const first = testOffloadDeps(encoders, { ...(clock && { clock }), ...(seed && { seed }), ...(more && { more }) })
  const location = tableLocation('default', topic.topicName, topic.topicId)
  const created = await createTable(objects, location, { 'kafka.topic': topic.topicName }, first)
  const taken = await takeFence(created, 0, () => {}, first)
  const deps = { ...first, fence: taken.fence }
  const { fence } = deps
  const documents = new JobDocuments({ store, clock: deps.clock, random: deps.random })
  const nowMs = () => deps.clock.now()
  const put = async (decide: (jobs: Jobs) => readonly OffloadJob[]) => {
    const answer = await documents.change(topic, jobs => {
      const changed = decide(jobs)
      return { answer: changed, put: changed }
    })
    assert.ok(Array.isArray(answer), 'the jobs can be read')
    return answer as readonly OffloadJob[]
  }
  const plan = (all: readonly SealedForTest[]) => (jobs: Jobs) =>
    planJobs(
      topic,
      all.map(({ segment }) => segment),
      jobs,
      readArchived(holder.table.metadata.properties),
      { fence, maxAttempts: 3, nowMs: nowMs() },
    )

  const holder: Holder = {
    deps,
    documents,
    table: taken.table,
    async round(all, source = sourceOf(all), stopped = () => false) {
      await put(plan(all))
      const claimed = await put(jobs =>
        [...jobs.values()].filter(isClaimable).map(job => must(claim(job, fence, nowMs()))),
      )
      const stored = await documents.of(topic.topicId)
      assert.ok(!('kind' in stored))
      // Also those of an earlier round whose outcome was unknown.
      const running = [...stored.values()].filter(({ status }) => status === 'running')
      assert.ok(running.length >= claimed.length)
      const { table, outcomes, stop } = await offloadTopic(deps, holder.table, running, source)
      if (stopped()) throw new Error('the process is dead')
      holder.table = table
      await put(jobs => [...jobs.values()].flatMap(job => afterOutcome(job, outcomes.get(jobId(job)))))
      await put(plan(all))
      if (stop !== null) throw stop
      return outcomes
    },
    async jobs() {
      const jobs = await documents.of(topic.topicId)
      assert.ok(!('kind' in jobs))
      return [...jobs.values()].sort((a, b) => a.partition - b.partition || a.base - b.base)
    },
  }
  return holder

  /** A move is refused if another holder has taken the job over. */
  function afterOutcome(job: OffloadJob, outcome: JobOutcome | undefined): OffloadJob[] {
    const move =
      outcome?.kind === 'done'
        ? finish(job, fence, nowMs())
        : outcome?.kind === 'failed'
          ? fail(job, fence, outcome.why, outcome.offset, nowMs())
          : outcome?.kind === 'notSpent'
            ? notSpent(job, fence, outcome.why, nowMs())
            : null
    return move?.kind === 'moved' ? [move.job] : []
  }
}

function must(move: Move): OffloadJob {
  assert.ok(move.kind === 'moved', move.kind === 'refused' ? move.why : '')
  return move.job
}

/** Restores every batch of the table, by partition, in the order of the files. */
export async function readTable(table: Table): Promise<Map<number, Buffer[]>> {
  const index = await new OffsetIndexer(new PromptClock(), table.objects).index(table)
  assert.deepEqual(index.unplaced, [])
  const found = new Map<number, Buffer[]>()
  for (const partition of index.partitions.keys()) {
    const batches: Buffer[] = []
    for (const { key, size } of filesOf(index, partition)) {
      const file = await openDataFile((start, end) => table.objects.read(key!, { start, end }), size)
      for (const group of file.groups)
        batches.push(...(await readGroup(file, group)).map(({ bytes }) => Buffer.from(bytes)))
    }
    found.set(partition, batches)
  }
  return found
}

/** Fails unless the table has exactly the batches of these segments, once, byte for byte. */
export async function assertArchived(table: Table, all: readonly SealedForTest[], where = ''): Promise<void> {
  const found = await readTable(table)
  const sorted = [...all].sort((a, b) => a.segment.base - b.segment.base)
  const expected = Map.groupBy(
    sorted.filter(({ batches }) => batches.length > 0),
    ({ segment }) => segment.partition,
  )
  assert.deepEqual([...found.keys()].sort(), [...expected.keys()].sort(), where)
  for (const [partition, segments] of expected) {
    const batches = segments.flatMap(each => each.batches)
    assert.equal(found.get(partition)!.length, batches.length, `${where}: batches of partition ${partition}`)
    for (const [i, batch] of batches.entries())
      assert.ok(batch.equals(found.get(partition)![i]!), `${where}: batch ${i} of partition ${partition}`)
  }
}

/** A place for objects, a store for documents, threads, and holders on them. */
export function offloadWorld(t: TestContext, most = 2) {
  const clock = new PromptClock(SEALED_AT)
  const memory = new MemoryObjects(clock)
  const encoders = new EncoderThreads(systemClock, most)
  t.after(() => encoders.close())
  const store = createMemoryStore(systemClock)
  const open = (objects: Objects = memory, more: HolderRooms['more'] = {}) =>
    newHolder({ objects, store, encoders, clock, more })
  const audit = async (graceMs = -1) => {
    const { findings } = await auditTable(memory, LOCATION, { nowMs: clock.now(), graceMs })
    assert.deepEqual(findings, [])
  }
  return { clock, memory, encoders, store, open, audit }
}

export const filesIn = (memory: MemoryObjects) => [...memory.held.keys()].filter(key => key.endsWith('.parquet'))
