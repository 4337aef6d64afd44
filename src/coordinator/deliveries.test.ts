import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { openDeliveries } from './deliveries.ts'

const owned = (groupId: string, count: number) =>
  Array.from({ length: count }, (_, partition) => {
    return { memberId: 'm', clientId: groupId, clientHost: '10.0.0.1', topicId: 't', partition }
  })

test('the tracked partitions of all groups together are limited, and a group that is too large is not tracked', () => {
  const deliveries = openDeliveries(10, new SimulatedClock())
  const size = (groupId: string) => deliveries.ofGroup(groupId).length
  assert(deliveries.assign('a', owned('a', 6)))
  assert.equal(deliveries.assign('b', owned('b', 5)), false)
  assert.deepEqual([size('a'), size('b'), deliveries.countOwners('b', '10.0.0.1', 't', 0)], [6, 0, 0])
  // An existing group is replaced, and the others stay.
  assert(deliveries.assign('b', owned('b', 4)))
  assert.equal(deliveries.assign('b', owned('b', 5)), false)
  assert.equal(size('b'), 0)
  assert.deepEqual([size('a'), deliveries.countOwners('a', '10.0.0.1', 't', 3)], [6, 1])
  deliveries.forget('a')
  assert.equal(deliveries.countOwners('a', '10.0.0.1', 't', 3), 0)
  assert(deliveries.assign('b', owned('b', 10)))
})
