// Writes a record in the form that Kafka's own clients write: every number in the fewest bytes. A batch whose records
// all have this form comes back from the columns byte for byte. Batches of other forms keep their original bytes.
// The code writes into memory of the caller and makes no objects.

import { putZigzag } from '../../protocol/records.ts'

/** A key and a value, each as a part of some bytes. Lengths of -1 stand for null. */
interface KeyAndValue {
  readonly keyBytes: Buffer
  readonly keyFrom: number
  readonly keyLength: number
  readonly valueBytes: Buffer
  readonly valueFrom: number
  readonly valueLength: number
}

/** The headers of one record, read in order, as often as the caller rewinds. Their keys are not null. */
export interface HeaderWalk extends KeyAndValue {
  rewind(): void
  next(): void
}

export interface RecordParts extends KeyAndValue {
  readonly offsetDelta: number
  readonly timestampDelta: number
  readonly headerCount: number
  readonly headers: HeaderWalk
}

/** Returns the bytes of a record behind its length. */
export function bodySize(record: RecordParts): number {
  const { keyLength, valueLength, headerCount } = record
  let size = 1 + zigzagSize(record.timestampDelta) + zigzagSize(record.offsetDelta)
  size += zigzagSize(keyLength) + (keyLength > 0 ? keyLength : 0)
  size += zigzagSize(valueLength) + (valueLength > 0 ? valueLength : 0)
  size += zigzagSize(headerCount)
  if (headerCount > 0) {
    const { headers } = record
    headers.rewind()
    for (let i = 0; i < headerCount; i++) {
      headers.next()
      size += zigzagSize(headers.keyLength) + headers.keyLength
      size += zigzagSize(headers.valueLength) + (headers.valueLength > 0 ? headers.valueLength : 0)
    }
  }
  return size
}

/** Writes a record with a body of this size and returns its end. The bytes must have room for it. */
export function putRecord(to: Buffer, at: number, size: number, record: RecordParts): number {
  const { headerCount } = record
  let p = putNumber(to, at, size)
  to[p++] = 0
  p = putNumber(to, p, record.timestampDelta)
  p = putNumber(to, p, record.offsetDelta)
  p = putBytes(to, p, record.keyBytes, record.keyFrom, record.keyLength)
  p = putBytes(to, p, record.valueBytes, record.valueFrom, record.valueLength)
  p = putNumber(to, p, headerCount)
  if (headerCount > 0) {
    const { headers } = record
    headers.rewind()
    for (let i = 0; i < headerCount; i++) {
      headers.next()
      p = putBytes(to, p, headers.keyBytes, headers.keyFrom, headers.keyLength)
      p = putBytes(to, p, headers.valueBytes, headers.valueFrom, headers.valueLength)
    }
  }
  return p
}

/** Numbers up to here fit the 32 bits of zigzag form. */
const SMALL = 2 ** 30

export function zigzagSize(value: number): number {
  const magnitude = value < 0 ? -value - 1 : value
  if (magnitude < 0x40) return 1
  if (magnitude < 0x2000) return 2
  if (magnitude < 0x100000) return 3
  let size = 4
  for (let rest = Math.floor(magnitude / 0x8000000); rest > 0; rest = Math.floor(rest / 0x80)) size++
  return size
}

function putNumber(to: Buffer, at: number, value: number): number {
  if (value >= SMALL || value <= -SMALL) return putZigzag(to, at, value)
  let raw = value < 0 ? (-value << 1) - 1 : value << 1
  let p = at
  while (raw > 0x7f) {
    to[p++] = (raw & 0x7f) | 0x80
    raw >>>= 7
  }
  to[p++] = raw
  return p
}

/** Below this length a call costs more than a loop. */
const FEW_BYTES = 24

function putBytes(to: Buffer, at: number, from: Buffer, start: number, length: number): number {
  const p = putNumber(to, at, length)
  if (length <= 0) return p
  copyBytes(to, p, from, start, length)
  return p + length
}

export function copyBytes(to: Buffer, at: number, from: Buffer, start: number, length: number): void {
  if (length >= FEW_BYTES) from.copy(to, at, start, start + length)
  else for (let i = 0; i < length; i++) to[at + i] = from[start + i]!
}
