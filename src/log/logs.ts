// The logs of a broker: opens every partition of the catalogue, keeps up with topics that come and go, and shares one tail
// cache, one set of waiters and one retention among them. What a partition does is in partition.ts.

import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { because, NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION } from '../protocol/errors.ts'
import type { Settings } from '../settings/settings.ts'
import type { Space, Store } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CatalogueKeeper, Topic } from './catalogue.ts'
import type { Lane } from './lane.ts'
import { Partition, type PartitionRooms } from './partition.ts'
import { startRetention } from './retention.ts'
import { TailCache } from './tail-cache.ts'
import { createWaiters, type Watch, type Watchlist } from './waiters.ts'

export interface LogsRooms {
  readonly store: Store
  readonly catalogue: CatalogueKeeper
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  readonly logger: Logger
}

export interface Logs {
  /** Null when there is no such topic or partition. */
  partition(topicId: string, index: number): Partition | null
  /** A list by which a reader waits for news of many partitions. */
  watchlist<W extends Watch>(): Watchlist<W>
  /** Where the logs rest, and how much room there is. Throws what the store throws. */
  space(): Promise<Space>
  /** Ends every wait, and each later one at once: the broker drains. */
  releaseWaiters(): void
  /** One round of retention over all partitions, beside those of the timer. */
  retain(): Promise<void>
  /** Refuses what still comes, finishes what is with the store. The store stays open. */
  close(): Promise<void>
}

/** How many streams are opened at once at start. */
const OPEN_AT_ONCE = 1000

/** Resolves when every partition has been opened, or at least tried: one that fails is tried again while others work. */
export async function openLogs(given: LogsRooms): Promise<Logs> {
  const { store, catalogue, settings, clock, random, metrics } = given
  const logger = given.logger.named('log')
  const topics = new Map<string, readonly Partition[]>()
  const cache = new TailCache(settings.get('storage.local.tail-cache-bytes'))
  const waiters = createWaiters(clock)
  /** Partitions that are closed but still have something with the store. */
  const closing = new Set<Promise<void>>()
  const due: Lane[] = []

  const run = random.bytes(9).toString('base64url')
  let attempts = 0
  const rooms: PartitionRooms = {
    store,
    clock,
    logger,
    nextAttempt: () => `${run}${++attempts}`,
    due(lane) {
      if (due.push(lane) === 1) clock.soon(formDue)
    },
    writes: {
      done: metrics.child('svc.storage.write', { tier: 'local', result: 'success' }),
      failed: metrics.child('svc.storage.write', { tier: 'local', result: 'error' }),
      acknowledged: metrics.child('svc.storage.ack', { tier: 'local', result: 'success' }),
      messages: metrics.child('svc.storage.write.messages', { tier: 'local' }),
    },
    reads: {
      done: metrics.child('svc.storage.read', { tier: 'local', result: 'success', mode: 'stream' }),
      failed: metrics.child('svc.storage.read', { tier: 'local', result: 'error', mode: 'stream' }),
      messages: metrics.child('svc.storage.read.messages', { tier: 'local', mode: 'stream' }),
      corrupt: metrics.child('svc.storage.corrupt_batches', {}),
    },
  }

  function formDue(): void {
    for (const lane of due.splice(0)) lane.form()
  }

  function* partitions(): Generator<Partition> {
    for (const each of topics.values()) yield* each
  }

  function make(topic: Topic): Partition[] {
    const made = makeFrom(topic, 0)
    topics.set(topic.id, made)
    return made
  }

  /** The topic's partitions from this index on. */
  function makeFrom(topic: Topic, from: number): Partition[] {
    const partition = (_: unknown, i: number) => new Partition(rooms, topic, from + i, cache.tail(0))
    return Array.from({ length: topic.partitions - from }, partition)
  }

  async function open(made: readonly Partition[]): Promise<void> {
    for (let i = 0; i < made.length; i += OPEN_AT_ONCE) {
      await Promise.all(made.slice(i, i + OPEN_AT_ONCE).map(partition => partition.open()))
    }
    for (const partition of made) {
      const labels = { topic: partition.topicName, partition: String(partition.index) }
      metrics.sample('svc.broker.max_offset', labels, () => partition.highWatermark)
      metrics.sample('svc.broker.log_start_offset', labels, () => partition.logStartOffset)
    }
  }

  function shut(partition: Partition, refusal: Parameters<Partition['close']>[0]): void {
    const closed = partition.close(refusal).finally(() => closing.delete(closed))
    closing.add(closed)
  }

  catalogue.watch({
    added: fresh => open(fresh.flatMap(make)),
    async changed(known) {
      for (const topic of known) {
        const made = topics.get(topic.id) ?? []
        for (const partition of made) partition.reconfigure(topic)
        const fresh = makeFrom(topic, made.length)
        if (fresh.length === 0) continue
        topics.set(topic.id, [...made, ...fresh])
        await open(fresh)
      }
    },
    removed(gone) {
      for (const topic of gone) {
        const refusal = because(UNKNOWN_TOPIC_OR_PARTITION, `Topic '${topic.name}' has been removed.`)
        for (const partition of topics.get(topic.id) ?? []) shut(partition, refusal)
        topics.delete(topic.id)
        metrics.forget('topic', topic.name)
      }
    },
  })
  await open([...catalogue.current().topics.values()].flatMap(make))

  metrics.sample('svc.storage.cache_bytes', {}, () => cache.bytes)
  metrics.sample('svc.storage.live_bytes', {}, () => {
    let bytes = 0
    for (const partition of partitions()) bytes += partition.sizeBytes
    return bytes
  })
  const retention = startRetention({ partitions: () => [...partitions()], settings, clock, logger, metrics })

  return {
    partition: (topicId, index) => topics.get(topicId)?.[index] ?? null,
    watchlist: () => waiters.watchlist(),
    space: () => store.space(),
    releaseWaiters: () => waiters.release(),
    retain: () => retention.run(),
    async close() {
      waiters.release()
      await retention.stop()
      const refusal = because(NOT_LEADER_OR_FOLLOWER, 'The broker is shutting down; nothing was appended.')
      for (const partition of partitions()) shut(partition, refusal)
      await Promise.all(closing)
    },
  }
}
