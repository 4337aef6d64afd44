// The form of a batch in the store: as clients see it, or with its records compressed by this broker. Both forms have
// the shape of a record batch of magic 2, so that a store can check and date a batch without knowing its form. This
// file handles only bytes; compression.ts compresses.
//
// An encoded batch has codec 7. Kafka does not have this codec and Produce refuses it, so a client's batch is never
// mistaken for an encoded one:
//
//    0  the batch's own header     61 bytes  but: batchLength and crc are of these bytes, the codec bits are 7
//   61  version of this layout = 1 u8
//   62  codec of the records       u8        as Kafka numbers them
//   63  version of the dictionary  u32       0: none
//   67  crc of the plain batch     u32       as its producer, or the stamp of log append time, wrote it
//   71  length of its records      u32
//   75  its records, compressed
//
// In the design a stored entry opens with a header (format version, encoding, record count, largest timestamp). Here
// the header of the batch has this role: docs/decisions/0020.

import { crc32c } from '../base/crc32c.ts'
import { type Codec, codecs } from '../protocol/compression.ts'
import { BATCH_HEADER_BYTES, CODEC_MASK, CRC_AT, CRC_FROM, LENGTH_OVERHEAD, viewBatch } from '../protocol/records.ts'

/** Stored records without the header, which is stamped later. */
export interface EncodedRecords {
  readonly codec: Codec
  /** The version of the dictionary; 0 if no dictionary was used. */
  readonly dictionary: number
  readonly bytes: Buffer
}

/** How an encoded batch describes itself. */
export interface Encoding extends EncodedRecords {
  /** CRC of the batch as clients see it. */
  readonly crc: number
  /** The size of the whole batch as clients see it. */
  readonly plainBytes: number
}

/** The bytes that the encoding adds to the records. */
export const ENCODING_BYTES = 14

const LAYOUT = 1
const ENCODED = 7

/** Returns the stamped, uncompressed batch with its records in the encoded form. */
export function sealBatch(plain: Buffer, records: EncodedRecords): Buffer {
  const bytes = Buffer.allocUnsafeSlow(BATCH_HEADER_BYTES + ENCODING_BYTES + records.bytes.length)
  plain.copy(bytes, 0, 0, BATCH_HEADER_BYTES)
  bytes[BATCH_HEADER_BYTES] = LAYOUT
  bytes[BATCH_HEADER_BYTES + 1] = codecs.indexOf(records.codec)
  bytes.writeUInt32BE(records.dictionary, BATCH_HEADER_BYTES + 2)
  bytes.writeUInt32BE(viewBatch(plain).crc, BATCH_HEADER_BYTES + 6)
  bytes.writeUInt32BE(plain.length - BATCH_HEADER_BYTES, BATCH_HEADER_BYTES + 10)
  records.bytes.copy(bytes, BATCH_HEADER_BYTES + ENCODING_BYTES)
  writeHeader(bytes, viewBatch(plain).attributes | ENCODED)
  bytes.writeUInt32BE(crc32c(bytes.subarray(CRC_FROM)), CRC_AT)
  return bytes
}

/**
 * Returns the encoding of a stored batch that passed its checksum; null if it is stored as clients see it. Returns a
 * string that names the problem if the encoding cannot be read.
 */
export function encodingOf(stored: Buffer): Encoding | string | null {
  if ((viewBatch(stored).attributes & CODEC_MASK) !== ENCODED) return null
  if (stored.length < BATCH_HEADER_BYTES + ENCODING_BYTES) return 'its encoding is cut'
  const layout = stored[BATCH_HEADER_BYTES]!
  if (layout !== LAYOUT) return `the layout ${layout} of its encoding is unknown; this version reads ${LAYOUT}`
  const number = stored[BATCH_HEADER_BYTES + 1]!
  const codec = codecs[number]
  if (codec === undefined) return `the codec ${number} of its encoding is unknown`
  return {
    codec,
    dictionary: stored.readUInt32BE(BATCH_HEADER_BYTES + 2),
    crc: stored.readUInt32BE(BATCH_HEADER_BYTES + 6),
    plainBytes: BATCH_HEADER_BYTES + stored.readUInt32BE(BATCH_HEADER_BYTES + 10),
    bytes: stored.subarray(BATCH_HEADER_BYTES + ENCODING_BYTES),
  }
}

/** Returns the batch as clients see it; null if the result is not the batch that was encoded. */
export function unsealBatch(stored: Buffer, { crc }: Encoding, records: Buffer): Buffer | null {
  const bytes = Buffer.allocUnsafeSlow(BATCH_HEADER_BYTES + records.length)
  stored.copy(bytes, 0, 0, BATCH_HEADER_BYTES)
  records.copy(bytes, BATCH_HEADER_BYTES)
  writeHeader(bytes, viewBatch(stored).attributes & ~CODEC_MASK)
  bytes.writeUInt32BE(crc, CRC_AT)
  return viewBatch(bytes).isIntact ? bytes : null
}

function writeHeader(bytes: Buffer, attributes: number): void {
  bytes.writeInt32BE(bytes.length - LENGTH_OVERHEAD, 8)
  bytes.writeInt16BE(attributes, CRC_FROM)
}
