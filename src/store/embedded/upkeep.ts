// The background work of the store: it takes checkpoints, deletes dead runs from lmdb, frees journal files, and
// starts the copying of mostly dead files (copy-forward.ts). Only one task runs at a time, and it does not delay
// rounds.
//
// The order makes every crash harmless: the journal is synced, then lmdb is written and flushed, then a file is
// freed. An old file stays until lmdb has the new position of its copied runs, so copies need no replay.

import { assert } from '../../base/assert.ts'
import { type Clock, type Timer, takingTurns } from '../../base/clock.ts'
import { type FileUse, fileChange, goneKey, type Position, type Taken, takeCheckpoint } from './checkpoint.ts'
import type { Contents, Stream } from './contents.ts'
import { CopyForward } from './copy-forward.ts'
import type { Journal, JournalFile } from './journal.ts'
import type { Reserve } from './reserve.ts'
import type { Rounds } from './rounds.ts'
import { decodeRun, encodeRuns, type Run, runKey, streamEnd, streamStart } from './run-index.ts'
import { type Change, IndexFailed, type Tables } from './tables.ts'

export interface UpkeepOptions {
  readonly clock: Clock
  readonly tables: Tables
  readonly contents: Contents
  readonly journal: Journal
  readonly reserve: Reserve
  readonly era: number
  /** A checkpoint is taken after this many bytes of journal. */
  readonly checkpointBytes: number
  readonly report: (message: string) => void
}

/** A checkpoint is also taken after this many runs that are not in lmdb, and CHECKPOINT_MS after the first change. */
const CHECKPOINT_RUNS = 20_000
const CHECKPOINT_MS = 5_000
/** The number of runs that are encoded in one step. */
const ENCODED_AT_ONCE = 256
/** The event loop goes first after this time. */
const TURN_MS = 2
/** The number of rows that one lmdb batch deletes. */
const SWEEP_ROWS = 2_000

export class Upkeep {
  readonly #options: UpkeepOptions
  readonly #gone: number[]
  readonly #stored = new Map<number, FileUse>()
  #rounds: Rounds | null = null
  /** The streams with dead runs in lmdb, and the log start in lmdb: offsets below it never become live again. */
  readonly #toSweep = new Map<Stream, number>()
  #checkpointed: Position
  #checkpointedBytes = 0
  #timer: Timer | null = null
  #wanted = false
  #failing = false
  #running: Promise<void> | null = null
  #closing = false
  readonly #copyForward: CopyForward

  constructor(options: UpkeepOptions, at: Position, files: ReadonlyMap<number, FileUse>, gone: readonly number[]) {
    this.#options = options
    this.#copyForward = new CopyForward(options)
    this.#checkpointed = at
    this.#stored = new Map(files)
    this.#gone = [...gone]
    for (const stream of options.contents.streams.values()) {
      if (stream.sweptTo < stream.start) this.#toSweep.set(stream, stream.start)
    }
  }

  attach(rounds: Rounds): void {
    this.#rounds = rounds
  }

  /** Called between two rounds. Takes a checkpoint if one is due. */
  between(): void {
    const { contents, clock } = this.#options
    const rounds = this.#attached()
    if (this.#running !== null || this.#closing) return
    const bytes = rounds.writtenBytes - this.#checkpointedBytes
    const full = bytes >= this.#options.checkpointBytes || contents.recentRuns >= CHECKPOINT_RUNS
    // After a failure the checkpoint waits for the timer, and is not tried with every round.
    const due = this.#wanted || (full && !this.#failing)
    if (due && rounds.written.sequence > this.#checkpointed.sequence) {
      this.#wanted = false
      this.#run(this.#checkpointAndTidy(this.#take(false)))
    } else if (this.#timer === null && rounds.written.sequence > this.#checkpointed.sequence) {
      this.#timer = clock.timer(CHECKPOINT_MS, () => {
        this.#timer = null
        this.#wanted = true
        rounds.wake()
      })
    }
  }

  /** Takes and writes a checkpoint at once. No round may be in flight. */
  async checkpoint(clean: boolean): Promise<void> {
    await this.#running
    await this.#write(this.#take(clean))
  }

  /**
   * Records a start in lmdb. The unfinished work of the last run continues in the background. It does not write to
   * the journal: on a full disk it must free space before any write.
   */
  async begin(): Promise<void> {
    await this.checkpoint(false).catch(this.#endIfIndexFailed)
    if (!this.#closing) this.#run(this.#giveUp())
  }

  /** Stops the background work. */
  async stop(): Promise<void> {
    this.#closing = true
    this.#timer?.cancel()
    await this.#running
  }

  readonly #endIfIndexFailed = (error: Error): never => {
    if (error instanceof IndexFailed) this.#attached().indexFailed(error)
    throw error
  }

  #attached(): Rounds {
    assert(this.#rounds !== null, 'upkeep works beside rounds')
    return this.#rounds
  }

  #take(clean: boolean): Taken {
    const { tables, contents, era } = this.#options
    const rounds = this.#attached()
    this.#timer?.cancel()
    this.#timer = null
    this.#checkpointedBytes = rounds.writtenBytes
    return takeCheckpoint(tables, contents, rounds.written, era, clean)
  }

  #run(work: Promise<void>): void {
    const settled = work.catch(this.#endIfIndexFailed).then(
      () => {
        this.#failing = false
      },
      (error: Error) => {
        this.#failing = true
        if (this.#attached().failed === null) this.#options.report(`the checkpoint waits: ${error.message}`)
      },
    )
    this.#running = settled.finally(() => {
      this.#running = null
      this.#attached().wake()
    })
  }

  async #checkpointAndTidy(taken: Taken): Promise<void> {
    await this.#write(taken)
    await this.#giveUp()
    await this.#copyForward.run(this.#attached(), this.#checkpointed.file, () => this.#closing)
  }

  /** Deletes everything that lmdb marks as dead. */
  async #giveUp(): Promise<void> {
    await this.#sweep()
    await this.#free()
    await this.#options.reserve.make()
  }

  async #write(taken: Taken): Promise<void> {
    const { clock, tables, journal, contents } = this.#options
    const turns = takingTurns(clock, TURN_MS)
    const stored = new Map<number, number>()
    const add = (file: number, bytes: number) => stored.set(file, (stored.get(file) ?? 0) + bytes)
    try {
      for (const _ of taken.collect()) await turns()
      const changes = [...taken.changes]
      for (const { run, formerly } of taken.runs) {
        add(run.file, run.length)
        if (formerly !== null) add(formerly.file, -formerly.length)
      }
      for (const run of taken.replaced) add(run.file, -run.length)
      for (const file of journal.files.values()) {
        this.#noteFile(file, file.stored + (stored.get(file.number) ?? 0), changes)
      }
      for (let from = 0; from < taken.runs.length; from += ENCODED_AT_ONCE) {
        changes.push(...encodeRuns(taken.runs.slice(from, from + ENCODED_AT_ONCE)))
        await turns()
      }
      await this.#attached().synced()
      await tables.commit(changes)
    } catch (error) {
      taken.abandoned()
      this.#stored.clear() // the content of lmdb is unknown: all are written again
      throw error
    }
    for (const [number, bytes] of stored) {
      const file = journal.files.get(number)
      if (file !== undefined) file.stored += bytes
    }
    for (const { formerly } of taken.runs) {
      if (formerly !== null) journal.count(formerly.file, -formerly.length)
    }
    taken.written()
    this.#checkpointed = taken.at
    for (const stream of taken.removed) {
      this.#gone.push(stream.number)
      // Runs and copies that were never in lmdb are dropped with their stream.
      const pieces = stream.pieces?.all ?? []
      for (const run of [...stream.recent, ...stream.moved.values(), ...pieces.flatMap(({ written }) => written)])
        journal.count(run.file, -run.length)
      contents.recentRuns -= stream.recent.length
      for (const { runs } of pieces) contents.recentRuns -= runs.length
      stream.recent = []
      stream.moved.clear()
      stream.pieces = null
    }
    for (const [stream, start] of taken.starts) {
      if (stream.sweptTo < start) this.#toSweep.set(stream, start)
    }
  }

  #noteFile(file: JournalFile, stored: number, changes: Change[]): void {
    const known = this.#stored.get(file.number)
    if (known !== undefined && known.stored === stored && known.end === file.end) return
    const use = { stored, end: file.end }
    this.#stored.set(file.number, use)
    changes.push(fileChange(file.number, use))
  }

  /** Deletes runs that no reader can reach from lmdb, some at a time. */
  async #sweep(): Promise<void> {
    for (const [stream, start] of this.#toSweep) {
      this.#toSweep.delete(stream)
      if (stream.removed) continue
      const bounds = { start: streamStart(stream.number), end: runKey(stream.number, start) }
      await this.#sweepRange(bounds, start, stream)
      if (stream.removed) continue
      stream.sweptTo = start
      stream.dirty = true
      this.#options.contents.dirtyStreams.add(stream)
    }
    for (let number = this.#gone[0]; number !== undefined; number = this.#gone[0]) {
      const bounds = { start: streamStart(number), end: streamEnd(number) }
      await this.#sweepRange(bounds, Number.POSITIVE_INFINITY, null)
      const changes: Change[] = [{ table: 'meta', key: goneKey(number), value: null }]
      for (const { key } of this.#options.tables.rows.range(bounds)) changes.push({ table: 'rows', key, value: null })
      await this.#options.tables.commit(changes)
      this.#gone.shift()
    }
  }

  async #sweepRange(bounds: { start: Buffer; end: Buffer }, below: number, stream: Stream | null): Promise<void> {
    const { tables, journal } = this.#options
    for (;;) {
      const dead: Run[] = []
      const changes: Change[] = []
      for (const { key, value } of tables.runs.range({ ...bounds, limit: SWEEP_ROWS })) {
        const run = decodeRun(key, value)
        if (run.nextOffset > below) break
        dead.push(run)
        changes.push({ table: 'runs', key, value: null })
      }
      if (dead.length === 0) return
      const freed = new Map<number, number>()
      for (const run of dead) freed.set(run.file, (freed.get(run.file) ?? 0) + run.length)
      for (const [number, bytes] of freed) {
        const file = journal.files.get(number)
        if (file !== undefined) this.#noteFile(file, file.stored - bytes, changes)
      }
      try {
        await tables.commit(changes)
      } catch (error) {
        this.#stored.clear()
        if (stream !== null) this.#toSweep.set(stream, below)
        throw error
      }
      for (const [number, bytes] of freed) {
        const file = journal.files.get(number)
        if (file === undefined) continue
        file.stored -= bytes
        file.live -= bytes
      }
      for (const run of dead) {
        const moved = stream?.moved.get(run.baseOffset)
        if (moved === undefined) continue
        stream!.moved.delete(run.baseOffset)
        journal.count(moved.file, -moved.length)
      }
      if (dead.length < SWEEP_ROWS) return
    }
  }

  /** Frees files without live data that lie completely before the checkpoint. */
  async #free(): Promise<void> {
    const { tables, journal } = this.#options
    const dead = [...journal.files.values()].filter(
      file => file.live === 0 && file.number < this.#checkpointed.file && file !== journal.active && !file.retired,
    )
    if (dead.length === 0) return
    for (const file of dead) this.#stored.delete(file.number)
    await tables.commit(dead.map(file => fileChange(file.number, null)))
    for (const file of dead) journal.retire(file)
  }
}
