// One live document: a stored document that this broker coordinates, with its state in memory. It gives a machine
// (machine.ts) its events, its time and its one timer, commits the decisions of the machine, and answers the
// requests. It decides nothing itself and knows no kind of document.
//
// A decision changes the state in memory at once, so that the next decision is made on the newest state. The changes
// are committed in batches by compare-and-set, with one commit in flight: all decisions made meanwhile are stored
// together by the next commit. An answer waits for the last batch that it may depend on, so no client gets an answer
// that a failed commit takes back. A failed commit drops the state. Each client that waits is told to look for the
// coordinator again, and the document is loaded from the store anew.
//
//                   ┌───────── commit failed ─────────┐
//                   ▼                                 │
//   ┌─────────┐  loaded  ┌──────┐  commit(expect) ┌───────────┐
//   │ loading │ ───────▶ │ live │ ──────────────▶ │ in flight │
//   └─────────┘          └──────┘ ◀── committed ──└───────────┘
//        │ ▲ read again
//        ▼ │                                 a document that this version cannot read: requests are refused,
//   ┌────────────┐                           and the only change that is stored is its removal
//   │ unreadable │
//   └────────────┘

import { assert } from '../base/assert.ts'
import type { Clock, Timer } from '../base/clock.ts'
import {
  because,
  COORDINATOR_LOAD_IN_PROGRESS,
  COORDINATOR_NOT_AVAILABLE,
  NOT_COORDINATOR,
  type Refusal,
} from '../protocol/errors.ts'
import {
  type Conflict,
  type Document,
  isStoreFailure,
  type Row,
  type Store,
  StoreUnavailable,
  UnreadableDocument,
} from '../store/store.ts'
import type { NameUnreadable } from '../store/unreadable.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Decision, Event, Machine, Now, Parked } from './machine.ts'

/** A document whose loading failed waits this long until it is loaded again. */
const RELOAD_AFTER_MS = 1_000
/** A document that cannot be read waits this long until it is read again: an operator may repair it meanwhile. */
const REREAD_AFTER_MS = 10_000
/** The shortest time between log lines of one kind: a store that is away concerns all documents at once. */
const COMPLAIN_EVERY_MS = 5_000
/** If a timer fires this much too late, the whole process was paused, and signs of life may be unread in sockets. */
const STALL_MS = 1_000

/** The surroundings that all live documents of a broker share. */
export interface Surroundings {
  readonly store: Store
  /** Whether another broker may already coordinate the document although this broker does not know it yet. */
  readonly isShared: boolean
  readonly clock: Clock
  readonly logger: Logger
  readonly unreadable: NameUnreadable
  /** Called for each commit that failed. */
  failed(errorType: string): void
}

/** The owner of a live document. It gets a call for every change, and counts the memory of the document. */
export interface Keeper<State> {
  /**
   * Called when the state was loaded. Called with null when the state was dropped, is being deleted, or cannot be
   * read.
   */
  replaced(state: State | null): void
  /** Called when an event has changed the state. The fields are those of the decision; they may not be stored yet. */
  changed(state: State, fields: readonly string[]): void
  /** Called when no part of the document needs memory or the store any longer. */
  vacant(): void
}

/** The content of one commit, and the answers that wait for it. */
interface Batch {
  readonly fields: Set<string>
  /** Commits even without a field, to learn whether this broker still coordinates the document. */
  touch: boolean
  /** The whole document is deleted; nothing else is in the batch then. */
  remove: boolean
  readonly answers: (() => void)[]
}

const newBatch = (): Batch => ({ fields: new Set(), touch: false, remove: false, answers: [] })

const isDirty = (batch: Batch): boolean => batch.fields.size > 0 || batch.touch || batch.remove

/** A request that has not been answered yet. */
interface Waiter {
  /** Whether the request may wait for other requests, not only for a commit. */
  readonly mayPark: boolean
  refuse(refusal: Refusal): void
}

export class LiveDocument<State> {
  readonly #name: string
  readonly #machine: Machine<State>
  readonly #keeper: Keeper<State>
  readonly #around: Surroundings
  /** Null while the document is being loaded or deleted, or cannot be read. */
  #state: State | null = null
  /** The version of the stored document; 0 when the store has no document. */
  #version = 0
  /** The refusal while there is no state. */
  #absence: Refusal = COORDINATOR_LOAD_IN_PROGRESS
  readonly #waiters = new Set<Waiter>()
  #next: Batch = newBatch()
  #inFlight: Batch | null = null
  #committing: Promise<void> = Promise.resolve()
  #timer: Timer | null = null
  #timerAtMs = Number.POSITIVE_INFINITY
  /** True after a stall, while the timer waits for late signs of life. No deadline may set it to an earlier time. */
  #forgaveStall = false
  #draining = false
  #closed = false
  #isUnreadable = false

  /** The new document refuses every request with COORDINATOR_LOAD_IN_PROGRESS until `open` is called. */
  constructor(name: string, machine: Machine<State>, keeper: Keeper<State>, around: Surroundings) {
    this.#name = name
    this.#machine = machine
    this.#keeper = keeper
    this.#around = around
  }

  /**
   * `document` is the document in the store; null if the store certainly has no document. A document that cannot be
   * read refuses every request except `removeUnread` with COORDINATOR_NOT_AVAILABLE, and is read again from time to
   * time.
   */
  open(document: Document | null): void {
    try {
      this.#adopt(document)
      this.#flush()
    } catch (error) {
      this.#setAside(error, document?.version ?? 0)
    }
  }

  /** The newest state, which may not be stored yet: for signs of life and estimates. Null while there is no state. */
  get state(): State | null {
    return this.#state
  }

  /** The refusal for requests while `state` is null. */
  get absence(): Refusal {
    return this.#absence
  }

  /** Whether the document exists: the state is in use, or a part of it is stored or about to be stored. */
  get exists(): boolean {
    if (this.#state === null) return false
    if (this.#version > 0 || this.#inFlight !== null || isDirty(this.#next)) return true
    return this.#machine.isInUse(this.#state)
  }

  /** Whether the store has the document, as far as this broker knows. */
  get isStored(): boolean {
    return this.#version > 0
  }

  /** Whether the stored document has a form that this version cannot read. */
  get isUnreadable(): boolean {
    return this.#isUnreadable
  }

  /** Whether the document is being loaded after a failure, so that it is unknown whether it exists. */
  get isUncertain(): boolean {
    return this.#state === null && !this.#isUnreadable && !this.#next.remove && this.#inFlight?.remove !== true
  }

  /** Returns the two times for a decision. */
  now(): Now {
    return { ms: this.#around.clock.monotonic(), wallMs: this.#around.clock.now() }
  }

  /**
   * Decides on the newest state. Resolves to the answer of the decision, or to the value of `refused`. The refusal is
   * COORDINATOR_LOAD_IN_PROGRESS or COORDINATOR_NOT_AVAILABLE while there is no state; COORDINATOR_NOT_AVAILABLE when
   * the store is away; NOT_COORDINATOR when another broker has written the document, the outcome of the commit is
   * unknown, or the broker drains.
   *
   * `mayPark` marks an event whose answer may wait for other requests: draining refuses it. `refused` stays in memory
   * until the answer; `event` does not.
   */
  ask<Reply>(
    event: Event<State, Reply>,
    refused: (refusal: Refusal) => Reply,
    { mayPark = false }: { readonly mayPark?: boolean } = {},
  ): Promise<Reply> {
    if (this.#closed || (this.#draining && mayPark)) return Promise.resolve(refused(NOT_COORDINATOR))
    const state = this.#state
    if (state === null) return Promise.resolve(refused(this.#absence))
    const { promise, resolve } = Promise.withResolvers<Reply>()
    this.#follow(state, event(state, this.#wait(resolve, refused, mayPark), this.now()))
    return promise
  }

  /**
   * Makes a waiting request. It is separate from `ask`, because the event may contain a whole request, which must not
   * stay in memory while the answer waits.
   */
  #wait<Reply>(resolve: (reply: Reply) => void, refused: (refusal: Refusal) => Reply, mayPark: boolean): Parked<Reply> {
    const waiter: Waiter & Parked<Reply> = {
      mayPark,
      settle: reply => {
        if (this.#waiters.delete(waiter)) resolve(reply)
      },
      refuse: refusal => waiter.settle(refused(refusal)),
    }
    this.#waiters.add(waiter)
    return waiter
  }

  /** Decides on the newest state for an event that no client waits for. Does nothing while there is no state. */
  tell(event: (state: State, now: Now) => Decision): void {
    if (this.#state !== null) this.#follow(this.#state, event(this.#state, this.now()))
  }

  /**
   * Does the same as `ask`, for an event that must see everything that any broker committed before this call. While
   * brokers come and go, two of them may each believe that they coordinate the document. A broker that writes learns
   * the truth from its commit; a broker that only reads must ask the store first. NOT_COORDINATOR when another broker
   * has written it; COORDINATOR_LOAD_IN_PROGRESS when the store does not answer.
   */
  async askCurrent<Reply>(event: Event<State, Reply>, refused: (refusal: Refusal) => Reply): Promise<Reply> {
    // No await if no other broker can write, so that events keep the order of the calls.
    const doubt = this.#around.isShared ? await this.#checkCurrent() : null
    return doubt === null ? await this.ask(event, refused) : refused(doubt)
  }

  /**
   * Resolves to null if the state is current. Otherwise drops the state, unless the store does not answer, and
   * resolves to the refusal.
   */
  async #checkCurrent(): Promise<Refusal | null> {
    const { kind, noun } = this.#machine
    const { logger } = this.#around
    const request = logger.current
    const known = this.#version
    let stored: number
    try {
      stored = await this.#around.store.version(kind, this.#name)
    } catch (cause) {
      if (!isStoreFailure(cause)) throw cause
      return COORDINATOR_LOAD_IN_PROGRESS
    }
    if (stored === 0 && known > 0 && this.#state !== null) return await this.#checkStored()
    // The newer version may be the commit of this broker that is in flight.
    while (stored > this.#version && this.#inFlight !== null) await this.#committing
    const isOurs = this.#version === known ? stored === known : stored <= this.#version
    if (isOurs || this.#state === null) return null
    // Nothing was lost: for example, an operator who resets offsets through another broker writes the document there.
    logger.during(request, () =>
      this.#complain('check').info(`another coordinator has written this ${noun}, it is loaded again`, {
        ...this.#label,
        expected: this.#version,
        found: stored,
      }),
    )
    this.#drop(NOT_COORDINATOR)
    return NOT_COORDINATOR
  }

  /** Deletes a document that cannot be read, whatever it contains. Throws what the store throws. */
  async removeUnread(): Promise<Refusal | null> {
    if (this.#closed) return NOT_COORDINATOR
    const { store, logger } = this.#around
    const { kind, noun } = this.#machine
    logger.warn(`a ${noun} that cannot be read is deleted, as an operator has asked`, this.#label)
    const outcome = await store.commit({ kind, name: this.#name, expect: this.#version, changes: [], remove: true })
    await this.#load()
    return outcome.kind === 'conflict' ? NOT_COORDINATOR : null
  }

  /**
   * From now on no request waits for another one. Requests that may wait are refused with NOT_COORDINATOR, so that
   * their clients look for the coordinator again.
   */
  drain(): void {
    this.#draining = true
    this.#disarm()
    for (const waiter of [...this.#waiters]) if (waiter.mayPark) waiter.refuse(NOT_COORDINATOR)
  }

  /** Drains, and resolves when the commits that have begun have ended. */
  async close(): Promise<void> {
    this.drain()
    this.#closed = true
    while (this.#inFlight !== null) await this.#committing
  }

  get #label(): Record<string, string> {
    return { [this.#machine.noun]: this.#name }
  }

  #complain(about: string) {
    return this.#around.logger.limited(`${this.#machine.noun}-${about}`, COMPLAIN_EVERY_MS)
  }

  // ---- decisions

  #follow(state: State, decision: Decision): void {
    this.#apply(state, decision)
    this.#flush()
    this.#leaveIfVacant()
  }

  #apply(state: State, { changes, remove, answers, notes }: Decision): void {
    for (const note of notes) this.#around.logger.info(note, this.#label)
    if (remove === true) {
      this.#remove()
    } else {
      for (const field of changes) this.#next.fields.add(field)
      this.#keeper.changed(state, changes)
      this.#arm(state)
    }
    for (const answer of answers) this.#afterCommit(answer)
  }

  /**
   * Begins to delete the document. From now on requests are refused with COORDINATOR_LOAD_IN_PROGRESS, until it is
   * gone.
   */
  #remove(): void {
    this.#disarm()
    if (this.#version === 0 && this.#inFlight === null) {
      this.#adopt(null)
      return
    }
    this.#state = null
    this.#absence = COORDINATOR_LOAD_IN_PROGRESS
    this.#next = { ...newBatch(), remove: true, answers: this.#next.answers }
    this.#keeper.replaced(null)
  }

  /** Gives an answer when everything that it may depend on is stored. */
  #afterCommit(answer: () => void): void {
    if (isDirty(this.#next)) this.#next.answers.push(answer)
    else if (this.#inFlight !== null) this.#inFlight.answers.push(answer)
    else answer()
  }

  #leaveIfVacant(): void {
    if (this.#state === null || this.#waiters.size > 0 || this.exists) return
    this.#disarm()
    this.#keeper.vacant()
  }

  // ---- commits

  #flush(): void {
    if (this.#inFlight !== null || !isDirty(this.#next)) return
    const batch = this.#next
    this.#next = newBatch()
    this.#inFlight = batch
    this.#committing = this.#commit(batch, batch.remove ? [] : this.#encode(batch.fields))
  }

  #encode(fields: Iterable<string>): readonly Row[] {
    return Array.from(fields, key => ({ key, value: this.#machine.encode(this.#state!, key) }))
  }

  async #commit(batch: Batch, changes: readonly Row[]): Promise<void> {
    const { store } = this.#around
    const { kind, noun } = this.#machine
    const { remove } = batch
    try {
      let outcome = await store.commit({
        kind,
        name: this.#name,
        expect: this.#version,
        changes,
        remove,
        isAcknowledged: true,
      })
      if (outcome.kind === 'conflict' && outcome.isLost === true && (remove || this.#state !== null)) {
        this.#complain('lost').warn(
          `the store has lost this ${noun}: this broker stores its own copy again`,
          this.#label,
        )
        this.#around.failed('lost')
        // Every field of the state. The next commit may write some of them once more.
        const all = remove ? [] : this.#encode(this.#machine.fields(this.#state!))
        outcome = await store.commit({ kind, name: this.#name, expect: 0, changes: all, remove, isAcknowledged: true })
      }
      if (outcome.kind === 'conflict') return this.#lose(outcome)
      this.#inFlight = null
      if (remove) this.#adopt(null)
      else this.#version = outcome.version
    } catch (cause) {
      this.#complain('commit').error(`a ${noun} could not be stored, it is loaded again`, {
        ...this.#label,
        error: cause,
      })
      this.#around.failed(cause instanceof StoreUnavailable ? 'store-unavailable' : 'outcome-unknown')
      this.#drop(cause instanceof StoreUnavailable ? COORDINATOR_NOT_AVAILABLE : NOT_COORDINATOR)
      return
    }
    for (const answer of batch.answers) answer()
    this.#flush()
    this.#leaveIfVacant()
  }

  /** Drops the state, because another broker has written or removed the document. */
  #lose({ version }: Conflict): void {
    const { noun } = this.#machine
    const why =
      version === 0
        ? `this ${noun} is gone from the store: it begins again, empty, without anything that it held`
        : `another coordinator has written this ${noun}, it is loaded again`
    this.#complain('commit').warn(why, { ...this.#label, expected: this.#version, found: version })
    this.#around.failed('conflict')
    this.#drop(NOT_COORDINATOR)
  }

  /**
   * Called if the store does not have the document. A commit shows whether the store has lost it or another broker
   * has removed it.
   */
  async #checkStored(): Promise<Refusal | null> {
    this.#next.touch = true
    this.#flush()
    while (this.#inFlight !== null) await this.#committing
    return this.#state === null ? NOT_COORDINATOR : null
  }

  /**
   * Drops the state, because it may differ from the stored one. Refuses all waiting requests and loads the document
   * again.
   */
  #drop(refusal: Refusal): void {
    this.#state = null
    this.#absence = COORDINATOR_LOAD_IN_PROGRESS
    this.#next = newBatch()
    this.#inFlight = null
    this.#disarm()
    this.#keeper.replaced(null)
    for (const waiter of [...this.#waiters]) waiter.refuse(refusal)
    void this.#load()
  }

  // ---- loading

  /**
   * Loads the document. Two loads may run at the same time: one after a deletion, and one that was due. The load that
   * ends first counts. The other must not replace a state that clients have used since.
   */
  async #load(): Promise<void> {
    if (!this.#lacksState) return
    const { store, clock } = this.#around
    const { kind, noun } = this.#machine
    let document: Document | null = null
    try {
      document = await store.load(kind, this.#name)
      if (!this.#lacksState) return
      this.#adopt(document)
      this.#flush()
      this.#leaveIfVacant()
    } catch (cause) {
      if (!this.#lacksState) return
      if (cause instanceof UnreadableDocument) return this.#setAside(cause, document?.version ?? 0)
      this.#complain('load').error(`a ${noun} could not be loaded`, { ...this.#label, error: cause })
      this.#absence = COORDINATOR_NOT_AVAILABLE
      clock.timer(RELOAD_AFTER_MS, () => void this.#load())
    }
  }

  get #lacksState(): boolean {
    return !this.#closed && (this.#isUnreadable || this.isUncertain)
  }

  #adopt(document: Document | null): void {
    const now = this.now()
    const state = this.#machine.read(document, now)
    if (this.#isUnreadable) this.#disarm()
    this.#isUnreadable = false
    this.#version = document?.version ?? 0
    this.#state = state
    this.#keeper.replaced(state)
    this.#apply(state, this.#machine.resume(state, now))
  }

  /** Marks the document as unreadable. The broker then knows only that it exists. */
  #setAside(error: unknown, version: number): void {
    if (!(error instanceof UnreadableDocument)) throw error
    const { unreadable, clock } = this.#around
    const { kind, noun } = this.#machine
    const what = `the stored ${noun} ${JSON.stringify(this.#name)}`
    const result = 'clients are told COORDINATOR_NOT_AVAILABLE until it is repaired, or deleted with all that it holds'
    unreadable({ kind, what, why: error.cause ?? error, result })
    this.#isUnreadable = true
    this.#version = version
    this.#absence = because(COORDINATOR_NOT_AVAILABLE, error.message)
    this.#keeper.replaced(null)
    this.#disarm()
    this.#timer = clock.timer(REREAD_AFTER_MS, () => void this.#load())
  }

  // ---- time

  /**
   * Sets the one timer for all deadlines. Signs of life only move deadlines to a later time, so they never change the
   * timer.
   */
  #arm(state: State): void {
    const wakeAtMs = this.#machine.wakeAtMs(state)
    if (this.#draining || this.#forgaveStall || wakeAtMs >= this.#timerAtMs) return
    this.#disarm()
    this.#timerAtMs = wakeAtMs
    const { clock } = this.#around
    this.#timer = clock.timer(wakeAtMs - clock.monotonic(), () => this.#wake())
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = null
    this.#timerAtMs = Number.POSITIVE_INFINITY
    this.#forgaveStall = false
  }

  #wake(): void {
    const state = this.#state
    assert(state !== null, 'a document that is being loaded has no timer')
    const now = this.now()
    const isStall = now.ms - this.#timerAtMs > STALL_MS && !this.#forgaveStall
    this.#disarm()
    if (isStall) {
      // The process was paused (a paused machine, a long garbage collection). Unread requests in sockets come first.
      this.#forgaveStall = true
      this.#timerAtMs = now.ms + STALL_MS
      this.#timer = this.#around.clock.timer(STALL_MS, () => this.#wake())
      return
    }
    this.#follow(state, this.#machine.wake(state, now))
  }
}
