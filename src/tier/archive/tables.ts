// The tables that readers use, by topic: each as it was at its last refresh, with its index. One refresh of a table
// runs at a time. It knows nothing of the bytes in files but the footers of files that the metadata does not place.

import type { Clock } from '../../base/clock.ts'
import type { ArchivePlace } from '../../log/archive.ts'
import { chunkOf } from '../columns/chunk-places.ts'
import { FIELD } from '../columns/table-schema.ts'
import { MissingFile } from '../iceberg/manifest-lists.ts'
import { type OffsetIndex, OffsetIndexer, type UnplacedFile } from '../iceberg/offset-index.ts'
import { type Archived, readArchived } from '../iceberg/ranges.ts'
import { loadTable, manifestsOf, refreshTable, type Table, TableGone } from '../iceberg/table.ts'
import type { Objects } from '../objects/objects.ts'
import { FileTrouble, type OpenFile, type OpenFiles } from './open-files.ts'

/** A table at one version. */
export interface LoadedTable {
  readonly table: Table
  readonly index: OffsetIndex
  /** The offsets that were ever archived. */
  readonly archived: Archived
  /** Files that cannot be placed, with the reasons. A reader must not pass over the offsets that they may have. */
  readonly lost: readonly LostFile[]
}

export interface LostFile {
  /** Null: it can have rows of any partition. */
  readonly partition: number | null
  readonly why: string
}

/** A topic's table; `loaded` is null if there was no table at the last refresh. */
export interface KnownTable {
  readonly topicId: string
  readonly loaded: LoadedTable | null
  /** When that refresh began, on Clock.monotonic(). */
  readonly asOfMs: number
}

interface Entry {
  readonly place: ArchivePlace
  readonly location: string
  readonly indexer: OffsetIndexer
  known: KnownTable | null
  refreshing: Refreshing | null
  /** Notices of newer versions, and how many of them came before the refresh that `known` is of. */
  notices: number
  noticesSeen: number
}

interface Refreshing {
  readonly sinceMs: number
  readonly notices: number
  readonly outcome: Promise<KnownTable>
}

export class Tables {
  readonly #clock: Clock
  readonly #objects: Objects
  readonly #files: OpenFiles
  readonly #locationOf: (place: ArchivePlace) => string
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Clock, objects: Objects, files: OpenFiles, locationOf: (place: ArchivePlace) => string) {
    this.#clock = clock
    this.#objects = objects
    this.#files = files
    this.#locationOf = locationOf
  }

  /** Returns the table as it was at its last refresh; null if it was not loaded yet. */
  get({ topicId }: ArchivePlace): KnownTable | null {
    return this.#entries.get(topicId)?.known ?? null
  }

  /** Says whether a refresh since this time (Clock.monotonic()) would tell nothing new. */
  isFresh({ topicId }: ArchivePlace, sinceMs: number): boolean {
    const entry = this.#entries.get(topicId)
    return entry?.known != null && entry.noticesSeen === entry.notices && entry.known.asOfMs >= sinceMs
  }

  /**
   * Notes that the table has changed, and returns the place by which its table is refreshed; null if no reader uses the
   * topic.
   */
  expire(topicId: string): ArchivePlace | null {
    const entry = this.#entries.get(topicId)
    if (entry === undefined) return null
    entry.notices++
    return entry.place
  }

  /** Forgets a table, because its topic was deleted. */
  forget(topicId: string): void {
    this.#entries.delete(topicId)
  }

  /** Resolves with the table, which is loaded if it was not yet. Rejects as refresh does. */
  async load(place: ArchivePlace): Promise<KnownTable> {
    return this.get(place) ?? (await this.refresh(place, Number.NEGATIVE_INFINITY))
  }

  /**
   * Resolves with the table as it was after `sinceMs` (Clock.monotonic()) and after the last notice. Rejects with
   * TableGone if a table that was read before is gone, and with BadMetadata, BadAvro, MissingFile, FileTrouble or an
   * ObjectStoreError; then the former version stays.
   */
  async refresh(place: ArchivePlace, sinceMs: number): Promise<KnownTable> {
    const entry = this.#entryOf(place)
    for (;;) {
      if (this.isFresh(place, sinceMs)) return entry.known!
      const running = entry.refreshing
      if (running === null) break
      if (running.sinceMs >= sinceMs && running.notices === entry.notices) return await running.outcome
      // It began too early for this caller, who does not care how it ends.
      await running.outcome.catch(() => {})
    }
    const { notices } = entry
    const nowMs = this.#clock.monotonic()
    const outcome = this.#refresh(place.topicId, entry).finally(() => {
      entry.refreshing = null
    })
    entry.refreshing = { sinceMs: nowMs, notices, outcome }
    return await outcome
  }

  #entryOf(place: ArchivePlace): Entry {
    const found = this.#entries.get(place.topicId)
    if (found !== undefined) return found
    const indexer = new OffsetIndexer(this.#clock, this.#objects)
    const location = this.#locationOf(place)
    const entry = { place, location, indexer, known: null, refreshing: null, notices: 0, noticesSeen: 0 }
    this.#entries.set(place.topicId, entry)
    return entry
  }

  async #refresh(topicId: string, entry: Entry): Promise<KnownTable> {
    const asOfMs = this.#clock.monotonic()
    // A notice that comes from now on may be about a version that this refresh does not see.
    const { notices } = entry
    try {
      entry.known = { topicId, loaded: await this.#newest(entry), asOfMs }
      entry.noticesSeen = notices
      return entry.known
    } catch (error) {
      // The topic may get a new table: the next reader looks for it.
      if (error instanceof TableGone) entry.known = null
      throw error
    }
  }

  async #newest(entry: Entry): Promise<LoadedTable | null> {
    const former = entry.known?.loaded ?? null
    const load = () => (former === null ? loadTable(this.#objects, entry.location) : refreshTable(former.table))
    const table = await load()
    if (table === null) return null
    if (former !== null && table === former.table) return former
    try {
      return await this.#index(entry, table)
    } catch (error) {
      if (!(error instanceof MissingFile)) throw error
      // Upkeep may have removed the snapshot since the version was read. A newer one has others.
      const newer = await refreshTable(table)
      if (newer === table) throw error
      return await this.#index(entry, newer)
    }
  }

  async #index({ indexer }: Entry, found: Table): Promise<LoadedTable> {
    // The list is read once for both indexes.
    const table = { ...found, manifests: await manifestsOf(found) }
    const index = await indexer.index(table)
    const archived = readArchived(table.metadata.properties)
    if (index.unplaced.length === 0) return { table: found, index, archived, lost: [] }
    const lost: LostFile[] = []
    for (const file of index.unplaced) {
      const why = await this.#place(indexer, file)
      if (why !== null) lost.push({ partition: file.partition, why })
    }
    return { table: found, index: await indexer.index(table), archived, lost }
  }

  /** Learns the offsets of a file from its footer. Resolves with the reason if that fails because of the file. */
  async #place(indexer: OffsetIndexer, unplaced: UnplacedFile): Promise<string | null> {
    try {
      const open = await this.#files.open(unplaced)
      const partition = unplaced.partition ?? partitionIn(open)
      if (partition === null) return `${unplaced.path}: neither its manifest nor its footer names the Kafka partition`
      const { groups } = open
      const most = (numbers: readonly number[]) => numbers.reduce((a, b) => Math.max(a, b), -1)
      indexer.learn(unplaced.path, {
        partition,
        // A file without rows gets a place that no offset has.
        lo: groups[0]?.firstOffset ?? -1,
        hi: most(groups.map(({ lastOffset }) => lastOffset)),
        minTimestamp: null,
        maxTimestamp: null,
        epochs: null,
      })
      return null
    } catch (error) {
      if (error instanceof FileTrouble) return error.message
      throw error
    }
  }
}

/** Returns the partition of all rows; null if the footer does not say that they have one. */
function partitionIn({ file }: OpenFile): number | null {
  let found: number | null = null
  for (const { columns } of file.metadata.row_groups) {
    const { min_value: least, max_value: most } = chunkOf(columns, FIELD.partition)?.meta_data?.statistics ?? {}
    if (typeof least !== 'number' || least !== most || (found !== null && found !== least)) return null
    found = least
  }
  return found
}
