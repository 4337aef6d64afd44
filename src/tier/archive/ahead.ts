// Reads ahead for readers that go on where they were: the next parts of the group, the next group, the next file. It
// uses threads and memory that are left over, and never those that a reader waits for.

import type { ArchivePlace } from '../../log/archive.ts'
import { loadPartAhead } from './load-part.ts'
import type { ReadQueue } from './read-queue.ts'
import type { ReadRooms } from './reading.ts'
import { checkLost, locate, type PartAt, type Spot } from './spots.ts'
import type { LoadedTable } from './tables.ts'
import { troubleOf } from './trouble.ts'

/**
 * The parts that are read ahead of one reader: 24 MiB. At 600 MB/s that is 40 ms, in which a request of a distant place
 * is answered and its part is restored.
 */
const PARTS_AHEAD = 16
/**
 * The parts that one task reads. Each request of a distant place takes its time, however small its range is, so a task
 * has several on their way.
 */
const PARTS_A_TASK = 4
/** The most positions at which a reader is expected. Above this number the oldest one is forgotten. */
const MOST_EXPECTED = 10_000

export class Ahead {
  readonly #rooms: ReadRooms
  readonly #queue: ReadQueue
  /** Where readers may go on. The oldest first. */
  readonly #expected = new Set<string>()
  /** Partitions for which it works. */
  readonly #busy = new Set<string>()

  constructor(rooms: ReadRooms, queue: ReadQueue) {
    this.#rooms = rooms
    this.#queue = queue
  }

  /**
   * Starts to load the parts behind the one that a reader waits for in its turn, if the reader was expected there.
   * Resolves when they are here, or have failed.
   */
  async beside(place: ArchivePlace, loaded: LoadedTable, from: number, until: number): Promise<void> {
    if (!this.#expected.has(keyOf(place, from))) return
    try {
      const run: PartAt[] = []
      let spots = 0
      for await (const { parts } of this.#spots(loaded, place.partition, from, until, open => open())) {
        if (spots > 0) run.push(...parts)
        if (++spots === PARTS_A_TASK) break
      }
      await this.#load(run).done
    } catch (error) {
      troubleOf(error)
    }
  }

  /** Notes that a reader got the offsets [from, next), and reads ahead if it was expected there. */
  served(place: ArchivePlace, loaded: LoadedTable, from: number, next: number, until: number): void {
    const { topicId, partition } = place
    const isExpected = this.#expected.delete(keyOf(place, from))
    this.#expected.add(keyOf(place, next))
    if (this.#expected.size > MOST_EXPECTED) this.#expected.delete(this.#expected.values().next().value!)
    const name = `${topicId}:${partition}`
    if (!isExpected || this.#busy.has(name)) return
    this.#busy.add(name)
    void this.#go(loaded, partition, next, until).finally(() => this.#busy.delete(name))
  }

  async #go(loaded: LoadedTable, partition: number, next: number, until: number): Promise<void> {
    try {
      let run: PartAt[] = []
      let seen = 0
      for await (const spot of this.#spots(loaded, partition, next, until, open => this.#queue.runIdle(open))) {
        // The first one is mostly where the reader is.
        const isNear = seen <= PARTS_A_TASK
        seen += spot.parts.length
        run.push(...spot.parts.filter(({ key }) => !this.#rooms.cache.has(key)))
        // A task with few parts keeps its thread as long as one with many. Only parts that the reader is about to want
        // do not wait for others.
        const least = isNear && seen > PARTS_A_TASK ? 1 : PARTS_A_TASK
        if (run.length >= least) {
          if (!this.#start(run)) return
          run = []
        }
        if (seen >= PARTS_AHEAD) return
      }
      if (run.length > 0) this.#start(run)
    } catch (error) {
      // The reader that comes here makes its own attempt and gets the error. Mistakes of this program are thrown.
      troubleOf(error)
    }
  }

  /** Yields the spots from an offset on. `inTurn` opens what must be opened first; null if it cannot. */
  async *#spots(
    loaded: LoadedTable,
    partition: number,
    from: number,
    until: number,
    inTurn: (open: () => Promise<unknown>) => Promise<unknown> | null,
  ): AsyncGenerator<Spot, void> {
    for (let offset = from; ; ) {
      checkLost(loaded, partition)
      const located = locate(this.#rooms.files, loaded, partition, offset, until)
      if (located.kind === 'none') return
      if (located.kind === 'spot') {
        yield located.spot
        offset = located.spot.horizon + 1
        continue
      }
      const opening = inTurn(located.open)
      if (opening === null) return
      await opening
    }
  }

  /** Starts to load the parts in a turn of its own. Returns false if there is no thread, or no memory for all. */
  #start(run: readonly PartAt[]): boolean {
    let hasRoom = true
    const loading = this.#queue.runIdle(() => {
      const { done, isWhole } = this.#load(run)
      hasRoom = isWhole
      return done
    })
    loading?.catch(troubleOf)
    return loading !== null && hasRoom
  }

  /** Loads the parts, as far as there is memory. */
  #load(run: readonly PartAt[]): { readonly done: Promise<unknown>; readonly isWhole: boolean } {
    const { cache, decoders } = this.#rooms
    const loads: Promise<unknown>[] = []
    for (const part of run) {
      // A reader may have begun with it while a file was opened.
      if (cache.has(part.key)) continue
      if (!cache.hasRoomAhead(part.part.bytes)) return { done: Promise.all(loads), isWhole: false }
      loads.push(loadPartAhead(cache, decoders, part))
    }
    return { done: Promise.all(loads), isWhole: true }
  }
}

const keyOf = ({ topicId, partition }: ArchivePlace, offset: number) => `${topicId}:${partition}:${offset}`
