// Prepares Kafka frames once, so that a load generator on the same two cores costs as little as possible. It writes
// Produce 7 and Fetch 11, the newest versions whose fields have constant positions. It is not a client: it encodes by
// hand, intentionally without the broker's codec, and reads only the fields that it counts.

import { assert } from '../src/base/assert.ts'
import { crc32c } from '../src/base/crc32c.ts'
import { seededRandom } from '../src/base/random.ts'

/** Position of the correlation id in a request (after the size, the key and the version). */
const REQUEST_CORRELATION = 8
const RESPONSE_CORRELATION = 4

/** The length of Kafka's record batch header, up to the records, in bytes. */
const BATCH_HEADER_BYTES = 61

function varint(value: number): Buffer {
  const bytes: number[] = []
  // Zigzag; the values here are small and never negative.
  let rest = value * 2
  while (rest >= 128) {
    bytes.push((rest & 127) | 128)
    rest = Math.floor(rest / 128)
  }
  return Buffer.from([...bytes, rest])
}

/**
 * Returns a plain record batch v2 of about `bytes`. Its records have about `recordBytes` each, and their values do
 * not compress.
 */
export function prepareBatch(bytes: number, recordBytes: number, seed = 1): Buffer {
  const random = seededRandom(seed)
  const count = Math.max(1, Math.floor((bytes - BATCH_HEADER_BYTES) / recordBytes))
  const value = random.bytes(Math.max(1, recordBytes - 12))
  const records = Array.from({ length: count }, (_, delta) => {
    const body = Buffer.concat([
      Buffer.from([0]),
      varint(0),
      varint(delta),
      Buffer.from([1]),
      varint(value.length),
      value,
      Buffer.from([0]),
    ])
    return Buffer.concat([varint(body.length), body])
  })
  const header = Buffer.alloc(BATCH_HEADER_BYTES)
  const payload = Buffer.concat(records)
  header.writeInt32BE(BATCH_HEADER_BYTES - 12 + payload.length, 8)
  header.writeInt32BE(-1, 12)
  header[16] = 2
  header.writeInt32BE(count - 1, 23)
  header.writeBigInt64BE(BigInt(Date.now()), 27)
  header.writeBigInt64BE(BigInt(Date.now()), 35)
  header.writeBigInt64BE(-1n, 43)
  header.writeInt16BE(-1, 51)
  header.writeInt32BE(-1, 53)
  header.writeInt32BE(count, 57)
  const batch = Buffer.concat([header, payload])
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(2)
  length.writeInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

function int32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, i) => void bytes.writeInt32BE(value, 4 * i))
  return bytes
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function requestHead(apiKey: number, apiVersion: number): Buffer {
  return Buffer.concat([int16(apiKey), int16(apiVersion), int32(0), text('bench')])
}

/**
 * Returns the head of a Produce 7 with acks=all and one batch of `batchBytes`. The caller writes the batch right
 * after it.
 */
export function produceHead(topic: string, partition: number, batchBytes: number): Buffer {
  const head = Buffer.concat([
    requestHead(0, 7),
    int16(-1),
    int16(-1),
    int32(60_000, 1),
    text(topic),
    int32(1, partition, batchBytes),
  ])
  return Buffer.concat([int32(head.length + batchBytes), head])
}

/** Returns a Fetch 11 without a session, for one partition. */
export function fetchRequest(topic: string, partition: number, maxBytes: number): Buffer {
  const offset = Buffer.alloc(8)
  const body = Buffer.concat([
    requestHead(1, 11),
    int32(-1, 500, 1, maxBytes),
    Buffer.from([0]),
    int32(0, -1, 1),
    text(topic),
    int32(1, partition, -1),
    offset,
    Buffer.alloc(8, 255),
    int32(maxBytes, 0),
    text(''),
  ])
  return Buffer.concat([int32(body.length), body])
}

/** The wait of a parked fetch in milliseconds: the default of the clients' `fetch.max.wait.ms`. */
export const PARKED_MS = 500

/** Position of the session id in a `parkingRequest`: after size, head, four int32 and the isolation level. */
const PARKING_SESSION = 4 + requestHead(1, 11).length + 16 + 1
/** Position of the session id in the answer: after size, correlation id, throttle time and error code. */
const FETCHED_SESSION = 4 + 4 + 4 + 2

/** Returns a Fetch 11 that waits for the first byte of any of these partitions, from their offset 0 on. */
export function parkingRequest(topic: string, partitions: number, sessionEpoch: number): Buffer {
  const rows = Array.from({ length: partitions }, (_, partition) =>
    Buffer.concat([int32(partition, -1), Buffer.alloc(8), Buffer.alloc(8, 255), int32(1_048_576)]),
  )
  const topics = partitions === 0 ? int32(0) : Buffer.concat([int32(1), text(topic), int32(partitions), ...rows])
  const body = Buffer.concat([
    requestHead(1, 11),
    int32(-1, PARKED_MS, 1, 1_048_576),
    Buffer.from([0]),
    int32(0, sessionEpoch),
    topics,
    int32(0),
    text(''),
  ])
  return Buffer.concat([int32(body.length), body])
}

/** Returns the answer to a `parkingRequest` for that topic if no record has arrived: without a session. */
export function parkedResponse(topic: string, partitions: number): Buffer {
  // Watermark, stable offset and log start; no aborted transactions, no preferred replica, no records.
  const rows = Array.from({ length: partitions }, (_, partition) =>
    Buffer.concat([int32(partition), int16(0), Buffer.alloc(24), int32(-1, -1, 0)]),
  )
  const body = Buffer.concat([int32(0, 0), int16(0), int32(0, 1), text(topic), int32(partitions), ...rows])
  return Buffer.concat([int32(body.length), body])
}

/** Writes the session id and its epoch into a `parkingRequest`. */
export function setSession(request: Buffer, sessionId: number, sessionEpoch: number): void {
  request.writeInt32BE(sessionId, PARKING_SESSION)
  request.writeInt32BE(sessionEpoch, PARKING_SESSION + 4)
}

/** Returns the error code and the session id of a Fetch answer. */
export function readSession(response: Buffer): { error: number; sessionId: number } {
  return { error: response.readInt16BE(FETCHED_SESSION - 2), sessionId: response.readInt32BE(FETCHED_SESSION) }
}

/** Writes the offset into a request of `fetchRequest`. */
export function setFetchOffset(request: Buffer, offset: number): void {
  // After the offset: log start (8), max bytes (4), forgotten topics (4), rack (2).
  request.writeBigInt64BE(BigInt(offset), request.length - 8 - 8 - 4 - 4 - 2)
}

export function setCorrelation(request: Buffer, correlationId: number): void {
  request.writeInt32BE(correlationId, REQUEST_CORRELATION)
}

export function correlationOf(response: Buffer): number {
  return response.readInt32BE(RESPONSE_CORRELATION)
}

/** Returns the error code and the base offset of a Produce 7 response to one batch. */
export function readProduced(response: Buffer): { error: number; baseOffset: number } {
  // Size, correlation id, topics, name, partitions, index, error, base offset.
  const nameBytes = response.readInt16BE(12)
  const error = 14 + nameBytes + 4 + 4
  return { error: response.readInt16BE(error), baseOffset: Number(response.readBigInt64BE(error + 2)) }
}

/** Returns the Produce 7 response that the ceiling sends. */
export function producedResponse(topic: string): Buffer {
  const body = Buffer.concat([
    int32(0, 1),
    text(topic),
    int32(1, 0),
    int16(0),
    Buffer.alloc(8),
    Buffer.alloc(8, 255),
    Buffer.alloc(8),
    int32(0),
  ])
  return Buffer.concat([int32(body.length), body])
}

/**
 * Returns the position of the records' length in a Fetch 11 response for one partition without aborted transactions.
 */
function fetchRecordsAt(response: Buffer): number {
  const nameBytes = response.readInt16BE(22)
  return 24 + nameBytes + 4 + 4 + 2 + 8 + 8 + 8 + 4 + 4
}

export interface Fetched {
  readonly error: number
  readonly bytes: number
  /** The last offset in the answer plus one; null if the answer has no complete batch. */
  readonly nextOffset: number | null
  readonly highWatermark: number
}

export function readFetched(response: Buffer): Fetched {
  const nameBytes = response.readInt16BE(22)
  const error = response.readInt16BE(24 + nameBytes + 8)
  const at = fetchRecordsAt(response)
  const highWatermark = Number(response.readBigInt64BE(24 + nameBytes + 8 + 2))
  const bytes = Math.max(0, response.readInt32BE(at))
  let nextOffset: number | null = null
  for (let batch = at + 4; batch + BATCH_HEADER_BYTES <= response.length; ) {
    const size = response.readInt32BE(batch + 8) + 12
    if (batch + size > response.length) break
    nextOffset = Number(response.readBigInt64BE(batch)) + response.readInt32BE(batch + 23) + 1
    batch += size
  }
  return { error, bytes, nextOffset, highWatermark }
}

/** Returns the head of a Fetch 11 response. The caller writes the records, `bytes` long, right after it. */
export function fetchedHead(topic: string, bytes: number): Buffer {
  const head = Buffer.concat([
    int32(0, 0),
    int16(0),
    int32(0, 1),
    text(topic),
    int32(1, 0),
    int16(0),
    Buffer.alloc(24),
    int32(-1, -1, bytes),
  ])
  return Buffer.concat([int32(head.length + bytes), head])
}

/** Returns the batch in a Produce 7 frame. The frame does not include its size. */
export function batchIn(frame: Buffer): Buffer {
  const clientBytes = frame.readInt16BE(8)
  let at = 10 + clientBytes + 2 + 2 + 4 + 4
  at += 2 + frame.readInt16BE(at) + 4 + 4
  const length = frame.readInt32BE(at)
  assert(at + 4 + length === frame.length, `a Produce 7 frame of one batch was expected, ${frame.length} bytes`)
  return frame.subarray(at + 4)
}

/**
 * Returns a function that cuts a stream into frames (with their size). A frame is valid only until the next call,
 * because its memory is used again.
 */
export function frameReader(onFrame: (frame: Buffer) => void, heldBytes = 1024 * 1024): (chunk: Buffer) => void {
  let held = Buffer.allocUnsafe(heldBytes)
  let length = 0
  return chunk => {
    let at = 0
    while (at < chunk.length) {
      if (length === 0 && chunk.length - at >= 4) {
        const size = 4 + chunk.readInt32BE(at)
        if (chunk.length - at >= size) {
          onFrame(chunk.subarray(at, at + size))
          at += size
          continue
        }
      }
      const wanted = length < 4 ? 4 : 4 + held.readInt32BE(0)
      if (wanted > held.length) held = Buffer.concat([held.subarray(0, length)], wanted * 2)
      const taken = Math.min(wanted - length, chunk.length - at)
      chunk.copy(held, length, at, at + taken)
      length += taken
      at += taken
      if (length >= 4 && length === 4 + held.readInt32BE(0)) {
        const frame = held.subarray(0, length)
        length = 0
        onFrame(frame)
      }
    }
  }
}
