// Record batches of every form that a table can have, and the records that a Kafka client reads in them. The first
// byte of a value's seed decides its form, so that all forms meet in each segment.

import type { Random } from '../../src/base/random.ts'
import { codecs } from '../../src/protocol/compression.ts'
import { type CraftedRecord, craftBatch } from '../../testing/data-files.ts'
import { SEALED_AT, type SealedForTest } from '../../testing/offloading.ts'
import type { SeenRecord } from './sums.ts'

export interface History extends SealedForTest {
  readonly records: readonly SeenRecord[]
}

const RECORDS_OF_BATCH = 7

/**
 * Returns a segment of `count` batches that begins with the offset `base`. Its records have keys, values and headers
 * with and without bytes, its batches all codecs; a producer id in every second one; a gap of one offset after each
 * batch; and at the end a marker that commits a transaction.
 */
export function historyOf(random: Random, partition: number, base: number, count: number): History {
  const records: SeenRecord[] = []
  const batches: Buffer[] = []
  let offset = base
  for (let i = 0; i < count; i++) {
    const crafted = Array.from({ length: RECORDS_OF_BATCH }, (_, at) => recordOf(random, i + at))
    const isIdempotent = i % 2 === 1
    const isLast = i === count - 1
    batches.push(
      craftBatch({
        baseOffset: offset,
        leaderEpoch: 3,
        records: crafted,
        codec: codecs[i % codecs.length]!,
        lastOffsetDelta: RECORDS_OF_BATCH,
        isAppendTime: i % 5 === 4,
        baseTimestamp: i % 9 === 8 ? -1n : 1_700_000_000_000n + BigInt(offset),
        ...(isIdempotent || isLast
          ? { producerId: 4_000n + BigInt(partition), producerEpoch: 1, baseSequence: i }
          : {}),
        isTransactional: isLast,
      }),
    )
    const first = offset
    records.push(
      ...crafted.map(({ key = null, value = null, headers = [] }, at) => ({
        partition,
        offset: first + at,
        key,
        value,
        headers: headers.map(([name, text]) => [Buffer.from(name).toString(), text] as const),
      })),
    )
    offset += RECORDS_OF_BATCH + 1
  }
  batches.push(
    craftBatch({
      baseOffset: offset,
      records: [{ key: COMMIT_KEY, value: MARKER_VALUE }],
      producerId: 4_000n + BigInt(partition),
      producerEpoch: 1,
      isTransactional: true,
      isControl: true,
    }),
  )
  const bytes = batches.reduce((sum, { length }) => sum + length, 0)
  const segment = { partition, base, next: offset + 1, bytes, plainBytes: bytes, sealedAtMs: SEALED_AT }
  return { segment, batches, records }
}

/** Version and type of a control record (int16 each): a commit. */
const COMMIT_KEY = Buffer.from([0, 0, 0, 1])
/** Version (int16) and epoch of the coordinator (int32). */
const MARKER_VALUE = Buffer.from([0, 0, 0, 0, 0, 9])

const HEADERS: readonly NonNullable<CraftedRecord['headers']>[] = [
  [],
  [[Buffer.from('trace'), Buffer.from('a1b2')]],
  [
    [Buffer.from('same'), Buffer.from('one')],
    [Buffer.from('same'), null],
    [Buffer.from(''), Buffer.alloc(0)],
    [Buffer.from('Ünïcode \u{1f980}'), Buffer.from([0, 255, 13, 10])],
  ],
]

function recordOf(random: Random, form: number): CraftedRecord {
  const keys = [null, Buffer.alloc(0), Buffer.from(`key ${form}`), Buffer.from(random.bytes(16))]
  const values = [
    Buffer.from(random.bytes(9_000)),
    null,
    Buffer.alloc(0),
    Buffer.from(`{"form":${form}}`),
    Buffer.from(random.bytes(33)),
  ]
  return {
    key: keys[form % keys.length]!,
    value: values[form % values.length]!,
    headers: HEADERS[form % HEADERS.length]!,
  }
}
