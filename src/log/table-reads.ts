// Reads the tables of topics whose partitions may take no records before: the store may have gone back in time, and the
// table alone knows which offsets are in use (hold in partition-state.ts). One read of a table serves all partitions of
// its topic. A read that fails is tried again until it succeeds; reads of clients are served meanwhile. round.ts takes
// over newer versions with the same function.

import { type Clock, sleep } from '../base/clock.ts'
import { isStoreFailure } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type ColdTier, type TableFacts, TierAway } from './archive.ts'
import { placeIn } from './cold-reads.ts'
import type { Partition } from './partition.ts'
import type { PartitionState } from './partition-state.ts'
import { afterLeaving, afterReading } from './remote-document.ts'
import { joinedEpochs } from './remote-log.ts'
import type { SegmentDocuments } from './segment-documents.ts'

export interface TableReadRooms {
  readonly tier: ColdTier | null
  readonly documents: Pick<SegmentDocuments, 'change'>
  readonly clock: Clock
  readonly logger: Logger
  /** Returns the partitions of a topic that this broker leads. */
  partitionsOf(topicId: string): Iterable<Partition>
  trustedNow(): number
}

const FIRST_BACKOFF_MS = 50
const LONGEST_BACKOFF_MS = 10_000

export class TableReads {
  readonly #rooms: TableReadRooms
  /** The topics whose tables are being read. */
  readonly #running = new Set<string>()
  #isClosed = false

  constructor(rooms: TableReadRooms) {
    this.#rooms = rooms
  }

  /** Reads the table of a partition that waits for it. */
  held({ topic: { id } }: PartitionState): void {
    if (this.#isClosed || this.#running.has(id)) return
    this.#running.add(id)
    void this.#readUntilDone(id)
  }

  close(): void {
    this.#isClosed = true
  }

  #waiting(topicId: string): readonly Partition[] {
    if (this.#isClosed) return []
    return Array.from(this.#rooms.partitionsOf(topicId)).filter(({ state }) => {
      const { hold, refusal, epoch } = state
      return hold !== null && refusal === null && epoch > 0
    })
  }

  /** Resolves when no partition of the topic waits any more. */
  async #readUntilDone(topicId: string): Promise<void> {
    const { tier, clock } = this.#rooms
    try {
      // Partitions that open together are read together.
      await Promise.resolve()
      for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs = Math.min(2 * backoffMs, LONGEST_BACKOFF_MS)) {
        const waiting = this.#waiting(topicId)
        if (waiting.length === 0) return
        if (tier === null) {
          for (const { state } of waiting) state.failedToRead(NO_TIER)
          this.#warnUnread(waiting, new Error(NO_TIER))
          return
        }
        await this.#attempt(tier, waiting)
        if (this.#waiting(topicId).length > 0) await sleep(clock, backoffMs)
      }
    } finally {
      // In one turn with the last look at those that wait: a partition that comes later begins anew.
      this.#running.delete(topicId)
    }
  }

  async #attempt(tier: ColdTier, waiting: readonly Partition[]): Promise<void> {
    // The table must be read after the lead was taken: a former leader's segments may be archived until then.
    const leads = waiting.map(partition => ({ partition, lead: leadOf(partition) }))
    try {
      const facts = await tier.table(waiting[0]!.state.topic)
      for (const { partition, lead } of leads) {
        if (this.#isClosed) return
        await adoptTable({ ...this.#rooms, tier }, partition, lead, facts)
        if (partition.state.sealed.isReadable) continue
        partition.state.failedToRead('the document of its segments cannot be read')
      }
    } catch (error) {
      if (!(error instanceof TierAway) && !isStoreFailure(error)) throw error
      for (const { partition } of leads) partition.state.failedToRead(error.message)
      this.#warnUnread(waiting, error)
    }
  }

  #warnUnread(waiting: readonly Partition[], error: Error): void {
    this.#rooms.logger
      .limited('table-unread', 60_000)
      .warn('the table of a topic cannot be read; until it is, partitions of the topic take no records', {
        topic: waiting[0]!.state.topic.name,
        partitions: waiting.length,
        error,
      })
  }
}

export interface UnreadTable {
  readonly topicName: string
  readonly why: string
}

/** Returns the topics of partitions that take no records because the last attempt to read their table failed. */
export function unreadTables(partitions: Iterable<Partition>): readonly UnreadTable[] {
  const found = new Map<string, UnreadTable>()
  for (const { state } of partitions) {
    const { hold, refusal, whyUnread, topic } = state
    if (hold === null || refusal !== null || whyUnread === null) continue
    found.set(topic.id, { topicName: topic.name, why: whyUnread })
  }
  return [...found.values()]
}

const NO_TIER = 'this broker has no remote tier; its storage.remote.path must be set'

/** A lead of a partition in one life of the store. */
export interface Lead {
  readonly epoch: number
  readonly incarnation: string
}

export function leadOf({ state: { epoch, incarnation } }: Partition): Lead {
  return { epoch, incarnation }
}

/**
 * Takes over what a table says about a partition, if the partition is still led as it was before the table was read. If
 * the table has offsets that the log has not, the log is opened again above them. Throws what the store throws, and
 * TierAway.
 */
export async function adoptTable(
  { tier, documents, trustedNow }: Pick<TableReadRooms, 'documents' | 'trustedNow'> & { readonly tier: ColdTier },
  partition: Partition,
  { epoch, incarnation }: Lead,
  facts: TableFacts,
): Promise<void> {
  const { state } = partition
  const isSame = () => state.epoch === epoch && state.incarnation === incarnation && state.isRemote
  if (state.mustLeave) await leave(documents, state)
  if (!isSame()) return
  // Documents may know more than the notices do. Offsets that an older table lacks may have been archived.
  const { version: known = 0 } = state.sealed.remote ?? {}
  if (facts.version < known)
    throw new TierAway('damaged', `the place has version ${facts.version} of the table, and it had version ${known}`)
  const own = facts.partition(state.index)
  const epochs = state.sealed.remote === null && own.ranges.length > 0 ? await archivedEpochs(tier, state) : []
  const { end } = state.sealed
  const isChanged = await documents.change(state, sealed => {
    if (!isSame()) return null
    const { start, end, emptyFrom, activeFrom, highWatermark, timeIndex } = state
    const log = { start, end, emptyFrom, activeFrom, highWatermark, incarnation, epochs: state.epochs }
    const read = { facts: own, version: facts.version, epochs, nowMs: trustedNow() }
    return afterReading(sealed, { ...log, chunks: timeIndex.chunks }, read)
  })
  if (!isChanged || !isSame()) return
  state.seenVersion = Math.max(state.seenVersion, facts.version)
  state.waits.changed()
  // The open chunk must not begin below a segment that the table has.
  if (state.archivedEnd > state.end || state.sealed.end > end) partition.reopen()
}

/** Notes in the document that the topic has left the remote tier. Throws what the store throws. */
export async function leave(documents: TableReadRooms['documents'], state: PartitionState): Promise<void> {
  await documents.change(state, sealed => (state.mustLeave ? afterLeaving(sealed) : null))
}

/** Resolves with the epochs that the files of a partition name; those that only a file itself knows are missing. */
async function archivedEpochs(tier: ColdTier, state: PartitionState) {
  const pieces = await tier.pieces(placeIn(state))
  if ('kind' in pieces) {
    throw pieces.kind === 'busy'
      ? new TierAway('away', 'too many reads of the remote tier wait on this broker')
      : new TierAway(pieces.kind, pieces.why)
  }
  return pieces.reduce((all: ReturnType<typeof joinedEpochs>, { epochs }) => joinedEpochs(all, epochs ?? []), [])
}
