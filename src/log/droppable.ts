// Decides up to which offset the oldest data of a log may be dropped, chunk by chunk. The age of a chunk is the age of
// its newest batch, by record timestamp or append time, whichever is older. So records stamped in the future expire
// too. This is the only place with a rule of retention, for the log as a whole (retention.*) and for the part of it
// that has a copy in the remote tier (local.retention.*). It is pure: round.ts trims.

import type { TopicConfigs } from '../settings/topic-configs.ts'
import type { Chunk } from './time-index.ts'

/** A part of a log whose batches age together: a chunk, or an archived file. */
export type AgeingPart = Pick<Chunk, 'next' | 'bytes' | 'newestMs' | 'isKnown'>

export interface DroppableLog {
  readonly start: number
  /** Bytes of the batches from `start` on. */
  readonly bytes: number
  readonly chunks: readonly AgeingPart[]
}

/** A log of the remote tier. */
export interface TieredLog {
  /** Both tiers, from the log start on, in bytes as clients see them. No batch counts twice. */
  readonly whole: DroppableLog
  readonly local: DroppableLog
  /** The local batches below this offset are archived, or need not be. */
  readonly archivedTo: number
}

/** The sums of what the table of a partition has below the local start, as of one state of both. */
export interface ColdSums {
  readonly version: number
  readonly logStart: number
  readonly start: number
  readonly bytes: number
  /** The oldest part; null: the table has no file there. */
  readonly oldest: AgeingPart | null
}

type TotalConfigs = Pick<TopicConfigs, 'cleanupPolicy' | 'retentionBytes' | 'retentionMs'>
export type RetentionConfigs = TotalConfigs & Pick<TopicConfigs, 'localRetentionBytes' | 'localRetentionMs'>

/**
 * Returns the new log start: the end of the leading chunks that are older than the retention, or without which the log
 * still has retention.bytes (in Kafka a lower bound). Returns the log start if nothing may be dropped, as in a topic
 * whose cleanup.policy does not name delete. A chunk that is not learned yet ends the search.
 */
export function droppableBefore(log: DroppableLog, configs: TotalConfigs, nowMs: number): number {
  const { cleanupPolicy, retentionMs, retentionBytes } = configs
  if (!cleanupPolicy.includes('delete')) return log.start
  return beforeBy(log, retentionMs, retentionBytes, Number.POSITIVE_INFINITY, nowMs)
}

/**
 * Returns the new log start and the new local start of a log of the remote tier (KIP-405). The limits of the whole log
 * drop data of both tiers, archived or not. The local limits (-2: those of the whole log) drop local chunks that are
 * archived, also if cleanup.policy is empty.
 */
export function droppableOfTiers(
  { whole, local, archivedTo }: TieredLog,
  configs: RetentionConfigs,
  nowMs: number,
): { readonly logStart: number; readonly localStart: number } {
  const { retentionMs, retentionBytes, localRetentionMs, localRetentionBytes } = configs
  const logStart = droppableBefore(whole, configs, nowMs)
  const localMs = localRetentionMs === -2 ? retentionMs : localRetentionMs
  const localBytes = localRetentionBytes === -2 ? retentionBytes : localRetentionBytes
  const localStart = beforeBy(local, localMs, localBytes, archivedTo, nowMs)
  return { logStart, localStart: Math.max(localStart, logStart, local.start) }
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
