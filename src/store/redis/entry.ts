// Encodes a batch as one entry of a partition's Redis stream, and decodes it. The id has the epoch and the base
// offset. Field `h` is the header, field `b` has the bytes of the batch.
//
//   0       1         2         4             8      12              20
//   | format | encoding | 0 0 | recordCount | span | maxTimestamp    | position        |   28 bytes, big-endian
//
// span: nextOffset - baseOffset. position: the total size of all batches that were appended before this one. The
// positions of two entries give the size of the entries between them without a read.

import { assert } from '../../base/assert.ts'
import { readInt64, writeInt64 } from '../../base/int64.ts'
import type { Batch, EpochStart } from '../store.ts'
import type { Reply } from './client/links.ts'

const FORMAT = 1
/** The encoding of an unchanged batch, as clients see it. */
const PLAIN = 0
const HEADER_BYTES = 28

export interface Entry {
  readonly batch: Batch
  readonly epoch: number
  readonly position: number
}

/** Returns the id of an entry. It has the offset plus 1, because Redis does not allow the id 0-0. */
export function entryId(epoch: number, offset: number): string {
  return `${epoch}-${offset + 1}`
}

/** Returns the id that an entry at this offset has, with the epoch that owns the offset. */
export function idAt(epochs: readonly EpochStart[], offset: number): string {
  const owner = epochs.findLast(({ startOffset }) => startOffset <= offset) ?? epochs[0]
  assert(owner !== undefined, 'a stream that was opened has an epoch')
  return entryId(owner.epoch, offset)
}

export function encodeHeader(batch: Batch, position: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header.writeUInt8(FORMAT, 0)
  header.writeUInt8(PLAIN, 1)
  header.writeUInt16BE(0, 2)
  header.writeUInt32BE(batch.recordCount, 4)
  header.writeUInt32BE(batch.nextOffset - batch.baseOffset, 8)
  writeInt64(header, 12, batch.maxTimestamp)
  writeInt64(header, 20, position)
  return header
}

/** Decodes one element of an XRANGE reply. Throws UnreadableEntry if this version did not write it. */
export function decodeEntry(reply: Reply): Entry {
  const [id, fields] = reply as readonly [Buffer, readonly Buffer[]]
  const [epoch, sequence] = id.toString().split('-').map(Number) as [number, number]
  const [, header, , bytes] = fields
  if (fields.length !== 4 || header!.length !== HEADER_BYTES || header![0] !== FORMAT || header![1] !== PLAIN) {
    throw new UnreadableEntry(`entry ${id} is not in a form that this version reads`)
  }
  const baseOffset = sequence - 1
  return {
    epoch,
    position: readInt64(header!, 20),
    batch: {
      baseOffset,
      nextOffset: baseOffset + header!.readUInt32BE(8),
      recordCount: header!.readUInt32BE(4),
      maxTimestamp: readInt64(header!, 12),
      bytes: bytes!,
    },
  }
}

/** Thrown if another program or a later version wrote to the stream. */
export class UnreadableEntry extends Error {
  override readonly name = 'UnreadableEntry'
}
