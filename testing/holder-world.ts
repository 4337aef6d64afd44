// A holder of the worker's lease over a real remote tier in a folder or a bucket, and a log that the test fills by
// hand: sealed segments with their batches, and the documents that their leaders would write.

import assert from 'node:assert/strict'
import { type Clock, systemClock } from '../src/base/clock.ts'
import { seededRandom } from '../src/base/random.ts'
import type { Catalogue, Topic } from '../src/log/catalogue.ts'
import { SINGLE } from '../src/log/catalogue.ts'
import { UnreadableBatch } from '../src/log/read-range.ts'
import type { RemoteLog } from '../src/log/remote-log.ts'
import { NO_SEGMENTS, type SealedSegments, type Segment } from '../src/log/segments.ts'
import { testSettings, type Values } from '../src/settings/settings.ts'
import { resolveTopicConfigs } from '../src/settings/topic-configs.ts'
import type { Store } from '../src/store/store.ts'
import { createLogger } from '../src/telemetry/logger.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { loadTable, type Table } from '../src/tier/iceberg/table.ts'
import { tableLocation } from '../src/tier/iceberg/table-files.ts'
import { openObjects, parsePlace } from '../src/tier/objects/place.ts'
import type { OffloadJob } from '../src/tier/offload/jobs.ts'
import { openRemoteTier } from '../src/tier/remote/open-remote-tier.ts'
import type { RemoteRounds } from '../src/tier/remote/remote-rounds.ts'
import type { CleanUp } from './broker.ts'
import { type SealedForTest, sealed } from './offloading.ts'
import type { S3Stub } from './s3-stub.ts'
import { createMemoryStore } from './sim/memory-store.ts'
import { temporaryFolder } from './temporary-folder.ts'

export const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAQ'

export interface HolderWorldOptions {
  readonly values?: Partial<Values>
  readonly store?: Store
  readonly clock?: Clock
  readonly configs?: Readonly<Record<string, string>>
  /** By default a folder of the test. */
  readonly path?: string
}

/** The settings of a world in the bucket of a stub. */
export function inBucket({ bucket, endpoint, options }: S3Stub): HolderWorldOptions {
  return {
    path: `s3://${bucket}/tier`,
    values: {
      'storage.remote.s3.endpoint': endpoint,
      'storage.remote.s3.path-style-access': true,
      'storage.remote.s3.access-key-id': options.accessKeyId!,
      'storage.remote.s3.secret-access-key': options.secretAccessKey!,
    },
  }
}

/** One topic `orders`, with what its leaders have sealed. */
export async function openHolderWorld(cleanUp: CleanUp, options: HolderWorldOptions = {}) {
  const { clock = systemClock } = options
  const store = options.store ?? createMemoryStore(clock)
  const folder = options.path ?? (await temporaryFolder(cleanUp, 'ketch-tier-'))
  const settings = testSettings({
    'storage.remote.path': folder,
    'storage.remote.iceberg.max-file-wait': 0,
    'storage.remote.iceberg.offload.threads': 1,
    'storage.worker.offload-jobs.max-attempts': 2,
    ...options.values,
  })
  const lines: string[] = []
  const metrics = createMetrics()
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain' })

  const topics = new Map<string, Topic>()
  function setTopic(configs: Readonly<Record<string, string>> = {}, name = 'orders', id = TOPIC_ID): void {
    const resolved = resolveTopicConfigs({ 'remote.storage.enable': 'true', ...configs }, null, settings)
    const rest = { partitions: 2, placement: SINGLE, configs, pinned: {}, createdAtMs: 0 }
    topics.set(id, { id, name, resolved, ...rest })
  }
  setTopic(options.configs)
  const current = (): Catalogue => ({
    clusterId: 'cluster',
    version: 1,
    topics: new Map([...topics.values()].map(topic => [topic.name, topic])),
    topicsById: topics,
    unreadable: new Map(),
  })

  const segments: SealedForTest[] = []
  const remotes = new Map<number, Partial<RemoteLog>>()
  const damaged = new Set<number>()
  /** Runs before each batch that the holder reads. */
  const hooks = { read: async (_base: number) => {} }

  function sealedOf(partition: number): SealedSegments {
    const own = segments.filter(({ segment }) => segment.partition === partition)
    const remote = {
      logStart: 0,
      ranges: [],
      lost: [],
      epochs: [],
      version: 0,
      readUnder: '',
      ...remotes.get(partition),
    }
    const all = own.map(({ segment: { partition: _, plainBytes, ...facts }, batches }) => {
      const counts = { plainBytes, batches: batches.length, records: batches.length * 3 }
      const times = { minTimestamp: 0, maxTimestamp: 0, firstAppendMs: null, lastAppendMs: null }
      return { ...facts, ...counts, ...times, epochs: [], cleanedAtMs: null } satisfies Segment
    })
    return { ...NO_SEGMENTS, segments: all, end: all.at(-1)?.next ?? 0, remote }
  }

  const lease = { isHeld: true, fence: 7, look: async () => {} }
  const logs = {
    sealedSegments: async (_: string, index: number) => sealedOf(index),
    async *readRange(_: string, index: number, base: number, next: number) {
      for (const { segment, batches } of segments) {
        if (segment.partition !== index || segment.base < base || segment.next > next) continue
        for (const batch of batches) {
          await hooks.read(segment.base)
          // A trimmed range begins later, or has nothing.
          if (!segments.some(each => each.segment === segment)) return
          if (damaged.has(segment.base)) throw new UnreadableBatch(segment.base, 'it fails its checksum')
          yield [batch]
        }
      }
    },
  }
  const place = parsePlace(folder)
  const objects = await openObjects(
    place,
    {
      endpoint: settings.get('storage.remote.s3.endpoint') ?? '',
      pathStyle: true,
      accessKeyId: settings.get('storage.remote.s3.access-key-id') ?? '',
      secretAccessKey: settings.get('storage.remote.s3.secret-access-key') ?? '',
    },
    { clock, random: seededRandom(9), warn() {} },
  )
  cleanUp.after(() => objects.close())
  const location = tableLocation('default', 'orders', TOPIC_ID)
  let changes = 0

  async function openTier(seed = 1) {
    const tier = await openRemoteTier({
      ...{ settings, store, clock, random: seededRandom(seed), metrics, logger },
      catalogue: { current, watch() {} },
    })
    assert(tier !== null)
    const holder = tier.holder({ lease, logs })
    const close = async () => {
      await holder.close()
      await tier.close()
    }
    cleanUp.after(close)
    return { tier, holder, close }
  }

  /** The leaders tell what changed, and the holder does its part. */
  async function round(holder: RemoteRounds): Promise<void> {
    holder.begin(lease.fence)
    const partitions = [...new Set(segments.map(({ segment }) => segment.partition))]
    const isNew = holder.since(1, 'start') < changes
    holder.heard(1, 'start', { to: changes, topics: isNew ? [{ topicId: TOPIC_ID, partitions }] : [] })
    await holder.run()
  }

  return {
    ...{ settings, store, metrics, lease, folder, objects, hooks, damaged, topics, location },
    log: () => lines.join(''),
    openTier,
    round,
    setTopic,
    /** A leader seals a segment of batches of three records. */
    seal(partition: number, base: number, count = 2, valueBytes = 40): SealedForTest {
      const made = sealed(partition, base, count, { valueBytes, sealedAtMs: Math.floor(clock.now()) })
      segments.push(made)
      changes++
      return made
    },
    /** A leader writes what it knows of the table, or a log start, into its document. */
    setRemote(partition: number, remote: Partial<RemoteLog>): void {
      remotes.set(partition, { ...remotes.get(partition), ...remote })
      changes++
    },
    /** A leader drops the segments below. */
    drop(partition: number, before: number): void {
      const left = segments.filter(({ segment }) => segment.partition !== partition || segment.next > before)
      segments.splice(0, segments.length, ...left)
      changes++
    },
    /** A new leader names all of its partitions. */
    touch(): void {
      changes++
    },
    table: (): Promise<Table | null> => loadTable(objects, location),
    async jobs(tier: { readonly jobs: { of(id: string): Promise<unknown> } }): Promise<readonly OffloadJob[]> {
      const found = await tier.jobs.of(TOPIC_ID)
      assert(found instanceof Map, 'the jobs can be read')
      return [...(found as Map<string, OffloadJob>).values()].sort(
        (a, b) => a.partition - b.partition || a.base - b.base,
      )
    },
  }
}
