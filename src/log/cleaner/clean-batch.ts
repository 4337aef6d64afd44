// Decides what stays of one batch when its log is cleaned, and builds the batch that stays. The rules are those of
// Kafka's Cleaner and MemoryRecords.filterTo (KIP-58, KIP-534): a record goes if a newer record of its key is mapped;
// a record without a key goes; a tombstone goes once the delete horizon of its batch has passed. The first cleaning
// that keeps a tombstone sets the horizon: bit 6 of the attributes, with the time in baseTimestamp, so that the deltas
// of all timestamps change. A batch that loses nothing and gets no horizon stays byte for byte. This file does no I/O
// and knows no stored form of a batch.

import { assert } from '../../base/assert.ts'
import {
  type BatchView,
  MAX_UNPACKED_BYTES,
  putZigzag,
  RecordWalk,
  type Rest,
  rebuildBatch,
} from '../../protocol/records.ts'

/** The mapped part of the log. */
export interface Newest {
  /**
   * Returns whether the mapped part has no newer offset of a key than this one, the offset of a record with the key.
   * The key lies in `bytes`.
   */
  isNewest(offset: number, bytes: Buffer, keyFrom: number, keyEnd: number): boolean
}

export interface Terms {
  /** The end of the mapped part. Records from here on stay. */
  readonly mapTo: number
  /** The time at which the pass began, in ms since 1970. */
  readonly nowMs: number
  readonly deleteRetentionMs: number
  /**
   * A batch that ends here or above is the newest one that readers see. It stays even without records, so that a
   * reader finds a next place.
   */
  readonly newestFrom: number
}

export interface Cleaned {
  /** The batch that stays; null if none stays; the string if the batch stays byte for byte. */
  readonly bytes: Uint8Array | 'same' | null
  /** Records that stay. */
  readonly kept: number
  /** The timestamp of the first record that stays and the largest timestamp of the batch; -1 if it has none. */
  readonly firstTimestamp: number
  readonly maxTimestamp: number
  readonly dropped: number
  /** Those of the dropped records that have no key. */
  readonly keyless: number
}

/**
 * Cleans one batch as clients see it; `payload` is its records before compression. Throws InvalidRecords if the
 * payload is not its records.
 */
export function cleanBatch(batch: BatchView, payload: Buffer, newest: Newest, terms: Terms): Cleaned {
  // The rules of transactions (KIP-98) belong here: which records of aborted transactions go, and when a marker goes.
  assert(!batch.isControl && !batch.isTransactional, `the batch at ${batch.baseOffset} belongs to a transaction`)
  const stays: Span[] = []
  const cleaned = { kept: 0, dropped: 0, keyless: 0, firstTimestamp: -1, maxTimestamp: batch.maxTimestamp }
  let maxTimestamp = Number.NEGATIVE_INFINITY
  let hasTombstone = false
  const horizonMs = batch.deleteHorizonMs
  const isPastHorizon = horizonMs !== null && terms.nowMs >= horizonMs
  const walk = new RecordWalk(batch, payload)
  while (walk.next()) {
    if (walk.offset < terms.mapTo) {
      const hasKey = walk.hasKey()
      const isNewest = hasKey && newest.isNewest(walk.offset, payload, walk.keyFrom, walk.keyEnd)
      const isTombstone = isNewest && !walk.hasValue()
      if (!isNewest || (isTombstone && isPastHorizon)) {
        cleaned.dropped++
        if (!hasKey) cleaned.keyless++
        continue
      }
      hasTombstone ||= isTombstone
    }
    if (cleaned.kept++ === 0) cleaned.firstTimestamp = walk.timestamp
    maxTimestamp = Math.max(maxTimestamp, walk.timestamp)
    const last = stays.at(-1)
    if (last?.end === walk.from) last.end = walk.end
    else stays.push({ from: walk.from, end: walk.end })
  }
  if (cleaned.kept === 0) {
    if (batch.lastOffset + 1 < terms.newestFrom) return { bytes: null, ...cleaned }
    if (cleaned.dropped === 0) return { bytes: 'same', ...cleaned }
    return { bytes: rebuildBatch(batch, { ...EMPTY, maxTimestamp: batch.maxTimestamp }), ...cleaned }
  }
  const needsHorizon = hasTombstone && horizonMs === null
  if (cleaned.dropped === 0 && !needsHorizon) return { bytes: 'same', ...cleaned }
  const rest: Rest = {
    payload: Buffer.concat(stays.map(({ from, end }) => payload.subarray(from, end))),
    recordCount: cleaned.kept,
    baseTimestamp: batch.baseTimestamp,
    maxTimestamp: batch.timestampType === 'CreateTime' ? maxTimestamp : batch.maxTimestamp,
    deleteHorizonMs: horizonMs,
  }
  const moved = needsHorizon ? withHorizon(batch, rest, terms) : null
  if (cleaned.dropped === 0 && moved === null) return { bytes: 'same', ...cleaned }
  cleaned.maxTimestamp = rest.maxTimestamp
  return { bytes: rebuildBatch(batch, moved ?? rest), ...cleaned }
}

interface Span {
  readonly from: number
  end: number
}

const EMPTY = { payload: Buffer.alloc(0), recordCount: 0, baseTimestamp: -1, deleteHorizonMs: null }

/** The most bytes that a longer timestamp delta, and the longer length of its record, add to a record. */
const MOST_GROWTH = 10

/**
 * Moves the base of the timestamps to the delete horizon. The records keep their timestamps. Returns null if the batch
 * could not be read then: it would unpack to more than MAX_UNPACKED_BYTES, or a timestamp is more than 2^62 ms away.
 * Such a batch gets no horizon, and its tombstones stay.
 */
function withHorizon(batch: BatchView, rest: Rest, { nowMs, deleteRetentionMs }: Terms): Rest | null {
  const { payload, recordCount } = rest
  const horizonMs = Math.min(nowMs + deleteRetentionMs, Number.MAX_SAFE_INTEGER)
  // Timestamps may need all 64 bits, and this happens once in the life of a batch.
  const shift = batch.bytes.readBigInt64BE(BASE_TIMESTAMP_AT) - BigInt(horizonMs)
  const moved = Buffer.allocUnsafe(payload.length + recordCount * MOST_GROWTH)
  const delta = Buffer.allocUnsafe(MOST_GROWTH)
  let to = 0
  for (let at = 0; at < payload.length; ) {
    const length = readZigzag(payload, at)
    const before = readZigzag(payload, length.next + 1)
    const end = length.next + Number(length.value)
    const value = before.value + shift
    if (value > MOST_DELTA || value < -MOST_DELTA) return null
    const deltaBytes = putZigzag64(delta, value)
    to = putZigzag(moved, to, 1 + deltaBytes + end - before.next)
    moved[to++] = payload[length.next]!
    to += delta.copy(moved, to, 0, deltaBytes)
    to += payload.copy(moved, to, before.next, end)
    at = end
  }
  if (to > MAX_UNPACKED_BYTES) return null
  return { ...rest, payload: moved.subarray(0, to), baseTimestamp: horizonMs, deleteHorizonMs: horizonMs }
}

const BASE_TIMESTAMP_AT = 27
const MOST_DELTA = 2n ** 62n

function readZigzag(bytes: Buffer, from: number): { readonly value: bigint; readonly next: number } {
  let raw = 0n
  let at = from
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes[at++]!
    raw |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return { value: (raw >> 1n) ^ -(raw & 1n), next: at }
  }
}

/** Writes the number at the start of the bytes and returns its size. */
function putZigzag64(bytes: Buffer, value: bigint): number {
  let raw = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  let at = 0
  for (; raw >= 0x80n; raw >>= 7n) bytes[at++] = Number(raw & 0x7fn) | 0x80
  bytes[at++] = Number(raw)
  return at
}
