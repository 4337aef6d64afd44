// The archive of a broker: reads batches of partitions back from their Iceberg tables, and finds records by their time.
// It only reads. Tables are loaded on first use; the holder's notices and refreshes keep them up to date. It knows
// neither logs nor clients, and no metrics but the callbacks that it gets.

import type { Clock } from '../../base/clock.ts'
import { within } from '../../base/clock.ts'
import type { Patience } from '../../base/patience.ts'
import type { Archive, ArchivePlace, ArchiveRead, ArchiveTrouble, SearchTrouble } from '../../log/archive.ts'
import type { FoundOffset } from '../../log/time-search.ts'
import { DecoderThreads } from '../columns/decoder-thread.ts'
import { covers } from '../iceberg/ranges.ts'
import { uriOf } from '../iceberg/table-files.ts'
import type { Objects } from '../objects/objects.ts'
import { Ahead } from './ahead.ts'
import { FileTrouble, OpenFiles } from './open-files.ts'
import { PartCache } from './part-cache.ts'
import { Closed, ReadQueue } from './read-queue.ts'
import { type Progress, type ReadAsk, Reading, type ReadRooms } from './reading.ts'
import { DamagedTable, tableAbsent } from './spots.ts'
import { type KnownTable, type LoadedTable, Tables } from './tables.ts'
import { firstSince, largest, type Searcher, type TimeAsk } from './time-lookup.ts'
import { TooLate, troubleOf } from './trouble.ts'

export interface ArchiveOptions {
  /** Tasks at a time: refreshes of metadata and reads of data. As many threads restore batches. */
  readonly threads: number
  /** Tasks that may wait for their turn. */
  readonly queueCapacity: number
  /** The memory of restored batches, those on their way included. */
  readonly cacheBytes: number
  /** The key of the folder of a topic's table. */
  readonly locationOf: (place: ArchivePlace) => string
  /** The version that the topic's table is known to have had; 0 if it is not known to exist. */
  readonly noticed?: (topicId: string) => number
  readonly watch?: Partial<ArchiveWatch>
}

/** For metrics. */
export interface ArchiveWatch {
  /** After each read, with its time from the call to the answer. */
  readTook(ms: number, kind: ArchiveRead['kind']): void
  /** After each range of a data file. */
  fetched(bytes: number, tookMs: number): void
  /** When the number of waiting tasks changes. */
  queueLength(waiting: number): void
  /** After each read with batches: parts that were in memory, and parts for which the reader had to wait. */
  parts(hits: number, misses: number): void
  /** A file that the newest version of the table has is missing. */
  missing(place: ArchivePlace, file: FileTrouble): void
}

export interface OpenArchive extends Archive {
  /**
   * A notice that the topic's table has changed. A caller that drops local batches because they are archived must give
   * it before it asks for them here: a version less than a second old is otherwise believed to be the newest.
   */
  refresh(topicId: string): void
  /** Forgets a topic that was deleted. */
  forget(topicId: string): void
  /**
   * Resolves with the table as it was after `sinceMs` (Clock.monotonic()), and makes readers use that version; null if
   * the topic has none. It takes no turn in the queue. Rejects with what troubleOf takes.
   */
  table(place: ArchivePlace, sinceMs: number): Promise<LoadedTable | null>
  /** Tasks that wait for their turn. */
  readonly waiting: number
  /** The memory of restored batches. */
  readonly bytes: number
  /** Ends the threads. Reads in flight answer 'away'. The place stays open: it belongs to the caller. */
  close(): Promise<void>
}

/** Opens the archive of a place. It reads nothing before it is asked. */
export function openArchive(objects: Objects, options: ArchiveOptions, deps: { readonly clock: Clock }): OpenArchive {
  return new IcebergArchive(objects, options, deps.clock)
}

/** A version of the table that is this old is new enough to say that there is no more. */
const FRESH_MS = 1_000

interface OpenRead {
  readonly answer: Promise<ArchiveRead>
  /** More than one caller has asked for it. */
  isShared: boolean
}

const CLOSED: ArchiveTrouble = Object.freeze({ kind: 'away', why: new Closed().message })
const BUSY: ArchiveTrouble = Object.freeze({ kind: 'busy' })
const LATE: SearchTrouble = Object.freeze({ kind: 'late' })
const NOTHING = Object.freeze({ kind: 'nothing' }) satisfies ArchiveRead

class IcebergArchive implements OpenArchive {
  readonly #clock: Clock
  readonly #queue: ReadQueue
  readonly #rooms: ReadRooms
  readonly #tables: Tables
  readonly #ahead: Ahead
  readonly #watch: Partial<ArchiveWatch>
  readonly #noticed: (topicId: string) => number
  readonly #uriOf: (place: ArchivePlace) => string
  /** Equal reads are one. */
  readonly #reads = new Map<string, OpenRead>()
  /** Answers those who wait when the archive is closed. */
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  constructor(
    objects: Objects,
    { threads, queueCapacity, cacheBytes, locationOf, noticed = () => 0, watch = {} }: ArchiveOptions,
    clock: Clock,
  ) {
    this.#clock = clock
    this.#watch = watch
    this.#noticed = noticed
    this.#uriOf = place => uriOf(objects, locationOf(place))
    this.#queue = new ReadQueue(threads, queueCapacity, waiting => watch.queueLength?.(waiting))
    const decoders = new DecoderThreads(clock, threads)
    const fetched = (bytes: number, tookMs: number) => watch.fetched?.(bytes, tookMs)
    this.#rooms = {
      files: new OpenFiles(clock, { objects, measure: decoders.bounds, fetched }),
      cache: new PartCache(clock, cacheBytes),
      decoders,
      onParts: (hits, misses) => watch.parts?.(hits, misses),
    }
    this.#tables = new Tables(clock, objects, this.#rooms.files, locationOf)
    this.#ahead = new Ahead(this.#rooms, this.#queue)
  }

  get bytes(): number {
    return this.#rooms.cache.bytes
  }

  read(
    place: ArchivePlace,
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    until: number,
  ): ArchiveRead | Promise<ArchiveRead> {
    if (this.#isClosed) return CLOSED
    const beganAtMs = this.#clock.monotonic()
    const told = (answer: ArchiveRead): ArchiveRead => {
      this.#watch.readTook?.(this.#clock.monotonic() - beganAtMs, answer.kind)
      return answer
    }
    const ask: ReadAsk = { partition: place.partition, offset, maxBytes, minOneBatch, until }
    const key = [place.topicId, place.partition, offset, maxBytes, minOneBatch, until].join(':')
    const equal = this.#reads.get(key)
    if (equal !== undefined) {
      equal.isShared = true
      return equal.answer.then(told)
    }
    const now = this.#readNow(place, ask)
    if (now !== null) return told(now)
    const reading = this.#unlessClosed(this.#read(place, ask)).then(answer => {
      this.#reads.delete(key)
      // No caller knows whether it is the last of them, so the memory is left to the garbage collector.
      return open.isShared && answer.kind === 'read' ? { ...answer, release: null } : answer
    })
    const open: OpenRead = { answer: reading, isShared: false }
    this.#reads.set(key, open)
    return reading.then(told)
  }

  firstSince(place: ArchivePlace, timestamp: number, from: number, until: number, patience: Patience) {
    const ask = { partition: place.partition, from, until }
    return this.#search(place, ask, patience, (searcher, loaded) => firstSince(searcher, loaded, ask, timestamp))
  }

  largest(place: ArchivePlace, from: number, until: number, patience: Patience) {
    const ask = { partition: place.partition, from, until }
    return this.#search(place, ask, patience, (searcher, loaded) => largest(searcher, loaded, ask))
  }

  refresh(topicId: string): void {
    const place = this.#tables.expire(topicId)
    if (place === null) return
    // If no thread is left for it, a reader that finds nothing refreshes the table.
    const refreshing = this.#queue.runIdle(() => this.#tables.refresh(place, Number.NEGATIVE_INFINITY))
    refreshing?.catch(troubleOf)
  }

  forget(topicId: string): void {
    this.#tables.forget(topicId)
  }

  async table(place: ArchivePlace, sinceMs: number): Promise<LoadedTable | null> {
    if (this.#isClosed) throw new Closed()
    return (await this.#tables.refresh(place, sinceMs)).loaded
  }

  get waiting(): number {
    return this.#queue.length
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#queue.close()
    this.#rooms.cache.close()
    this.#rooms.files.close()
    for (const leave of this.#waiting) leave()
    await this.#rooms.decoders.close()
  }

  /** Returns the answer if it is in memory; null if something must be fetched. */
  #readNow(place: ArchivePlace, ask: ReadAsk): ArchiveRead | null {
    const known = this.#tables.get(place)
    if (known === null) return null
    const reading = new Reading(this.#rooms, known, ask)
    try {
      const progress = reading.run()
      if (progress.kind === 'done') return this.#served(place, ask, known, progress)
      if (progress.kind !== 'none' || !this.#isFresh(place, FRESH_MS)) return null
      this.#checkVersion(place, known)
      return NOTHING
    } catch (error) {
      // The table may have been mended since it was read.
      return this.#isFresh(place, FRESH_MS) ? troubleOf(error) : null
    } finally {
      reading.end()
    }
  }

  #isFresh(place: ArchivePlace, ageMs: number): boolean {
    return this.#tables.isFresh(place, this.#clock.monotonic() - ageMs)
  }

  async #read(place: ArchivePlace, ask: ReadAsk): Promise<ArchiveRead> {
    try {
      const known = this.#tables.get(place)
      const answer = known === null ? null : await this.#readOnItsWay(place, ask, known)
      return answer ?? (await this.#inTurn(place, ask))
    } catch (error) {
      return troubleOf(error)
    }
  }

  /** Waits for what others fetch already, which needs no turn of its own. */
  async #readOnItsWay(place: ArchivePlace, ask: ReadAsk, known: KnownTable): Promise<ArchiveRead | null> {
    const reading = new Reading(this.#rooms, known, ask)
    try {
      let progress = reading.run()
      for (; progress.kind === 'need' && progress.isOnItsWay; progress = reading.run()) await progress.fetch()
      return progress.kind === 'done' ? this.#served(place, ask, known, progress) : null
    } catch (error) {
      troubleOf(error)
      return null
    } finally {
      reading.end()
    }
  }

  /** Answers as soon as the read is done; its turn ends when the parts that it brought along are here too. */
  #inTurn(place: ArchivePlace, ask: ReadAsk): Promise<ArchiveRead> {
    const answer = Promise.withResolvers<ArchiveRead>()
    const turn = this.#queue.run(async () => {
      const beside: Promise<void>[] = []
      await this.#readInTurn(place, ask, beside).then(answer.resolve, answer.reject)
      await Promise.all(beside)
    })
    if (turn === null) return Promise.resolve(BUSY)
    turn.catch((error: unknown) => {
      answer.reject(error)
      if (!(error instanceof Closed)) throw error
    })
    return answer.promise
  }

  async #readInTurn(place: ArchivePlace, ask: ReadAsk, beside: Promise<void>[]): Promise<ArchiveRead> {
    return await this.#onTable(place, async (known, isRefreshed) => {
      const reading = new Reading(this.#rooms, known, ask)
      try {
        const finishing = reading.finish()
        if (known.loaded !== null) beside.push(this.#ahead.beside(place, known.loaded, ask.offset, ask.until))
        let progress = await finishing
        if (progress.kind === 'none') {
          if (!isRefreshed && !this.#isFresh(place, FRESH_MS)) return STALE
          this.#checkVersion(place, known)
          return NOTHING
        }
        if (progress.kind === 'gap') {
          if (!isRefreshed) return STALE
          this.#checkVersion(place, known)
          reading.skipGap()
          progress = await reading.finish()
        }
        return progress.kind === 'done' ? this.#served(place, ask, known, progress) : NOTHING
      } finally {
        reading.end()
      }
    })
  }

  /**
   * Throws DamagedTable if the table is older than it was: what it does not have may have been archived. The folder of
   * the tables may not be mounted, for example.
   */
  #checkVersion(place: ArchivePlace, { loaded }: KnownTable): void {
    const expected = this.#noticed(place.topicId)
    const found = loaded?.table.version ?? 0
    if (found >= expected) return
    const has = found === 0 ? 'has no table' : `has version ${found} of the table`
    throw new DamagedTable(`${this.#uriOf(place)} ${has}, and it had version ${expected}`)
  }

  #served(
    place: ArchivePlace,
    { offset, until }: ReadAsk,
    { loaded }: KnownTable,
    { batches, bytes, next, release }: Progress & { readonly kind: 'done' },
  ): ArchiveRead {
    if (batches.length > 0) this.#ahead.served(place, loaded!, offset, next, until)
    return { kind: 'read', batches, bytes, release }
  }

  /**
   * Runs work on the table. It runs once more on a newer version if it calls the first one stale, or if a file is
   * missing or damaged and there is a newer version. A table that this call has loaded is new enough.
   */
  async #onTable<T>(
    place: ArchivePlace,
    work: (known: KnownTable, isRefreshed: boolean) => Promise<T | typeof STALE>,
  ): Promise<T> {
    const isNew = this.#tables.get(place) === null
    const known = await this.#tables.load(place)
    let trouble: unknown = null
    try {
      const result = await work(known, isNew)
      if (result !== STALE) return result
    } catch (error) {
      if (error instanceof TooLate || troubleOf(error).kind !== 'damaged') throw error
      const isMissing = error instanceof FileTrouble && error.isMissing
      if (isMissing) this.#rooms.files.forget(error.path)
      else if (this.#isFresh(place, FRESH_MS)) throw error
      trouble = error
    }
    const newer = await this.#tables.refresh(place, this.#clock.monotonic())
    try {
      if (trouble !== null && newer.loaded === known.loaded) throw trouble
      return (await work(newer, true)) as T
    } catch (error) {
      if (error instanceof FileTrouble && error.isMissing) this.#watch.missing?.(place, error)
      throw error
    }
  }

  async #search(
    place: ArchivePlace,
    { partition, from, until }: TimeAsk,
    patience: Patience,
    work: (searcher: Searcher, loaded: LoadedTable) => Promise<FoundOffset | null>,
  ): Promise<FoundOffset | null | SearchTrouble> {
    if (this.#isClosed) return CLOSED
    const go = async (): Promise<FoundOffset | null | SearchTrouble> => {
      const { files, decoders } = this.#rooms
      const inPatience = () => {
        if (patience.isOver) throw new TooLate()
      }
      const search: Searcher['search'] = (fetched, query) => {
        inPatience()
        return decoders.search(fetched, query)
      }
      const task = () =>
        this.#onTable<FoundOffset | null>(place, async (known, isRefreshed) => {
          inPatience()
          // Offsets that were archived out of turn may be in a newer version only.
          const { loaded } = known
          const isWhole = loaded !== null && covers(loaded.archived, partition, [from, until])
          if (!isWhole && !isRefreshed && !this.#isFresh(place, FRESH_MS)) return STALE
          if (!isWhole) this.#checkVersion(place, known)
          if (loaded === null) throw tableAbsent()
          return await work({ files, search }, loaded)
        })
      try {
        return await (this.#queue.run(task) ?? BUSY)
      } catch (error) {
        return error instanceof TooLate ? LATE : troubleOf(error)
      }
    }
    return await this.#unlessClosed(this.#unlessLate(patience, go()))
  }

  /** Answers when the patience ends. The search then ends at its next step. */
  #unlessLate<T>({ untilMs }: Patience, work: Promise<T>): Promise<T | SearchTrouble> {
    if (!Number.isFinite(untilMs)) return work
    return within(this.#clock, untilMs - this.#clock.monotonic(), work, () => LATE)
  }

  /** Answers 'away' when the archive is closed, whatever the work does then. */
  #unlessClosed<T>(work: Promise<T>): Promise<T | ArchiveTrouble> {
    return new Promise((resolve, reject) => {
      const leave = () => resolve(CLOSED)
      this.#waiting.add(leave)
      work.then(resolve, reject).finally(() => this.#waiting.delete(leave))
    })
  }
}

/** The work needs a newer version of the table. */
const STALE = Symbol('stale')
