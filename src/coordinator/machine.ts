// The contract between a live document (live-document.ts) and the machine that it drives. A machine is what the broker
// knows of one document and how that changes: a classic group, and later a consumer group (KIP-848), a share group or a
// transactional id. A machine is pure and synchronous: the same state, event and time give the same decision. It has no
// promise, no timer, no store and no logger. live-document.test.ts holds the smallest example.
//
//   stored document ── read ──▶ state ── event ──▶ decision: fields that changed, answers, sentences for the log
//          ▲                                           │
//          └──────────── encode, commit ◀──────────────┘   the answers are given when this is done

import type { DocumentKind } from '../store/document-kinds.ts'
import type { Document } from '../store/store.ts'

/** The two times that a decision may need: `ms` for durations (Clock.monotonic), `wallMs` for stored stamps. */
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
   * The whole document is deleted together with the state: `answers` must answer every request that is parked in the
   * state.
   */
  readonly remove?: boolean
  /** Called in order when the changes, and all changes that were decided before, are stored. Never called otherwise. */
  readonly answers: readonly (() => void)[]
  /** Sentences for the log, written at once. */
  readonly notes: readonly string[]
}

/** A request, as a function that changes the state. It answers `parked` in its decision, or keeps it for later. */
export type Event<State, Reply> = (state: State, parked: Parked<Reply>, now: Now) => Decision

/** One for each kind of document, shared by all documents of that kind. */
export interface Machine<State> {
  readonly kind: DocumentKind
  /** The word for one of these documents in the log: "group". */
  readonly noun: string
  /**
   * The state that continues the stored document; null stands for a store without it. Throws UnreadableDocument when a
   * part of the document has another form than this version writes.
   */
  read(document: Document | null, now: Now): State
  /** A decision that follows from the loaded state alone, for example because a limit was lowered meanwhile. */
  resume(state: State, now: Now): Decision
  /** The names of all fields that the state has, for a store that has lost the document. */
  fields(state: State): Iterable<string>
  /** A field as it is stored; null when the state has no such field, and the stored one is deleted. */
  encode(state: State, field: string): Uint8Array | null
  /** Whether the state must stay in memory although no part of it is stored. */
  isInUse(state: State): boolean
  /** The monotonic time when `wake` must be called; Infinity for never. It may be too early, never too late. */
  wakeAtMs(state: State): number
  /** Decides on everything whose deadline has passed. Afterwards `wakeAtMs` is later than `now`. */
  wake(state: State, now: Now): Decision
}
