// One entry of a partition's Redis stream, to and from a batch. Its id says the epoch and the base offset, field `h` is
// the header, field `b` the bytes of the batch.
//
//   0       1         2         4             8      12              20
//   | format | encoding | 0 0 | recordCount | span | maxTimestamp    | position        |   28 bytes, big-endian
//
// span: nextOffset - baseOffset. position: bytes of all batches that were ever appended before this one, by which the
// size of what lies between two entries is known without reading it.

import { assert } from '../../base/assert.ts'
import { readInt64, writeInt64 } from '../../base/int64.ts'
import type { Batch, EpochStart } from '../store.ts'
import type { Reply } from './client/links.ts'

const FORMAT = 1
/** The batch as clients see it. */
const PLAIN = 0
const HEADER_BYTES = 28

export interface Entry {
  readonly batch: Batch
  readonly epoch: number
  readonly position: number
}

/** 0-0 is no id in Redis, so offsets begin at 1 in ids. */
export function entryId(epoch: number, offset: number): string {
  return `${epoch}-${offset + 1}`
}

/** The id that an entry at this offset has, by the epoch that the offset belongs to. */
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

/** One element of XRANGE's reply. Throws UnreadableEntry where it is not what this version writes. */
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

/** Another program, or a later version, wrote to the stream. */
export class UnreadableEntry extends Error {
  override readonly name = 'UnreadableEntry'
}
