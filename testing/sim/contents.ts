// The contents of a simulated store, and how each verb of the port changes them: the memory store's and the replicated
// store's common ground. Every effect is whole, immediate and a function of what is there and of its arguments, so that
// a list of effects can be played again on an empty store. Delays, faults, copies and connections are not here.

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
  Read,
  ReadLimits,
  Remade,
  Row,
  StreamId,
  Trimmed,
  Usage,
} from '../../src/store/store.ts'

export interface Stream {
  epoch: number
  start: number
  end: number
  /** The end of the part that is known to be where the acknowledgement rule wants it. */
  highWatermark: number
  bytes: number
  epochs: EpochStart[]
  batches: Batch[]
  readonly rows: Map<string, Uint8Array>
  lastAttempt: string | null
  damage: { readonly offset: number; readonly message: string } | null
  /** Under which incarnation of the store it was opened last. */
  incarnation: string | null
}

export interface Contents {
  readonly streams: Map<StreamId, Stream>
  readonly documents: Map<string, Document>
  /** Keys of those that were lost instead of removed. */
  readonly lost: Set<string>
  lastVersion: number
  /** Under which incarnation a document was committed last. */
  incarnation: string | null
}

/** How far epochs and versions jump under a new incarnation, which may have forgotten some that were in use. */
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
    damage: stream.damage,
  }
}

/** The high watermark is the caller's affair. */
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

/** The high watermark is the caller's affair. */
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

/** Appends whatever the stream's epoch and end are; returns the end. */
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

/**
 * Adds to the stream what a torn append brings when it comes back: its batches, at their places by epoch and offset.
 */
export function putOrphan(contents: Contents, { stream: id, epoch, batches }: Append): void {
  const stream = contents.streams.get(id)
  if (stream === undefined) return
  for (const batch of batches) {
    const at = stream.batches.findIndex(other => {
      const its = viewBatch(other.bytes).leaderEpoch
      return its > epoch || (its === epoch && other.baseOffset >= batch.baseOffset)
    })
    // An id that is there, or the newest of all, takes its place as ever.
    if (at !== -1 && viewBatch(stream.batches[at]!.bytes).leaderEpoch === epoch) continue
    stream.batches.splice(at === -1 ? stream.batches.length : at, 0, batch)
    stream.bytes += batch.bytes.length
  }
}

/**
 * Whether a batch lies where nothing counts: at or beyond the start of an epoch that is newer than its own, or beyond
 * the end.
 */
export function isVoid(stream: Stream, batch: Batch): boolean {
  const { leaderEpoch } = viewBatch(batch.bytes)
  const next = stream.epochs.find(({ epoch }) => epoch > leaderEpoch)
  return batch.baseOffset >= (next?.startOffset ?? stream.end)
}

/** Takes away what lies there. */
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

/** A reader that still looks at these bytes has released them too early, and now sees it. */
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

/** Here a stream is lost whole or not at all. */
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
  return { kind: 'committed', version }
}

function applyRows(rows: Map<string, Uint8Array>, changes: readonly Row[]): void {
  for (const { key, value } of changes) {
    if (value === null) rows.delete(key)
    else rows.set(key, value)
  }
}

/** As a Redis does that evicts keys. */
export function loseDocument(contents: Contents, kind: string, name: string): void {
  contents.documents.delete(documentKey(kind, name))
  contents.lost.add(documentKey(kind, name))
}

function documentKey(kind: string, name: string): string {
  return `${kind}\n${name}`
}

/** Forgets epochs that own no live offset; the newest stays. */
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
