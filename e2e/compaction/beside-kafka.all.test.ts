import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kafkaAbsence } from '../../testing/apache-kafka.ts'
import { isLong } from '../../testing/at-length.ts'
import { noRedis } from '../../testing/redis.ts'
import { seed } from '../../testing/seed.ts'
import { compareWithKafka } from './beside-kafka.ts'

/** KETCH_LONG=1 compares five histories, and `npm run compaction-beside` any number. */
const SEEDS = isLong ? 5 : 2

test('after cleaning, Ketch on each store and Apache Kafka have the same records of the same histories', {
  skip: kafkaAbsence() ?? noRedis,
  timeout: 300_000,
}, async t => {
  const seeds = Array.from({ length: SEEDS }, (_, i) => seed * SEEDS + i)
  const { differences, ...counts } = await compareWithKafka(t, seeds, SEEDS)
  t.diagnostic(JSON.stringify(counts))
  assert.deepEqual(differences, [])
})
