// The port to where bytes rest: streams of record batches in offset order, and small versioned documents beside them.
// It knows nothing of groups, topics, sequences or time. It passes messages: no shared objects, no callbacks.
//
// An adapter promises the following (store/conformance.ts asks for each):
// - An append, with its rows, happens whole or not at all, and survives what the adapter's durability says.
// - Appends, trims and commits that were called in one turn may share one durable round; each gets its own outcome.
// - An outcome that is returned is certain. A thrown StoreUnavailable is certain too: nothing was written.
//   OutcomeUnknown is neither: `open` the stream again and compare `lastAttempt` before anything else.
// - A reader sees only what is durable by the adapter's rules: no answer is taken back later.
// - Calls on one stream or document take effect in call order.
// - Bytes handed over are immutable from then on, on both sides; so are bytes handed back.
//
// Handing over what breaks the port's own rules (no batches, offsets that go back) is the caller's mistake and asserts.

import { assert } from '../base/assert.ts'

/** `<topic id>:<partition>`; the topic id is Kafka's 22-character form, so the name holds no user's string. */
export type StreamId = string

export function streamId(topicId: string, partition: number): StreamId {
  return `${topicId}:${partition}`
}

/** One entry of a stream: a record batch of magic 2, stamped with its base offset and leader epoch. */
export interface Batch {
  readonly baseOffset: number
  /** Base offset of whatever follows: baseOffset + lastOffsetDelta + 1. */
  readonly nextOffset: number
  readonly recordCount: number
  readonly maxTimestamp: number
  readonly bytes: Uint8Array
}

/** A small named value kept with a stream (a producer's sequences, a mark of the time index). Null deletes it. */
export interface Row {
  readonly key: string
  readonly value: Uint8Array | null
}

/** Where an epoch begins. The oldest one's start may lie below the log start. */
export interface EpochStart {
  readonly epoch: number
  readonly startOffset: number
}

/** A stream whose lead has been taken. */
export interface Opened {
  readonly kind: 'opened'
  readonly epoch: number
  /** The log start: the first offset that may be read. */
  readonly start: number
  /** The offset that the next append must name. */
  readonly end: number
  /** Readers stop here. On a store of one copy it equals the end. */
  readonly highWatermark: number
  /**
   * Where the end was raised above the last batch, and nothing was appended since, the offset behind that batch: from
   * there to the end nothing was ever kept, or the store has lost it. Otherwise the end.
   */
  readonly emptyFrom: number
  /** Bytes of the batches that are live. */
  readonly bytes: number
  /** Epochs that own live offsets, ascending, the newest last even when it owns none. */
  readonly epochs: readonly EpochStart[]
  readonly rows: ReadonlyMap<string, Uint8Array>
  readonly lastAttempt: string | null
  /** Set when damage was met: the stream is readable below `offset` and refuses appends. The sentence is for people. */
  readonly damage: { readonly offset: number; readonly message: string } | null
}

export interface Append {
  readonly stream: StreamId
  readonly epoch: number
  /** Must be exactly the stream's end. */
  readonly at: number
  /** Unique for this append (not for its retries); lets an unknown outcome be settled. */
  readonly attempt: string
  /** At least one, in offset order without overlap (gaps are fine), the first at `at` or above. */
  readonly batches: readonly Batch[]
  readonly rows: readonly Row[]
}

/** The stream does not exist: it was never created, or was removed. */
export interface Gone {
  readonly kind: 'gone'
}

/** The epoch is not the stream's current one, `epoch`: another broker holds a newer lead. */
export interface Fenced {
  readonly kind: 'fenced'
  readonly epoch: number
}

export interface Appended {
  readonly kind: 'appended'
  readonly end: number
  readonly highWatermark: number
}

/** Readers stop at `highWatermark`. */
export interface Confirmed {
  readonly kind: 'confirmed'
  readonly highWatermark: number
}

/** `at` was not the stream's end. */
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
  /** The answer stops before the batch that would pass this, but never before its first batch. */
  readonly maxBytes: number
  /** No batch whose base offset is at or above this (the high watermark). */
  readonly until: number
}

export interface Read {
  readonly kind: 'read'
  /** In order. The first covers `from`, or is the next one where `from` lies in a gap. Empty at the end. */
  readonly batches: readonly Batch[]
  /**
   * May be called once, when the caller no longer looks at the bytes of the batches: the store may put something else
   * there. If it is not called, they stay as they are.
   */
  readonly release?: () => void
}

/** `from` lies below the log start (retention passed it). */
export interface Trimmed {
  readonly kind: 'trimmed'
  readonly start: number
}

/** The stream is there again, empty, and begins and ends at `start`. */
export interface Remade {
  readonly kind: 'remade'
  readonly start: number
}

/** Nothing was changed: the stream has lost nothing, or the store cannot lose one stream alone. */
export interface Kept {
  readonly kind: 'kept'
}

/** Where bytes rest, and how much room there is. */
export interface Space {
  /** For people: a folder, an address. */
  readonly place: string
  /** -1: the place has no size. */
  readonly totalBytes: number
  /** Bytes that may still be written; -1 if the place has no size. */
  readonly usableBytes: number
}

/** The answer of one part of the store when it was asked for a sign of life. */
export interface Pong {
  /**
   * `redis`: the Redis of documents, and of streams unless those have their own; `storage-redis`: that one; `store`:
   * any other.
   */
  readonly part: 'store' | 'redis' | 'storage-redis'
  /** For people: a folder, an address. */
  readonly place: string
  /** Why it cannot be used, for the operator; null when it can. */
  readonly failure: string | null
  readonly tookMs: number
  /** The durability of an acknowledgement there, as far as it is known. */
  readonly durability: {
    readonly facts: Readonly<Record<string, string | number | boolean | null>>
    /** Sentences, each a way in which an acknowledged record can be lost or refused. */
    readonly warnings: readonly string[]
  }
}

/** The space that a stream takes in the store; null if the store has no number for it. */
export interface Usage {
  readonly entries: number | null
  /** With the data that is kept beside the batches. */
  readonly memoryBytes: number | null
  /** There must be batches, and the store has none of them. */
  readonly isEmptied: boolean
}

export interface Document {
  readonly kind: string
  readonly name: string
  /**
   * 0, which only `list` answers, stands for a place that holds something else than a document: it has no fields,
   * `load` of it throws UnreadableDocument and `commit` throws StoreUnavailable.
   *
   * Rises with every commit and is never used twice, not even by a document that was deleted and made again. Of kinds
   * whose shape is fixed (`acl`, `credential`) it may only tell what the document holds: equal contents, equal
   * versions.
   */
  readonly version: number
  readonly fields: ReadonlyMap<string, Uint8Array>
}

export interface Commit {
  /** One of the words in document-kinds.ts. */
  readonly kind: string
  /** May be a user's string (a group id); adapters keep it out of key names. */
  readonly name: string
  /** The version this writer knows; 0 when the document must not exist. */
  readonly expect: number
  /** Fields to set, or with null to delete. May be empty: the version rises even then, which fences older writers. */
  readonly changes: readonly Row[]
  /** Deletes the whole document; `changes` is then empty. */
  readonly remove?: boolean
  /**
   * Asks a store that has reached its limit to accept the commit if it can, as it accepts writes that add nothing. It
   * is for the few bytes that stop a client that could otherwise continue.
   */
  readonly mayOverfill?: boolean
  /**
   * A client is told that it is stored. Then the replicas that are waited for must have it, also while too few of them
   * have been connected since the start.
   */
  readonly isAcknowledged?: boolean
  /**
   * Keep the document for these milliseconds only. Afterwards a store may delete it by itself and stop listing it;
   * otherwise its writer deletes it.
   */
  readonly keepMs?: number
}

export interface Committed {
  readonly kind: 'committed'
  readonly version: number
}

/** Another broker wrote the document; `version` is its present version (0: it does not exist). */
export interface Conflict {
  readonly kind: 'conflict'
  readonly version: number
  /** The document should exist but does not, and no broker removed it: the store has lost it. */
  readonly isLost?: true
}

export interface Store {
  /** One line for people: the engine, where it is, and its durability. */
  readonly description: string

  /** Makes empty streams at offset 0, epoch 0. Those that exist stay as they are. Durable when it resolves. */
  create(streams: readonly StreamId[]): Promise<void>
  /** Removes streams and all their rows. Streams that do not exist are skipped. */
  remove(streams: readonly StreamId[]): Promise<void>
  /** Every stream that exists. */
  streams(): Promise<readonly StreamId[]>
  space(): Promise<Space>
  /**
   * The room that each of these streams takes, in order; null for one that does not exist. For people: it may be a
   * little old.
   */
  usage(streams: readonly StreamId[]): Promise<readonly (Usage | null)[]>
  /**
   * Asks every part of the store for a sign of life, all at once, for at most withinMs. It changes nothing and does not
   * reject: the answer for a part that is absent or silent has a `failure`. At least one answer.
   */
  ping(withinMs: number): Promise<readonly Pong[]>

  /**
   * Takes the lead: raises the epoch above the stream's and fences every earlier holder. `known` is the last epoch that
   * the caller knows (0: none). A stream with a higher epoch does not change and answers Fenced, unless `known` is 0.
   * `floor` raises the end to at least this offset (0: leaves it), if lower offsets are known to have been used.
   */
  open(stream: StreamId, known: number, floor: number): Promise<Opened | Fenced | Gone>
  append(append: Append): Promise<Appended | Misplaced | Fenced | Gone | Damaged>
  /**
   * Asks again that all batches become as durable as the adapter's rules require, after an append or an opening that
   * answered with a high watermark below the end. If that fails, nothing changes.
   */
  confirm(stream: StreamId, epoch: number): Promise<Confirmed | Fenced | Gone>
  /** Damaged if nothing can be read at `from`. A read that begins below the damage ends before it. */
  read(stream: StreamId, from: number, limits: ReadLimits): Promise<Read | Trimmed | Gone | Damaged>
  /**
   * Raises the log start to `before`, but not above the high watermark and not above the first damaged offset. Drops
   * the batches that lie wholly below the new log start, applies the rows and stores the log start. A trim at or below
   * the log start drops nothing. `bytes` counts the batches that this call dropped.
   */
  trim(
    stream: StreamId,
    epoch: number,
    before: number,
    rows: readonly Row[],
  ): Promise<{ readonly kind: 'trimmed'; readonly start: number; readonly bytes: number } | Fenced | Gone>

  /**
   * Makes a stream again that the store has lost, or whose batches it has all lost: for an operator who accepts the
   * loss. It begins and ends at `end`, or higher if the store still knows higher offsets. The next epoch is above
   * `epoch` and above every epoch that the store still knows. Remaining rows are dropped.
   */
  remake(stream: StreamId, epoch: number, end: number): Promise<Remade | Kept>

  load(kind: string, name: string): Promise<Document | null>
  /** The document's version, 0 if it does not exist: a cheap look for callers that follow the writes of others. */
  version(kind: string, name: string): Promise<number>
  list(kind: string): Promise<readonly Document[]>
  /** Compare-and-set of one document. */
  commit(commit: Commit): Promise<Committed | Conflict>

  /**
   * Resolves when the store may have gone back to a state older than its answers (a fail-over, a restart with older
   * data). The result is the streams that this broker has opened. It must open them again before any other call, and
   * must not trust what it remembers of them. Call again to wait for the next time. Null once the store is closed.
   */
  renewed(): Promise<readonly StreamId[] | null>

  /** Finishes the accepted calls, makes them durable, and releases the folder or connections. */
  close(): Promise<void>
}

/** The store is away or refuses (disk full, connection refused): certainly nothing was written. */
export class StoreUnavailable extends Error {
  override readonly name: 'StoreUnavailable' | 'StoreContended' | 'ReplicasMissing' = 'StoreUnavailable'
}

/**
 * The store answers, but other brokers changed the same document first until the time was up (contention.ts): certainly
 * nothing was written. The message is for clients.
 */
export class StoreContended extends StoreUnavailable {
  override readonly name = 'StoreContended'
}

/** The store answers and takes no append while it has fewer replicas than an append must reach. */
export class ReplicasMissing extends StoreUnavailable {
  override readonly name = 'ReplicasMissing'
}

/** The store may or may not have done it. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown'
}

/**
 * Another program or a later version wrote the document in a form that this version does not read. The message is a
 * sentence for clients that names the document and what is wrong with it. An adapter throws it if the key of a document
 * holds another type of value; the reader of a document throws it if the content has another form.
 */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument'
}

/** The store's own trouble, not a defect of its caller. */
export function isStoreFailure(error: unknown): error is StoreUnavailable | OutcomeUnknown | UnreadableDocument {
  return error instanceof StoreUnavailable || error instanceof OutcomeUnknown || error instanceof UnreadableDocument
}

/** Asserts what every adapter takes for granted of an append. */
export function checkAppend({ stream, at, batches }: Append): void {
  if (batches.length === 0) assert(false, `an append to ${stream} carries no batch`)
  let end = at
  for (const batch of batches) {
    const objection = objectionTo(batch, end)
    if (objection !== null) assert(false, `an append to ${stream} ${objection}`)
    end = batch.nextOffset
  }
}

/** Words only where something is wrong: every append is asked. */
function objectionTo({ baseOffset, nextOffset, bytes }: Batch, end: number): string | null {
  if (baseOffset < end) return `goes back from offset ${end} to ${baseOffset}`
  if (nextOffset <= baseOffset) return `has an empty batch at ${baseOffset}`
  return bytes.length > 0 ? null : `has no bytes at ${baseOffset}`
}
