// Turns calls into rounds and rounds into answers. All calls that arrive while a round is being written go into the
// next round together. A round is one write. One sync covers every round that was written before it began. A round is
// written while the rounds before it are synced.
//
//   call ──> queue ──> formed (decided, applied) ──> written ──> synced ──> revealed, answered
//                                                       └── with fsync `interval`: revealed and answered here
//
// A call is decided when its round is formed, with the contents of all earlier rounds. Its answer is given when its
// round and all rounds before it are acknowledged; only then do readers see its effect. If a write fails, its round
// is undone: no later round depends on it. If the disk has no space for the round and there is no empty file, its
// appends are refused and its other calls are written into the reserve (reserve.ts). If a sync fails, the store ends:
// the state of the disk is unknown from then on, and a later sync could wrongly succeed.

import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { OutcomeUnknown, StoreUnavailable } from '../store.ts'
import type { Position } from './checkpoint.ts'
import type { Contents, Effects } from './contents.ts'
import { type Entry, RoundWriter } from './entry.ts'
import type { Journal } from './journal.ts'
import { isNoRoom, type Reserve, type Weight } from './reserve.ts'
import type { IndexFailed } from './tables.ts'

/** Adds an entry to the round that is being formed. `payload` has the batches that the entry describes. */
export type AddEntry = (entry: Entry, payload?: readonly Uint8Array[]) => void

interface Call {
  /** The most bytes that the call adds to a round. */
  readonly bytes: number
  /** The stream that the call writes to, for the limit of one stream's share; null if it writes to no stream. */
  readonly stream: string | null
  readonly weight: Weight
  readonly decide: (add: AddEntry) => unknown
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

interface Answered {
  readonly call: Call
  readonly answer: unknown
}

interface Round {
  readonly answered: Answered[]
  readonly effects: Effects
  readonly end: Position
}

export interface RoundsOptions {
  readonly clock: Clock
  readonly journal: Journal
  readonly contents: Contents
  readonly reserve: Reserve
  readonly era: number
  /** The milliseconds between two syncs; null: every round is synced before it is acknowledged. */
  readonly fsyncIntervalMs: number | null
  readonly onFatal: (error: Error) => void
  /** Gets sentences for the operator. */
  readonly report: (message: string) => void
  /** Called between two rounds. The next round begins when it returns. */
  readonly between: () => void
}

/**
 * The milliseconds after which a slow sync is logged: clients time out because of such a slow disk, and no other log
 * line would tell the cause.
 */
const SLOW_SYNC_MS = 1000
const MOST_ROUND_BYTES = 16 << 20
const MOST_STREAM_BYTES = 4 << 20
/** The number of written rounds that may wait for their sync while the next one is written. */
const MOST_UNSYNCED = 2
/**
 * The size in bytes from which a round ends at a page boundary. The next write then need not read the page in which
 * it begins.
 */
const PAGED_FROM = 32 << 10
const PAGE = 4096
const PADDING = Buffer.alloc(PAGE)
/** The most bytes of header and padding. */
const ROUND_OVERHEAD = PAGE + 64

export class Rounds {
  readonly #options: RoundsOptions
  readonly #journal: Journal
  readonly #contents: Contents
  #queue: Call[] = []
  #scheduled = false
  #writing = false
  #syncing: Promise<void> | null = null
  /** The rounds that are written and will be acknowledged by the next sync. */
  #unsynced: Round[] = []
  /** The rounds that the sync in progress will acknowledge. */
  #beingSynced: readonly Round[] = []
  #written: Position
  #synced: Position
  #syncTimer: Timer | null = null
  #failed: Error | null = null
  #idle: (() => void)[] = []
  /** The bytes written since the store was opened, and their number when the reserve last existed. */
  writtenBytes = 0
  #amplyWritten = 0

  constructor(options: RoundsOptions, from: Position) {
    this.#options = options
    this.#journal = options.journal
    this.#contents = options.contents
    this.#written = from
    this.#synced = from
  }

  /** The end of the last formed round. Between two rounds everything before it is written. */
  get written(): Position {
    return this.#written
  }

  get failed(): Error | null {
    return this.#failed
  }

  /**
   * Queues a call. `weight` limits how much of the reserve the call may use on a full disk. A call that writes
   * nothing has no weight.
   */
  call<T>(bytes: number, stream: string | null, decide: (add: AddEntry) => T, weight: Weight = 'relief'): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#failed !== null) return reject(refusalOf(this.#failed))
      this.#queue.push({ bytes, stream, weight, decide, resolve: resolve as (answer: unknown) => void, reject })
      this.wake()
    })
  }

  /** Makes sure that `between` is called and the queue is processed soon. */
  wake(): void {
    if (this.#scheduled || this.#writing) return
    this.#scheduled = true
    this.#options.clock.soon(() => {
      this.#scheduled = false
      this.#pump()
    })
  }

  /** Resolves when everything that has been written is on the disk. */
  async synced(): Promise<void> {
    const goal = this.#written.sequence
    while (this.#synced.sequence < goal) {
      if (this.#failed !== null) throw this.#failed
      await (this.#syncing ?? this.#sync())
    }
  }

  /** Resolves when nothing is queued, being written or waiting for its sync. */
  async drained(): Promise<void> {
    while (this.#failed === null && (this.#queue.length > 0 || this.#writing)) {
      await new Promise<void>(resolve => this.#idle.push(resolve))
    }
    this.#syncTimer?.cancel()
    if (this.#failed === null) await this.synced()
  }

  #pump(): void {
    if (this.#writing || this.#failed !== null) return
    this.#options.between()
    if (this.#queue.length === 0) {
      for (const resolve of this.#idle.splice(0)) resolve()
      return
    }
    if (this.#unsynced.length >= MOST_UNSYNCED) return
    this.#writing = true
    const { reserve } = this.#options
    if (!reserve.isGone) {
      this.#amplyWritten = this.writtenBytes
      this.#form()
      return
    }
    // All other calls wait meanwhile, because calls take effect in order.
    void reserve.make().then(() => {
      if (reserve.isGone) this.#refuseForRoom()
      this.#form()
    })
  }

  #form(): void {
    const calls = this.#take()
    if (calls.length === 0) {
      this.#writing = false
      this.#pump()
      return
    }
    if (this.#journal.fits(bytesOf(calls))) {
      void this.#write(calls)
      return
    }
    this.#roll().then(
      () => this.#write(calls),
      (error: Error) => this.#writeLess(calls, this.#failed ?? error),
    )
  }

  /** While the reserve is gone: refuses waiting calls that must not use the remaining space. */
  #refuseForRoom(): void {
    const mayChange = this.writtenBytes - this.#amplyWritten < this.#options.reserve.changeBytes
    const isAdmitted = ({ weight }: Call) => weight === 'relief' || (weight === 'change' && mayChange)
    const refused = this.#queue.filter(call => !isAdmitted(call))
    this.#queue = this.#queue.filter(isAdmitted)
    const full = 'the disk is full, and what is left of its reserve is for what makes room'
    const reason = this.#options.reserve.trouble ?? Object.assign(new Error(full), { code: 'ENOSPC' })
    for (const call of refused) call.reject(refusalOf(reason))
  }

  /**
   * Handles a round that the disk refused. If the disk is full, the journal continues in an empty file that is large
   * enough. If all empty files are too small, it unlinks one, so that the active file can grow, and tries the calls
   * again. If there is no empty file, appends are refused and the reserve takes the other calls.
   */
  async #writeLess(calls: readonly Call[], error: Error): Promise<void> {
    if (isNoRoom(error)) {
      if (await this.#rollIntoSpare(calls)) return this.#write(calls)
      if (await this.#giveRoom()) {
        this.#queue.unshift(...calls)
        this.#writing = false
        return this.#pump()
      }
    }
    let rest = calls
    if (isNoRoom(error) && !this.#options.reserve.isGone) {
      const refusal = refusalOf(error)
      for (const call of calls) if (call.weight === 'append') call.reject(refusal)
      rest = calls.filter(({ weight }) => weight !== 'append')
      const isWriting = rest.some(({ bytes }) => bytes > 0)
      if (rest.length > 0 && (!isWriting || (await this.#rollIntoReserve()))) return this.#write(rest)
    }
    this.#writing = false
    const refusal = refusalOf(this.#failed ?? error)
    for (const call of rest) call.reject(refusal)
    this.#pump()
  }

  async #rollIntoSpare(calls: readonly Call[]): Promise<boolean> {
    if (this.#failed !== null) return false
    try {
      await this.synced()
      return await this.#journal.rollIntoSpare(bytesOf(calls))
    } catch {
      return false
    }
  }

  async #giveRoom(): Promise<boolean> {
    try {
      return this.#failed === null && (await this.#journal.giveRoom()) && this.#failed === null
    } catch {
      return false
    }
  }

  async #rollIntoReserve(): Promise<boolean> {
    try {
      await this.synced()
      await this.#journal.rollIntoReserve()
      this.#options.report('the disk is full: records are refused until there is room, and the reserve takes the rest')
      return true
    } catch {
      return false
    }
  }

  /** Takes the calls of the next round from the queue, in order. */
  #take(): Call[] {
    const shares = new Map<string, number>()
    let bytes = 0
    let count = 0
    for (const call of this.#queue) {
      const share = call.stream === null ? 0 : (shares.get(call.stream) ?? 0) + call.bytes
      bytes += call.bytes
      const full = bytes > MOST_ROUND_BYTES || (share > MOST_STREAM_BYTES && share > call.bytes)
      if (count > 0 && full) break
      if (call.stream !== null) shares.set(call.stream, share)
      count++
    }
    return this.#queue.splice(0, count)
  }

  async #roll(): Promise<void> {
    await this.synced()
    await this.#journal.roll()
  }

  async #write(calls: readonly Call[]): Promise<void> {
    const { active, incarnation } = this.#journal
    const sequence = this.#written.sequence + 1
    const writer = new RoundWriter(incarnation, sequence)
    const effects: Effects = { file: active.number, payloadBytes: 0, runs: [], undo: [], reveal: [] }
    const payload: Uint8Array[] = []
    const answered: Answered[] = []
    const add: AddEntry = (entry, batches) => {
      writer.add(entry)
      this.#contents.apply(entry, effects)
      if (batches !== undefined) payload.push(...batches)
    }
    for (const call of calls) {
      try {
        answered.push({ call, answer: call.decide(add) })
      } catch (error) {
        // This is a defect of the store, because a call is checked before it is queued. The entries that the call has
        // already added must not be written.
        this.#writing = false
        this.#fail(error as Error)
        for (const each of calls) each.reject(refusalOf(error as Error))
        return
      }
    }
    if (writer.entries === 0) {
      this.#writing = false
      // The answer may depend on calls that are written but not acknowledged yet.
      const last = this.#unsynced.at(-1) ?? this.#beingSynced.at(-1)
      if (last !== undefined) last.answered.push(...answered)
      else for (const { call, answer } of answered) call.resolve(answer)
      this.#pump()
      return
    }
    const position = active.end
    const payloadAt = position + writer.headBytes
    for (const run of effects.runs) run.position += payloadAt
    const used = payloadAt + effects.payloadBytes
    const grain = used - position >= PAGED_FROM ? PAGE : 8
    const end = Math.ceil(used / grain) * grain
    assert(writer.payloadBytes === effects.payloadBytes, 'a round counts its payload twice and differently')
    const head = writer.finish(this.#options.era, end - position, this.#synced.file, this.#synced.position)
    const buffers = [head, ...payload]
    if (end > used) buffers.push(PADDING.subarray(0, end - used))
    const round: Round = { answered, effects, end: { file: active.number, position: end, sequence } }
    try {
      await this.#journal.write(buffers, end - position)
    } catch (error) {
      await this.#takeBack(calls, round, buffers, error as Error)
      return
    }
    this.#writing = false
    this.#written = round.end
    this.writtenBytes += end - position
    if (this.#failed !== null) {
      this.#lose([round])
      return
    }
    if (this.#options.fsyncIntervalMs === null) {
      this.#unsynced.push(round)
      if (this.#syncing === null) void this.#sync()
    } else {
      // No caller waits for the sync of this round, so the round is not kept until then.
      acknowledge(round)
      this.#syncLater(this.#options.fsyncIntervalMs)
    }
    this.#pump()
  }

  /** Undoes a round that the disk refused. Certainly no part of it will ever be read. */
  async #takeBack(calls: readonly Call[], round: Round, buffers: readonly Uint8Array[], error: Error): Promise<void> {
    try {
      await this.#journal.erase(buffers)
    } catch (second) {
      this.#writing = false
      this.#fail(
        new Error(`a round could neither be written nor erased: ${error.message}; ${(second as Error).message}`, {
          cause: error,
        }),
      )
      this.#lose([round])
      return
    }
    for (const undo of round.effects.undo.reverse()) undo()
    await this.#writeLess(calls, error)
  }

  #syncLater(ms: number): void {
    if (this.#syncTimer !== null) return
    this.#syncTimer = this.#options.clock.timer(ms, () => {
      this.#syncTimer = null
      // A sync in progress may not cover the last write. If it fails, every caller has been told.
      this.synced().catch(() => {})
    })
  }

  #sync(): Promise<void> {
    assert(this.#syncing === null, 'two syncs at once')
    const rounds = this.#unsynced
    this.#unsynced = []
    this.#beingSynced = rounds
    const goal = this.#written
    const { clock, report } = this.#options
    const startedAtMs = clock.monotonic()
    const done = this.#journal.sync().then(
      () => {
        this.#syncing = null
        const tookMs = clock.monotonic() - startedAtMs
        if (tookMs >= SLOW_SYNC_MS)
          report(`the disk took ${(tookMs / 1000).toFixed(1)} s to sync the journal: produce waited`)
        this.#beingSynced = []
        this.#synced = goal
        for (const round of rounds) acknowledge(round)
        if (this.#unsynced.length > 0 && this.#failed === null && this.#syncing === null) void this.#sync()
        this.#pump()
      },
      (error: Error) => {
        this.#syncing = null
        this.syncFailed(error)
        this.#lose(rounds)
      },
    )
    this.#syncing = done
    return done
  }

  /**
   * Ends the store after a failed sync. Bytes that were written since the last successful sync may be lost, even if a
   * later sync succeeds.
   */
  syncFailed(error: Error): void {
    this.#fail(new Error(`fdatasync of the journal failed: ${error.message}`, { cause: error }))
  }

  /** Ends the store after the index failed: lmdb cannot be read any more, and no checkpoint can be written. */
  indexFailed(error: IndexFailed): void {
    this.#fail(error)
  }

  #fail(error: Error): void {
    if (this.#failed !== null) return
    this.#failed = error
    const lost = this.#unsynced
    this.#unsynced = []
    this.#lose(lost)
    const refusal = refusalOf(error)
    for (const call of this.#queue.splice(0)) call.reject(refusal)
    for (const resolve of this.#idle.splice(0)) resolve()
    this.#options.onFatal(error)
  }

  /**
   * Rejects the calls of rounds that may or may not be on the disk. (Calls that were acknowledged are not affected.)
   */
  #lose(rounds: readonly Round[]): void {
    for (const round of rounds) {
      for (const { call } of round.answered) {
        call.reject(
          new OutcomeUnknown(`the embedded store has stopped: ${this.#failed?.message}`, { cause: this.#failed }),
        )
      }
    }
  }
}

/** Returns the most bytes of a round of these calls. */
function bytesOf(calls: readonly Call[]): number {
  return calls.reduce((sum, call) => sum + call.bytes, ROUND_OVERHEAD)
}

function acknowledge(round: Round): void {
  for (const reveal of round.effects.reveal) reveal()
  for (const { call, answer } of round.answered) call.resolve(answer)
}

function refusalOf(error: Error): StoreUnavailable {
  return new StoreUnavailable(`the embedded store cannot write: ${error.message}`, { cause: error })
}
