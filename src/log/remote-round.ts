// The part of a round (round.ts) that only partitions of the remote tier have: it takes over the newest table that the
// holder has named, and applies the retention of two tiers. The log start moves in the document before the stream is
// trimmed, so that a crash between the two leaves no offset without an owner. It archives nothing: the holder does.

import type { ArchivedPiece, ColdTier, TableFacts } from './archive.ts'
import { placeIn } from './cold-reads.ts'
import { type AgeingPart, type ColdSums, droppableOfTiers, type TieredLog } from './droppable.ts'
import type { Partition } from './partition.ts'
import type { PartitionState } from './partition-state.ts'
import { afterLeaving } from './remote-document.ts'
import { archivedFrom } from './remote-log.ts'
import type { SegmentDocuments } from './segment-documents.ts'
import { adoptTable, leadOf } from './table-reads.ts'

export interface RemoteRounds {
  readonly tier: ColdTier | null
  readonly documents: SegmentDocuments
  /** The tables that this round has read, by topic id. One read serves all partitions. */
  readonly tables: Map<string, Promise<TableFacts>>
  trustedNow(): number
}

/** Returns whether the holder has named a newer table than the one that the partition knows. */
export function hasNotice({ tier }: RemoteRounds, { state }: Partition): boolean {
  const { remote, hold, topic } = state
  if (tier === null || remote === null || hold !== null) return false
  return tier.noticed(topic.id) > versionOf(state)
}

/** Takes over the newest table. Throws what the store throws, and TierAway. */
export async function adoptNotice(rounds: RemoteRounds, partition: Partition): Promise<void> {
  const { tables, documents, trustedNow } = rounds
  const tier = rounds.tier!
  const { topic } = partition.state
  const lead = leadOf(partition)
  const facts = tables.get(topic.id) ?? tier.table(topic)
  tables.set(topic.id, facts)
  await adoptTable({ tier, documents, trustedNow }, partition, lead, await facts)
}

/** Returns whether the document says that the topic uses the remote tier although it no longer does. */
export function hasLeft({ state }: Partition): boolean {
  return !state.isRemote && state.sealed.remote !== null
}

/** Notes in the document that the topic no longer uses the remote tier. */
export async function leave({ documents }: RemoteRounds, { state }: Partition): Promise<void> {
  await documents.change(state, sealed => (state.isRemote ? null : afterLeaving(sealed)))
}

/** How far the log start and the local start of a partition move. */
export interface Moves {
  readonly logStart: number
  readonly localStart: number
}

/**
 * Returns how far a log of the remote tier drops its data. It asks the archive, and returns a promise, only if archived
 * data may be due.
 */
export function movesOf({ tier }: RemoteRounds, { state }: Partition, nowMs: number): Moves | Promise<Moves> {
  const { logStart, start } = state
  const cold = logStart < start && hasTotalLimit(state) ? coldParts(tier, state, nowMs) : []
  return cold instanceof Promise ? cold.then(parts => moved(state, parts, nowMs)) : moved(state, cold, nowMs)
}

function moved(state: PartitionState, cold: readonly AgeingPart[] | null, nowMs: number): Moves {
  const { topic, logStart, highWatermark } = state
  const moves = droppableOfTiers(tieredLog(state, cold), topic.resolved, nowMs)
  return {
    logStart: Math.max(logStart, Math.min(moves.logStart, highWatermark)),
    // Batches that the log start has passed go, also if an earlier round could not trim it.
    localStart: Math.max(moves.localStart, logStart),
  }
}

function hasTotalLimit({ topic: { resolved } }: PartitionState): boolean {
  return resolved.retentionMs >= 0 || resolved.retentionBytes >= 0
}

/** `cold` are the parts below the local start that may be due; null if they are not known or none is. */
function tieredLog(state: PartitionState, cold: readonly AgeingPart[] | null): TieredLog {
  const { start, logStart, remote, hold, bytes, highWatermark, timeIndex, topic } = state
  const { chunks } = timeIndex
  const plain = chunks.map(({ next, bytes, plainBytes, newestMs, isKnown }): AgeingPart => {
    return { next, bytes: bytes === 0 ? 0 : (plainBytes ?? bytes), newestMs, isKnown }
  })
  // Without knowledge of the cold parts only the local ones count: they drop less, and what they drop is right.
  const parts = cold === null ? plain : [...cold, ...plain]
  const whole = { start: logStart, bytes: parts.reduce((sum, part) => sum + part.bytes, 0), chunks: parts }
  const isCopied = !topic.resolved.remoteLogCopyDisable
  // Until the table was read again it may have gone back, and the local batches may be the only ones.
  const archived = remote === null || hold !== null ? start : archivedFrom(remote, Math.max(start, logStart))
  return { whole, local: { start, bytes, chunks }, archivedTo: isCopied ? archived : highWatermark }
}

/** Returns the parts below the local start; null if they are not known. The sums spare asking while none is due. */
function coldParts(
  tier: ColdTier | null,
  state: PartitionState,
  nowMs: number,
): readonly AgeingPart[] | null | Promise<readonly AgeingPart[] | null> {
  const { start, logStart, coldSums: known } = state
  const isKnown = known?.version === versionOf(state) && known.logStart === logStart && known.start === start
  if (isKnown && !mayDrop(known, state, nowMs)) return sumPart(known)
  return tier === null ? null : askedParts(tier, state)
}

/** The newest version of the table that the partition knows. */
function versionOf({ seenVersion, remote }: PartitionState): number {
  return Math.max(seenVersion, remote?.version ?? 0)
}

async function askedParts(tier: ColdTier, state: PartitionState): Promise<readonly AgeingPart[] | null> {
  const pieces = await tier.pieces(placeIn(state))
  // The object store is away, or too many reads wait: the next round asks again.
  if ('kind' in pieces) return null
  const { start, logStart, timeIndex } = state
  const version = versionOf(state)
  const parts = partsOf(pieces, logStart, start, timeIndex.chunks[0]?.firstAppendMs ?? null)
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  state.coldSums = { version, logStart, start, bytes, oldest: parts[0] ?? null }
  return parts
}

/** Returns one part that stands for all: none of it is due, so only its bytes count. */
function sumPart({ bytes, start }: ColdSums): readonly AgeingPart[] {
  return bytes === 0 ? [] : [{ next: start, bytes, newestMs: Number.POSITIVE_INFINITY, isKnown: true }]
}

function mayDrop({ bytes, oldest }: ColdSums, state: PartitionState, nowMs: number): boolean {
  const { retentionMs, retentionBytes } = state.topic.resolved
  if (oldest === null) return false
  if (retentionMs >= 0 && oldest.newestMs < nowMs - retentionMs) return true
  if (retentionBytes < 0) return false
  let local = 0
  for (const chunk of state.timeIndex.chunks) local += chunk.plainBytes ?? chunk.bytes
  return bytes + local - retentionBytes >= oldest.bytes
}

/**
 * Returns the parts of files between the log start and the local start. A file that reaches over one of them counts in
 * proportion to its offsets. `localSinceMs` is the time of the first local append: every archived record is older.
 */
function partsOf(
  pieces: readonly ArchivedPiece[],
  logStart: number,
  start: number,
  localSinceMs: number | null,
): readonly AgeingPart[] {
  const parts: AgeingPart[] = []
  for (const { base, next, bytes, maxTimestamp, appendedByMs } of pieces) {
    const from = Math.max(base, logStart)
    const to = Math.min(next, start)
    if (from >= to) continue
    const latestMs = maxTimestamp === null || maxTimestamp < 0 ? Number.POSITIVE_INFINITY : maxTimestamp
    const newestMs = Math.min(latestMs, appendedByMs ?? localSinceMs ?? Number.POSITIVE_INFINITY)
    parts.push({ next: to, bytes: Math.ceil((bytes * (to - from)) / (next - base)), newestMs, isKnown: true })
  }
  return parts
}
