// The index of a stream's batches in the journal. A run describes batches of one append that follow each other in one
// file. New runs are in memory with their stream; a checkpoint puts them into lmdb, keyed by stream and base offset.
// A run has the end of each of its batches, so that a reader never needs a batch's bytes to find the next one.

import { firstIndex } from '../../base/bisect.ts'
import type { Change, Key, Table } from './tables.ts'

export interface Run {
  readonly baseOffset: number
  readonly nextOffset: number
  /** The size in bytes of all batches of the run. They lie at `position` of the file without a gap. */
  readonly length: number
  /** The size in bytes of all the stream's batches before this run, with the dropped ones. */
  readonly before: number
  /** The end of each batch if there are several; null for a single batch. */
  readonly ends: readonly BatchEnd[] | null
  file: number
  position: number
  /** True while a checkpoint is writing the run to lmdb. */
  storing: boolean
}

export interface BatchEnd {
  readonly nextOffset: number
  /** The bytes of the run up to the end of this batch. */
  readonly end: number
}

/** The most batches of one run. A higher number would make it slow to find a batch. */
const MOST_BATCHES = 256
const MOST_BYTES = 1 << 20

interface Extent {
  readonly baseOffset: number
  readonly nextOffset: number
  readonly length: number
}

/** Splits the batches of an append into runs. Their positions begin at `position`. */
export function runsOf(batches: readonly Extent[], file: number, position: number, before: number): Run[] {
  const runs: Run[] = []
  let from = 0
  let at = position
  let sum = before
  while (from < batches.length) {
    const ends: BatchEnd[] = []
    let length = 0
    let to = from
    do {
      const batch = batches[to]!
      length += batch.length
      ends.push({ nextOffset: batch.nextOffset, end: length })
      to++
    } while (
      to < batches.length &&
      ends.length < MOST_BATCHES &&
      length + batches[to]!.length <= MOST_BYTES &&
      batches[to]!.baseOffset === batches[to - 1]!.nextOffset
    )
    runs.push({
      baseOffset: batches[from]!.baseOffset,
      nextOffset: batches[to - 1]!.nextOffset,
      length,
      before: sum,
      ends: ends.length === 1 ? null : ends,
      file,
      position: at,
      storing: false,
    })
    at += length
    sum += length
    from = to
  }
  return runs
}

/** Returns the size in bytes of a run's batches that lie completely below the offset. */
export function bytesBelow(run: Run, offset: number): number {
  if (run.nextOffset <= offset) return run.length
  let bytes = 0
  for (const mark of run.ends ?? []) {
    if (mark.nextOffset > offset) break
    bytes = mark.end
  }
  return bytes
}

/**
 * Returns the key of a run: stream number and base offset, 4 + 8 bytes. In lmdb's order the runs of a stream are in
 * offset order.
 */
export function runKey(stream: number, baseOffset: number): Buffer {
  const key = Buffer.allocUnsafe(KEY_BYTES)
  writeRunKey(key, 0, stream, baseOffset)
  return key
}

const KEY_BYTES = 12

function writeRunKey(bytes: Buffer, at: number, stream: number, baseOffset: number): void {
  bytes.writeUInt32BE(stream, at)
  bytes.writeUInt32BE(Math.floor(baseOffset / 0x1_0000_0000), at + 4)
  bytes.writeUInt32BE(baseOffset % 0x1_0000_0000, at + 8)
}

const FIXED_BYTES = 44
const END_BYTES = 12

/**
 * Encodes runs for lmdb: file u32, position f64, length u32, next offset f64, bytes before f64, zero 8, count u32. If
 * the count is above 1, for each batch: next offset f64, end u32. All keys and values are in one buffer: lmdb looks
 * up the address of each buffer, which takes longer than to write the run.
 */
export function encodeRuns(runs: readonly { readonly stream: number; readonly run: Run }[]): Change[] {
  let size = 0
  for (const { run } of runs) size += KEY_BYTES + FIXED_BYTES + (run.ends?.length ?? 0) * END_BYTES
  const bytes = Buffer.alloc(size)
  let at = 0
  return runs.map(({ stream, run }) => {
    const ends = run.ends ?? []
    writeRunKey(bytes, at, stream, run.baseOffset)
    const valueAt = at + KEY_BYTES
    bytes.writeUInt32BE(run.file, valueAt)
    bytes.writeDoubleBE(run.position, valueAt + 4)
    bytes.writeUInt32BE(run.length, valueAt + 12)
    bytes.writeDoubleBE(run.nextOffset, valueAt + 16)
    bytes.writeDoubleBE(run.before, valueAt + 24)
    bytes.writeUInt32BE(ends.length, valueAt + 40)
    const key = bytes.subarray(at, valueAt)
    at = valueAt + FIXED_BYTES
    for (const mark of ends) {
      bytes.writeDoubleBE(mark.nextOffset, at)
      bytes.writeUInt32BE(mark.end, at + 8)
      at += END_BYTES
    }
    return { table: 'runs', key, value: bytes.subarray(valueAt, at) }
  })
}

export function decodeRun(key: Buffer, bytes: Buffer): Run {
  const count = bytes.readUInt32BE(40)
  let ends: BatchEnd[] | null = null
  if (count > 0) {
    ends = []
    for (let at = FIXED_BYTES; at < FIXED_BYTES + count * END_BYTES; at += END_BYTES) {
      ends.push({ nextOffset: bytes.readDoubleBE(at), end: bytes.readUInt32BE(at + 8) })
    }
  }
  return {
    baseOffset: key.readUInt32BE(4) * 0x1_0000_0000 + key.readUInt32BE(8),
    nextOffset: bytes.readDoubleBE(16),
    length: bytes.readUInt32BE(12),
    before: bytes.readDoubleBE(24),
    ends,
    file: bytes.readUInt32BE(0),
    position: bytes.readDoubleBE(4),
    storing: false,
  }
}

/** The fields of a stream that the index needs. */
export interface Indexed {
  readonly number: number
  /** The runs that are not in lmdb yet, ascending. */
  readonly recent: readonly Run[]
  /** The runs whose position in lmdb is out of date, by base offset. */
  readonly moved: ReadonlyMap<number, Run>
}

/** Yields the stream's runs that contain offsets at or above the given one, ascending. */
export function* runsFrom(table: Table, stream: Indexed, offset: number): Generator<Run> {
  const { recent } = stream
  const first = recent[0]
  if (first === undefined || offset < first.baseOffset) {
    const below = floorRun(table, stream, offset)
    if (below !== null && below.nextOffset > offset && below.baseOffset < (first?.baseOffset ?? Infinity)) yield below
    const end: Key = first === undefined ? streamEnd(stream.number) : runKey(stream.number, first.baseOffset)
    for (const { key, value } of table.range({ start: runKey(stream.number, offset + 1), end })) {
      yield placed(stream, decodeRun(key, value))
    }
  }
  for (let i = firstIndex(recent, run => run.nextOffset > offset); i < recent.length; i++) yield recent[i]!
}

/** Returns the newest run of the stream that begins below its end. It may be a dropped one. */
export function lastRun(table: Table, stream: Indexed, end: number): Run | null {
  return stream.recent.at(-1) ?? floorRun(table, stream, end)
}

function floorRun(table: Table, stream: Indexed, offset: number): Run | null {
  const bounds = { start: runKey(stream.number, offset), end: streamStart(stream.number), reverse: true, limit: 1 }
  for (const { key, value } of table.range(bounds)) return placed(stream, decodeRun(key, value))
  return null
}

function placed(stream: Indexed, run: Run): Run {
  return stream.moved.get(run.baseOffset) ?? run
}

/** Returns the bounds of the keys of the runs that begin in a range of offsets. */
export function runsBetween(stream: number, from: number, to: number): { readonly start: Key; readonly end: Key } {
  return { start: runKey(stream, from), end: runKey(stream, to) }
}

/** Returns a key below every key of the stream. */
export function streamStart(stream: number): Buffer {
  const key = Buffer.allocUnsafe(4)
  key.writeUInt32BE(stream, 0)
  return key
}

/** Returns a key above every key of the stream. */
export function streamEnd(stream: number): Buffer {
  return streamStart(stream + 1)
}
