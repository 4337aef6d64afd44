// Seeded histories of a compacted partition, as record batches that are sent to several brokers byte for byte, and the
// records that must be left of them after cleaning. This file sends and reads nothing.

import { type Random, seededRandom } from '../../src/base/random.ts'
import { encodeBatch, type NewRecord } from '../../src/protocol/records.ts'
import { CODECS, type Codec } from '../client.ts'

/** A record of a history, at the offset that each broker must give it. */
export interface PastRecord extends NewRecord {
  readonly offset: number
  readonly key: string | null
  readonly value: Buffer | null
  /** Ms since 1970. */
  readonly timestamp: number
  readonly headers: NonNullable<NewRecord['headers']>
}

/** A batch as the producer sends it. */
export interface PastBatch {
  readonly bytes: Buffer
  readonly records: readonly PastRecord[]
  readonly codec: Codec
}

/**
 * `uncompacted`: sent before the topic is compacted, so some records have no key; not every history has this stage.
 * `lasting`: its tombstones outlast the test. `short`: its tombstones have a short time. `last`: it has no tombstones.
 * At the end of each stage stands a record with a key of its own, an hour later than the others. Apache Kafka begins a
 * new segment with it, so that its cleaner may clean everything before.
 */
export type StageName = 'uncompacted' | 'lasting' | 'short' | 'last'

export interface Stage {
  readonly name: StageName
  readonly batches: readonly PastBatch[]
}

export interface History {
  readonly seed: number
  readonly cleanupPolicy: 'compact' | 'compact,delete'
  readonly stages: readonly Stage[]
}

const MINUTE_MS = 60_000
const MOST_STAGE_BYTES = 4_000_000

/** Returns the history of a seed. Its first record has about the time `fromMs`, all are within a day after it. */
export function historyOf(seed: number, fromMs: number): History {
  const random = seededRandom(seed)
  const draw = drawFrom(random)
  const isOldTopic = draw.chance(1 / 2)
  const names: readonly StageName[] = [...(isOldTopic ? ['uncompacted' as const] : []), 'lasting', 'short', 'last']
  const keys = draw.logarithmic(3, 5000)
  const producers = draw.chance(1 / 3) ? 1 + random.below(4) : 0
  const sequences = new Map<number, number>()
  let nextOffset = 0
  let nowMs = fromMs

  const batchOf = (drafts: readonly Omit<PastRecord, 'offset'>[]): PastBatch => {
    const records = drafts.map((draft, i): PastRecord => ({ ...draft, offset: nextOffset + i }))
    nextOffset += records.length
    const codec = draw.oneOf(CODECS)
    const producerId = producers > 0 && draw.chance(3 / 4) ? 7000 + random.below(producers) : -1
    const baseSequence = sequences.get(producerId) ?? 0
    sequences.set(producerId, baseSequence + records.length)
    const producer = producerId < 0 ? {} : { producerId, producerEpoch: 0, baseSequence }
    return { bytes: encodeBatch(records, { compression: codec, ...producer }), records, codec }
  }

  const recordOf = (name: StageName): Omit<PastRecord, 'offset'> => {
    // A few keys are written often, and most of them rarely.
    const at = Math.floor(keys * draw.fraction() ** 2)
    const key = name === 'uncompacted' && draw.chance(1 / 5) ? null : at === 1 ? '' : `key ${at}`
    const isTombstone = name !== 'last' && key !== null && draw.chance(1 / 8)
    return {
      key,
      value: isTombstone ? null : draw.value(),
      headers: draw.chance(1 / 4) ? draw.headers() : [],
      timestamp: nowMs + random.below(4 * MINUTE_MS) - 2 * MINUTE_MS,
    }
  }

  const stages = names.map((name): Stage => {
    const batches: PastBatch[] = []
    const most = draw.logarithmic(20_000, MOST_STAGE_BYTES)
    const largestBatch = draw.logarithmic(1, 800)
    for (let bytes = 0; bytes < most && batches.length < 500; ) {
      nowMs += random.below(MINUTE_MS)
      const batch = batchOf(Array.from({ length: draw.logarithmic(1, largestBatch) }, () => recordOf(name)))
      bytes += batch.bytes.length
      batches.push(batch)
    }
    nowMs += 60 * MINUTE_MS
    batches.push(batchOf([{ key: `end of ${name}`, value: Buffer.from(name), headers: [], timestamp: nowMs }]))
    return { name, batches }
  })
  return { seed, cleanupPolicy: draw.chance(1 / 3) ? 'compact,delete' : 'compact', stages }
}

function drawFrom(random: Random) {
  const noise = random.bytes(8192)
  const fraction = () => random.below(1 << 24) / (1 << 24)
  const chance = (share: number) => fraction() < share
  const logarithmic = (from: number, to: number) => Math.round(from * (to / from) ** fraction())
  const oneOf = <T>(list: readonly T[]): T => list[random.below(list.length)]!
  return {
    fraction,
    chance,
    /** A whole number from `from` to `to`; each order of magnitude is as likely as the others. */
    logarithmic,
    oneOf,
    /** Up to 2 KB, seldom up to 200 KB; half of the bytes compress well. */
    value(): Buffer {
      const size = chance(1 / 20) ? 0 : chance(1 / 500) ? logarithmic(2000, 200_000) : logarithmic(1, 2000)
      const text = `${random.below(1e9)} plain words `
      if (size > noise.length || chance(1 / 2))
        return Buffer.from(text.repeat(Math.ceil(size / text.length)).slice(0, size))
      const from = random.below(noise.length - size + 1)
      return noise.subarray(from, from + size)
    },
    headers(): PastRecord['headers'] {
      return Array.from({ length: 1 + random.below(3) }, (_, i) => ({
        key: oneOf(['trace', 'größe', '']),
        value: oneOf([null, Buffer.alloc(0), Buffer.from(`ü${i}`)]),
      }))
    },
  }
}

/**
 * Returns the records that must be left after the cleaning that follows the stage, ascending. `mayBeGone` is true for
 * the tombstones that may be gone then: their time may have passed. After the last stage none of them is left.
 */
export function remainsAfter(
  { stages }: History,
  stage: StageName,
): readonly { readonly record: PastRecord; readonly mayBeGone: boolean }[] {
  const newest = new Map<string, { record: PastRecord; mayBeGone: boolean }>()
  for (const { name, batches } of stages) {
    for (const record of batches.flatMap(({ records }) => records)) {
      if (record.key === null) continue
      newest.set(record.key, { record, mayBeGone: record.value === null && name === 'short' })
    }
    if (name === stage) break
  }
  const remains = [...newest.values()].sort((one, other) => one.record.offset - other.record.offset)
  return stage === 'last' ? remains.filter(({ mayBeGone }) => !mayBeGone) : remains
}
