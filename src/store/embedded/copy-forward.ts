// Copies the live batches of mostly dead journal files into new rounds, so that the files can be freed. It chooses
// the files and the runs. A copy is a round like any other, and lmdb gets its new position with the next checkpoint.
//
// A file is scanned once: its rounds tell which runs were written there, and lmdb tells which of them are still
// there. So the cost depends on the file alone, not on the number of runs in other files. If some of its rounds
// cannot be read, the scan may miss runs; then all runs are checked once.

import { afterOthers, type Clock } from '../../base/clock.ts'
import { isStoreFailure } from '../store.ts'
import type { Contents, Stream } from './contents.ts'
import {
  type BatchMark,
  decodeEntries,
  decodeRoundHeader,
  type Entry,
  FIRST_ROUND,
  isIntact,
  markOf,
  ROUND_HEADER_BYTES,
} from './entry.ts'
import type { Journal, JournalFile } from './journal.ts'
import { windowOf } from './recovery.ts'
import type { AddEntry, Rounds } from './rounds.ts'
import { decodeRun, type Run, runKey, runsOf, streamEnd, streamStart } from './run-index.ts'
import type { Tables } from './tables.ts'

export interface CopyForwardOptions {
  readonly clock: Clock
  readonly tables: Tables
  readonly contents: Contents
  readonly journal: Journal
}

/** A file is copied forward if less than this part of it is live. */
const LIVE_PART = 0.4
/** The most bytes that are copied forward after one checkpoint. */
const MOST_MOVED = 32 << 20
const NO_MEMORY = Buffer.alloc(0)
/** The most runs that are looked up in one turn of the event loop. */
const LOOKED_UP_AT_ONCE = 1_000

/**
 * The progress of a mostly dead file: scanned up to a position (a number), scanned to its end (`combed`), or finished
 * (`left`) because all runs were checked or a batch is damaged.
 */
type Progress = number | 'combed' | 'left'

export class CopyForward {
  readonly #options: CopyForwardOptions
  readonly #progress = new Map<number, Progress>()
  #lookedUp = 0
  #budget = 0
  /** The memory of all copies of one call of `run`: with new memory for each, 32 MB would wait for the collector. */
  #memory: Buffer = NO_MEMORY

  constructor(options: CopyForwardOptions) {
    this.#options = options
  }

  /**
   * Copies the runs in mostly dead files before this one, as many as one checkpoint allows. It stops when `isOver`
   * returns true. A run that cannot be written is tried again after the next checkpoint.
   */
  async run(rounds: Rounds, before: number, isOver: () => boolean): Promise<void> {
    const { journal } = this.#options
    for (const number of this.#progress.keys()) if (!journal.files.has(number)) this.#progress.delete(number)
    const worn = [...journal.files.values()].filter(file => file.number < before && this.#isWorn(file))
    if (worn.length === 0) return
    this.#budget = MOST_MOVED
    const goesOn = () => this.#budget > 0 && !isOver()
    try {
      // A file that was scanned and still has live runs has runs that its rounds do not show.
      const missed = new Set(worn.map(file => file.number).filter(number => this.#progress.get(number) === 'combed'))
      if (missed.size > 0) await this.#goThroughAll(rounds, missed, goesOn)
      for (const file of worn) if (!missed.has(file.number) && goesOn()) await this.#comb(rounds, file, goesOn)
    } catch (error) {
      if (!isStoreFailure(error)) throw error
    } finally {
      this.#memory = NO_MEMORY
    }
  }

  #isWorn(file: JournalFile): boolean {
    if (file === this.#options.journal.active || this.#progress.get(file.number) === 'left') return false
    return file.live > 0 && file.live < file.end * LIVE_PART && file.live === file.stored
  }

  async #comb(rounds: Rounds, file: JournalFile, goesOn: () => boolean): Promise<void> {
    const { journal, tables, contents } = this.#options
    const incarnation = await journal.header(file)
    const window = windowOf({ read: (position, length) => journal.read(file.number, position, length) })
    const progress = this.#progress.get(file.number)
    for (let position = typeof progress === 'number' ? progress : FIRST_ROUND; ; ) {
      this.#progress.set(file.number, position)
      if (!goesOn()) return
      const head = await window.at(position, ROUND_HEADER_BYTES)
      const header = incarnation === null ? null : decodeRoundHeader(head, incarnation)
      if (header === null) break
      const bytes = await window.at(position + ROUND_HEADER_BYTES, header.entryBytes)
      for (const entry of decodeEntries(bytes, header, incarnation!).entries) {
        for (const { stream, baseOffset } of this.#runsOf(entry)) {
          await this.#breathe()
          const key = runKey(stream.number, baseOffset)
          const stored = tables.runs.get(key)
          if (stored === undefined) continue
          const run = decodeRun(key, stored)
          if (run.file === file.number && contents.streamsByNumber.get(stream.number) === stream) {
            await this.#move(rounds, stream, run)
          }
        }
      }
      position += header.roundBytes
    }
    if (this.#progress.get(file.number) !== 'left') this.#progress.set(file.number, 'combed')
  }

  /** Yields the runs that an entry wrote to its file, if their streams still have them. */
  *#runsOf(entry: Entry): Generator<{ readonly stream: Stream; readonly baseOffset: number }> {
    if (entry.type !== 'append' && entry.type !== 'move' && entry.type !== 'rewrite') return
    const stream = this.#options.contents.streamsByNumber.get(entry.stream)
    if (stream === undefined) return
    for (const { baseOffset, nextOffset } of runsOf(entry.batches, 0, 0, 0)) {
      if (nextOffset > stream.start) yield { stream, baseOffset }
    }
  }

  async #goThroughAll(rounds: Rounds, files: ReadonlySet<number>, goesOn: () => boolean): Promise<void> {
    for (const stream of [...this.#options.contents.streams.values()]) {
      for (const run of this.#storedRuns(stream)) {
        await this.#breathe()
        if (!goesOn()) return
        if (files.has(run.file)) await this.#move(rounds, stream, run)
      }
    }
    for (const file of files) this.#progress.set(file, 'left')
  }

  /**
   * Yields the stream's runs in lmdb. It reads some at a time, so that no read transaction stays open across a wait.
   */
  *#storedRuns(stream: Stream): Generator<Run> {
    const { tables } = this.#options
    let from = streamStart(stream.number)
    for (;;) {
      const page = [...tables.runs.range({ start: from, end: streamEnd(stream.number), limit: LOOKED_UP_AT_ONCE })]
      for (const { key, value } of page) yield decodeRun(key, value)
      const last = page.at(-1)
      if (last === undefined || page.length < LOOKED_UP_AT_ONCE) return
      from = Buffer.concat([last.key, Buffer.of(0)])
    }
  }

  async #breathe(): Promise<void> {
    if (++this.#lookedUp % LOOKED_UP_AT_ONCE === 0) await afterOthers(this.#options.clock)
  }

  async #move(rounds: Rounds, stream: Stream, run: Run): Promise<void> {
    const { journal } = this.#options
    if (!this.#isCurrent(stream, run)) return
    // The copy before this one has been written.
    if (this.#memory.length < run.length) this.#memory = Buffer.allocUnsafeSlow(run.length)
    const bytes = await journal.readInto(run.file, run.position, this.#memory.subarray(0, run.length))
    const marks = marksOf(run, bytes)
    if (marks === null) {
      // Damaged bytes are not copied: a reader detects them by their CRC, and the file is kept.
      this.#progress.set(run.file, 'left')
      return
    }
    this.#budget -= run.length
    const decide = (add: AddEntry) => {
      if (!this.#isCurrent(stream, run)) return
      add({ type: 'move', stream: stream.number, batches: marks }, [bytes])
    }
    await rounds.call(run.length + 28 * marks.length + 64, null, decide, 'change')
  }

  /**
   * Returns true if the stream still has exactly this run at this place. A rewrite may have put another one at its
   * offset, which a copy must not undo.
   */
  #isCurrent(stream: Stream, { baseOffset, nextOffset, length, file, position }: Run): boolean {
    if (stream.removed || nextOffset <= stream.start) return false
    const [current] = this.#options.contents.runsFrom(stream, baseOffset)
    return (
      current?.baseOffset === baseOffset &&
      current.length === length &&
      current.file === file &&
      current.position === position
    )
  }
}

function marksOf(run: Run, bytes: Buffer): BatchMark[] | null {
  if (bytes.length !== run.length) return null
  const marks: BatchMark[] = []
  let from = 0
  let baseOffset = run.baseOffset
  for (const { nextOffset, end } of run.ends ?? [{ nextOffset: run.nextOffset, end: run.length }]) {
    const batch = bytes.subarray(from, end)
    const mark = markOf({ baseOffset, nextOffset, bytes: batch })
    if (!isIntact(mark, batch)) return null
    marks.push(mark)
    from = end
    baseOffset = nextOffset
  }
  return marks
}
