import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawOf, hashOf, hashWithin } from './rendezvous.ts'

const TOPIC = 'AAAAAAAAAAAAAAAAAAAAAQ'
const leaders = (ids: readonly number[], partitions: number) =>
  Array.from({ length: partitions }, (_, index) => drawOf(ids, hashWithin(hashOf(TOPIC), index)))

test('partitions are spread evenly, whatever the ids are', () => {
  for (const ids of [
    [0, 1, 2],
    [1, 2, 3],
    [100, 200, 300],
    [7, 2 ** 31 - 1, 12],
  ]) {
    const counts = Map.groupBy(leaders(ids, 9_000), id => id)
    for (const id of ids) {
      const { length } = counts.get(id)!
      assert.ok(length > 2_800 && length < 3_200, `${id} of ${ids} leads ${length} of 9000`)
    }
  }
})

test('when a broker goes, only its own partitions move, and they move to all the others', () => {
  const before = leaders([1, 2, 3], 3_000)
  const after = leaders([1, 3], 3_000)
  const moved = before.flatMap((id, i) => (id === after[i] ? [] : [[id, after[i]]]))
  assert.ok(moved.every(([from]) => from === 2))
  assert.deepEqual(new Set(moved.map(([, to]) => to)), new Set([1, 3]))
})

test('the order in which brokers are known does not matter, and without brokers there is no leader', () => {
  assert.deepEqual(leaders([3, 1, 2], 500), leaders([1, 2, 3], 500))
  assert.equal(drawOf([], hashOf('group')), -1)
  assert.equal(drawOf([4], hashOf('group')), 4)
})

test('brokers of all versions draw the same', () => {
  assert.deepEqual([hashOf(TOPIC), hashWithin(hashOf(TOPIC), 7), hashOf('grüße')], [974697731, 3591171163, 1374524770])
  assert.deepEqual(leaders([1, 2, 3], 12), [2, 3, 3, 3, 1, 2, 3, 1, 1, 1, 3, 3])
})
