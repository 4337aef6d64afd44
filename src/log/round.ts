// One round of the storage worker over the partitions that this broker leads. For each partition it first rolls the
// active segment (segments.ts), then drops old data (droppable.ts; remote-round.ts for topics of the remote tier). Then
// the cleaner has its turn, one partition at a time, the dirtiest first. A pass over a large log takes longer than a
// round: it goes on beside the next rounds, so that they still drop old data. The storage worker decides when a round
// begins; without rounds nothing is rolled, dropped or cleaned. A partition with nothing to do costs no call of the
// store.

import { type Clock, takingTurns } from '../base/clock.ts'
import type { ColdTier } from './archive.ts'
import type { CleanReport } from './cleaner/cleaner.ts'
import { droppableBefore } from './droppable.ts'
import type { Leadership } from './leadership.ts'
import type { Partition } from './partition.ts'
import type { PartitionState } from './partition-state.ts'
import { adoptNotice, hasLeft, hasNotice, leave, type Moves, movesOf, type RemoteRounds } from './remote-round.ts'
import type { SegmentDocuments } from './segment-documents.ts'
import { segmentEnds, segmentOf, withCleaned } from './segments.ts'

/** The work of a round. All are counts that can be summed over brokers. */
export interface RoundReport {
  /** The partitions that this broker led and looked at. */
  readonly partitions: number
  /** The segments that were sealed. */
  readonly rolled: number
  readonly droppedBytes: number
  /** The partitions that are due for cleaning at the end of the round, the one in progress included. */
  readonly due: number
  /** The partitions that were cleaned to the end of their dirty part, and the bytes that cleaning removed. */
  readonly cleaned: number
  readonly cleanedBytes: number
  readonly failures: number
}

export type Phase = 'roll' | 'adopt' | 'retention' | 'cleaning'

/** The part of the cleaner that a round calls. */
export interface RoundCleaner {
  /** Cleans a partition. It counts and logs what prevents that, except for errors that it throws. */
  clean(
    partition: Partition,
    now: () => number,
    limits: Pick<CleaningShare, 'isOver'>,
  ): Promise<Pick<CleanReport, 'outcome' | 'bytesDropped'>>
}

export interface RoundRooms {
  readonly clock: Clock
  readonly leadership: Leadership
  readonly documents: SegmentDocuments
  readonly cleaner: RoundCleaner
  readonly tier: ColdTier | null
  trustedNow(): number
  /** Counts and logs a failed phase of a partition. */
  failed(phase: Phase, partition: Partition, error: unknown): void
  /** Observes the time of a phase of a partition that had something to do. */
  timed(phase: Phase, tookMs: number): void
}

export interface RoundShare {
  readonly partitions: readonly Partition[]
  /** The most partitions that are worked on at the same time. */
  readonly concurrency: number
  /** The time by which data ages, at the beginning of the round. */
  readonly nowMs: number
  /** A chunk is not sealed for its age before this age. */
  readonly leastChunkMs: number
  /** Returns true if the round must end early. */
  isStopped(): boolean
}

export interface CleaningShare {
  /** The partitions to clean, in this order. */
  readonly due: readonly Partition[]
  /** The time by which data ages, at the beginning. */
  readonly nowMs: number
  /** Returns true if no further pass may begin, and the one in progress must end with its current piece. */
  isOver(): boolean
}

/**
 * A chunk of a topic that fills slowly is sealed at least this many times in each retention time, so that data expires
 * in parts.
 */
const PARTS = 8
/** The event loop goes first after this time. */
const TURN_MS = 2

export type Tended = Omit<RoundReport, 'due' | keyof Cleaned> & Pick<Cleaned, 'failures'>
export type Cleaned = Pick<RoundReport, 'cleaned' | 'cleanedBytes' | 'failures'>

/**
 * Rolls and drops. Resolves with what was done when every partition had its turn. A failure ends only the work on its
 * partition.
 */
export async function tendAll(rooms: RoundRooms, share: RoundShare): Promise<Tended> {
  const { clock } = rooms
  const { partitions, concurrency, nowMs } = share
  const done = { partitions: 0, rolled: 0, droppedBytes: 0, failures: 0 }
  const turns = takingTurns(clock, TURN_MS)

  const remote: RemoteRounds = { ...rooms, tables: new Map() }

  const inPhase = (phase: Phase, partition: Partition, work: () => Promise<void>) =>
    attempt(rooms, done, phase, partition, work)

  /** A failure to roll does not end the turn: on a full disk only dropping makes room for the document. */
  async function tend(partition: Partition): Promise<void> {
    const { state } = partition
    sealOld(partition, share)
    // Offsets that the table has must not be sealed once more, so it is read first.
    if (state.hold === null && hasToRoll(partition, nowMs)) {
      await inPhase('roll', partition, async () => {
        const rolled = await roll(rooms.documents, partition, nowMs)
        done.rolled += rolled
      })
    }
    if (!isOurs(rooms, partition)) return
    if (state.isRemote) await tendRemote(partition)
    else {
      if (hasLeft(partition)) await inPhase('adopt', partition, () => leave(remote, partition))
      const before = droppableBefore(logOf(partition), state.topic.resolved, nowMs)
      if (before > state.start) await inPhase('retention', partition, () => trim(partition, before))
    }
    if (state.pendingRows.length > 0) await inPhase('roll', partition, () => partition.flushRows())
  }

  async function trim(partition: Partition, before: number): Promise<void> {
    const bytes = await partition.trim(before)
    done.droppedBytes += bytes
    if (hasDropped(partition) && partition.state.hold === null) await roll(rooms.documents, partition, nowMs)
  }

  async function tendRemote(partition: Partition): Promise<void> {
    const { state } = partition
    if (hasNotice(remote, partition)) await inPhase('adopt', partition, () => adoptNotice(remote, partition))
    if (!isOurs(rooms, partition)) return
    const moves = movesOf(remote, partition, nowMs)
    if (!(moves instanceof Promise) && !hasMoves(state, moves)) return
    await inPhase('retention', partition, async () => {
      const { logStart, localStart } = await moves
      if (state.remote !== null && logStart > state.logStart && !(await partition.raiseLogStart(logStart))) return
      if (localStart > state.start) await trim(partition, localStart)
    })
  }

  const waiting = partitions[Symbol.iterator]()
  const work = async () => {
    for (const partition of waiting) {
      const others = turns()
      if (others !== undefined) await others
      if (share.isStopped()) return
      if (!isOurs(rooms, partition)) continue
      done.partitions++
      await tend(partition)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, partitions.length) }, work))
  return done
}

/** Cleans partitions, one after the other. Resolves like tendAll. */
export async function cleanDue(rooms: RoundRooms, share: CleaningShare): Promise<Cleaned> {
  const { cleaner, clock } = rooms
  const { due, nowMs } = share
  const done = { cleaned: 0, cleanedBytes: 0, failures: 0 }
  const beganAtMs = clock.monotonic()
  /** The time by which data ages. The time for which tombstones stay begins with a pass, and passes may take long. */
  const now = () => nowMs + Math.floor(clock.monotonic() - beganAtMs)
  for (const partition of due) {
    if (share.isOver()) break
    if (!isOurs(rooms, partition)) continue
    await attempt(rooms, done, 'cleaning', partition, async () => {
      const before = partition.state.cleaned.cleanedTo
      const { outcome, bytesDropped } = await cleaner.clean(partition, now, share)
      done.cleanedBytes += bytesDropped
      if (outcome === 'waits' || outcome === 'uncleanable') done.failures++
      if (outcome === 'done') done.cleaned++
      const { cleanedTo } = partition.state.cleaned
      // A pass that has not reached its end has not cleaned a segment.
      if (cleanedTo === before) return
      await rooms.documents.change(partition.state, sealed => {
        const { segmentBytes } = partition.state.topic.resolved
        const segments = withCleaned(logOf(partition), sealed.segments, { cleanedTo, segmentBytes, nowMs: now() })
        return segments && { ...sealed, segments }
      })
    })
  }
  return done
}

function isOurs({ leadership }: RoundRooms, { state }: Partition): boolean {
  return state.refusal === null && state.epoch > 0 && leadership.isConfirmed
}

async function attempt(
  rooms: RoundRooms,
  done: { failures: number },
  phase: Phase,
  partition: Partition,
  work: () => Promise<void>,
): Promise<void> {
  const beganAtMs = rooms.clock.monotonic()
  try {
    await work()
  } catch (error) {
    done.failures++
    rooms.failed(phase, partition, error)
  }
  rooms.timed(phase, rooms.clock.monotonic() - beganAtMs)
}

function hasMoves({ logStart, start }: PartitionState, moves: Moves): boolean {
  return moves.logStart > logStart || moves.localStart > start
}

/** Seals the open chunk if its data has waited for long, so that a log that fills slowly expires in parts. */
function sealOld({ state }: Partition, { nowMs, leastChunkMs }: RoundShare): void {
  const { retentionMs, segmentMs } = state.topic.resolved
  const partMs = retentionMs < 0 ? segmentMs : Math.min(segmentMs, retentionMs / PARTS)
  const mark = state.timeIndex.seal(Number.POSITIVE_INFINITY, nowMs, Math.max(partMs, leastChunkMs))
  if (mark !== null) state.pendingRows.push(mark)
}

function logOf({ state }: Partition) {
  const { start, bytes, activeFrom, highWatermark, epochs, timeIndex } = state
  return { start, bytes, activeFrom, highWatermark, epochs, chunks: timeIndex.chunks }
}

/** Returns whether the document of the segments has to change. */
function hasToRoll(partition: Partition, nowMs: number): boolean {
  return hasDropped(partition) || segmentEnds(logOf(partition), partition.state.topic.resolved, nowMs).length > 0
}

/** Returns whether the log begins behind a segment that the document still has. */
function hasDropped({ state }: Partition): boolean {
  const [first] = state.sealed.segments
  return first !== undefined && first.next <= state.start
}

/** Seals what is due and forgets dropped segments. Resolves with the number of new segments. */
async function roll(documents: SegmentDocuments, partition: Partition, nowMs: number): Promise<number> {
  const { state } = partition
  let rolled = 0
  const isChanged = await documents.change(state, sealed => {
    const ends = segmentEnds(logOf(partition), state.topic.resolved, nowMs)
    const segments = sealed.segments.filter(({ next }) => next > state.start)
    rolled = ends.length
    if (rolled === 0 && segments.length === sealed.segments.length) return null
    // The open chunk must end with the segment.
    const mark = ends.at(-1) === state.timeIndex.chunks.at(-1)!.next ? state.timeIndex.seal(0) : null
    if (mark !== null) state.pendingRows.push(mark)
    const log = logOf(partition)
    let base = log.activeFrom
    for (const next of ends) {
      segments.push(segmentOf(log, base, next, nowMs))
      base = next
    }
    return { ...sealed, segments, end: rolled > 0 ? base : sealed.end, epoch: state.epoch }
  })
  // Another leader has sealed more than this log has: its tail was lost. Opened again, it ends above those offsets.
  if (state.sealed.end > state.end) partition.reopen()
  return isChanged ? rolled : 0
}
