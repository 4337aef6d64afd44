// The port to the storage: streams of record batches in offset order, and small versioned documents. It does not know
// groups, topics, sequences or time. Callers and adapters share no objects and no callbacks.
//
// An adapter promises the following (store/conformance.ts tests each promise):
// - An append with its rows takes effect as a whole or not at all. An append that was acknowledged survives the
//   failures that the adapter's durability setting covers.
// - Appends, trims and commits that were called in one turn of the event loop may share one durable round. Each
//   returns its own outcome.
// - An outcome that is returned is certain. A thrown StoreUnavailable is certain too: nothing was written. A thrown
//   OutcomeUnknown is not certain: the caller must `open` the stream again and compare `lastAttempt` before any other
//   call.
// - A reader sees only data that is durable by the adapter's rules. Data that a reader has seen does not disappear
//   later, unless the leader trims or rewrites it.
// - A rewrite takes effect as a whole or not at all, with its rows. A read beside it returns the old batches or the new
//   ones, never a part of both and never a hole.
// - Calls on one stream or document take effect in call order.
// - The caller does not change bytes that it has passed to the store, and the store does not change bytes that it has
//   returned.
//
// If a call breaks the port's own rules (no batches, offsets that go back), that is a defect of the caller, and the
// adapter asserts.

import { assert } from '../base/assert.ts'

/**
 * `<topic id>:<partition>`. The topic id has Kafka's 22-character form, so the name contains no text that a user
 * chose.
 */
export type StreamId = string

export function streamId(topicId: string, partition: number): StreamId {
  return `${topicId}:${partition}`
}

/** One entry of a stream: a record batch of magic 2, stamped with its base offset and leader epoch. */
export interface Batch {
  readonly baseOffset: number
  /** The smallest base offset that the next batch may have: baseOffset + lastOffsetDelta + 1. */
  readonly nextOffset: number
  readonly recordCount: number
  readonly maxTimestamp: number
  readonly bytes: Uint8Array
}

/**
 * A small named value that is stored with a stream (a producer's sequences, a mark of the time index). A null value
 * deletes it.
 */
export interface Row {
  readonly key: string
  readonly value: Uint8Array | null
}

/** The first offset of a leader epoch. The oldest epoch may begin below the log start. */
export interface EpochStart {
  readonly epoch: number
  readonly startOffset: number
}

/** A stream whose lead the caller has taken. */
export interface Opened {
  readonly kind: 'opened'
  readonly epoch: number
  /** The log start: the first offset that may be read. */
  readonly start: number
  /** The offset that the next append must name. */
  readonly end: number
  /** Readers see only offsets below this one. In a store with one copy of the data it equals the end. */
  readonly highWatermark: number
  /**
   * The first offset of the empty range before the end, if the end was raised above the last batch and nothing was
   * appended since: the store has no batch from here to the end. Otherwise equal to the end.
   */
  readonly emptyFrom: number
  /** The size in bytes of the batches that are not trimmed. */
  readonly bytes: number
  /**
   * The epochs that own offsets at or above the log start, ascending. The newest epoch is the last one, even if it
   * owns no offset.
   */
  readonly epochs: readonly EpochStart[]
  readonly rows: ReadonlyMap<string, Uint8Array>
  readonly lastAttempt: string | null
  /** How far the last pass of rewrites has come. */
  readonly pass: Pass
  /**
   * Names the life of the store in which the stream was opened. It is another one whenever the store may have lost data
   * that it had acknowledged (a fail-over, a restart with older data), and perhaps more often.
   */
  readonly incarnation: string
  /**
   * Set if the store found damage: the stream is readable below `offset` and refuses appends. The message is for
   * people.
   */
  readonly damage: { readonly offset: number; readonly message: string } | null
}

export interface Append {
  readonly stream: StreamId
  readonly epoch: number
  /** Must be exactly the stream's end. */
  readonly at: number
  /**
   * Unique for this append; its retries have the same. If the outcome is unknown, the caller finds the append by it.
   */
  readonly attempt: string
  /**
   * At least one batch, in offset order without overlap (gaps are allowed). The first base offset is `at` or higher.
   */
  readonly batches: readonly Batch[]
  readonly rows: readonly Row[]
}

/**
 * One piece of a pass that replaces the batches of a stream from its log start on, for example by what log compaction
 * leaves. The pieces of a pass follow each other without a gap.
 */
export interface Rewrite {
  readonly stream: StreamId
  readonly epoch: number
  /**
   * Where the last rewrite ended (`to` of Pass), or the log start if a trim has passed it: the pass goes on. Or the log
   * start, once the last pass has reached its `until`: a new pass begins.
   */
  readonly from: number
  /** Above `from`, and not above the high watermark. No batch begins below it and ends above it. */
  readonly to: number
  /**
   * The batches that replace all that end above `from` and begin below `to`, in offset order without overlap (gaps are
   * allowed). A batch may have no record, and the one that contains the log start begins below it. Empty if nothing
   * stays. The newest batch of the log must stay, so that a reader below the high watermark finds a next place.
   */
  readonly batches: readonly Batch[]
  readonly rows: readonly Row[]
}

/** How far the last pass of rewrites has come. A stream that was never rewritten has a pass that ended at 0. */
export interface Pass {
  /** The offset at which the last rewrite ended. It may lie below the log start. */
  readonly to: number
  /** The offset that the pass must reach before another pass may begin at the log start. */
  readonly until: number
}

export interface Rewritten extends Pass {
  readonly kind: 'rewritten'
  /** The size in bytes of all batches of the stream after the rewrite. */
  readonly bytes: number
}

/** The stream does not exist: it was never created, or was removed. */
export interface Gone {
  readonly kind: 'gone'
}

/** The caller's epoch is not the stream's current epoch: another broker has taken the lead with `epoch`. */
export interface Fenced {
  readonly kind: 'fenced'
  readonly epoch: number
}

export interface Appended {
  readonly kind: 'appended'
  readonly end: number
  readonly highWatermark: number
}

/** Readers see only offsets below `highWatermark`. */
export interface Confirmed {
  readonly kind: 'confirmed'
  readonly highWatermark: number
}

/** The append's `at` was not the stream's end. `end` is the stream's end. */
export interface Misplaced {
  readonly kind: 'misplaced'
  readonly end: number
}

/** The stream is damaged and refuses appends. */
export interface Damaged {
  readonly kind: 'damaged'
  readonly message: string
}

export interface ReadLimits {
  /** The result ends before the batch that would exceed this size, but it always has the first batch. */
  readonly maxBytes: number
  /** The result has no batch with this base offset or a higher one (the high watermark). */
  readonly until: number
}

export interface Read {
  readonly kind: 'read'
  /**
   * In offset order. The first batch contains `from`; if `from` lies in a gap, it is the next batch. Empty at the
   * end.
   */
  readonly batches: readonly Batch[]
  /**
   * The caller may call it once, when it no longer needs the bytes of the batches: the store may then overwrite them.
   * If the caller does not call it, the bytes do not change.
   */
  readonly release?: () => void
}

/** `from` lies below the log start: retention has deleted it. */
export interface Trimmed {
  readonly kind: 'trimmed'
  readonly start: number
}

/** The stream exists again. It is empty, and begins and ends at `start`. */
export interface Remade {
  readonly kind: 'remade'
  readonly start: number
}

/** Nothing was changed: the stream has lost nothing, or the store cannot recreate a single stream. */
export interface Kept {
  readonly kind: 'kept'
}

/** The place of the stored data, and its size. */
export interface Space {
  /** For people: a folder, an address. */
  readonly place: string
  /** The size in bytes; -1 if the place has no fixed size. */
  readonly totalBytes: number
  /** The bytes that can still be written; -1 if the place has no fixed size. */
  readonly usableBytes: number
}

/** The result of a health check of one part of the store. */
export interface Pong {
  /**
   * `redis`: the Redis of the documents, and of the streams if they have no separate Redis. `storage-redis`: the
   * separate Redis of the streams. `store`: any other store.
   */
  readonly part: 'store' | 'redis' | 'storage-redis'
  /** For people: a folder, an address. */
  readonly place: string
  /** The reason why this part cannot be used, for the operator; null if it can be used. */
  readonly failure: string | null
  readonly tookMs: number
  /** How durable an acknowledged write is there, as far as the broker knows. */
  readonly durability: {
    readonly facts: Readonly<Record<string, string | number | boolean | null>>
    /** Sentences for people. Each names a way in which an acknowledged record can be lost or refused. */
    readonly warnings: readonly string[]
  }
}

/** The space that a stream takes in the store; null if the store has no number for it. */
export interface Usage {
  readonly entries: number | null
  /** The memory in bytes, with the data that is stored beside the batches. */
  readonly memoryBytes: number | null
  /** True if the stream must have batches and the store has lost all of them. */
  readonly isEmptied: boolean
}

export interface Document {
  readonly kind: string
  readonly name: string
  /**
   * 0 only in results of `list`: the key has another type of value than a document. Such a document has no fields,
   * `load` of it throws UnreadableDocument and `commit` throws StoreUnavailable.
   *
   * Rises with every commit. A version is never used twice, even if a document is deleted and created again. Kinds
   * with a fixed form (`acl`, `credential`) are an exception: their version may depend on the content only, so that
   * equal contents have equal versions.
   */
  readonly version: number
  readonly fields: ReadonlyMap<string, Uint8Array>
}

export interface Commit {
  /** One of the words in document-kinds.ts. */
  readonly kind: string
  /** May be text that a user chose (a group id). Adapters do not use it in key names. */
  readonly name: string
  /** The version that this writer knows; 0 if the document must not exist. */
  readonly expect: number
  /**
   * Fields to set, or to delete if the value is null. May be empty: the version rises even then, which fences writers
   * that know an older version.
   */
  readonly changes: readonly Row[]
  /** If true, the commit deletes the whole document, and `changes` is empty. */
  readonly remove?: boolean
  /**
   * If true, a store that has reached its memory limit accepts the commit if it can, as it accepts writes that add no
   * data. It is for the few bytes without which a client would have to stop.
   */
  readonly mayOverfill?: boolean
  /**
   * If true, the broker tells a client that the commit is stored. Then the required number of replicas must have the
   * commit, even if too few replicas have been connected since the start.
   */
  readonly isAcknowledged?: boolean
  /**
   * If true, the store synced the commit, and all that it wrote before, when the commit resolves, whatever its setting
   * for syncs is. It has no effect in a store whose losses show as another incarnation.
   */
  readonly isSynced?: boolean
  /**
   * The time in milliseconds after which the store may delete the document and stop listing it. If the store does not
   * delete it, its writer does.
   */
  readonly keepMs?: number
}

export interface Committed {
  readonly kind: 'committed'
  readonly version: number
  /**
   * Names the life of the server that keeps the document, in which the commit was made. It is another one whenever the
   * server may have lost commits with `isSynced` that it had acknowledged. Absent for kinds with a fixed form.
   */
  readonly incarnation?: string
}

/** Another broker changed the document. `version` is its current version; 0 if it does not exist. */
export interface Conflict {
  readonly kind: 'conflict'
  readonly version: number
  /** The document should exist but does not, and no broker removed it: the store has lost it. */
  readonly isLost?: true
}

/** The states of a circuit breaker, from the one that lets every call pass to the one that lets none pass. */
export const BREAKER_STATES = Object.freeze(['disabled', 'closed', 'half-open', 'open'] as const)
export type BreakerState = (typeof BREAKER_STATES)[number]

/** Returns the state that lets the fewest calls pass; `disabled` if the list is empty. */
export function strictest(states: readonly BreakerState[]): BreakerState {
  return BREAKER_STATES[Math.max(0, ...states.map(state => BREAKER_STATES.indexOf(state)))]!
}

export interface Store {
  /** One line for people: the engine, its location and its durability. */
  readonly description: string
  /**
   * The state of the circuit breaker between the caller and the place of the data, the strictest if there are several.
   * `disabled` if none is used, because it is switched off or nothing can be silent.
   */
  readonly breaker: BreakerState

  /**
   * Creates empty streams at offset 0 with epoch 0. Streams that exist do not change. Resolves when the streams are
   * durable.
   */
  create(streams: readonly StreamId[]): Promise<void>
  /** Removes streams and all their rows. Streams that do not exist are skipped. */
  remove(streams: readonly StreamId[]): Promise<void>
  /** Returns the ids of all streams. */
  streams(): Promise<readonly StreamId[]>
  space(): Promise<Space>
  /**
   * Returns the space that each of these streams takes, in the same order; null for a stream that does not exist. For
   * people: the numbers may be slightly out of date.
   */
  usage(streams: readonly StreamId[]): Promise<readonly (Usage | null)[]>
  /**
   * Checks the health of all parts of the store at the same time, for at most withinMs. It changes nothing and does
   * not reject: if a part is absent or silent, its result has a `failure`. Returns at least one result.
   */
  ping(withinMs: number): Promise<readonly Pong[]>

  /**
   * Takes the lead: raises the stream's epoch and fences every earlier leader. `known` is the last epoch that the
   * caller knows (0: the caller knows no epoch). If the stream has a higher epoch, the stream does not change and the
   * result is Fenced, unless `known` is 0. `floor` is the lowest end that the stream may have (0: no limit): the
   * caller knows that lower offsets have been used.
   */
  open(stream: StreamId, known: number, floor: number): Promise<Opened | Fenced | Gone>
  append(append: Append): Promise<Appended | Misplaced | Fenced | Gone | Damaged>
  /**
   * Tries again to make all batches as durable as the adapter's rules require, after an append or `open` returned a
   * high watermark below the end. If that fails, nothing changes.
   */
  confirm(stream: StreamId, epoch: number): Promise<Confirmed | Fenced | Gone>
  /** Returns Damaged if nothing can be read at `from`. A read that begins below the damage ends before the damage. */
  read(stream: StreamId, from: number, limits: ReadLimits): Promise<Read | Trimmed | Gone | Damaged>
  /**
   * Raises the log start to `before`, but not above the high watermark and not above the first damaged offset.
   * Deletes the batches that lie completely below the new log start, applies the rows and stores the log start. If
   * `before` is at or below the log start, it deletes no batch. `bytes` is the size of the batches that this call
   * deleted.
   */
  trim(
    stream: StreamId,
    epoch: number,
    before: number,
    rows: readonly Row[],
  ): Promise<{ readonly kind: 'trimmed'; readonly start: number; readonly bytes: number } | Fenced | Gone>

  /**
   * Replaces the batches of a part of the stream. End, high watermark and epochs do not change. Returns Damaged if the
   * stream is damaged at or below `to`. The caller keeps a piece within 1 MiB or one batch, because an append waits for
   * it.
   */
  rewrite(rewrite: Rewrite): Promise<Rewritten | Fenced | Gone | Damaged>

  /**
   * Recreates a stream if the store has lost the stream or all its batches. It is for an operator who accepts the
   * loss. The stream begins and ends at `end`, or higher if the store still knows higher offsets. The next epoch is
   * above `epoch` and above every epoch that the store still knows. Remaining rows are deleted.
   */
  remake(stream: StreamId, epoch: number, end: number): Promise<Remade | Kept>

  load(kind: string, name: string): Promise<Document | null>
  /**
   * Returns the document's version; 0 if the document does not exist. It is a cheap check for callers that follow the
   * changes of other brokers.
   */
  version(kind: string, name: string): Promise<number>
  list(kind: string): Promise<readonly Document[]>
  /** Resolves with the names of the documents of one kind, for a caller that loads many documents one by one. */
  names(kind: string): Promise<readonly string[]>
  /** Changes one document by compare-and-set. */
  commit(commit: Commit): Promise<Committed | Conflict>

  /**
   * Resolves when the store may have lost data that it had returned or acknowledged (a fail-over, a restart with
   * older data). The result is the list of streams that this broker has opened. The broker must open them again
   * before any other call, and must not trust what it remembers about them. A caller that waits for the next time
   * calls it again. Resolves to null when the store is closed.
   */
  renewed(): Promise<readonly StreamId[] | null>

  /** Finishes the accepted calls, makes them durable, and releases the folder or connections. */
  close(): Promise<void>
}

/** The store is unreachable or refuses the call (disk full, connection refused). Certainly nothing was written. */
export class StoreUnavailable extends Error {
  override readonly name: 'StoreUnavailable' | 'StoreContended' | 'ReplicasMissing' = 'StoreUnavailable'
}

/**
 * Other brokers kept changing the same document first until the time limit (contention.ts). Certainly nothing was
 * written. The message is for clients.
 */
export class StoreContended extends StoreUnavailable {
  override readonly name = 'StoreContended'
}

/** The store is reachable, but it refuses appends because it has fewer replicas than an append must reach. */
export class ReplicasMissing extends StoreUnavailable {
  override readonly name = 'ReplicasMissing'
}

/** The store may or may not have executed the call. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown'
}

/**
 * Another program or a later version wrote the document in a form that this version does not read. The message is a
 * sentence for clients that names the document and its defect. An adapter throws it if the key of a document has
 * another type of value; the reader of a document throws it if the content has another form.
 */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument'
}

/** Returns true if the error comes from the store and not from a defect of the caller. */
export function isStoreFailure(error: unknown): error is StoreUnavailable | OutcomeUnknown | UnreadableDocument {
  return error instanceof StoreUnavailable || error instanceof OutcomeUnknown || error instanceof UnreadableDocument
}

/** Asserts the properties of an append that every adapter relies on. */
export function checkAppend({ stream, at, batches }: Append): void {
  if (batches.length === 0) assert(false, `an append to ${stream} carries no batch`)
  let end = at
  for (const batch of batches) {
    const objection = objectionTo(batch, end)
    if (objection !== null) assert(false, `an append to ${stream} ${objection}`)
    end = batch.nextOffset
  }
}

/** Asserts the properties of a rewrite that every adapter relies on. */
export function checkRewrite({ stream, from, to, batches }: Rewrite): void {
  assert(from < to, `a rewrite of ${stream} ends at ${to}, which is not above its beginning ${from}`)
  // The batch that contains the log start begins below `from`.
  let end = Math.min(from, batches[0]?.baseOffset ?? from)
  for (const batch of batches) {
    const objection = objectionTo(batch, end)
    if (objection !== null) assert(false, `a rewrite of ${stream} ${objection}`)
    assert(batch.nextOffset > from, `a rewrite of ${stream} from ${from} has a batch that ends at ${batch.nextOffset}`)
    end = batch.nextOffset
  }
  assert(end <= to, `a rewrite of ${stream} up to ${to} has a batch that ends at ${end}`)
}

/**
 * Returns the pass after this rewrite. Asserts that the rewrite begins and ends where the port allows it. `start` is
 * the log start.
 */
export function passAfter({ stream, from, to }: Rewrite, start: number, last: Pass, highWatermark: number): Pass {
  const isNew = from === start && last.to >= last.until
  const isAllowed = isNew || from === Math.max(start, last.to)
  assert(isAllowed, `a rewrite of ${stream} begins at ${from}; the last one ended at ${last.to} of ${last.until}`)
  assert(to <= highWatermark, `a rewrite of ${stream} ends at ${to}, above the high watermark ${highWatermark}`)
  return { to, until: isNew && from < last.to ? last.to : last.until }
}

/**
 * Returns what is wrong with the batch, or null. It builds text only for a wrong batch, because it runs for every
 * append.
 */
function objectionTo({ baseOffset, nextOffset, bytes }: Batch, end: number): string | null {
  if (baseOffset < end) return `goes back from offset ${end} to ${baseOffset}`
  if (nextOffset <= baseOffset) return `has an empty batch at ${baseOffset}`
  return bytes.length > 0 ? null : `has no bytes at ${baseOffset}`
}
