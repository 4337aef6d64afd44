// The size that packed bytes claim to unpack to, read without unpacking them. Nothing vouches for it: it spares an
// attempt that would fail, and it never replaces a limit.
//
//   zstd (RFC 8878): magic | descriptor uint8 | window uint8, unless single segment | dictionary id | content size
//                    descriptor: bits 6-7 width of the content size, 5 single segment, 0-1 width of the dictionary id
//   gzip (RFC 1952): … | crc uint32 | size uint32 of the last member, modulo 2^32

import type { Codec } from './compression.ts'

const ZSTD_MAGIC = 0xfd2fb528
const SINGLE_SEGMENT_BIT = 0x20
const DICTIONARY_ID_BYTES: readonly number[] = [0, 1, 2, 4]
/** A content size of two bytes begins at 256: smaller ones fit into one byte. */
const TWO_BYTES_FROM = 256
/** The smallest file: a header of ten bytes, an empty block, crc and size. */
const LEAST_GZIP_BYTES = 20

/** Returns the claimed size in bytes; null if the bytes claim none. Of several frames or members only one counts. */
export function claimedSize(codec: Codec, packed: Buffer): number | null {
  if (codec === 'zstd') return sizeOfZstd(packed)
  if (codec === 'gzip' && packed.length >= LEAST_GZIP_BYTES) return packed.readUInt32LE(packed.length - 4)
  return null
}

function sizeOfZstd(packed: Buffer): number | null {
  if (packed.length < 5 || packed.readUInt32LE(0) !== ZSTD_MAGIC) return null
  const descriptor = packed[4]!
  const isSingle = (descriptor & SINGLE_SEGMENT_BIT) !== 0
  const width = descriptor >> 6
  if (width === 0 && !isSingle) return null
  const at = 5 + (isSingle ? 0 : 1) + DICTIONARY_ID_BYTES[descriptor & 3]!
  if (packed.length < at + (1 << width)) return null
  if (width === 0) return packed[at]!
  if (width === 1) return packed.readUInt16LE(at) + TWO_BYTES_FROM
  return width === 2 ? packed.readUInt32LE(at) : Number(packed.readBigUInt64LE(at))
}
