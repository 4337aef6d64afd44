// The contents of the store in memory, built from journal entries: streams, their rows, documents. Only `apply`
// changes them, both for a call that was just decided and for a replayed round. Batches that are not in lmdb yet are
// overlays here; all others are read from lmdb. Nothing here waits, and nothing here is durable.

import { assert } from '../../base/assert.ts'
import type { EpochStart, Row, StreamId } from '../store.ts'
import type { Entry } from './entry.ts'
import { overlaid, Pieces, runAbove, runBelow } from './pieces.ts'
import { bytesBelow, lastRun, type Run, runsFrom, runsOf } from './run-index.ts'
import type { Tables } from './tables.ts'

export type Overlay = Map<string, Uint8Array | null>

/** Bytes that rewrites removed: the runs below `at` end that number of bytes before the runs above it begin. */
export interface Gap {
  readonly at: number
  /** Negative if what a rewrite left is larger than what was there. */
  readonly bytes: number
}

export interface Stream {
  readonly number: number
  readonly name: StreamId
  epoch: number
  /**
   * The epoch of a lead that was taken while nothing could be written; null if `epoch` is the lead. It becomes an
   * entry with the next append. After a crash the next start may use the same number again, because nothing was
   * written under it.
   */
  claim: number | null
  start: number
  end: number
  epochs: readonly EpochStart[]
  lastAttempt: string | null
  damage: { readonly offset: number; readonly message: string } | null
  /** The size in bytes of all batches that were ever appended, and of those below the start. */
  appendedBytes: number
  droppedBytes: number
  /** Ascending. They lie above the first batch that is readable. */
  gaps: readonly Gap[]
  /** Where the last rewrite ended, and the size in bytes of all batches before it, like `before` of runs. */
  pass: { readonly to: number; readonly bytes: number }
  /** The state that readers may see: like the fields above, but only with acknowledged rounds. */
  visible: boolean
  visibleStart: number
  visibleEnd: number
  /** lmdb contains no run that lies completely below this offset. */
  sweptTo: number
  recent: Run[]
  moved: Map<number, Run>
  /** The rewrites that are not in lmdb yet; null if there was none since the start. */
  pieces: Pieces | null
  /** The rows that changed since the last checkpoint was taken, and the rows of a checkpoint that is being written. */
  rows: Overlay
  rowsStoring: Overlay | null
  dirty: boolean
  removed: boolean
}

/** A document without its stored fields. */
export interface Head {
  readonly number: number
  readonly kind: string
  readonly name: string
  version: number
  /** The fields that changed since the last checkpoint was taken; null if none did, as in most of them. */
  changes: Overlay | null
  changesStoring: Overlay | null
  dirty: boolean
}

/** The effects of a round beside the changes of the contents. The functions of each list run in order. */
export interface Effects {
  /** The file that holds the round. */
  readonly file: number
  /**
   * The bytes of payload so far. Positions of runs are relative to the payload; the payload's position in the file is
   * added when it is known.
   */
  payloadBytes: number
  readonly runs: Run[]
  /** Undoes the round, the last step first. */
  readonly undo: (() => void)[]
  /** Shows the round to readers. */
  readonly reveal: (() => void)[]
}

export interface LiveBytes {
  /** Adds to the bytes of batches in a journal file that a reader may still need. */
  count(file: number, bytes: number): void
}

export class Contents {
  readonly streams = new Map<StreamId, Stream>()
  readonly streamsByNumber = new Map<number, Stream>()
  readonly documents = new Map<string, Map<string, Head>>()
  nextStream = 1
  nextDocument = 1
  lastVersion = 0
  /** The streams that changed since the last checkpoint was taken. */
  dirtyStreams = new Set<Stream>()
  dirtyHeads = new Set<Head>()
  removedStreams: Stream[] = []
  removedHeads: Head[] = []
  recentRuns = 0

  readonly #tables: Tables
  readonly #live: LiveBytes

  constructor(tables: Tables, live: LiveBytes) {
    this.#tables = tables
    this.#live = live
  }

  stream(name: StreamId): Stream | null {
    return this.streams.get(name) ?? null
  }

  head(kind: string, name: string): Head | null {
    return this.documents.get(kind)?.get(name) ?? null
  }

  addStream(stream: Stream): void {
    this.streams.set(stream.name, stream)
    this.streamsByNumber.set(stream.number, stream)
    this.nextStream = Math.max(this.nextStream, stream.number + 1)
  }

  addHead(head: Head): void {
    const named = this.documents.get(head.kind) ?? new Map<string, Head>()
    this.documents.set(head.kind, named.set(head.name, head))
    this.nextDocument = Math.max(this.nextDocument, head.number + 1)
  }

  /** Yields the runs with offsets at or above this one, as the next call finds them. */
  runsFrom(stream: Stream, offset: number): Iterable<Run> {
    return this.#overlaid(stream, stream.pieces?.decided, offset)
  }

  /** The same, as readers may see them. */
  visibleRuns(stream: Stream, offset: number): Iterable<Run> {
    return this.#overlaid(stream, stream.pieces?.visible, offset)
  }

  #overlaid(stream: Stream, ranges: Pieces['decided'] | undefined, offset: number): Iterable<Run> {
    const below = (from: number) => runsFrom(this.#tables.runs, stream, from)
    return ranges === undefined || ranges.length === 0 ? below(offset) : overlaid(ranges, below, offset)
  }

  countLive(file: number, bytes: number): void {
    this.#live.count(file, bytes)
  }

  /** Returns the offset from which on the stream has no batches up to its end. */
  emptyFrom(stream: Stream): number {
    const { epochs, start, end } = stream
    // If the newest lead has appended, the end is the end of the last batch.
    if (end === start || epochs.at(-1)?.startOffset !== end) return end
    return Math.max(start, lastRun(this.#tables.runs, stream, end)?.nextOffset ?? start)
  }

  apply(entry: Entry, effects: Effects): void {
    switch (entry.type) {
      case 'create':
        this.#create(entry, effects)
        break
      case 'remove':
        this.#remove(this.#numbered(entry.stream), effects)
        break
      case 'open':
        this.#open(this.#numbered(entry.stream), entry.epoch, entry.end, effects)
        break
      case 'append':
        this.#append(this.#numbered(entry.stream), entry, effects)
        break
      case 'trim':
        this.#trim(this.#numbered(entry.stream), entry.start, entry.rows, effects)
        break
      case 'rewrite':
        this.#rewrite(this.#numbered(entry.stream), entry, effects)
        break
      case 'commit':
        this.#commit(entry, effects)
        break
      case 'move':
        this.#move(entry, effects)
        break
    }
  }

  #numbered(number: number): Stream {
    const stream = this.streamsByNumber.get(number)
    assert(stream !== undefined, `the journal names stream ${number}, which does not exist`)
    return stream
  }

  #touch(stream: Stream): void {
    stream.dirty = true
    this.dirtyStreams.add(stream)
  }

  #create({ stream: number, name }: Entry & { type: 'create' }, { undo, reveal }: Effects): void {
    const stream = newStream(number, name)
    this.addStream(stream)
    this.#touch(stream)
    undo.push(() => {
      stream.removed = true
      this.streams.delete(name)
      this.streamsByNumber.delete(number)
      this.dirtyStreams.delete(stream)
    })
    reveal.push(() => {
      stream.visible = true
    })
  }

  #remove(stream: Stream, { undo, reveal }: Effects): void {
    stream.removed = true
    this.streams.delete(stream.name)
    this.streamsByNumber.delete(stream.number)
    this.dirtyStreams.delete(stream)
    this.removedStreams.push(stream)
    undo.push(() => {
      stream.removed = false
      this.addStream(stream)
      if (stream.dirty) this.dirtyStreams.add(stream)
      this.removedStreams = this.removedStreams.filter(other => other !== stream)
    })
    reveal.push(() => {
      stream.visible = false
      this.#dropRecent(stream, Number.POSITIVE_INFINITY)
    })
  }

  #open(stream: Stream, epoch: number, end: number, { undo, reveal }: Effects): void {
    const before = { epoch: stream.epoch, claim: stream.claim, end: stream.end, epochs: stream.epochs }
    stream.epoch = epoch
    stream.claim = null
    stream.end = end
    stream.epochs = epochsWith(stream, epoch, end)
    this.#touch(stream)
    undo.push(() => Object.assign(stream, before))
    reveal.push(() => {
      stream.visibleEnd = Math.max(stream.visibleEnd, end)
    })
  }

  #append(stream: Stream, entry: Entry & { type: 'append' }, effects: Effects): void {
    const before = {
      epoch: stream.epoch,
      end: stream.end,
      lastAttempt: stream.lastAttempt,
      appendedBytes: stream.appendedBytes,
    }
    const runs = runsOf(entry.batches, effects.file, effects.payloadBytes, stream.appendedBytes)
    let bytes = 0
    for (const run of runs) {
      bytes += run.length
      stream.recent.push(run)
      effects.runs.push(run)
    }
    this.recentRuns += runs.length
    const end = runs[runs.length - 1]!.nextOffset
    effects.payloadBytes += bytes
    stream.appendedBytes += bytes
    stream.epoch = entry.epoch
    stream.end = end
    stream.lastAttempt = entry.attempt
    this.#live.count(effects.file, bytes)
    this.#touch(stream)
    const restoreRows = setRows(stream.rows, entry.rows)
    effects.undo.push(() => {
      Object.assign(stream, before)
      stream.recent.length -= runs.length
      this.recentRuns -= runs.length
      this.#live.count(effects.file, -bytes)
      restoreRows()
    })
    effects.reveal.push(() => {
      stream.visibleEnd = end
    })
  }

  #trim(stream: Stream, start: number, rows: readonly Row[], effects: Effects): void {
    const { droppedBytes, gaps, pass, epochs } = stream
    const before = { start: stream.start, droppedBytes, gaps, pass, epochs }
    if (start > stream.start) {
      const [first] = this.runsFrom(stream, start)
      const firstOffset = first?.baseOffset ?? Number.POSITIVE_INFINITY
      stream.start = start
      stream.droppedBytes = first === undefined ? stream.appendedBytes : first.before + bytesBelow(first, start)
      stream.gaps = gaps.filter(({ at }) => at > firstOffset)
      // The gap behind the pass was dropped with everything before it.
      if (firstOffset >= pass.to) stream.pass = { to: pass.to, bytes: stream.droppedBytes }
      stream.epochs = liveEpochs(stream.epochs, start)
    }
    this.#touch(stream)
    const restoreRows = setRows(stream.rows, rows)
    effects.undo.push(() => {
      Object.assign(stream, before)
      restoreRows()
    })
    effects.reveal.push(() => {
      stream.visibleStart = Math.max(stream.visibleStart, start)
      this.#dropRecent(stream, stream.visibleStart)
    })
  }

  #rewrite(stream: Stream, entry: Entry & { type: 'rewrite' }, effects: Effects): void {
    const { from, to } = entry
    const before = { gaps: stream.gaps, pass: stream.pass }
    const isFromStart = from === stream.start
    const bytesBefore = isFromStart ? stream.droppedBytes : stream.pass.bytes
    const written = runsOf(entry.batches, effects.file, effects.payloadBytes, bytesBefore)
    const runs = [...written]
    const range = { from, to }
    let next: Run | null = null
    for (const run of this.runsFrom(stream, from)) {
      next = run.baseOffset >= to ? run : runAbove(run, to)
      if (run.baseOffset >= to) break
      // A run may begin before the piece and end behind it. The batches that the piece leaves alone stay readable.
      range.from = Math.min(range.from, run.baseOffset)
      range.to = Math.max(range.to, run.nextOffset)
      const isNew = effects.runs.includes(run)
      const head = run.baseOffset < from && !isFromStart ? runBelow(run, from) : null
      if (head !== null) runs.unshift(head)
      if (next !== null) runs.push(next)
      // The positions of what this round writes are not final yet.
      if (isNew && head !== null) effects.runs.push(head)
      if (isNew && next !== null) effects.runs.push(next)
      if (next !== null) break
    }
    const bytes = written.reduce((sum, run) => sum + run.length, 0)
    effects.runs.push(...written)
    effects.payloadBytes += bytes
    this.#live.count(effects.file, bytes)
    stream.pieces ??= new Pieces()
    const { pieces } = stream
    pieces.add({ ...range, runs, written })
    this.recentRuns += runs.length
    const gap = { at: to, bytes: (next?.before ?? stream.appendedBytes) - bytesBefore - bytes }
    const nextOffset = next?.baseOffset ?? Number.POSITIVE_INFINITY
    const rest = stream.gaps.filter(({ at }) => at > nextOffset)
    stream.gaps = gap.bytes === 0 ? rest : [gap, ...rest]
    stream.pass = { to, bytes: bytesBefore + bytes }
    this.#touch(stream)
    const restoreRows = setRows(stream.rows, entry.rows)
    effects.undo.push(() => {
      Object.assign(stream, before)
      pieces.takeBack()
      this.recentRuns -= runs.length
      this.#live.count(effects.file, -bytes)
      restoreRows()
    })
    effects.reveal.push(() => pieces.show())
  }

  #commit(entry: Entry & { type: 'commit' }, { undo }: Effects): void {
    const { document: number, version, removed, kind, name, changes } = entry
    const lastVersion = this.lastVersion
    this.lastVersion = Math.max(lastVersion, version)
    undo.push(() => {
      this.lastVersion = lastVersion
    })
    const known = this.head(kind, name)
    if (removed) {
      if (known === null) return
      this.documents.get(kind)!.delete(name)
      this.dirtyHeads.delete(known)
      this.removedHeads.push(known)
      undo.push(() => {
        this.addHead(known)
        if (known.dirty) this.dirtyHeads.add(known)
        this.removedHeads = this.removedHeads.filter(other => other !== known)
      })
      return
    }
    const head = known ?? { number, kind, name, version: 0, changes: null, changesStoring: null, dirty: true }
    if (known === null) this.addHead(head)
    const before = head.version
    head.version = version
    head.dirty = true
    this.dirtyHeads.add(head)
    head.changes ??= new Map()
    const restoreChanges = setRows(head.changes, changes)
    undo.push(() => {
      head.version = before
      restoreChanges()
      if (known !== null) return
      this.documents.get(kind)!.delete(name)
      this.dirtyHeads.delete(head)
    })
  }

  #move({ stream: number, batches }: Entry & { type: 'move' }, effects: Effects): void {
    const stream = this.#numbered(number)
    const base = batches[0]!.baseOffset
    const [old] = this.runsFrom(stream, base)
    assert(old?.baseOffset === base, `a run at ${base} of ${stream.name} is moved that is not there`)
    const run: Run = { ...old, file: effects.file, position: effects.payloadBytes, storing: false }
    effects.payloadBytes += run.length
    effects.runs.push(run)
    this.#live.count(run.file, run.length)
    effects.undo.push(() => this.#live.count(run.file, -run.length))
    effects.reveal.push(() => {
      if (stream.removed) return this.#live.count(run.file, -run.length)
      stream.moved.set(base, run)
      this.#touch(stream)
    })
  }

  /**
   * Drops runs below the offset that are not in lmdb yet. A run that a checkpoint is writing stays: it is swept from
   * lmdb later.
   */
  #dropRecent(stream: Stream, offset: number): void {
    const { recent } = stream
    let count = 0
    while (count < recent.length && recent[count]!.nextOffset <= offset && !recent[count]!.storing) {
      this.#live.count(recent[count]!.file, -recent[count]!.length)
      count++
    }
    if (count === 0) return
    recent.splice(0, count)
    this.recentRuns -= count
  }
}

export function newStream(number: number, name: StreamId): Stream {
  return {
    number,
    name,
    epoch: 0,
    claim: null,
    start: 0,
    end: 0,
    epochs: [],
    lastAttempt: null,
    damage: null,
    appendedBytes: 0,
    droppedBytes: 0,
    gaps: [],
    pass: { to: 0, bytes: 0 },
    visible: false,
    visibleStart: 0,
    visibleEnd: 0,
    sweptTo: 0,
    recent: [],
    moved: new Map(),
    pieces: null,
    rows: new Map(),
    rowsStoring: null,
    dirty: true,
    removed: false,
  }
}

/** Returns the epoch of the current lead of a stream. */
export function leadOf({ epoch, claim }: Stream): number {
  return claim ?? epoch
}

/** Returns the size in bytes of the batches that are readable. */
export function bytesOf({ appendedBytes, droppedBytes, gaps }: Stream): number {
  return gaps.reduce((sum, { bytes }) => sum - bytes, appendedBytes - droppedBytes)
}

/** Returns the live epochs of a stream after this epoch has begun. */
export function epochsWith({ epochs, start }: Stream, epoch: number, startOffset: number): readonly EpochStart[] {
  return liveEpochs([...epochs, { epoch, startOffset }], start)
}

/** Sets the rows in an overlay and returns a function that undoes it. */
function setRows(overlay: Overlay, rows: readonly Row[]): () => void {
  if (rows.length === 0) return () => {}
  const before = rows.map(({ key }) => [key, overlay.get(key)] as const)
  for (const { key, value } of rows) overlay.set(key, value)
  return () => {
    for (const [key, value] of before.reverse()) {
      if (value === undefined) overlay.delete(key)
      else overlay.set(key, value)
    }
  }
}

/** Returns the epochs that own offsets at or above the start, and the newest epoch. */
function liveEpochs(epochs: readonly EpochStart[], start: number): readonly EpochStart[] {
  return epochs.filter((each, i) => {
    const next = epochs[i + 1]
    return next === undefined || (next.startOffset > start && next.startOffset > each.startOffset)
  })
}
