// A short part of bytes.all.test.ts: batches of all codecs and of any time come back from the remote tier byte for
// byte, and look-ups by time answer as before.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initProducerId } from '../../src/protocol/messages/init-producer-id.ts'
import { seed } from '../../testing/seed.ts'
import { createTopic } from '../../testing/topic.ts'
import { batchesOfAllCodecs, batchesOfAnyTime, unreadableBatches } from './awkward-batches.ts'
import { assertSeenAgain, see } from './bytes.ts'
import {
  allCold,
  alterTopic,
  COLD,
  inReverse,
  offsetOf,
  PLACES,
  SEALED_AT_ONCE,
  sendAll,
  startTiered,
  TIME,
} from './tiered.ts'

test('batches of all codecs and times come back from the remote tier as they were', async t => {
  const cleanUp = inReverse(t)
  const broker = await startTiered(cleanUp, (await PLACES.folder(cleanUp)).values)
  await createTopic(broker, 'forms', 3, SEALED_AT_ONCE)
  const wire = await broker.connect()
  const identity = await wire.send(initProducerId, 4, { transactionalId: null, transactionTimeoutMs: 60_000 })
  await sendAll(wire, 'forms', 0, batchesOfAllCodecs(seed, 20, identity))
  await sendAll(wire, 'forms', 1, batchesOfAnyTime(seed))
  await sendAll(wire, 'forms', 2, unreadableBatches(seed))
  const before = [0, 1, 2].map(index => see(wire, 'forms', index, 50, seed))
  const seen = await Promise.all(before)
  await alterTopic(wire, 'forms', COLD)
  await allCold(wire, 'forms', 3)
  for (const [index, each] of seen.entries()) {
    assert.equal(await offsetOf(wire, 'forms', index, TIME.earliest), 0)
    await assertSeenAgain(wire, 'forms', index, each)
  }
})
