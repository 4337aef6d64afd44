// The state of idempotent producers in a partition, and the decision whether a batch is next, a repeat or out of order.
// The rules are those of KIP-98 and KIP-360, as in Apache Kafka's ProducerStateEntry and ProducerAppendInfo. The
// functions are pure: the lane keeps the states and stores their rows. There are no transactions.

import { assert } from '../base/assert.ts'
import { because, INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, type Refusal } from '../protocol/errors.ts'

/** One of the newest batches of a producer. Sequences run from 0 to 2^31-1 and then from 0 again. */
export interface ProducerBatch {
  readonly baseSequence: number
  readonly lastSequence: number
  readonly baseOffset: number
  readonly lastOffset: number
  /** The append time if the topic stamps it, else -1. */
  readonly logAppendTimeMs: number
}

export interface Producer {
  readonly epoch: number
  /** One to five batches, the newest ones, oldest first. */
  readonly batches: readonly ProducerBatch[]
  /** The time of its last append, by this broker's clock. */
  readonly lastAppendMs: number
}

/** A repeat is recognised if it is among this many newest batches (Kafka: NUM_BATCHES_TO_RETAIN). */
const BATCHES_KEPT = 5
const LAST_SEQUENCE = 2 ** 31 - 1

/** Returns the sequence of a batch's last record. */
export function lastSequenceOf(baseSequence: number, lastOffsetDelta: number): number {
  const last = baseSequence + lastOffsetDelta
  return last <= LAST_SEQUENCE ? last : last - LAST_SEQUENCE - 1
}

/**
 * Returns null if a batch with these sequences is next, the original if it repeats one of the kept batches, or else a
 * refusal. An unknown producer may begin with any sequence, also on a new partition: its state may have expired, or all
 * of its records may be gone (KIP-360). Kafka 4 does the same (ProducerAppendInfo.checkSequence of
 * org.apache.kafka.storage.internals.log, "accept writes with any sequence number"). If there is no state, Kafka also
 * requires sequence 0 (KIP-890), but only from a producer with a VerificationStateEntry. Only transactional batches get
 * such an entry.
 */
export function checkSequence(
  known: Producer | undefined,
  producerId: number,
  epoch: number,
  baseSequence: number,
  lastSequence: number,
): ProducerBatch | Refusal | null {
  if (known === undefined) return null
  if (epoch === known.epoch) {
    for (const batch of known.batches) {
      if (batch.baseSequence === baseSequence && batch.lastSequence === lastSequence) return batch
    }
    const last = known.batches[known.batches.length - 1]!.lastSequence
    if (baseSequence === (last === LAST_SEQUENCE ? 0 : last + 1)) return null
    return because(
      OUT_OF_ORDER_SEQUENCE_NUMBER,
      `Producer ${producerId} sent sequence ${baseSequence}, but its last one here is ${last}.`,
    )
  }
  if (epoch < known.epoch) {
    return because(
      INVALID_PRODUCER_EPOCH,
      `Producer ${producerId} sent epoch ${epoch}, but epoch ${known.epoch} has been seen here.`,
    )
  }
  if (baseSequence === 0) return null
  return because(
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    `Producer ${producerId} began epoch ${epoch} with sequence ${baseSequence}; a new epoch begins with 0 (this one follows epoch ${known.epoch}).`,
  )
}

/** Returns the state after one more batch, which checkSequence found to be next. */
export function withBatch(known: Producer | undefined, epoch: number, batch: ProducerBatch, nowMs: number): Producer {
  if (known === undefined || known.epoch !== epoch) return { epoch, batches: [batch], lastAppendMs: nowMs }
  const batches = known.batches.length < BATCHES_KEPT ? [...known.batches, batch] : [...known.batches.slice(1), batch]
  return { epoch, batches, lastAppendMs: nowMs }
}

export function isExpired(producer: Producer, nowMs: number, expirationMs: number): boolean {
  return nowMs - producer.lastAppendMs >= expirationMs
}

// A producer's row: key `p<producer id>`, value big-endian:
//
//   0   1  format, 1
//   1   2  epoch
//   3   8  lastAppendMs (float64)
//  11   1  number of batches
//  12  28  each batch: baseSequence (4), lastSequence (4), baseOffset (float64), logAppendTimeMs (float64),
//          lastOffset - baseOffset (4)

const FORMAT = 1
const HEAD_BYTES = 12
const BATCH_BYTES = 28

export function producerKey(producerId: number): string {
  return `p${producerId}`
}

/** Returns the producer id of a row's key; null if the row does not belong to a producer. */
export function producerIdOf(key: string): number | null {
  return key.startsWith('p') ? Number(key.slice(1)) : null
}

export function encodeProducer(producer: Producer): Uint8Array {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + producer.batches.length * BATCH_BYTES)
  bytes.writeUInt8(FORMAT, 0)
  bytes.writeInt16BE(producer.epoch, 1)
  bytes.writeDoubleBE(producer.lastAppendMs, 3)
  bytes.writeUInt8(producer.batches.length, 11)
  let at = HEAD_BYTES
  for (const batch of producer.batches) {
    bytes.writeInt32BE(batch.baseSequence, at)
    bytes.writeInt32BE(batch.lastSequence, at + 4)
    bytes.writeDoubleBE(batch.baseOffset, at + 8)
    bytes.writeDoubleBE(batch.logAppendTimeMs, at + 16)
    bytes.writeInt32BE(batch.lastOffset - batch.baseOffset, at + 24)
    at += BATCH_BYTES
  }
  return bytes
}

export function decodeProducer(value: Uint8Array): Producer {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  assert(
    bytes.length > HEAD_BYTES && bytes[0] === FORMAT,
    `a producer's row has format ${bytes[0]}, expected ${FORMAT}`,
  )
  const count = bytes.readUInt8(11)
  assert(
    bytes.length === HEAD_BYTES + count * BATCH_BYTES,
    `a producer's row of ${count} batches has ${bytes.length} bytes`,
  )
  const batches: ProducerBatch[] = []
  for (let at = HEAD_BYTES; at < bytes.length; at += BATCH_BYTES) {
    const baseOffset = bytes.readDoubleBE(at + 8)
    batches.push({
      baseSequence: bytes.readInt32BE(at),
      lastSequence: bytes.readInt32BE(at + 4),
      baseOffset,
      lastOffset: baseOffset + bytes.readInt32BE(at + 24),
      logAppendTimeMs: bytes.readDoubleBE(at + 16),
    })
  }
  return { epoch: bytes.readInt16BE(1), batches, lastAppendMs: bytes.readDoubleBE(3) }
}
