// The interface between a live document (live-document.ts) and the machine that it drives. A machine defines the
// state of one kind of document and how events change it: a classic group, and later a consumer group (KIP-848), a
// share group or a transactional id. A machine is pure and synchronous: the same state, event and time give the same
// decision. It has no promise, no timer, no store and no logger. live-document.test.ts has the smallest example.
//
//   stored document ── read ──▶ state ── event ──▶ decision: fields that changed, answers, sentences for the log
//          ▲                                           │
//          └──────────── encode, commit ◀──────────────┘   the answers are given when this is done

import type { DocumentKind } from '../store/document-kinds.ts'
import type { Document } from '../store/store.ts'

/** The two times that a decision may need: `ms` for durations (Clock.monotonic), `wallMs` for stored timestamps. */
export interface Now {
  readonly ms: number
  readonly wallMs: number
}

/** A request that waits for its answer. A machine may keep it in its state until a later decision answers it. */
export interface Parked<Reply> {
  /** Only the document calls it, and only the first call counts. */
  settle(reply: Reply): void
}

/** The result of an event. The state has changed when the decision is returned. */
export interface Decision {
  /** Names of the fields whose stored values have changed. The document encodes them when it commits. */
  readonly changes: readonly string[]
  /**
   * True if the whole document is deleted together with the state. Then `answers` must answer every request that is
   * parked in the state.
   */
  readonly remove?: boolean
  /**
   * Called in order when these changes, and all changes that were decided before, are stored. They are not called if
   * a commit fails.
   */
  readonly answers: readonly (() => void)[]
  /** Sentences that are logged at once. */
  readonly notes: readonly string[]
}

/**
 * A request, as a function that changes the state. It answers `parked` in its decision, or keeps it for a later
 * decision.
 */
export type Event<State, Reply> = (state: State, parked: Parked<Reply>, now: Now) => Decision

/** Each kind of document has one machine, which all documents of that kind share. */
export interface Machine<State> {
  readonly kind: DocumentKind
  /** The word for one of these documents in the log: "group". */
  readonly noun: string
  /**
   * Returns the state for a stored document, or for null if the store does not have the document. Throws
   * UnreadableDocument if a part of the document has another form than this version writes.
   */
  read(document: Document | null, now: Now): State
  /** Returns a decision that the loaded state itself needs, for example because a limit was lowered meanwhile. */
  resume(state: State, now: Now): Decision
  /** Returns the names of all fields of the state. They are stored again if the store has lost the document. */
  fields(state: State): Iterable<string>
  /**
   * Returns the stored form of a field; null if the state does not have the field, so that the stored field is
   * deleted.
   */
  encode(state: State, field: string): Uint8Array | null
  /** Returns whether the state must stay in memory although no part of it is stored. */
  isInUse(state: State): boolean
  /**
   * Returns the monotonic time when `wake` must be called; Infinity for never. The time may be too early, but never
   * too late.
   */
  wakeAtMs(state: State): number
  /** Decides on everything whose deadline has passed. Afterwards `wakeAtMs` is later than `now`. */
  wake(state: State, now: Now): Decision
}
