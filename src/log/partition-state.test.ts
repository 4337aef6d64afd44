import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOT_LEADER_OR_FOLLOWER } from '../protocol/errors.ts'
import type { Topic } from './catalogue.ts'
import { FEW_PRODUCERS, PartitionState, ProducerCount } from './partition-state.ts'
import { TailCache } from './tail-cache.ts'

function open(most: number) {
  const count = new ProducerCount(most)
  const cache = new TailCache(0)
  const partition = (index: number) =>
    new PartitionState({ id: 'AAAAAAAAAAAAAAAAAAAAAQ', name: 't' } as Topic, index, cache.tail(0), count)
  const learn = (state: PartitionState, ...ids: readonly number[]) => {
    const before = state.producers.size
    for (const id of ids) state.learnProducer(id, { epoch: 0, batches: [], lastAppendMs: 0 })
    state.forgetOldestProducers(state.producers.size - before)
  }
  return { count, partition, learn }
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

test('the number of all producers is limited: a partition that learns more forgets its own, but keeps a few', () => {
  const { count, partition, learn } = open(100)
  const [one, flooded, late] = [partition(0), partition(1), partition(2)]
  learn(one, ...range(0, 60))
  learn(flooded, ...range(0, 500))
  assert.equal(count.value, 100)
  assert.deepEqual([...flooded.producers.keys()], range(460, 500))
  assert.equal(one.producers.size, 60, 'others lose nothing by it')
  assert.equal(flooded.pendingRows.length, 460, 'their rows go with the next write')
  learn(late, ...range(0, 20))
  assert.deepEqual([...late.producers.keys()], range(4, 20))
  assert.equal(count.value, 100 + FEW_PRODUCERS)
  // An append by a known producer adds no producer. A new producer pushes one out.
  learn(one, 0)
  assert.deepEqual([...one.producers.keys()], [...range(1, 60), 0])
  learn(one, 60)
  assert.deepEqual([...one.producers.keys()], [...range(2, 60), 0, 60])
})

test('a partition that has ended forgets its producers and remembers no new ones', () => {
  const { count, partition, learn } = open(100)
  const [one, other] = [partition(0), partition(1)]
  learn(one, ...range(0, 10))
  learn(other, ...range(0, 10))
  other.forgetProducer(3)
  other.forgetProducer(3)
  assert.equal(count.value, 19)
  one.lose()
  learn(one, 5)
  assert.equal(count.value, 9)
  other.refusal = NOT_LEADER_OR_FOLLOWER
  other.clearProducers()
  learn(other, 5)
  assert.equal(count.value, 0)
})
