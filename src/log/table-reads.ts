// Reads the tables of topics whose partitions may take no records before: the store may have gone back in time, and the
// table alone knows which offsets are in use (hold in partition-state.ts). One read of a table serves all partitions of
// its topic. A read that fails is tried again until it succeeds; reads of clients are served meanwhile. round.ts takes
// over newer versions with the same function.

import { type Clock, sleep } from '../base/clock.ts'
import { ENDLESS } from '../base/patience.ts'
import { Semaphore } from '../base/semaphore.ts'
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

/** The most partitions, of all topics, whose documents are changed at one time. */
const ADOPT_AT_ONCE = 256

export class TableReads {
  readonly #rooms: TableReadRooms
  /** The topics whose tables are being read. */
  readonly #running = new Set<string>()
  readonly #turns: Semaphore
  #isClosed = false

  constructor(rooms: TableReadRooms) {
    this.#rooms = rooms
    this.#turns = new Semaphore(rooms.clock, ADOPT_AT_ONCE)
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
        const isRead = await this.#attempt(tier, waiting)
        const tried = new Set(waiting)
        const left = this.#waiting(topicId)
        // Partitions that were opened during the read need another one.
        if (isRead && left.some(partition => !tried.has(partition))) continue
        if (left.length > 0) await sleep(clock, backoffMs)
      }
    } finally {
      // In one turn with the last look at those that wait: a partition that comes later begins anew.
      this.#running.delete(topicId)
    }
  }

  /** Resolves with false if the table, or a document that its ranges belong in, could not be read. */
  async #attempt(tier: ColdTier, waiting: readonly Partition[]): Promise<boolean> {
    // The table must be read after the lead was taken: a former leader's segments may be archived until then.
    const leads = waiting.map(partition => ({ partition, lead: leadOf(partition) }))
    let facts: TableFacts
    try {
      facts = await tier.table(waiting[0]!.state.topic)
      for (const { state } of waiting) checkVersion(facts, state)
    } catch (error) {
      const failure = failureOf(error)
      for (const { state } of waiting) state.failedToRead(failure.message)
      this.#warnUnread(waiting, failure)
      return false
    }
    // Side by side, so that the producers of a topic wait for the table about once, and not for each partition in turn.
    const failures = await Promise.all(leads.map(({ partition, lead }) => this.#adopt(tier, partition, lead, facts)))
    const failure = failures.find(each => each !== null) ?? null
    if (failure !== null) this.#warnUnread(waiting, failure)
    return failure === null
  }

  /** Resolves with the error if the table could not be taken over for this partition. */
  async #adopt(tier: ColdTier, partition: Partition, lead: Lead, facts: TableFacts): Promise<Error | null> {
    await this.#turns.take(1, ENDLESS)
    try {
      if (this.#isClosed) return null
      await adoptTable({ ...this.#rooms, tier }, partition, lead, facts)
      if (!partition.state.sealed.isReadable) {
        partition.state.failedToRead('the document of its segments cannot be read')
      }
      return null
    } catch (error) {
      const failure = failureOf(error)
      partition.state.failedToRead(failure.message)
      return failure
    } finally {
      this.#turns.give(1)
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
  checkVersion(facts, state)
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

/**
 * Throws TierAway if the table is older than a document says. Documents may know more than the notices do. Offsets that
 * an older table lacks may have been archived.
 */
function checkVersion({ version }: TableFacts, { sealed: { remote }, mustLeave }: PartitionState): void {
  if (remote === null || mustLeave || version >= remote.version) return
  throw new TierAway('damaged', `the place has version ${version} of the table, and it had version ${remote.version}`)
}

/** Returns the error of an attempt that is made again later. Throws every other error. */
function failureOf(error: unknown): Error {
  if (error instanceof TierAway || isStoreFailure(error)) return error
  throw error
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
