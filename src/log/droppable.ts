// Decides up to which offset the oldest data of a log may be dropped, chunk by chunk. The age of a chunk is the age of
// its newest batch, by record timestamp or append time, whichever is older. So records stamped in the future expire
// too. This is the only place with a rule of retention, for the log as a whole (retention.*) and for the part of it
// that has a copy in the remote tier (local.retention.*). It is pure: round.ts trims.

import type { TopicConfigs } from '../settings/topic-configs.ts'
import type { Chunk } from './time-index.ts'

export interface DroppableLog {
  readonly start: number
  /** Bytes of the batches from the log start on. */
  readonly bytes: number
  readonly chunks: readonly Pick<Chunk, 'next' | 'bytes' | 'newestMs' | 'isKnown'>[]
  /** The batches below this offset are in the remote tier too. Null: the topic has no remote tier. */
  readonly archivedTo: number | null
}

export type RetentionConfigs = Pick<
  TopicConfigs,
  'cleanupPolicy' | 'localRetentionBytes' | 'localRetentionMs' | 'retentionBytes' | 'retentionMs'
>

/**
 * Returns the new log start: the end of the leading chunks that are older than the retention, or without which the log
 * still has retention.bytes (in Kafka a lower bound). Returns the log start if nothing may be dropped, as in a topic
 * whose cleanup.policy does not name delete. A chunk that is not learned yet ends the search. The local limits drop
 * chunks that the remote tier has (KIP-405; -2: the limit of the whole log).
 */
export function droppableBefore(log: DroppableLog, configs: RetentionConfigs, nowMs: number): number {
  const { cleanupPolicy, retentionMs, retentionBytes, localRetentionMs, localRetentionBytes } = configs
  if (!cleanupPolicy.includes('delete')) return log.start
  const total = beforeBy(log, retentionMs, retentionBytes, Number.POSITIVE_INFINITY, nowMs)
  if (log.archivedTo === null) return total
  const localMs = localRetentionMs === -2 ? retentionMs : localRetentionMs
  const localBytes = localRetentionBytes === -2 ? retentionBytes : localRetentionBytes
  return Math.max(total, beforeBy(log, localMs, localBytes, log.archivedTo, nowMs))
}

/** Applies one pair of limits (-1: no limit) to the chunks that end at `limit` or below. */
function beforeBy(log: DroppableLog, mostMs: number, mostBytes: number, limit: number, nowMs: number): number {
  const horizonMs = mostMs < 0 ? Number.NEGATIVE_INFINITY : nowMs - mostMs
  let surplus = mostBytes < 0 ? Number.NEGATIVE_INFINITY : log.bytes - mostBytes
  let before = log.start
  for (const { next, bytes, newestMs, isKnown } of log.chunks) {
    if (!isKnown || next > limit || (newestMs >= horizonMs && bytes > surplus)) break
    // A part of the log without batches goes with the batches behind it.
    if (bytes > 0) before = next
    surplus -= bytes
  }
  return before
}
