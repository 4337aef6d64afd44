// Batches of every form come back from the remote tier byte for byte, and every question about them has the same answer
// as before, on both stores, from a folder and from a bucket, after the broker has started again, and from another one.
// A run takes each store with one kind of place; the seed draws which. KETCH_LONG=1 takes each with both.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initProducerId } from '../../src/protocol/messages/init-producer-id.ts'
import type { BatchView } from '../../src/protocol/records.ts'
import type { Values } from '../../src/settings/settings.ts'
import { isLong } from '../../testing/at-length.ts'
import type { TestBroker } from '../../testing/broker.ts'
import { noRedis } from '../../testing/redis.ts'
import { seed } from '../../testing/seed.ts'
import { createTopic } from '../../testing/topic.ts'
import type { Wire } from '../../testing/wire.ts'
import {
  batchesOfAllCodecs,
  batchesOfAnyTime,
  largeBatches,
  swellingBatches,
  unreadableBatches,
} from './awkward-batches.ts'
import { assertSameRecords, assertSeenAgain, type Seen, see } from './bytes.ts'
import {
  allCold,
  alterTopic,
  COLD,
  inReverse,
  offsetOf,
  PLACES,
  readBatches,
  SEALED_AT_ONCE,
  STORES,
  sendAll,
  startTiered,
  TIME,
} from './tiered.ts'

const TOPIC = 'forms'
const STAMPED = 'stamped'
/** Partitions: codecs, times, large batches, unreadable ones. */
const PARTITIONS = 4
/** The partition whose batches unpack to tens of megabytes, which each look-up by time does again. */
const LARGE = 2

/** Returns the number of look-ups by random times of a partition. */
function lookUpsOf(topic: string, index: number): number {
  if (isLong) return 400
  return topic === TOPIC && index === LARGE ? 15 : 100
}

/** Two topics with everything that a producer can send. The second one has the times of the broker. */
async function fillTopics(broker: TestBroker, wire: Wire, configs: Readonly<Record<string, string>>): Promise<void> {
  await createTopic(broker, TOPIC, PARTITIONS, configs)
  await createTopic(broker, STAMPED, 1, { ...configs, 'message.timestamp.type': 'LogAppendTime' })
  const identity = await wire.send(initProducerId, 4, { transactionalId: null, transactionTimeoutMs: 60_000 })
  assert.equal(identity.errorCode, 0)
  await sendAll(wire, TOPIC, 0, batchesOfAllCodecs(seed, 60, identity))
  await sendAll(wire, TOPIC, 1, batchesOfAnyTime(seed + 1))
  await sendAll(wire, TOPIC, LARGE, [...largeBatches(seed + 2), ...swellingBatches()])
  await sendAll(wire, TOPIC, 3, unreadableBatches(seed + 3))
  const other = await wire.send(initProducerId, 4, { transactionalId: null, transactionTimeoutMs: 60_000 })
  await sendAll(wire, STAMPED, 0, batchesOfAllCodecs(seed + 4, 20, other))
}

const PLACED = [...Array.from({ length: PARTITIONS }, (_, index) => [TOPIC, index] as const), [STAMPED, 0] as const]

async function seeAll(wire: Wire): Promise<Seen[]> {
  const all: Seen[] = []
  for (const [topic, index] of PLACED) all.push(await see(wire, topic, index, lookUpsOf(topic, index), seed + index))
  return all
}

async function assertAllSeenAgain(wire: Wire, before: readonly Seen[]): Promise<void> {
  for (const [i, [topic, index]] of PLACED.entries()) await assertSeenAgain(wire, topic, index, before[i]!)
}

async function coolDown(wire: Wire): Promise<void> {
  for (const topic of [TOPIC, STAMPED]) await alterTopic(wire, topic, COLD)
  await allCold(wire, TOPIC, PARTITIONS)
  await allCold(wire, STAMPED, 1)
  for (const [topic, index] of PLACED) assert.equal(await offsetOf(wire, topic, index, TIME.earliest), 0)
}

for (const [at, [store, openStore]] of Object.entries(STORES).entries())
  for (const [place, openPlace] of Object.entries(PLACES).filter((_, place) => isLong || (at + place + seed) % 2 === 0))
    test(`batches of every form come back from a ${place} as they were, on ${store}`, {
      skip: store === 'Redis' && noRedis,
      timeout: 600_000,
    }, async t => {
      const cleanUp = inReverse(t)
      const values: Partial<Values> = { ...(await openStore(cleanUp)), ...(await openPlace(cleanUp)).values }
      const first = await startTiered(cleanUp, values)
      const wire = await first.connect()
      await fillTopics(first, wire, SEALED_AT_ONCE)
      const before = await seeAll(wire)
      await coolDown(wire)
      await assertAllSeenAgain(wire, before)
      await first.broker.close()
      const again = await startTiered(cleanUp, values)
      const other = await again.connect()
      await assertAllSeenAgain(other, before)
      await sendAll(other, TOPIC, 1, batchesOfAnyTime(seed + 9))
      const later = await see(other, TOPIC, 1, lookUpsOf(TOPIC, 1), seed + 9)
      await allCold(other, TOPIC, PARTITIONS)
      await assertSeenAgain(other, TOPIC, 1, later)
    })

for (const batchBytes of ['always', 'never'] as const)
  test(`with batch-bytes=${batchBytes} the records come back as they were`, { timeout: 600_000 }, async t => {
    const cleanUp = inReverse(t)
    const values = { ...(await PLACES.folder(cleanUp)).values, 'storage.remote.iceberg.batch-bytes': batchBytes }
    const broker = await startTiered(cleanUp, values)
    const wire = await broker.connect()
    await fillTopics(broker, wire, SEALED_AT_ONCE)
    const before: BatchView[][] = []
    for (const [topic, index] of PLACED) before.push(await readBatches(wire, topic, index))
    const seen = batchBytes === 'always' ? await seeAll(wire) : null
    await coolDown(wire)
    if (seen !== null) await assertAllSeenAgain(wire, seen)
    for (const [i, [topic, index]] of PLACED.entries())
      await assertSameRecords(await readBatches(wire, topic, index), before[i]!, `${topic}-${index}`)
  })
