// Retention drops old data of every partition by time and size, chunk by chunk (time-index.ts), unless
// `storage.worker.enabled` is off. It also forgets producers that have been idle for too long. The age of a chunk is
// the age of its newest batch, by record timestamp or append time, whichever is older. So records stamped in the future
// expire too. local.retention.* take effect only together with a remote tier, because without one the local data is all
// the data. This file decides what to drop; the partition trims.

import type { Clock, Timer } from '../base/clock.ts'
import { watchClockJumps } from '../base/clock-jumps.ts'
import type { Settings } from '../settings/settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Partition } from './partition.ts'
import { isExpired } from './producers.ts'

export interface RetentionRooms {
  partitions(): readonly Partition[]
  readonly settings: Settings
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
}

export interface Retention {
  /** Runs one round over all partitions, or joins the round that is in progress. */
  run(): Promise<void>
  /** Starts no more rounds. Resolves when the current round has ended. */
  stop(): Promise<void>
}

/**
 * A chunk of a topic that fills slowly is sealed at least this many times in each retention time, so that data expires
 * in parts.
 */
const PARTS = 8
/**
 * About how many bytes of unmarked data one round reads. After a restart each partition has up to a chunk of such data.
 */
const LEARN_BYTES = 64 * 1024 * 1024

export function startRetention({ partitions, settings, clock, logger, metrics }: RetentionRooms): Retention {
  const isEnabled = settings.get('storage.worker.enabled')
  const intervalMs = settings.get('storage.worker.tick-interval')
  const concurrency = settings.get('storage.worker.tick-concurrency')
  const expirationMs = settings.get('broker.producer-id-expiration')
  const lookForJumps = watchClockJumps(clock, jumpMs => {
    logger.warn(
      'the system clock has jumped forward; until tomorrow the broker drops no data that is too old only because of the jump',
      { jumpMs },
    )
  })
  let running: Promise<void> | null = null
  let timer: Timer | null = null
  let isStopped = false

  function tick(): void {
    timer = clock.timer(intervalMs, () => void run().finally(() => isStopped || tick()))
  }

  function run(): Promise<void> {
    running ??= round().finally(() => {
      running = null
    })
    return running
  }

  async function round(): Promise<void> {
    const mistrustedMs = lookForJumps()
    let learnBytes = LEARN_BYTES
    const waiting = partitions()[Symbol.iterator]()
    const worker = async () => {
      for (const partition of waiting) {
        if (isStopped) return
        if (partition.refusal !== null || partition.state.epoch === 0) continue
        try {
          const unknown = unknownBytes(partition)
          if (unknown > 0 && learnBytes > 0) {
            learnBytes -= unknown
            await partition.learnChunks()
          }
          if (isEnabled) await retain(partition, clock.now() - mistrustedMs, intervalMs)
          expireProducers(partition, clock.now() - mistrustedMs, expirationMs)
          await partition.flushRows()
        } catch (error) {
          const name = error instanceof Error ? error.name : 'unknown'
          metrics.count('svc.storage.worker.failures', { phase: 'retention', error_type: name })
          logger
            .limited('retention', 60_000)
            .warn('retention failed; the broker tries again', { partition: partition.state.name, error })
        }
      }
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
  }

  tick()
  return {
    run,
    async stop() {
      isStopped = true
      timer?.cancel()
      await running
    },
  }
}

function unknownBytes(partition: Partition): number {
  return partition.state.timeIndex.chunks.reduce(
    (sum, chunk) => (chunk.isKnown ? sum : sum + Math.max(1, chunk.bytes)),
    0,
  )
}

async function retain(partition: Partition, nowMs: number, intervalMs: number): Promise<void> {
  const { state } = partition
  const { retentionMs, retentionBytes, segmentMs } = state.topic.resolved
  const partMs = retentionMs < 0 ? segmentMs : Math.min(segmentMs, retentionMs / PARTS)
  const mark = state.timeIndex.seal(Number.POSITIVE_INFINITY, nowMs, Math.max(partMs, intervalMs))
  if (mark !== null) state.pendingRows.push(mark)

  const byTime = retentionMs < 0 ? state.start : expiredBefore(partition, nowMs - retentionMs)
  const bySize = retentionBytes < 0 ? state.start : surplusBefore(partition, retentionBytes)
  await partition.trim(Math.max(byTime, bySize))
}

/** Returns the end of the leading chunks whose newest data is older than the horizon. */
function expiredBefore({ state }: Partition, horizonMs: number): number {
  let before = state.start
  for (const chunk of state.timeIndex.chunks) {
    if (!chunk.isKnown || chunk.newestMs >= horizonMs) break
    if (chunk.bytes > 0) before = chunk.next
  }
  return before
}

/**
 * Returns the end of the leading chunks that can be dropped while the log still has this many bytes (in Kafka
 * retention.bytes is a lower bound).
 */
function surplusBefore({ state }: Partition, retentionBytes: number): number {
  let before = state.start
  let surplus = state.bytes - retentionBytes
  for (const chunk of state.timeIndex.chunks) {
    if (!chunk.isKnown || chunk.bytes > surplus) break
    if (chunk.bytes > 0) before = chunk.next
    surplus -= chunk.bytes
  }
  return before
}

/** Forgets producers that have been idle for too long; the next write removes their rows. */
function expireProducers({ state }: Partition, nowMs: number, expirationMs: number): void {
  for (const [producerId, producer] of state.producers) {
    if (!isExpired(producer, nowMs, expirationMs)) continue
    state.forgetProducer(producerId)
  }
}
