import assert from 'node:assert/strict'
import { test } from 'node:test'
import { credit, openDeliveries } from './deliveries.ts'

const owned = (groupId: string, count: number) =>
  Array.from({ length: count }, (_, partition) => {
    return { memberId: 'm', clientId: groupId, clientHost: '10.0.0.1', topicId: 't', partition }
  })

test('the partitions of all groups that are followed are bounded, and a group that is too large is not followed', () => {
  const deliveries = openDeliveries(10)
  const size = (groupId: string) => deliveries.ofGroup(groupId).length
  assert(deliveries.assign('a', owned('a', 6)))
  assert.equal(deliveries.assign('b', owned('b', 5)), false)
  assert.deepEqual([size('a'), size('b'), deliveries.reader('b', '10.0.0.1')], [6, 0, null])
  // A group that is there is replaced, and the others go on.
  assert(deliveries.assign('b', owned('b', 4)))
  credit(deliveries.reader('a', '10.0.0.1')!, 't', 3, 42)
  assert.equal(deliveries.assign('b', owned('b', 5)), false)
  assert.equal(size('b'), 0)
  assert.equal(deliveries.ofGroup('a').find(({ partition }) => partition === 3)?.nextOffset, 42)
  deliveries.forget('a')
  assert(deliveries.assign('b', owned('b', 10)))
})
