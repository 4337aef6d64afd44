// The four codecs of Kafka's record batches. Decompression runs in the thread pool and never makes more bytes than
// the caller allows, whatever size the input claims. Clients get batches as they arrived. The broker compresses
// batches for the store (log/stored-batch.ts), and decompresses them for code that reads records.
//
// Framings: gzip (RFC 1952, several members allowed), zstd frames (RFC 8878), one lz4 frame with independent or linked
// blocks, and snappy in the two forms that clients send: bare (librdkafka), and xerial (Java, Sarama):
//
//   82 'SNAPPY' 00 | version int32 | compatible int32 | (length int32 | snappy block)*

import { promisify } from 'node:util'
import {
  constants,
  gunzip,
  gzip,
  gzipSync,
  type ZlibOptions,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
} from 'node:zlib'
import { compressFrame, compressFrameSync, decompressFrame } from 'lz4-napi'
import { compress as snappyCompress, compressSync as snappyCompressSync, uncompress as snappyUncompress } from 'snappy'

export type Codec = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'

/** The codecs, by their number in the attributes of a batch. */
export const codecs: readonly Codec[] = Object.freeze(['none', 'gzip', 'snappy', 'lz4', 'zstd'])

/** Thrown for input that is not in the format, is cut, has bytes after its end, or grows beyond the limit. */
export class NotDecompressed extends Error {
  override readonly name = 'NotDecompressed'
  /** The input may be valid, but it is larger than the caller allows. */
  readonly tooLarge: boolean

  constructor(message: string, tooLarge: boolean, options?: ErrorOptions) {
    super(message, options)
    this.tooLarge = tooLarge
  }
}

const tooLarge = (codec: Codec, maxBytes: number, options?: ErrorOptions) =>
  new NotDecompressed(`${codec}: grows beyond ${maxBytes} bytes`, true, options)
const invalid = (codec: Codec, why: string, options?: ErrorOptions) =>
  new NotDecompressed(`${codec}: ${why}`, false, options)

/** Returns the bytes before compression, at most maxBytes. Only zstd has dictionaries. Throws NotDecompressed. */
export async function decompress(
  codec: Codec,
  bytes: Uint8Array,
  maxBytes: number,
  dictionary?: Uint8Array,
): Promise<Buffer> {
  const input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (codec === 'gzip' || codec === 'zstd') return inflate(codec, input, maxBytes, dictionary)
  if (codec === 'snappy') return isXerial(input) ? unpackXerial(input, maxBytes) : unpackSnappy(input, maxBytes)
  if (codec === 'lz4') return unpackLz4(input, maxBytes)
  if (input.length > maxBytes) throw tooLarge(codec, maxBytes)
  return input
}

/** Returns the bytes compressed as Kafka's own clients do it, snappy in xerial framing. */
export async function compress(codec: Codec, bytes: Uint8Array): Promise<Buffer> {
  if (codec === 'gzip') return promisify(gzip)(bytes, gzipOptions(bytes.length))
  if (codec === 'zstd') return promisify(zstdCompress)(bytes, { chunkSize: chunkSize(bytes.length) })
  if (codec === 'lz4') return compressFrame(bytes)
  if (codec === 'snappy') {
    const blocks: Buffer[] = []
    // One after the other: a large batch must not take the whole pool.
    for (const chunk of xerialChunks(bytes)) blocks.push(await snappyCompress(chunk))
    return packXerial(blocks)
  }
  return Buffer.from(bytes)
}

/** Does the same on this thread. */
export function compressSync(codec: Codec, bytes: Uint8Array): Buffer {
  if (codec === 'gzip') return gzipSync(bytes)
  if (codec === 'zstd') return zstdCompressSync(bytes, { chunkSize: chunkSize(bytes.length) })
  if (codec === 'lz4') return compressFrameSync(Buffer.from(bytes))
  if (codec === 'snappy') return packXerial(xerialChunks(bytes).map(chunk => snappyCompressSync(chunk)))
  return Buffer.from(bytes)
}

// ----------------------------------------------------------------------------------------------------- gzip and zstd

/** The largest window that a zstd level uses (2^27 bytes). Its memory is touched only as far as output is written. */
export const ZSTD_MAX_WINDOW_LOG = 27

/**
 * Returns options with a window of the input's size. The default window takes 256 KiB for any input, and the
 * collection of thousands of them would stop the process.
 */
function gzipOptions(length: number): ZlibOptions {
  const windowBits = Math.min(15, Math.max(9, Math.ceil(Math.log2(length + 1))))
  return { windowBits, memLevel: Math.min(8, windowBits - 6) }
}

/** Returns a chunk size for the expected bytes. With zlib's default of 16 KiB zstd is a third as fast. */
function chunkSize(expected: number): number {
  return Math.min(1 << 20, Math.max(1 << 14, expected))
}

function inflate(
  codec: 'gzip' | 'zstd',
  input: Buffer,
  maxBytes: number,
  dictionary: Uint8Array | undefined,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // With `info` zlib also tells how much of the input it used; its type declarations do not know that.
    const options = {
      info: true,
      maxOutputLength: Math.max(1, maxBytes),
      chunkSize: chunkSize(Math.min(maxBytes, input.length * 4)),
    }
    const settle = (error: (Error & { code?: string }) | null, result: unknown) => {
      if (error?.code === 'ERR_BUFFER_TOO_LARGE') return reject(tooLarge(codec, maxBytes, { cause: error }))
      if (error) return reject(invalid(codec, error.message, { cause: error }))
      const { buffer, engine } = result as { buffer: Buffer; engine: { bytesWritten: number } }
      if (engine.bytesWritten !== input.length) return reject(invalid(codec, 'bytes follow the end'))
      if (buffer.length > maxBytes) return reject(tooLarge(codec, maxBytes))
      resolve(buffer)
    }
    if (codec === 'gzip') gunzip(input, options, settle)
    else {
      const params = { [constants.ZSTD_d_windowLogMax]: ZSTD_MAX_WINDOW_LOG }
      zstdDecompress(input, { ...options, dictionary, params }, settle)
    }
  })
}

// ------------------------------------------------------------------------------------------------------------ snappy

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const XERIAL_HEADER = 16
/** snappy-java cuts its input into chunks of this size. */
const XERIAL_CHUNK = 32 * 1024

export function isXerial(input: Buffer): boolean {
  return input.length >= XERIAL_HEADER && input.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)
}

/**
 * Returns the uncompressed length at the start of a snappy block. The native code allocates that many bytes at once.
 */
export function snappyLength(input: Buffer, from: number): number {
  let length = 0
  for (let i = 0; i < 5 && from + i < input.length; i++) {
    const byte = input[from + i]!
    length += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) return length
  }
  throw invalid('snappy', 'the length of a block is not readable')
}

async function unpackSnappy(block: Buffer, maxBytes: number): Promise<Buffer> {
  if (snappyLength(block, 0) > maxBytes) throw tooLarge('snappy', maxBytes)
  try {
    return (await snappyUncompress(block)) as Buffer
  } catch (error) {
    throw invalid('snappy', (error as Error).message, { cause: error })
  }
}

async function unpackXerial(input: Buffer, maxBytes: number): Promise<Buffer> {
  const blocks: Buffer[] = []
  let total = 0
  for (const { from, end } of xerialBlocks(input)) {
    total += snappyLength(input, from)
    if (total > maxBytes) throw tooLarge('snappy', maxBytes)
    blocks.push(input.subarray(from, end))
  }
  return Buffer.concat(await Promise.all(blocks.map(block => unpackSnappy(block, maxBytes))))
}

/** Yields the start and the end of each block in xerial framing. */
export function* xerialBlocks(input: Buffer): Generator<{ readonly from: number; readonly end: number }, void> {
  for (let at = XERIAL_HEADER; at < input.length; ) {
    if (input.length - at < 4) throw invalid('snappy', 'a chunk is cut')
    const length = input.readInt32BE(at)
    at += 4
    if (length < 0 || length > input.length - at) throw invalid('snappy', `a chunk of ${length} bytes does not fit`)
    yield { from: at, end: at + length }
    at += length
  }
}

function xerialChunks(bytes: Uint8Array): Uint8Array[] {
  const chunks: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += XERIAL_CHUNK) chunks.push(bytes.subarray(at, at + XERIAL_CHUNK))
  return chunks
}

function packXerial(blocks: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(XERIAL_HEADER)
  XERIAL_MAGIC.copy(header)
  header.writeInt32BE(1, 8)
  header.writeInt32BE(1, 12)
  const parts: Buffer[] = [header]
  for (const block of blocks) {
    const length = Buffer.alloc(4)
    length.writeInt32BE(block.length)
    parts.push(length, block)
  }
  return Buffer.concat(parts)
}

// --------------------------------------------------------------------------------------------------------------- lz4

// One frame (github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md):
//
//   magic 4 | flags 1 | block size 1 | content size 8? | dictionary 4? | header checksum 1
//   (size uint32, its highest bit: not compressed | block | checksum 4?)* | 0 uint32 | content checksum 4?
const LZ4_MAGIC = 0x184d2204
export const LZ4_INDEPENDENT_BLOCKS = 0x20
const LZ4_BLOCK_CHECKSUM = 0x10
const LZ4_CONTENT_SIZE = 0x08
const LZ4_CONTENT_CHECKSUM = 0x04
const LZ4_DICTIONARY = 0x01

async function unpackLz4(input: Buffer, maxBytes: number): Promise<Buffer> {
  // The native code has no limit of its own, so the frame is measured before it is decompressed.
  measureLz4(input, maxBytes)
  try {
    return await decompressFrame(input)
  } catch (error) {
    throw invalid('lz4', (error as Error).message, { cause: error })
  }
}

/**
 * Returns how many bytes the frame decompresses to, without decompressing it. Throws NotDecompressed if they are more
 * than maxBytes.
 */
export function measureLz4(input: Buffer, maxBytes: number): number {
  let total = 0
  for (const { from, end, isCompressed } of lz4Blocks(input, maxBytes)) {
    total += isCompressed ? measureLz4Block(input, from, end) : end - from
    if (total > maxBytes) throw tooLarge('lz4', maxBytes)
  }
  return total
}

/** Yields the blocks of a frame. Throws NotDecompressed if the frame is cut or claims more than maxBytes. */
export function* lz4Blocks(
  input: Buffer,
  maxBytes: number,
): Generator<{ readonly from: number; readonly end: number; readonly isCompressed: boolean }, void> {
  if (input.length < 11 || input.readUInt32LE(0) !== LZ4_MAGIC) throw invalid('lz4', 'is not a frame')
  const flags = input[4]!
  if (flags >> 6 !== 1) throw invalid('lz4', `the version ${flags >> 6} is unknown`)
  if (flags & LZ4_DICTIONARY) throw invalid('lz4', 'wants a dictionary')
  let at = 6
  if (flags & LZ4_CONTENT_SIZE) {
    if (input.length < at + 8) throw invalid('lz4', 'the frame is cut')
    if (Number(input.readBigUInt64LE(at)) > maxBytes) throw tooLarge('lz4', maxBytes)
    at += 8
  }
  at += 1
  for (;;) {
    if (input.length - at < 4) throw invalid('lz4', 'the frame is cut')
    const word = input.readUInt32LE(at)
    at += 4
    if (word === 0) break
    const size = word & 0x7fffffff
    if (size > input.length - at) throw invalid('lz4', `a block of ${size} bytes does not fit`)
    yield { from: at, end: at + size, isCompressed: word < 0x80000000 }
    at += size + (flags & LZ4_BLOCK_CHECKSUM ? 4 : 0)
  }
  if (flags & LZ4_CONTENT_CHECKSUM) at += 4
  if (at !== input.length) throw invalid('lz4', at > input.length ? 'the frame is cut' : 'bytes follow the end')
}

/** Returns the uncompressed size of a block: the sum of its literal and match lengths. */
function measureLz4Block(input: Buffer, from: number, end: number): number {
  let at = from
  let size = 0
  const more = (nibble: number): number => {
    let length = nibble
    if (nibble !== 15) return length
    for (;;) {
      if (at >= end) throw invalid('lz4', 'a block is cut')
      const byte = input[at++]!
      length += byte
      if (byte !== 255) return length
    }
  }
  while (at < end) {
    const token = input[at++]!
    const literals = more(token >> 4)
    if (literals > end - at) throw invalid('lz4', 'a block is cut')
    size += literals
    at += literals
    if (at === end) return size
    at += 2
    size += more(token & 15) + 4
  }
  throw invalid('lz4', 'a block is cut')
}
