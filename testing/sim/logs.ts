// The log room on the memory store and the simulated clock, for its own tests and those of the higher rooms. The
// storage worker of the one broker starts the rounds.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Random, seededRandom } from '../../src/base/random.ts'
import { aloneInCluster } from '../../src/cluster/cluster.ts'
import type { ColdTier } from '../../src/log/archive.ts'
import { type CatalogueKeeper, openCatalogue, type Topic } from '../../src/log/catalogue.ts'
import { CleanerWork, type Work } from '../../src/log/cleaner/cleaner-work.ts'
import type { Judge } from '../../src/log/judge.ts'
import { type Leadership, SOLE_LEADERSHIP } from '../../src/log/leadership.ts'
import { type Logs, openLogs } from '../../src/log/logs.ts'
import type { Partition } from '../../src/log/partition.ts'
import type { RoundReport } from '../../src/log/round.ts'
import { Watch } from '../../src/log/waiters.ts'
import { isRefusal } from '../../src/protocol/errors.ts'
import {
  type BatchOptions,
  type BatchView,
  encodeBatch,
  type NewRecord,
  viewBatch,
} from '../../src/protocol/records.ts'
import { type Settings, testSettings } from '../../src/settings/settings.ts'
import { createLogger, type Level } from '../../src/telemetry/logger.ts'
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts'
import { leaseAlone } from '../../src/tier/lease.ts'
import { openStorageWorker } from '../../src/tier/worker.ts'
import { SimulatedClock } from './clock.ts'
import { createMemoryStore, type MemoryStore } from './memory-store.ts'

export interface LogWorld {
  readonly clock: SimulatedClock
  readonly store: MemoryStore
  readonly settings: Settings
  readonly metrics: Metrics
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  /** The lines of the broker's log. */
  readonly lines: readonly string[]
  /** Creates a topic; throws if it is refused. */
  create(name: string, configs?: Readonly<Record<string, string>>, partitions?: number): Promise<Topic>
  /** Creates a topic and returns its first partition. */
  createPartition(configs?: Readonly<Record<string, string>>): Promise<Partition>
  partition(name: string, index?: number): Partition
  /** Runs a round of the storage worker, by default without cleaning. */
  round(share?: { readonly isCleaningAllowed: boolean }): Promise<RoundReport>
  /** Opens a new log room on the same store, as after kill -9. */
  restart(): Promise<LogWorld>
}

export interface LogWorldOptions {
  readonly overrides?: Parameters<typeof testSettings>[0]
  readonly clock?: SimulatedClock
  readonly store?: MemoryStore
  readonly random?: Random
  readonly leadership?: Leadership
  /** Does the cleaner's work; at once by default. */
  readonly cleanerWork?: Work
  /** INFO by default. */
  readonly level?: Level
  readonly coldTier?: ColdTier
  readonly judge?: Judge
}

/** Opens a world. It closes with the test. */
export async function openLogWorld(t: TestContext | null, options: LogWorldOptions = {}): Promise<LogWorld> {
  const { clock = new SimulatedClock(), random = seededRandom(7), leadership = SOLE_LEADERSHIP } = options
  const { store = createMemoryStore(clock) } = options
  const settings = testSettings(options.overrides)
  const metrics = createMetrics()
  const lines: string[] = []
  const levels = new Map([['root', options.level ?? 'INFO']])
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain', levels })
  const catalogue = await openCatalogue(store, settings, clock, random)
  const logs = await openLogs({
    store,
    catalogue,
    leadership,
    settings,
    clock,
    random,
    metrics,
    logger,
    cleanerWork: options.cleanerWork ?? new CleanerWork(),
    coldTier: options.coldTier ?? null,
    judge: options.judge ?? null,
  })
  const worker = openStorageWorker({
    lease: leaseAlone(0, settings.get('storage.worker.enabled')),
    cluster: aloneInCluster(0, null),
    peers: { ask: () => assert.fail('there is no other broker') },
    runRound: logs.runRound,
    remoteNews: logs.remoteNews,
    remote: null,
    lost(error) {
      throw error
    },
    ...{ catalogue, settings, clock, metrics, logger },
  })
  t?.after(async () => {
    await worker.close()
    await logs.close()
  })

  const world: LogWorld = {
    clock,
    store,
    settings,
    metrics,
    catalogue,
    logs,
    lines,
    async create(name, configs = {}, partitions = 1) {
      const [topic] = await catalogue.add([{ name, partitions, configs }])
      if (topic === undefined || isRefusal(topic)) throw new Error(`topic ${name}: ${topic?.message}`)
      return topic
    },
    async createPartition(configs) {
      const topic = await world.create(`topic-${catalogue.current().topics.size}`, configs)
      return world.partition(topic.name)
    },
    partition(name, index = 0) {
      const topic = catalogue.current().topics.get(name)
      const partition = topic === undefined ? null : logs.partition(topic.id, index)
      if (partition === null) throw new Error(`there is no partition ${name}-${index}`)
      return partition
    },
    round: ({ isCleaningAllowed } = { isCleaningAllowed: false }) =>
      logs.runRound({ concurrency: 8, isCleaningAllowed }),
    restart: () => openLogWorld(t, { ...options, clock, random, store: store.reopen() }),
  }
  return world
}

/** Returns a batch as a producer sends it, with its own bytes. A number stands for this number of records. */
export function batchOf(records: number | readonly NewRecord[] = 1, options: BatchOptions = {}): BatchView {
  const list =
    typeof records === 'number' ? Array.from({ length: records }, (_, i) => ({ value: `record ${i}` })) : records
  return viewBatch(encodeBatch(list, options))
}

/** Returns all batches that a partition returns from an offset on. */
export async function readAll(partition: Partition, from = partition.logStartOffset): Promise<BatchView[]> {
  const batches: BatchView[] = []
  for (let offset = from; ; ) {
    const read = await partition.read(offset, 1024 * 1024, true)
    if (isRefusal(read)) throw new Error(`${read.name}: ${read.message}`)
    if (read.batches.length === 0) return batches
    batches.push(...read.batches.map(viewBatch))
    offset = batches.at(-1)!.lastOffset + 1
  }
}

/** Waits for a byte in any of the partitions. Resolves with the partitions that have new records. */
export async function waitForNews(logs: Logs, partitions: readonly Partition[]): Promise<readonly Partition[]> {
  const list = logs.watchlist()
  const watched = new Map(partitions.map(partition => [new Watch(), partition]))
  for (const [watch, partition] of watched) {
    list.mark(watch)
    list.rest(watch, partition.waits)
  }
  await list.wait({ minBytes: 1, alreadyBytes: 0, maxWaitMs: 60_000 })
  return list.ready().map(watch => watched.get(watch)!)
}
