// The contents of a simulated store, and the effect of each call of the store port on them. The memory store and the
// replicated store share them. Every effect is atomic and immediate and depends only on the contents and its
// arguments, so that a list of effects can be replayed on an empty store. Delays, faults, replicas and connections
// are elsewhere.

import { assert } from '../../src/base/assert.ts'
import { viewBatch } from '../../src/protocol/records.ts'
import type {
  Append,
  Batch,
  Commit,
  Committed,
  Conflict,
  Damaged,
  Document,
  EpochStart,
  Fenced,
  Gone,
  Kept,
  Misplaced,
  Opened,
  Pass,
  Read,
  ReadLimits,
  Remade,
  Rewrite,
  Rewritten,
  Row,
  StreamId,
  Trimmed,
  Usage,
} from '../../src/store/store.ts'
import { passAfter } from '../../src/store/store.ts'

export interface Stream {
  epoch: number
  start: number
  end: number
  /** The end of the part that satisfies the acknowledgement rule. */
  highWatermark: number
  bytes: number
  epochs: EpochStart[]
  batches: Batch[]
  readonly rows: Map<string, Uint8Array>
  lastAttempt: string | null
  pass: Pass
  damage: { readonly offset: number; readonly message: string } | null
  /** The incarnation of the store under which the stream was last opened. */
  incarnation: string | null
}

export interface Contents {
  readonly streams: Map<StreamId, Stream>
  readonly documents: Map<string, Document>
  /** Keys of the documents that were lost, not removed. */
  readonly lost: Set<string>
  lastVersion: number
  /** The incarnation under which a document was last committed. */
  incarnation: string | null
}

/** The jump of epochs and versions under a new incarnation, which may have lost some that were in use. */
const JUMP = 1000

export function emptyContents(): Contents {
  return { streams: new Map(), documents: new Map(), lost: new Set(), lastVersion: 0, incarnation: null }
}

export function existing(contents: Contents, id: StreamId): Stream {
  const stream = contents.streams.get(id)
  assert(stream !== undefined, `the simulated store has no stream ${id}`)
  return stream
}

export function create(contents: Contents, streams: readonly StreamId[]): void {
  for (const id of streams) {
    if (contents.streams.has(id)) continue
    contents.streams.set(id, {
      epoch: 0,
      start: 0,
      end: 0,
      highWatermark: 0,
      bytes: 0,
      epochs: [],
      batches: [],
      rows: new Map(),
      lastAttempt: null,
      pass: { to: 0, until: 0 },
      damage: null,
      incarnation: null,
    })
  }
}

export function remove(contents: Contents, streams: readonly StreamId[]): void {
  for (const id of streams) contents.streams.delete(id)
}

export function open(
  contents: Contents,
  id: StreamId,
  known: number,
  floor: number,
  incarnation: string,
): Opened | Fenced | Gone {
  const stream = contents.streams.get(id)
  if (stream === undefined) return { kind: 'gone' }
  if (known !== 0 && stream.epoch > known) return { kind: 'fenced', epoch: stream.epoch }
  stream.epoch++
  if (stream.incarnation !== null && stream.incarnation !== incarnation) stream.epoch += JUMP
  stream.incarnation = incarnation
  if (stream.damage === null) stream.end = Math.max(stream.end, floor)
  stream.epochs = [...stream.epochs, { epoch: stream.epoch, startOffset: stream.end }]
  dropDeadEpochs(stream)
  return {
    kind: 'opened',
    epoch: stream.epoch,
    start: stream.start,
    end: stream.end,
    highWatermark: stream.highWatermark,
    emptyFrom: Math.max(stream.batches.at(-1)?.nextOffset ?? stream.start, stream.start),
    bytes: stream.bytes,
    epochs: [...stream.epochs],
    rows: new Map(stream.rows),
    lastAttempt: stream.lastAttempt,
    pass: stream.pass,
    incarnation,
    damage: stream.damage,
  }
}

/** Appends if epoch and offset match. The caller sets the high watermark. */
export function append(
  contents: Contents,
  asked: Append,
): { readonly kind: 'appended'; readonly end: number } | Misplaced | Fenced | Gone | Damaged {
  const stream = contents.streams.get(asked.stream)
  if (stream === undefined) return { kind: 'gone' }
  if (asked.epoch !== stream.epoch) return { kind: 'fenced', epoch: stream.epoch }
  if (stream.damage !== null) return { kind: 'damaged', message: stream.damage.message }
  if (asked.at !== stream.end) return { kind: 'misplaced', end: stream.end }
  return { kind: 'appended', end: put(stream, asked) }
}

/** Returns the end if the epoch matches. The caller sets the high watermark. */
export function confirm(
  contents: Contents,
  id: StreamId,
  epoch: number,
): { readonly kind: 'confirmed'; readonly end: number } | Fenced | Gone {
  const stream = contents.streams.get(id)
  if (stream === undefined) return { kind: 'gone' }
  if (epoch !== stream.epoch) return { kind: 'fenced', epoch: stream.epoch }
  return { kind: 'confirmed', end: stream.end }
}

/** Appends without checks of epoch and end; returns the end. */
export function put(stream: Stream, { batches, rows, attempt }: Append): number {
  for (const batch of batches) {
    stream.batches.push(batch)
    stream.bytes += batch.bytes.length
    stream.end = batch.nextOffset
  }
  applyRows(stream.rows, rows)
  stream.lastAttempt = attempt
  return stream.end
}

/** Adds the batches of a torn append when it comes back, at their positions by epoch and offset. */
export function putOrphan(contents: Contents, { stream: id, epoch, batches }: Append): void {
  const stream = contents.streams.get(id)
  if (stream === undefined) return
  for (const batch of batches) {
    const at = stream.batches.findIndex(other => {
      const its = viewBatch(other.bytes).leaderEpoch
      return its > epoch || (its === epoch && other.baseOffset >= batch.baseOffset)
    })
    // A batch of the same epoch at this offset or above wins: the orphan is dropped.
    if (at !== -1 && viewBatch(stream.batches[at]!.bytes).leaderEpoch === epoch) continue
    stream.batches.splice(at === -1 ? stream.batches.length : at, 0, batch)
    stream.bytes += batch.bytes.length
  }
}

/** Returns whether a batch is void: it is at or beyond the start of an epoch newer than its own, or beyond the end. */
export function isVoid(stream: Stream, batch: Batch): boolean {
  const { leaderEpoch } = viewBatch(batch.bytes)
  const next = stream.epochs.find(({ epoch }) => epoch > leaderEpoch)
  return batch.baseOffset >= (next?.startOffset ?? stream.end)
}

/** Removes the void batches. */
export function sweep(contents: Contents, id: StreamId): void {
  const stream = contents.streams.get(id)
  if (stream === undefined) return
  stream.batches = stream.batches.filter(batch => !isVoid(stream, batch))
  stream.bytes = stream.batches.reduce((sum, batch) => sum + batch.bytes.length, 0)
}

export function read(
  contents: Contents,
  id: StreamId,
  from: number,
  limits: ReadLimits,
  passesVoids = false,
): Read | Trimmed | Gone | Damaged {
  const stream = contents.streams.get(id)
  if (stream === undefined) return { kind: 'gone' }
  if (from < stream.start) return { kind: 'trimmed', start: stream.start }
  const readable = stream.damage === null ? Number.POSITIVE_INFINITY : stream.damage.offset
  const until = Math.min(limits.until, readable)
  const batches: Batch[] = []
  let bytes = 0
  for (const batch of stream.batches) {
    if (batch.nextOffset <= from || (passesVoids && isVoid(stream, batch))) continue
    if (batch.baseOffset >= until) break
    bytes += batch.bytes.length
    if (batches.length > 0 && bytes > limits.maxBytes) break
    batches.push({ ...batch, bytes: Uint8Array.from(batch.bytes) })
  }
  if (batches.length > 0) return { kind: 'read', batches, release: () => spoil(batches) }
  if (stream.damage === null || limits.until <= readable) return { kind: 'read', batches }
  return { kind: 'damaged', message: stream.damage.message }
}

/** Overwrites released bytes, so that a reader that still uses them notices that it released them too early. */
function spoil(batches: readonly Batch[]): void {
  for (const { bytes } of batches) bytes.fill(0xdd)
}

export function trim(
  contents: Contents,
  id: StreamId,
  epoch: number,
  before: number,
  rows: readonly Row[],
): { readonly kind: 'trimmed'; readonly start: number; readonly bytes: number } | Fenced | Gone {
  const stream = contents.streams.get(id)
  if (stream === undefined) return { kind: 'gone' }
  if (epoch !== stream.epoch) return { kind: 'fenced', epoch: stream.epoch }
  const { highWatermark, damage } = stream
  const limit = damage === null ? highWatermark : Math.min(highWatermark, damage.offset)
  stream.start = Math.max(stream.start, Math.min(before, limit))
  stream.batches = stream.batches.filter(batch => batch.nextOffset > stream.start)
  const { bytes } = stream
  stream.bytes = stream.batches.reduce((sum, batch) => sum + batch.bytes.length, 0)
  dropDeadEpochs(stream)
  applyRows(stream.rows, rows)
  return { kind: 'trimmed', start: stream.start, bytes: bytes - stream.bytes }
}

export function rewrite(contents: Contents, asked: Rewrite): Rewritten | Fenced | Gone | Damaged {
  const stream = contents.streams.get(asked.stream)
  if (stream === undefined) return { kind: 'gone' }
  if (asked.epoch !== stream.epoch) return { kind: 'fenced', epoch: stream.epoch }
  const { from, to, batches, rows } = asked
  if (stream.damage !== null && stream.damage.offset < to) return { kind: 'damaged', message: stream.damage.message }
  stream.pass = passAfter(asked, stream.start, stream.pass, stream.highWatermark)
  const kept = stream.batches.filter(({ nextOffset }) => nextOffset <= from)
  const above = stream.batches.filter(({ baseOffset }) => baseOffset >= to)
  const replaced = stream.batches.slice(kept.length, stream.batches.length - above.length)
  const isWhole = (replaced[0]?.baseOffset ?? from) >= (from === stream.start ? 0 : from)
  assert(isWhole && (replaced.at(-1)?.nextOffset ?? to) <= to, `a rewrite cuts a batch of ${asked.stream}`)
  assert(
    (batches[0]?.baseOffset ?? from) >= (kept.at(-1)?.nextOffset ?? 0),
    `a rewrite overlaps a batch of ${asked.stream}`,
  )
  assert(
    batches.length + above.length > 0 || replaced.length === 0,
    `a rewrite removes the newest batch of ${asked.stream}`,
  )
  stream.batches = [...kept, ...batches, ...above]
  stream.bytes = stream.batches.reduce((sum, batch) => sum + batch.bytes.length, 0)
  applyRows(stream.rows, rows)
  return { kind: 'rewritten', ...stream.pass, bytes: stream.bytes }
}

/** In this store a stream is lost completely or not at all. */
export function remake(contents: Contents, id: StreamId, epoch: number, end: number): Remade | Kept {
  if (contents.streams.has(id)) return { kind: 'kept' }
  create(contents, [id])
  Object.assign(existing(contents, id), { epoch, start: end, end, highWatermark: end })
  return { kind: 'remade', start: end }
}

export function load(contents: Contents, kind: string, name: string): Document | null {
  return contents.documents.get(documentKey(kind, name)) ?? null
}

export function list(contents: Contents, kind: string): Document[] {
  return [...contents.documents.values()].filter(document => document.kind === kind)
}

export function commit(contents: Contents, asked: Commit, incarnation: string): Committed | Conflict {
  const key = documentKey(asked.kind, asked.name)
  const before = contents.documents.get(key)
  if ((before?.version ?? 0) !== asked.expect) {
    if (contents.lost.has(key)) return { kind: 'conflict', version: 0, isLost: true }
    return { kind: 'conflict', version: before?.version ?? 0 }
  }
  contents.lost.delete(key)
  if (contents.incarnation !== null && contents.incarnation !== incarnation) contents.lastVersion += JUMP
  contents.incarnation = incarnation
  const version = ++contents.lastVersion
  if (asked.remove === true) {
    contents.documents.delete(key)
  } else {
    const fields = new Map(before?.fields)
    applyRows(fields, asked.changes)
    contents.documents.set(key, { kind: asked.kind, name: asked.name, version, fields })
  }
  return { kind: 'committed', version, incarnation }
}

function applyRows(rows: Map<string, Uint8Array>, changes: readonly Row[]): void {
  for (const { key, value } of changes) {
    if (value === null) rows.delete(key)
    else rows.set(key, value)
  }
}

/** Loses a document, as a Redis that evicts keys does. */
export function loseDocument(contents: Contents, kind: string, name: string): void {
  contents.documents.delete(documentKey(kind, name))
  contents.lost.add(documentKey(kind, name))
}

function documentKey(kind: string, name: string): string {
  return `${kind}\n${name}`
}

/** Removes epochs that own no live offset; the newest epoch stays. */
function dropDeadEpochs(stream: Stream): void {
  stream.epochs = stream.epochs.filter((_, i) => {
    const next = stream.epochs[i + 1]
    return next === undefined || (next.startOffset > stream.start && next.startOffset > stream.epochs[i]!.startOffset)
  })
}

export function usageOf({ streams }: Contents, names: readonly StreamId[]): readonly (Usage | null)[] {
  return names.map(name => {
    const stream = streams.get(name)
    return stream === undefined ? null : { entries: stream.batches.length, memoryBytes: null, isEmptied: false }
  })
}
