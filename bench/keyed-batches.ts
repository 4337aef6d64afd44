// Keyed records for benchmarks: batches as a producer sends them, with values that compress.

import { seededRandom } from '../src/base/random.ts'
import type { Codec } from '../src/protocol/compression.ts'
import { encodeBatch } from '../src/protocol/records.ts'

export interface Keyed {
  readonly records: number
  /** The number of different keys. */
  readonly keys: number
  /** `random`: each record has any of the keys. `turns`: all keys are written, then all of them again. */
  readonly order: 'random' | 'turns'
  readonly valueBytes: number
  readonly recordsPerBatch: number
  readonly codec: Codec
}

/** Yields the batches as a producer sends them. Values are words, which compress about as JSON does. */
export function* keyedBatches({ records, keys, order, valueBytes, recordsPerBatch, codec }: Keyed): Generator<Buffer> {
  const random = seededRandom(records)
  const words = Array.from({ length: 1000 }, () => random.bytes(3).toString('hex'))
  const text = Array.from({ length: 20_000 }, () => words[random.below(words.length)]!).join(' ')
  const startedAt = Date.now() - 3_600_000
  for (let at = 0; at < records; at += recordsPerBatch) {
    const batch = Array.from({ length: Math.min(recordsPerBatch, records - at) }, (_, i) => {
      const key = order === 'random' ? random.below(keys) : (at + i) % keys
      const from = random.below(text.length - valueBytes)
      return {
        key: `key-${String(key).padStart(12, '0')}`,
        value: text.slice(from, from + valueBytes),
        timestamp: startedAt + i,
      }
    })
    yield encodeBatch(batch, { compression: codec })
  }
}
