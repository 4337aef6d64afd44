import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { MESSAGE_TOO_LARGE, NOT_LEADER_OR_FOLLOWER, OUT_OF_ORDER_SEQUENCE_NUMBER } from '../protocol/errors.ts'
import { streamId } from '../store/store.ts'
import { partitionName, RefusedBatches } from './refused-batches.ts'

const stream = streamId('a-topic', 0)
const place = { stream, name: partitionName('t', 0) }

function batch(baseSequence: number, producerEpoch = 0, producerId = 7) {
  return { producerId, producerEpoch, baseSequence }
}

test('batches that follow a refused batch are refused; the batch itself, other producers and other streams are not', () => {
  const refused = new RefusedBatches(new SimulatedClock())
  refused.note(stream, batch(0), NOT_LEADER_OR_FOLLOWER)
  refused.note(stream, batch(3), NOT_LEADER_OR_FOLLOWER)
  assert.equal(refused.check(place, batch(3))?.code, OUT_OF_ORDER_SEQUENCE_NUMBER.code)
  for (const free of [batch(0), batch(3, 1), batch(3, 0, 8)]) assert.equal(refused.check(place, free), null)
  assert.equal(refused.check({ stream: streamId('a-topic', 1), name: partitionName('t', 1) }, batch(3)), null)
  refused.taken(place, batch(0))
  assert.equal(refused.check(place, batch(3)), null)
})

test('a batch that was refused before its topic was known is found by the name of the partition', () => {
  const refused = new RefusedBatches(new SimulatedClock())
  refused.note(place.name, batch(0), NOT_LEADER_OR_FOLLOWER)
  assert.equal(refused.check(place, batch(1))?.code, OUT_OF_ORDER_SEQUENCE_NUMBER.code)
  refused.taken(place, batch(0))
  assert.equal(refused.check(place, batch(1)), null)
})

test('a refused batch is forgotten when it is refused for good, but not for an earlier batch or another epoch', () => {
  for (const at of [stream, place.name]) {
    const refused = new RefusedBatches(new SimulatedClock())
    refused.note(at, batch(5), NOT_LEADER_OR_FOLLOWER)
    for (const other of [batch(4), batch(6), batch(5, 1), batch(5, 0, 8)]) refused.givenUp(place, other)
    assert.notEqual(refused.check(place, batch(6)), null)
    refused.givenUp(place, batch(5))
    assert.equal(refused.check(place, batch(6)), null)
  }
})

test('the lowest sequence counts, also if sequences begin again from 0', () => {
  const refused = new RefusedBatches(new SimulatedClock())
  refused.note(stream, batch(1), NOT_LEADER_OR_FOLLOWER)
  refused.note(stream, batch(2 ** 31 - 1), NOT_LEADER_OR_FOLLOWER)
  assert.equal(refused.check(place, batch(2 ** 31 - 1)), null)
  assert.notEqual(refused.check(place, batch(1)), null)
})

test('final refusals, older epochs and producers without an id block no producer', () => {
  const refused = new RefusedBatches(new SimulatedClock())
  refused.note(stream, batch(0), MESSAGE_TOO_LARGE)
  refused.note(stream, batch(0, -1, -1), NOT_LEADER_OR_FOLLOWER)
  assert.equal(refused.check(place, batch(1)), null)
  assert.equal(refused.check(place, batch(1, -1, -1)), null)
  refused.note(stream, batch(0, 1), NOT_LEADER_OR_FOLLOWER)
  refused.note(stream, batch(0, 0), NOT_LEADER_OR_FOLLOWER)
  assert.notEqual(refused.check(place, batch(4, 1)), null)
})

test('a refused batch is forgotten after five minutes, and the oldest ones beyond ten thousand', async () => {
  const clock = new SimulatedClock()
  const refused = new RefusedBatches(clock)
  refused.note(stream, batch(0), NOT_LEADER_OR_FOLLOWER)
  await clock.advance(299_000)
  assert.notEqual(refused.check(place, batch(1)), null)
  await clock.advance(1_000)
  assert.equal(refused.check(place, batch(1)), null)
  for (let id = 0; id <= 10_000; id++) refused.note(stream, batch(0, 0, id), NOT_LEADER_OR_FOLLOWER)
  assert.equal(refused.check(place, batch(1, 0, 0)), null)
  assert.notEqual(refused.check(place, batch(1, 0, 1)), null)
})
