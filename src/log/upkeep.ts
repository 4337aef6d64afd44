// The upkeep of the partitions that a broker leads, at intervals, whether or not a storage worker runs. It learns the
// chunks that have no mark after a restart, forgets producers that have been idle for too long, and writes the rows
// that wait for an append that does not come. It rolls and drops nothing (round.ts does).

import { type Clock, type Timer, takingTurns } from '../base/clock.ts'
import type { Settings } from '../settings/settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Partition } from './partition.ts'
import { isExpired } from './producers.ts'

export interface UpkeepRooms {
  partitions(): Iterable<Partition>
  /** The time by which data ages. */
  trustedNow(): number
  readonly settings: Settings
  readonly clock: Clock
  readonly logger: Logger
  /** Counts a failure. */
  failed(phase: 'learning', error: unknown): void
}

export interface Upkeep {
  /** Starts no more work. Resolves when the current work has ended. */
  stop(): Promise<void>
}

/**
 * About how many bytes of unmarked data are read at a time. After a restart each partition has up to a chunk of such
 * data.
 */
const LEARN_BYTES = 64 * 1024 * 1024
/** The event loop goes first after this time. */
const TURN_MS = 5

export function startUpkeep({ partitions, trustedNow, settings, clock, logger, failed }: UpkeepRooms): Upkeep {
  const intervalMs = settings.get('storage.worker.tick-interval')
  const concurrency = settings.get('storage.worker.tick-concurrency')
  const expirationMs = settings.get('broker.producer-id-expiration')
  let running: Promise<void> = Promise.resolve()
  let timer: Timer | null = null
  let isStopped = false

  function later(): void {
    timer = clock.timer(intervalMs, () => {
      running = run().finally(() => isStopped || later())
    })
  }

  async function run(): Promise<void> {
    const nowMs = trustedNow()
    let learnBytes = LEARN_BYTES
    const waiting = [...partitions()][Symbol.iterator]()
    const turns = takingTurns(clock, TURN_MS)
    const work = async () => {
      for (const partition of waiting) {
        const others = turns()
        if (others !== undefined) await others
        if (isStopped) return
        const { state } = partition
        if (state.refusal !== null || state.epoch === 0) continue
        try {
          const unknown = unknownBytes(partition)
          if (unknown > 0 && learnBytes > 0) {
            learnBytes -= unknown
            await partition.learnChunks()
          }
          expireProducers(partition, nowMs, expirationMs)
          if (state.pendingRows.length > 0) await partition.flushRows()
        } catch (error) {
          failed('learning', error)
          logger
            .limited('upkeep', 60_000)
            .warn('the upkeep of a partition failed; the broker tries again', { partition: state.name, error })
        }
      }
    }
    await Promise.all(Array.from({ length: concurrency }, work))
  }

  later()
  return {
    async stop() {
      isStopped = true
      timer?.cancel()
      await running
    },
  }
}

function unknownBytes({ state }: Partition): number {
  let bytes = 0
  for (const chunk of state.timeIndex.chunks) if (!chunk.isKnown) bytes += Math.max(1, chunk.bytes)
  return bytes
}

/** Forgets producers that have been idle for too long; the next write removes their rows. */
function expireProducers({ state }: Partition, nowMs: number, expirationMs: number): void {
  for (const [producerId, producer] of state.producers) {
    if (!isExpired(producer, nowMs, expirationMs)) continue
    state.forgetProducer(producerId)
  }
}
