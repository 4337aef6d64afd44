// Encodes and decodes the bytes of the journal: file header, round header, entries. It has only pure functions of
// bytes and values, no files and no state. All integers are big-endian; offsets, positions and sequences are 64 bits
// wide.
//
//   file     +--------------+---- 4096 --+---------+---------+-- - -
//            | file header  | unused     | round   | round   |        up to the file's size; what follows the last
//            +--------------+------------+---------+---------+-- - -  round is zeros or a former use of the file
//
//   file header, 32 bytes
//      0  magic 'KETCHJNL'            8 bytes
//      8  layout version              u32
//     12  file number                 u32     equals the one in the name, or the file was never begun
//     16  incarnation                 8 random bytes, new for each use of a file
//     24  CRC-32C of 0..24            u32
//     28  zero                        u32
//
//   round    +--------------+---------+---------+---- - -+--------------------------+---------+
//            | round header | entry   | entry   |        | payload: batches, joined | padding |
//            +--------------+---------+---------+---- - -+--------------------------+---------+
//
//   round header, 64 bytes
//      0  magic 'KRND'                u32
//      4  CRC-32C of 8..64            u32
//      8  incarnation of the file     8 bytes  so that neither a former use nor a client's bytes can pass for a round
//     16  sequence                    u64      one more than the round before, across files
//     24  era                         u32      rises with every start: a torn tail that was cut never comes back
//     28  entries                     u32
//     32  bytes of the entries        u32
//     36  bytes of the payload        u32
//     40  bytes of the round          u32      with header and padding
//     44  file known synced           u32      when this round was formed, everything up to here was on the disk:
//     48  position known synced       u64      damage below is damage, damage above is a torn tail
//     56  zero                        8 bytes
//
//   entry, bytes counted from its start
//      0  length with this header     u32
//      4  CRC-32C of 8..length        u32      continued from the round's seed (incarnation and sequence), so that an
//      8  type                        u8       entry of a former use never passes
//      9  body                                 by type, below
//
// The bytes of a batch are in the payload and have no second CRC: the append's entry contains the expected values of
// batch bytes 0..21 (base offset, length, leader epoch, magic 2, and the batch's own CRC-32C over bytes 21 and up).
// When the tail is replayed, the batch must match the entry and its own CRC must be right. Otherwise the reader
// checks the batch's CRC.

import { assert } from '../../base/assert.ts'
import { crc32c } from '../../base/crc32c.ts'
import type { Row } from '../store.ts'

export const FILE_HEADER_BYTES = 32
/** The position of the first round in a file. */
export const FIRST_ROUND = 4096
export const ROUND_HEADER_BYTES = 64
const ENTRY_HEADER_BYTES = 9
/** The number of bytes at the beginning of a batch that its entry describes. */
export const BATCH_CHECKED_BYTES = 21
/** The size in bytes of the smallest record batch of magic 2. */
const SMALLEST_BATCH = 61

const FILE_MAGIC = Buffer.from('KETCHJNL')
/** The layout of files that are begun. Layout 1 had no rewrites. */
const LAYOUT_VERSION = 2
const ROUND_MAGIC = Buffer.from('KRND')

export interface FileHeader {
  readonly number: number
  readonly incarnation: Buffer
}

export interface RoundHeader {
  readonly sequence: number
  readonly era: number
  readonly entries: number
  readonly entryBytes: number
  readonly payloadBytes: number
  readonly roundBytes: number
  readonly syncedFile: number
  readonly syncedPosition: number
}

/** The description of a batch in an entry. */
export interface BatchMark {
  readonly baseOffset: number
  readonly nextOffset: number
  readonly length: number
  /** The expected bytes 12..16 and 17..21 of the batch, which are checked when it is replayed. */
  readonly leaderEpoch: number
  readonly crc: number
}

export type Entry =
  | { readonly type: 'create'; readonly stream: number; readonly name: string }
  | { readonly type: 'remove'; readonly stream: number }
  | { readonly type: 'open'; readonly stream: number; readonly epoch: number; readonly end: number }
  | {
      readonly type: 'append'
      readonly stream: number
      readonly epoch: number
      readonly at: number
      readonly attempt: string
      readonly batches: readonly BatchMark[]
      /** The position of the batches in the round's payload; set if the entry was read back. */
      readonly payloadAt?: number
      readonly rows: readonly Row[]
    }
  | { readonly type: 'trim'; readonly stream: number; readonly start: number; readonly rows: readonly Row[] }
  | {
      readonly type: 'commit'
      readonly document: number
      readonly version: number
      readonly removed: boolean
      readonly kind: string
      readonly name: string
      readonly changes: readonly Row[]
    }
  /** The batches that replace those of a range of the stream. */
  | {
      readonly type: 'rewrite'
      readonly stream: number
      readonly from: number
      readonly to: number
      readonly batches: readonly BatchMark[]
      readonly payloadAt?: number
      readonly rows: readonly Row[]
    }
  /** Batches that were copied from a mostly dead file: their position changes, the stream does not. */
  | {
      readonly type: 'move'
      readonly stream: number
      readonly batches: readonly BatchMark[]
      readonly payloadAt?: number
    }

const TYPES = ['create', 'remove', 'open', 'append', 'trim', 'commit', 'move', 'rewrite'] as const

export function encodeFileHeader({ number, incarnation }: FileHeader): Buffer {
  const bytes = Buffer.alloc(FILE_HEADER_BYTES)
  FILE_MAGIC.copy(bytes, 0)
  bytes.writeUInt32BE(LAYOUT_VERSION, 8)
  bytes.writeUInt32BE(number, 12)
  incarnation.copy(bytes, 16)
  bytes.writeUInt32BE(crc32c(bytes.subarray(0, 24)), 24)
  return bytes
}

/** Decodes a file header. Returns null if the bytes are no file header of a layout that this version reads. */
export function decodeFileHeader(bytes: Buffer): FileHeader | null {
  if (bytes.length < FILE_HEADER_BYTES || !bytes.subarray(0, 8).equals(FILE_MAGIC)) return null
  const layout = bytes.readUInt32BE(8)
  if (bytes.readUInt32BE(24) !== crc32c(bytes.subarray(0, 24)) || layout < 1 || layout > LAYOUT_VERSION) return null
  return { number: bytes.readUInt32BE(12), incarnation: Buffer.from(bytes.subarray(16, 24)) }
}

/**
 * Returns the position of the next round at or after `from`. Every round of a file has the incarnation at its bytes
 * 8..16, so its magic is 8 bytes before.
 */
export function findRound(bytes: Buffer, incarnation: Buffer, from: number): number {
  for (let at = from; ; ) {
    const found = bytes.indexOf(incarnation, at + 8)
    if (found < 0) return -1
    if (bytes.subarray(found - 8, found - 4).equals(ROUND_MAGIC)) return found - 8
    at = found - 7
  }
}

function seedOf(incarnation: Buffer, sequence: number): number {
  const bytes = Buffer.allocUnsafe(16)
  incarnation.copy(bytes, 0)
  writeUInt64(bytes, sequence, 8)
  return crc32c(bytes)
}

function writeUInt64(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at)
  bytes.writeUInt32BE(value % 0x1_0000_0000, at + 4)
}

function readUInt64(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4)
}

/** Collects the entries of one round. It leaves room for the header before them. */
export class RoundWriter {
  readonly sequence: number
  readonly #incarnation: Buffer
  readonly #seed: number
  #bytes: Buffer
  #length = ROUND_HEADER_BYTES
  #entries = 0
  #payloadBytes = 0

  constructor(incarnation: Buffer, sequence: number, expectedBytes = 4096) {
    this.sequence = sequence
    this.#incarnation = incarnation
    this.#seed = seedOf(incarnation, sequence)
    this.#bytes = Buffer.allocUnsafe(expectedBytes)
  }

  get entries(): number {
    return this.#entries
  }

  get payloadBytes(): number {
    return this.#payloadBytes
  }

  /** The number of bytes before the payload. */
  get headBytes(): number {
    return this.#length
  }

  add(entry: Entry): void {
    const start = this.#length
    this.#length += ENTRY_HEADER_BYTES
    switch (entry.type) {
      case 'create':
        this.#u32(entry.stream)
        this.#text(entry.name)
        break
      case 'remove':
        this.#u32(entry.stream)
        break
      case 'open':
        this.#u32(entry.stream)
        this.#u32(entry.epoch)
        this.#u64(entry.end)
        break
      case 'append':
        this.#u32(entry.stream)
        this.#u32(entry.epoch)
        this.#u64(entry.at)
        this.#text(entry.attempt)
        this.#marks(entry.batches)
        this.#rows(entry.rows)
        break
      case 'trim':
        this.#u32(entry.stream)
        this.#u64(entry.start)
        this.#rows(entry.rows)
        break
      case 'commit':
        this.#u32(entry.document)
        this.#u64(entry.version)
        this.#u32(entry.removed ? 1 : 0)
        this.#text(entry.kind)
        this.#text(entry.name)
        this.#rows(entry.changes)
        break
      case 'move':
        this.#u32(entry.stream)
        this.#marks(entry.batches)
        break
      case 'rewrite':
        this.#u32(entry.stream)
        this.#u64(entry.from)
        this.#u64(entry.to)
        this.#marks(entry.batches)
        this.#rows(entry.rows)
        break
    }
    this.#room(0)
    const bytes = this.#bytes
    bytes.writeUInt32BE(this.#length - start, start)
    bytes[start + 8] = TYPES.indexOf(entry.type) + 1
    bytes.writeUInt32BE(crc32c(bytes.subarray(start + 8, this.#length), this.#seed), start + 4)
    this.#entries++
  }

  /** Returns the header and the entries. The payload and the padding follow them in the file. */
  finish(era: number, roundBytes: number, syncedFile: number, syncedPosition: number): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length)
    ROUND_MAGIC.copy(bytes, 0)
    this.#incarnation.copy(bytes, 8)
    writeUInt64(bytes, this.sequence, 16)
    bytes.writeUInt32BE(era, 24)
    bytes.writeUInt32BE(this.#entries, 28)
    bytes.writeUInt32BE(this.#length - ROUND_HEADER_BYTES, 32)
    bytes.writeUInt32BE(this.#payloadBytes, 36)
    bytes.writeUInt32BE(roundBytes, 40)
    bytes.writeUInt32BE(syncedFile, 44)
    writeUInt64(bytes, syncedPosition, 48)
    bytes.fill(0, 56, 64)
    bytes.writeUInt32BE(crc32c(bytes.subarray(8, ROUND_HEADER_BYTES)), 4)
    return bytes
  }

  #room(more: number): number {
    const at = this.#length
    this.#length += more
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#length, this.#bytes.length * 2))
      this.#bytes.copy(larger, 0, 0, at)
      this.#bytes = larger
    }
    return at
  }

  #u32(value: number): void {
    const at = this.#room(4)
    this.#bytes.writeUInt32BE(value, at)
  }

  #u64(value: number): void {
    const at = this.#room(8)
    writeUInt64(this.#bytes, value, at)
  }

  #text(value: string): void {
    const length = Buffer.byteLength(value)
    this.#u32(length)
    const at = this.#room(length)
    this.#bytes.write(value, at, 'utf8')
  }

  #marks(batches: readonly BatchMark[]): void {
    this.#u32(batches.length)
    this.#u32(this.#payloadBytes)
    for (const batch of batches) {
      this.#payloadBytes += batch.length
      const at = this.#room(28)
      const bytes = this.#bytes
      writeUInt64(bytes, batch.baseOffset, at)
      writeUInt64(bytes, batch.nextOffset, at + 8)
      bytes.writeUInt32BE(batch.length, at + 16)
      bytes.writeUInt32BE(batch.leaderEpoch, at + 20)
      bytes.writeUInt32BE(batch.crc, at + 24)
    }
  }

  #rows(rows: readonly Row[]): void {
    this.#u32(rows.length)
    for (const { key, value } of rows) {
      this.#text(key)
      this.#u32(value === null ? 0 : value.length + 1)
      if (value === null) continue
      const at = this.#room(value.length)
      this.#bytes.set(value, at)
    }
  }
}

/** Decodes a round header. Returns null if the bytes are no intact header of a round of this incarnation. */
export function decodeRoundHeader(bytes: Buffer, incarnation: Buffer): RoundHeader | null {
  if (bytes.length < ROUND_HEADER_BYTES || !bytes.subarray(0, 4).equals(ROUND_MAGIC)) return null
  if (!bytes.subarray(8, 16).equals(incarnation)) return null
  if (bytes.readUInt32BE(4) !== crc32c(bytes.subarray(8, ROUND_HEADER_BYTES))) return null
  const sequence = readUInt64(bytes, 16)
  const syncedPosition = readUInt64(bytes, 48)
  if (!Number.isSafeInteger(sequence) || !Number.isSafeInteger(syncedPosition)) return null
  return {
    sequence,
    era: bytes.readUInt32BE(24),
    entries: bytes.readUInt32BE(28),
    entryBytes: bytes.readUInt32BE(32),
    payloadBytes: bytes.readUInt32BE(36),
    roundBytes: bytes.readUInt32BE(40),
    syncedFile: bytes.readUInt32BE(44),
    syncedPosition,
  }
}

/**
 * Decodes the entries of a round. `bytes` are exactly the bytes between its header and its payload. `intact` is false
 * if an entry failed its CRC or the count is wrong. The other entries are still returned if their limits are known.
 */
export function decodeEntries(
  bytes: Buffer,
  header: RoundHeader,
  incarnation: Buffer,
): { readonly entries: readonly Entry[]; readonly intact: boolean } {
  const seed = seedOf(incarnation, header.sequence)
  const entries: Entry[] = []
  let intact = true
  let at = 0
  for (let end = entryEnd(bytes, at); end !== null; end = entryEnd(bytes, at)) {
    const entry = entryAt(bytes, at, end, seed)
    if (entry === null) intact = false
    else entries.push(entry)
    at = end
  }
  return { entries, intact: intact && at === bytes.length && entries.length === header.entries }
}

/**
 * Decodes the entries at the beginning of these bytes, for a round without a readable header. Returns the entries and
 * the position of their end.
 */
export function decodeLeadingEntries(
  bytes: Buffer,
  sequence: number,
  incarnation: Buffer,
): { readonly entries: readonly Entry[]; readonly length: number } {
  const seed = seedOf(incarnation, sequence)
  const entries: Entry[] = []
  let length = 0
  for (let end = entryEnd(bytes, 0); end !== null; end = entryEnd(bytes, length)) {
    const entry = entryAt(bytes, length, end, seed)
    if (entry === null) break
    entries.push(entry)
    length = end
  }
  return { entries, length }
}

/** Returns the end of an entry by its length field; null if that end is impossible. */
function entryEnd(bytes: Buffer, at: number): number | null {
  if (at + ENTRY_HEADER_BYTES > bytes.length) return null
  const length = bytes.readUInt32BE(at)
  return length < ENTRY_HEADER_BYTES || at + length > bytes.length ? null : at + length
}

/** Decodes an entry. Returns null if the entry fails its CRC. */
function entryAt(bytes: Buffer, at: number, end: number, seed: number): Entry | null {
  const type = TYPES[bytes[at + 8]! - 1]
  if (type === undefined || bytes.readUInt32BE(at + 4) !== crc32c(bytes.subarray(at + 8, end), seed)) return null
  return decodeEntry(type, new EntryReader(bytes, at + ENTRY_HEADER_BYTES, end))
}

/** Returns the batches that the entry has in the payload of its round, in order. */
export function batchesOf(entry: Entry): readonly BatchMark[] {
  return 'batches' in entry ? entry.batches : []
}

/** Returns the number of payload bytes that the entries describe. */
export function payloadBytesOf(entries: readonly Entry[]): number {
  let bytes = 0
  for (const entry of entries) for (const mark of batchesOf(entry)) bytes += mark.length
  return bytes
}

function decodeEntry(type: (typeof TYPES)[number], reader: EntryReader): Entry {
  switch (type) {
    case 'create':
      return { type, stream: reader.u32(), name: reader.text() }
    case 'remove':
      return { type, stream: reader.u32() }
    case 'open':
      return { type, stream: reader.u32(), epoch: reader.u32(), end: reader.u64() }
    case 'append':
      return {
        type,
        stream: reader.u32(),
        epoch: reader.u32(),
        at: reader.u64(),
        attempt: reader.text(),
        ...reader.marks(),
        rows: reader.rows(),
      }
    case 'trim':
      return { type, stream: reader.u32(), start: reader.u64(), rows: reader.rows() }
    case 'commit':
      return {
        type,
        document: reader.u32(),
        version: reader.u64(),
        removed: reader.u32() === 1,
        kind: reader.text(),
        name: reader.text(),
        changes: reader.rows(),
      }
    case 'move':
      return { type, stream: reader.u32(), ...reader.marks() }
    case 'rewrite':
      return {
        type,
        stream: reader.u32(),
        from: reader.u64(),
        to: reader.u64(),
        ...reader.marks(),
        rows: reader.rows(),
      }
  }
}

/** Reads a body whose CRC was right. If the body is malformed, this store wrote it wrongly, and the reader asserts. */
class EntryReader {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number

  constructor(bytes: Buffer, at: number, end: number) {
    this.#bytes = bytes
    this.#at = at
    this.#end = end
  }

  #take(length: number): number {
    const at = this.#at
    this.#at += length
    assert(this.#at <= this.#end, 'a journal entry is shorter than its body says')
    return at
  }

  u32(): number {
    return this.#bytes.readUInt32BE(this.#take(4))
  }

  u64(): number {
    return readUInt64(this.#bytes, this.#take(8))
  }

  text(): string {
    const length = this.u32()
    const at = this.#take(length)
    return this.#bytes.toString('utf8', at, at + length)
  }

  marks(): { readonly batches: BatchMark[]; readonly payloadAt: number } {
    const count = this.u32()
    const payloadAt = this.u32()
    const marks: BatchMark[] = []
    for (let i = 0; i < count; i++) {
      marks.push({
        baseOffset: this.u64(),
        nextOffset: this.u64(),
        length: this.u32(),
        leaderEpoch: this.u32(),
        crc: this.u32(),
      })
    }
    return { batches: marks, payloadAt }
  }

  rows(): Row[] {
    const count = this.u32()
    const rows: Row[] = []
    for (let i = 0; i < count; i++) {
      const key = this.text()
      const length = this.u32() - 1
      if (length < 0) {
        rows.push({ key, value: null })
        continue
      }
      const at = this.#take(length)
      rows.push({ key, value: Buffer.from(this.#bytes.subarray(at, at + length)) })
    }
    return rows
  }
}

/** Returns the description of a batch for an entry. */
export function markOf(batch: {
  readonly baseOffset: number
  readonly nextOffset: number
  readonly bytes: Uint8Array
}): BatchMark {
  const { bytes, baseOffset, nextOffset } = batch
  assert(bytes.length >= SMALLEST_BATCH, `a record batch of ${bytes.length} bytes at offset ${baseOffset}`)
  return {
    baseOffset,
    nextOffset,
    length: bytes.length,
    leaderEpoch: readUInt32(bytes, 12),
    crc: readUInt32(bytes, 17),
  }
}

/** Returns true if the bytes are the described batch, complete and undamaged. */
export function isIntact(mark: BatchMark, bytes: Buffer): boolean {
  return (
    bytes.length === mark.length &&
    bytes.length >= SMALLEST_BATCH &&
    readUInt64(bytes, 0) === mark.baseOffset &&
    bytes.readUInt32BE(8) === mark.length - 12 &&
    bytes.readUInt32BE(12) === mark.leaderEpoch &&
    bytes[16] === 2 &&
    bytes.readUInt32BE(17) === mark.crc &&
    crc32c(bytes.subarray(BATCH_CHECKED_BYTES)) === mark.crc
  )
}

function readUInt32(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
}
