// The upkeep of a topic's table: files that retention has passed go, old snapshots expire, orphans are swept once a
// day. The leaders decide where a log starts (log/); what follows for the files is decided here.

import { expiredOf, expireSnapshots, MOST_SNAPSHOTS } from '../iceberg/expire-snapshots.ts'
import { filesBelow, type OffsetIndex, OffsetIndexer } from '../iceberg/offset-index.ts'
import { removeOldMetadata } from '../iceberg/old-metadata.ts'
import { readArchived } from '../iceberg/ranges.ts'
import { removeBelow } from '../iceberg/retention.ts'
import { sweepOrphans } from '../iceberg/sweep-orphans.ts'
import type { Table } from '../iceberg/table.ts'
import { keyOf } from '../iceberg/table-files.ts'
import type { TopicOfJobs } from '../offload/plan-jobs.ts'
import type { Partitions } from './topic-jobs.ts'
import type { TopicTable } from './topic-table.ts'
import type { WorkRooms } from './work-rooms.ts'

const DAY_MS = 86_400_000
/** Log starts that pass no whole file are committed this often: each commit is a version of the metadata. */
const LOG_STARTS_MS = 10 * 60_000
/** Snapshots expire in groups, because each time costs a commit and reads of manifests. */
const EXPIRY_MS = 10 * 60_000

export class TableUpkeep {
  readonly #rooms: WorkRooms
  readonly #topic: TopicOfJobs
  readonly #table: TopicTable
  readonly #partitions: Partitions
  readonly #indexer: OffsetIndexer
  #index: OffsetIndex | null = null
  #logStartsAtMs: number
  #expiredAtMs: number

  constructor(rooms: WorkRooms, topic: TopicOfJobs, table: TopicTable, partitions: Partitions) {
    const { clock, objects } = rooms.parts
    this.#rooms = rooms
    this.#topic = topic
    this.#table = table
    this.#partitions = partitions
    this.#indexer = new OffsetIndexer(clock, objects)
    this.#logStartsAtMs = clock.monotonic()
    this.#expiredAtMs = clock.monotonic()
  }

  isDue(): boolean {
    const { table } = this.#table
    return table !== null && (this.#movedLogStarts(table).size > 0 || this.#isExpiryDue(table) || this.#isSweepDue())
  }

  /** Commits the log starts of the documents, and takes the files below them out of the table. */
  async moveLogStarts(): Promise<void> {
    const { clock } = this.#rooms.parts
    const { table: known } = this.#table
    if (known === null) return
    const moved = this.#movedLogStarts(known)
    if (moved.size === 0) return
    const isLate = clock.monotonic() - this.#logStartsAtMs >= LOG_STARTS_MS
    if (!isLate && !hasFilesBelow(await this.#indexOf(known), moved)) return
    const { table, fence } = await this.#table.fenced()
    const index = await this.#indexOf(table)
    const committed = await removeBelow(table, index, moved, this.#table.guard(fence), this.#table.deps)
    this.#table.table = committed.table
    this.#logStartsAtMs = clock.monotonic()
    this.#tell(committed.leftovers)
  }

  /** Expires snapshots, and once a day removes orphans and old versions of the metadata. */
  async tidy(): Promise<void> {
    await this.#expire()
    if (this.#isSweepDue()) await this.#sweep()
  }

  /** Says whether the table names the file and the place does not have it. */
  async isMissing(path: string): Promise<boolean> {
    const { table } = this.#table
    if (table === null) return false
    const { objects } = this.#rooms.parts
    const { partitions, unplaced } = await this.#indexOf(table)
    const isNamed =
      unplaced.some(file => file.path === path) ||
      [...partitions.values()].some(({ files }) => files.some(file => file.path === path))
    if (!isNamed) return false
    const key = keyOf(objects, path)
    return key === null || (await objects.stat(key)) === null
  }

  /** Returns the log starts that are above those of the table, of partitions of which the table has something. */
  #movedLogStarts({ metadata }: Table): ReadonlyMap<number, number> {
    const moved = new Map<number, number>()
    if ([...this.#partitions.values()].every(({ remote }) => (remote?.logStart ?? 0) === 0)) return moved
    const { ranges, logStarts } = readArchived(metadata.properties)
    for (const partition of ranges.keys()) {
      const logStart = this.#partitions.get(partition)?.remote?.logStart ?? 0
      if (logStart > (logStarts.get(partition) ?? 0)) moved.set(partition, logStart)
    }
    return moved
  }

  #isExpiryDue({ metadata }: Table): boolean {
    const { clock } = this.#rooms.parts
    const isTime = clock.monotonic() - this.#expiredAtMs >= EXPIRY_MS || metadata.snapshots.length > MOST_SNAPSHOTS
    return isTime && expiredOf(metadata, clock.now(), MOST_SNAPSHOTS).length > 0
  }

  async #expire(): Promise<void> {
    const { table: known } = this.#table
    if (known === null || !this.#isExpiryDue(known)) return
    const { table, fence } = await this.#table.fenced()
    const done = await expireSnapshots(table, this.#table.guard(fence), this.#table.deps)
    this.#table.table = done.table
    this.#expiredAtMs = this.#rooms.parts.clock.monotonic()
    this.#tell(done.leftovers)
  }

  #isSweepDue(): boolean {
    const { notices, clock } = this.#rooms.parts
    const notice = notices.state.tables.get(this.#topic.topicId)
    // The clock of a former holder may have been wrong in either direction.
    return notice !== undefined && Math.abs(clock.now() - notice.sweptAtMs) >= DAY_MS
  }

  async #sweep(): Promise<void> {
    const { objects, logger } = this.#rooms.parts
    const { location } = this.#table
    await this.#table.confirm()
    const { deleted } = await sweepOrphans(objects, location, this.#table.deps)
    if (deleted.length > 0)
      logger.info('files that no snapshot of a table reaches were deleted', {
        topic: this.#topic.topicName,
        files: deleted.length,
      })
    while ((await removeOldMetadata(objects, location, this.#table.deps)) > 0) await this.#table.confirm()
    await this.#table.noteSweep()
  }

  async #indexOf(table: Table): Promise<OffsetIndex> {
    if (this.#index?.version !== table.version) this.#index = await this.#indexer.index(table)
    return this.#index
  }

  #tell(leftovers: readonly Error[]): void {
    for (const error of leftovers)
      this.#rooms.parts.logger
        .limited('leftover', 60_000)
        .warn('a commit has left something over', { topic: this.#topic.topicName, error })
  }
}

function hasFilesBelow(index: OffsetIndex, logStarts: ReadonlyMap<number, number>): boolean {
  return [...logStarts].some(([partition, logStart]) => filesBelow(index, partition, logStart).length > 0)
}
