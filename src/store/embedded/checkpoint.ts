// The checkpoint: the contents that are stored in lmdb, and the position in the journal up to which they are
// complete. Loading reads streams and document heads, but never the run index. A checkpoint is taken between two
// rounds: all changes since the last checkpoint are noted at once. They are encoded in short steps, so that many
// changes do not hold the event loop, and written only after the journal has been synced up to that point.
//
//   meta       'store'              position, counters, era (below)
//   streams    stream number        name, epoch, start, end, …
//   runs       number, base offset  a run (run-index.ts)
//   rows       number, row key      row value
//   documents  document number      kind, name, version
//   fields     number, field key    field value
//   files      file number          bytes of live runs in lmdb that lie in this file, and its used size
//   meta       'gone', number       a removed stream whose runs and rows are not all deleted yet

import { createHash } from 'node:crypto'
import { assert } from '../../base/assert.ts'
import { type Contents, type Head, newStream, type Overlay, type Stream } from './contents.ts'
import { isCovered, type Range } from './pieces.ts'
import { decodeRun, type Run, runKey, runsBetween, streamEnd, streamStart } from './run-index.ts'
import type { Change, TableName, Tables } from './tables.ts'

/** A position between two rounds of the journal. */
export interface Position {
  readonly file: number
  readonly position: number
  /** The sequence of the round before this position. */
  readonly sequence: number
}

export interface FileUse {
  /** The size in bytes of the batches in this file whose runs are in lmdb. */
  readonly stored: number
  /** The used size in bytes at the last checkpoint. */
  readonly end: number
}

export interface Checkpoint {
  readonly at: Position
  readonly era: number
  /** True if a closing store wrote the checkpoint: the journal has nothing after it. */
  readonly clean: boolean
  readonly files: ReadonlyMap<number, FileUse>
  /** The numbers of removed streams whose runs and rows are not all deleted yet. */
  readonly gone: readonly number[]
}

const META = Buffer.from('store')
const GONE = 'gone'

interface MetaValue {
  file: number
  position: number
  sequence: number
  era: number
  clean: boolean
  nextStream: number
  nextDocument: number
  lastVersion: number
}

/** The fields of a stream that a checkpoint stores. */
type StreamValue = Pick<
  Stream,
  | 'name'
  | 'epoch'
  | 'start'
  | 'end'
  | 'epochs'
  | 'lastAttempt'
  | 'damage'
  | 'appendedBytes'
  | 'droppedBytes'
  | 'gaps'
  | 'pass'
  | 'sweptTo'
>

/** Loads the checkpoint. Returns null if lmdb was never written. */
export function loadCheckpoint(tables: Tables, contents: Contents): Checkpoint | null {
  const stored = tables.meta.get(META)
  if (stored === undefined) return null
  const meta = fromJson<MetaValue>(stored)
  for (const { key, value } of everything(tables, 'streams')) {
    const stream = newStream(key.readUInt32BE(0), '')
    Object.assign(stream, fromJson<StreamValue>(value))
    stream.dirty = false
    stream.visible = true
    stream.visibleStart = stream.start
    stream.visibleEnd = stream.end
    contents.addStream(stream)
  }
  const kinds = new Map<string, string>()
  for (const { key, value } of everything(tables, 'documents')) {
    const { kind, name, version } = fromJson<{ kind: string; name: string; version: number }>(value)
    if (!kinds.has(kind)) kinds.set(kind, kind)
    contents.addHead({
      number: key.readUInt32BE(0),
      // One text for all documents of a kind, of which there may be very many.
      kind: kinds.get(kind)!,
      name,
      version,
      changes: null,
      changesStoring: null,
      dirty: false,
    })
  }
  contents.nextStream = meta.nextStream
  contents.nextDocument = meta.nextDocument
  contents.lastVersion = meta.lastVersion
  const files = new Map<number, FileUse>()
  for (const { key, value } of everything(tables, 'files')) {
    files.set(key.readUInt32BE(0), { stored: value.readDoubleBE(0), end: value.readDoubleBE(8) })
  }
  const gone: number[] = []
  const goneStart = Buffer.from(GONE)
  for (const { key } of tables.meta.range({ start: goneStart, end: Buffer.from('gonf') })) {
    gone.push(key.readUInt32BE(goneStart.length))
  }
  const at = { file: meta.file, position: meta.position, sequence: meta.sequence }
  return { at, era: meta.era, clean: meta.clean, files, gone }
}

function* everything(tables: Tables, table: TableName) {
  yield* tables[table].range({ start: Buffer.from([0]), end: Buffer.alloc(16, 0xff) })
}

/** A run that lmdb contains after a checkpoint, and its position there before (null: it was not in lmdb). */
interface StoredRun {
  readonly stream: number
  readonly run: Run
  readonly formerly: Run | null
}

/** A checkpoint that was taken but not written yet. The caller calls exactly one of `written` and `abandoned`. */
export interface Taken {
  readonly at: Position
  /**
   * Collects the parts below, in many short steps. The caller takes all steps before it uses the parts, and other work
   * may run between two steps, but nothing may change lmdb before the last one.
   */
  collect(): Generator<void, void>
  /**
   * All changes except the runs. There are many runs and they do not change, so they are encoded later
   * (run-index.ts).
   */
  readonly changes: readonly Change[]
  readonly runs: readonly StoredRun[]
  /** The runs that lmdb no longer contains after the checkpoint, because rewrites replaced them. */
  readonly replaced: readonly Pick<Run, 'file' | 'length'>[]
  /** The streams that lmdb marks as removed, and the log starts that it contains, once the checkpoint is written. */
  readonly removed: readonly Stream[]
  readonly starts: ReadonlyMap<Stream, number>
  /** Tells that the checkpoint is in lmdb: its overlays are dropped. */
  written(): void
  /** Tells that the checkpoint will not be written: all its changes are due again. */
  abandoned(): void
}

/** A stream as it was when the checkpoint was taken. Rounds that follow change none of this. */
interface TakenStream {
  readonly stream: Stream
  readonly value: StreamValue
  readonly ranges: readonly Range[]
  readonly recent: readonly Run[]
  readonly moved: readonly Run[]
  readonly rows: Overlay
}

/** A document as it was when the checkpoint was taken. */
interface TakenHead {
  readonly number: number
  readonly value: Pick<Head, 'kind' | 'name' | 'version'>
  readonly changes: Overlay
}

/** Notes the changes since the last checkpoint was taken. No other checkpoint may be waiting. */
export function takeCheckpoint(tables: Tables, contents: Contents, at: Position, era: number, clean: boolean): Taken {
  const changes: Change[] = []
  const runs: StoredRun[] = []
  const streams = contents.dirtyStreams
  const heads = contents.dirtyHeads
  const removed = contents.removedStreams
  const removedHeads = contents.removedHeads
  contents.dirtyStreams = new Set()
  contents.dirtyHeads = new Set()
  contents.removedStreams = []
  contents.removedHeads = []
  const replaced: Pick<Run, 'file' | 'length'>[] = []
  /** The runs that are forgotten once the checkpoint is written, and those that are stored instead of them. */
  const forgotten: Run[] = []
  const kept: Run[] = []
  const moved: { stream: Stream; run: Run }[] = []
  const takenStreams = [...streams].map(takeStream)
  const takenHeads = [...heads].map(takeHead)
  const meta: MetaValue = {
    ...at,
    era,
    clean,
    nextStream: contents.nextStream,
    nextDocument: contents.nextDocument,
    lastVersion: contents.lastVersion,
  }
  changes.push({ table: 'meta', key: META, value: Buffer.from(JSON.stringify(meta)) })

  /** Collects the runs of a stream. It reads lmdb for one range at a time: no read stays open across a step. */
  function* collectRuns({ stream, value, ranges, recent, moved: movedRuns }: TakenStream): Generator<void, void> {
    for (const { from, to, runs: inside } of ranges) {
      const live = inside.filter(({ nextOffset }) => nextOffset > value.start)
      const bases = new Set(live.map(({ baseOffset }) => baseOffset))
      for (const { key, value: stored } of tables.runs.range(runsBetween(stream.number, from, to))) {
        const { baseOffset, file, length } = decodeRun(key, stored)
        replaced.push({ file, length })
        if (!bases.has(baseOffset)) changes.push({ table: 'runs', key, value: null })
      }
      for (const run of live) {
        kept.push(run)
        runs.push({ stream: stream.number, run, formerly: null })
      }
      yield
    }
    for (const run of recent) {
      if (isCovered(ranges, run.baseOffset)) forgotten.push(run)
      else runs.push({ stream: stream.number, run, formerly: null })
    }
    for (const run of movedRuns) {
      const key = runKey(stream.number, run.baseOffset)
      const former = tables.runs.get(key)
      yield
      if (former === undefined) continue
      moved.push({ stream, run })
      if (isCovered(ranges, run.baseOffset)) forgotten.push(run)
      else runs.push({ stream: stream.number, run, formerly: decodeRun(key, former) })
    }
  }

  return {
    at,
    *collect() {
      for (const taken of takenStreams) {
        const { number } = taken.stream
        changes.push({ table: 'streams', key: u32(number), value: Buffer.from(JSON.stringify(taken.value)) })
        yield* collectRuns(taken)
        encodeOverlay('rows', number, taken.rows, changes)
        yield
      }
      for (const { number } of removed) {
        changes.push({ table: 'streams', key: u32(number), value: null })
        changes.push({ table: 'meta', key: goneKey(number), value: Buffer.of(1) })
      }
      for (const { number, value, changes: fields } of takenHeads) {
        changes.push({ table: 'documents', key: u32(number), value: Buffer.from(JSON.stringify(value)) })
        encodeOverlay('fields', number, fields, changes)
        yield
      }
      for (const { number } of removedHeads) {
        changes.push({ table: 'documents', key: u32(number), value: null })
        for (const { key } of tables.fields.range({ start: streamStart(number), end: streamEnd(number) })) {
          changes.push({ table: 'fields', key, value: null })
        }
        yield
      }
    },
    changes,
    runs,
    replaced,
    removed,
    starts: new Map([...streams].map(stream => [stream, stream.start])),
    written() {
      for (const stream of streams) {
        stream.rowsStoring = null
        let count = 0
        while (count < stream.recent.length && stream.recent[count]!.storing) count++
        for (const run of stream.recent.splice(0, count)) run.storing = false
        contents.recentRuns -= count
        for (const { runs: inside, written } of stream.pieces?.stored() ?? []) {
          contents.recentRuns -= inside.length
          forgotten.push(...written)
        }
      }
      for (const { stream, run } of moved) {
        if (stream.moved.get(run.baseOffset) === run) stream.moved.delete(run.baseOffset)
      }
      for (const { file, length } of kept) contents.countLive(file, length)
      for (const { file, length } of [...forgotten, ...replaced]) contents.countLive(file, -length)
      for (const head of heads) head.changesStoring = null
    },
    abandoned() {
      for (const stream of streams) {
        stream.rows = new Map([...(stream.rowsStoring ?? []), ...stream.rows])
        stream.rowsStoring = null
        for (const run of stream.recent) run.storing = false
        stream.pieces?.abandoned()
        stream.dirty = true
        if (!stream.removed) contents.dirtyStreams.add(stream)
      }
      for (const head of heads) {
        head.changes = new Map([...(head.changesStoring ?? []), ...(head.changes ?? [])])
        head.changesStoring = null
        head.dirty = true
        if (contents.head(head.kind, head.name) === head) contents.dirtyHeads.add(head)
      }
      contents.removedStreams.unshift(...removed)
      contents.removedHeads.unshift(...removedHeads)
    },
  }
}

function takeStream(stream: Stream): TakenStream {
  assert(stream.rowsStoring === null, 'two checkpoints at once')
  stream.dirty = false
  stream.pieces?.store()
  for (const run of stream.recent) run.storing = true
  const rows = stream.rows
  stream.rowsStoring = rows
  stream.rows = new Map()
  return {
    stream,
    value: storedValueOf(stream),
    ranges: stream.pieces?.decided ?? [],
    recent: [...stream.recent],
    moved: [...stream.moved.values()],
    rows,
  }
}

function takeHead(head: Head): TakenHead {
  assert(head.changesStoring === null, 'two checkpoints at once')
  const { number, kind, name, version, changes } = head
  head.dirty = false
  head.changesStoring = changes
  head.changes = null
  return { number, value: { kind, name, version }, changes: changes ?? new Map() }
}

export function goneKey(stream: number): Buffer {
  return Buffer.concat([Buffer.from(GONE), u32(stream)])
}

export function fileChange(file: number, use: FileUse | null): Change {
  if (use === null) return { table: 'files', key: u32(file), value: null }
  const value = Buffer.alloc(16)
  value.writeDoubleBE(use.stored, 0)
  value.writeDoubleBE(use.end, 8)
  return { table: 'files', key: u32(file), value }
}

function storedValueOf(stream: Stream): StreamValue {
  return {
    name: stream.name,
    epoch: stream.epoch,
    start: stream.start,
    end: stream.end,
    epochs: stream.epochs,
    lastAttempt: stream.lastAttempt,
    damage: stream.damage,
    appendedBytes: stream.appendedBytes,
    droppedBytes: stream.droppedBytes,
    gaps: stream.gaps,
    pass: stream.pass,
    sweptTo: stream.sweptTo,
  }
}

/** Returns the rows of a stream or the fields of a document: those in lmdb with the overlays on top. */
export function readOverlaid(
  tables: Tables,
  table: 'rows' | 'fields',
  number: number,
  overlays: readonly (Overlay | null)[],
): Map<string, Uint8Array> {
  const merged = new Map<string, Uint8Array>()
  for (const { key, value } of tables[table].range({ start: streamStart(number), end: streamEnd(number) })) {
    const kept = value.readUInt32BE(0)
    const nameBytes = Math.max(0, kept - 1)
    const name = kept === 0 ? key.toString('utf8', 4) : value.toString('utf8', 4, 4 + nameBytes)
    // An exact copy: a view would keep the whole buffer of lmdb in memory, and a pooled copy the whole pool.
    merged.set(name, Uint8Array.prototype.slice.call(value, 4 + nameBytes))
  }
  for (const overlay of overlays) {
    for (const [key, value] of overlay ?? []) {
      if (value === null) merged.delete(key)
      else merged.set(key, value)
    }
  }
  return merged
}

/**
 * The longest name in bytes that is stored in a key. lmdb allows keys of up to 1978 bytes. A longer (or empty) name
 * is stored in the value, and the key has its digest. A value begins with a u32: 0 if the name is in the key, else 1
 * + the length of the name that follows.
 */
const LONGEST_NAME = 512

function encodeOverlay(table: 'rows' | 'fields', number: number, overlay: Overlay, changes: Change[]): void {
  for (const [name, value] of overlay) {
    const bytes = Buffer.from(name)
    const short = bytes.length > 0 && bytes.length <= LONGEST_NAME
    const digest = short ? bytes : Buffer.concat([Buffer.from([0]), createHash('sha256').update(bytes).digest()])
    const length = Buffer.alloc(4)
    length.writeUInt32BE(short ? 0 : bytes.length + 1)
    changes.push({
      table,
      key: Buffer.concat([u32(number), digest]),
      value: value === null ? null : Buffer.concat(short ? [length, value] : [length, bytes, value]),
    })
  }
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function fromJson<T>(bytes: Buffer): T {
  return JSON.parse(bytes.toString('utf8')) as T
}
