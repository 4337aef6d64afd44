// Decompresses the records of a batch at a known cost. It allocates the memory for the result once, discard() frees
// it at once, and work on the event loop lets other work run in between. That is why snappy and lz4 are decompressed
// here: the results of their native code stay in memory until the next garbage collection, which can be gigabytes
// later. Batches that the broker compressed itself go through compression.ts, completely in the thread pool.
//
//   snappy block: length varint | elements
//                 element tag, lowest two bits: 0 literal, 1 to 3 copies with offsets of 11, 16, 32 bits
//   lz4 block:    (token | literal length 255* | literals | offset uint16 | match length 255*)*
//                 the last sequence ends with its literals

import { constants, createGunzip, createZstdDecompress, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Turns } from '../base/clock.ts'
import {
  type Codec,
  isXerial,
  LZ4_INDEPENDENT_BLOCKS,
  lz4Blocks,
  measureLz4,
  NotDecompressed,
  snappyLength,
  xerialBlocks,
  ZSTD_MAX_WINDOW_LOG,
} from './compression.ts'

/** Bytes of output, and steps of a decoder, between two checks of the clock. */
const STEP_BYTES = 64 * 1024
const STEP_ELEMENTS = 1024

/** Decides when it is time to check the clock. */
class Pace {
  #steps = 0
  #nextAt = STEP_BYTES

  /** Counts one more step; `at` is the end of the output after it. */
  isDue(at: number): boolean {
    if (++this.#steps < STEP_ELEMENTS && at < this.#nextAt) return false
    this.#steps = 0
    this.#nextAt = at + STEP_BYTES
    return true
  }
}

/**
 * Returns the bytes before compression, at most maxBytes of them. With `none` they are a view of the input. Throws
 * NotDecompressed.
 */
export async function unpack(codec: Codec, bytes: Uint8Array, maxBytes: number, turn: Turns): Promise<Buffer> {
  const input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  switch (codec) {
    case 'none':
      if (input.length > maxBytes) throw tooLarge(codec, maxBytes)
      return input
    case 'gzip':
    case 'zstd':
      return await inflate(codec, input, maxBytes)
    case 'snappy':
      return await inTurns(unpackSnappy(input, maxBytes), turn)
    case 'lz4':
      return await inTurns(unpackLz4(input, maxBytes), turn)
  }
}

/** Does the same on this thread, without turns of other work. For threads that do nothing else. */
export function unpackSync(codec: Codec, bytes: Uint8Array, maxBytes: number): Buffer {
  const input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  switch (codec) {
    case 'none':
      if (input.length > maxBytes) throw tooLarge(codec, maxBytes)
      return input
    case 'gzip':
    case 'zstd':
      return inflateSync(codec, input, maxBytes)
    case 'snappy':
      return atOnce(unpackSnappy(input, maxBytes))
    case 'lz4':
      return atOnce(unpackLz4(input, maxBytes))
  }
}

/** Frees the memory of the result of `unpack`. Every view of it is empty afterwards. */
export function discard(unpacked: Buffer): void {
  const { buffer } = unpacked
  // A smaller buffer may share its memory with others.
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= LEAST_ROOM_BYTES) buffer.transfer(0)
}

/**
 * The smallest buffer in bytes that has memory of its own. Below this Node may share one piece of memory among
 * buffers.
 */
export const LEAST_ROOM_BYTES = 64 * 1024

/** Usually the output is at most this many times as large as the input. */
const USUAL_GROWTH = 8

async function inTurns(steps: Generator<void, Buffer>, turn: Turns): Promise<Buffer> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    const others = turn()
    if (others !== undefined) await others
  }
}

function atOnce(steps: Generator<void, Buffer>): Buffer {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

const tooLarge = (codec: Codec, maxBytes: number) =>
  new NotDecompressed(`${codec}: grows beyond ${maxBytes} bytes`, true)
const invalid = (codec: Codec, why: string) => new NotDecompressed(`${codec}: ${why}`, false)

// ----------------------------------------------------------------------------------------------------- gzip and zstd

/** Decompresses in the thread pool, into one buffer with room for one byte more than is allowed. */
function inflate(codec: 'gzip' | 'zstd', input: Buffer, maxBytes: number): Promise<Buffer> {
  const chunkSize = Math.max(LEAST_ROOM_BYTES, maxBytes + 1)
  const stream =
    codec === 'gzip'
      ? createGunzip({ chunkSize })
      : createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_MAX_WINDOW_LOG } })
  const pieces: Buffer[] = []
  let total = 0
  let failure: Error | null = null
  return new Promise((resolve, reject) => {
    stream.on('data', (piece: Buffer) => {
      pieces.push(piece)
      total += piece.length
      if (total <= maxBytes) return
      failure ??= tooLarge(codec, maxBytes)
      stream.destroy()
    })
    stream.on('error', error => {
      failure ??= new NotDecompressed(`${codec}: ${error.message}`, false, { cause: error })
    })
    // Until this event the thread pool may still write.
    stream.on('close', () => {
      if (failure === null && stream.bytesWritten !== input.length) failure = invalid(codec, 'bytes follow the end')
      if (failure === null && pieces.length === 1) return resolve(pieces[0]!)
      const whole = failure === null ? Buffer.concat(pieces) : null
      for (const piece of pieces) discard(piece)
      if (whole === null) reject(failure)
      else resolve(whole)
    })
    stream.end(input)
  })
}

function inflateSync(codec: 'gzip' | 'zstd', input: Buffer, maxBytes: number): Buffer {
  const usual = Math.max(LEAST_ROOM_BYTES, Math.min(maxBytes, input.length * USUAL_GROWTH))
  // With `info` zlib also tells how much of the input it used; its type declarations do not know that.
  const options = { info: true, maxOutputLength: Math.max(1, maxBytes), chunkSize: usual }
  let result: unknown
  try {
    result =
      codec === 'gzip'
        ? gunzipSync(input, options)
        : zstdDecompressSync(input, { ...options, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_MAX_WINDOW_LOG } })
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(codec, maxBytes)
    throw new NotDecompressed(`${codec}: ${message}`, false, { cause: error })
  }
  const { buffer, engine } = result as { buffer: Buffer; engine: { bytesWritten: number } }
  if (engine.bytesWritten !== input.length) throw invalid(codec, 'bytes follow the end')
  return buffer
}

// ------------------------------------------------------------------------------------------------------------ snappy

function* unpackSnappy(input: Buffer, maxBytes: number): Generator<void, Buffer> {
  const blocksOf = () => (isXerial(input) ? xerialBlocks(input) : [{ from: 0, end: input.length }])
  const pace = new Pace()
  let total = 0
  for (const { from } of blocksOf()) {
    total += snappyLength(input, from)
    if (total > maxBytes) throw tooLarge('snappy', maxBytes)
    if (pace.isDue(0)) yield
  }
  const output = Buffer.allocUnsafeSlow(total)
  let at = 0
  for (const { from, end } of blocksOf()) {
    at = yield* unpackSnappyBlock(input, from, end, output, at, pace)
    if (pace.isDue(at)) yield
  }
  return output
}

/** Returns the end of the block's output. */
function* unpackSnappyBlock(
  input: Buffer,
  from: number,
  end: number,
  output: Buffer,
  start: number,
  pace: Pace,
): Generator<void, number> {
  const limit = start + snappyLength(input, from)
  let p = from
  while (input[p]! >= 0x80) p++
  p++
  let at = start
  while (p < end) {
    const tag = input[p++]!
    if ((tag & 3) === 0) {
      let length = tag >> 2
      if (length >= 60) {
        const bytes = length - 59
        if (bytes > end - p) throw invalid('snappy', 'a literal is cut')
        length = input.readUIntLE(p, bytes)
        p += bytes
      }
      length++
      if (length > end - p || length > limit - at) throw invalid('snappy', `a literal of ${length} bytes does not fit`)
      copyLiteral(input, p, output, at, length)
      p += length
      at += length
    } else {
      const extra = (tag & 3) === 1 ? 1 : (tag & 3) === 2 ? 2 : 4
      if (extra > end - p) throw invalid('snappy', 'a copy is cut')
      const length = extra === 1 ? 4 + ((tag >> 2) & 7) : 1 + (tag >> 2)
      const offset = extra === 1 ? ((tag >> 5) << 8) | input[p]! : input.readUIntLE(p, extra)
      p += extra
      if (offset === 0 || offset > at - start || length > limit - at) throw invalid('snappy', 'a copy does not fit')
      copyMatch(output, at, offset, length)
      at += length
    }
    if (pace.isDue(at)) yield
  }
  if (at !== limit) throw invalid('snappy', `a block has ${at - start} of ${limit - start} bytes`)
  return at
}

// --------------------------------------------------------------------------------------------------------------- lz4

function* unpackLz4(input: Buffer, maxBytes: number): Generator<void, Buffer> {
  const total = measureLz4(input, maxBytes)
  const output = Buffer.allocUnsafeSlow(total)
  const isIndependent = (input[4]! & LZ4_INDEPENDENT_BLOCKS) !== 0
  const pace = new Pace()
  let at = 0
  for (const { from, end, isCompressed } of lz4Blocks(input, maxBytes)) {
    if (isCompressed) at = yield* unpackLz4Block(input, from, end, output, at, isIndependent ? at : 0, pace)
    else at += input.copy(output, at, from, end)
    if (pace.isDue(at)) yield
  }
  return output
}

/**
 * Returns the end of the block's output. Matches begin at `oldest` or later. The output has room for the block,
 * because measureLz4() has measured it.
 */
function* unpackLz4Block(
  input: Buffer,
  from: number,
  end: number,
  output: Buffer,
  start: number,
  oldest: number,
  pace: Pace,
): Generator<void, number> {
  let p = from
  let at = start
  while (p < end) {
    const token = input[p++]!
    let literals = token >> 4
    if (literals === 15) {
      let byte = 255
      while (byte === 255) literals += byte = input[p++]!
    }
    if (literals > 0) {
      copyLiteral(input, p, output, at, literals)
      p += literals
      at += literals
    }
    if (p === end) return at
    const offset = input[p]! | (input[p + 1]! << 8)
    p += 2
    let length = token & 15
    if (length === 15) {
      let byte = 255
      while (byte === 255) length += byte = input[p++]!
    }
    length += 4
    if (offset === 0 || offset > at - oldest) throw invalid('lz4', 'a match begins before its block')
    // One match may be as long as the whole output.
    for (let left = length; left > 0; ) {
      const step = Math.min(left, STEP_BYTES)
      copyMatch(output, at, offset, step)
      at += step
      left -= step
      if (pace.isDue(at)) yield
    }
  }
  return at
}

// ------------------------------------------------------------------------------------------------------------- copies

/** Below this length in bytes a call costs more than a loop. */
const FEW_BYTES = 32

function copyLiteral(input: Buffer, from: number, output: Buffer, at: number, length: number): void {
  if (length >= FEW_BYTES) input.copy(output, at, from, from + length)
  else for (let i = 0; i < length; i++) output[at + i] = input[from + i]!
}

/** Repeats the bytes that begin `offset` bytes before `at`. A match may overlap its own output. */
function copyMatch(output: Buffer, at: number, offset: number, length: number): void {
  if (length < FEW_BYTES) {
    for (let i = 0; i < length; i++) output[at + i] = output[at + i - offset]!
    return
  }
  // Each step doubles the repeated piece until it is long enough.
  const from = at - offset
  for (let done = 0; done < length; ) {
    const step = Math.min(length - done, at + done - from)
    output.copyWithin(at + done, from, from + step)
    done += step
  }
}
