import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assigning, claim, commit, DELAY_MS, enter, openGroupWorld, subscribing } from '../../../testing/sim/groups.ts'
import { batchOf, openLogWorld } from '../../../testing/sim/logs.ts'
import { aloneInCluster } from '../../cluster/cluster.ts'
import { openReadPositions } from '../../coordinator/read-positions.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { deleteOffsets, listGroups } from './groups.ts'
import { describePositions, type PositionRooms } from './positions.ts'

async function open(t: TestContext) {
  const { clock, store, settings, catalogue, logs, create, partition } = await openLogWorld(t)
  const world = await openGroupWorld(t, clock, store, {}, catalogue)
  const topic = await create('topic', {}, 3)
  const cluster = aloneInCluster(0, null)
  await cluster.announce([])
  const peers = { ask: () => assert.fail('there is no other broker') }
  const readPositions = openReadPositions(clock)
  const { groups } = world
  const rooms: PositionRooms = { catalogue, logs, groups, readPositions, store, cluster, peers, settings, clock }
  return { world, rooms, topic, partition }
}

const positionsOf = async (rooms: PositionRooms) => (await describePositions(rooms, ['g'])).get('g')!

test('a position has the committed and the delivered offset, and the end of the log', async t => {
  const { world, rooms, topic, partition } = await open(t)
  const positions = async () => {
    return (await positionsOf(rooms)).map(row => [
      row.partition,
      row.committed?.offset ?? null,
      row.deliveredOffset,
      row.endOffset,
      row.lag,
    ])
  }
  assert.deepEqual(await positions(), [])
  for (let index = 0; index < 3; index++) await partition('topic', index).append(batchOf(10), 0)
  const { joined, memberId } = await enter(world, { clientId: 'reader', ...subscribing('topic') })
  await world.clock.advance(DELAY_MS)
  const joint = { groupId: 'g', generation: 1, memberId, instanceId: null, protocolType: null, protocolName: null }
  await world.groups.sync({ ...joint, assignments: [{ memberId, assignment: assigning({ topic: [0, 1] }) }] })
  assert.deepEqual(await positions(), [
    [0, null, null, 10, null],
    [1, null, null, 10, null],
  ])

  const at = (index: number, offset: number) => ({
    ...{ topicId: topic.id, partition: index, offset, leaderEpoch: 0, metadata: 'note', retentionMs: -1 },
  })
  await commit(world, 0, { ...claim(joined.got()!), offsets: [at(0, 4), at(2, 99)] })
  const reader = rooms.readPositions.reader('reader', '10.0.0.1')
  reader.delivered(topic.id, 0, 7)
  reader.delivered(topic.id, 1, 10)
  assert.deepEqual(await positions(), [
    [0, 4, 7, 10, 3],
    [1, null, 10, 10, 0],
    [2, 99, null, 10, 0],
  ])
  const [first] = await positionsOf(rooms)
  assert.deepEqual(
    [first!.topic, first!.memberId, first!.committed?.metadata, first!.committed?.commitTimestampMs],
    ['topic', memberId, 'note', world.clock.now()],
  )
  reader.delivered(topic.id, 0, 2)
  assert.deepEqual((await positions())[0], [0, 4, 2, 10, 6], 'whichever is further')
})

test('the lag of a position below the log start counts only the remaining records, and positions of deleted topics are gone', async t => {
  const { world, rooms, topic, partition } = await open(t)
  for (let batch = 0; batch < 3; batch++) await partition('topic').append(batchOf(10), 0)
  const offsets = [{ topicId: topic.id, partition: 0, offset: 1, leaderEpoch: 0, metadata: '', retentionMs: -1 }]
  await commit(world, 1, { offsets })
  await partition('topic').trim(20)
  const [row] = await positionsOf(rooms)
  assert.equal(row!.lag, 10)
  await rooms.catalogue.remove([topic.id])
  assert.deepEqual(await positionsOf(rooms), [])
})

test('if a request names a topic twice, the offsets of both entries are deleted', async t => {
  const { world, rooms, topic } = await open(t)
  const offset = (index: number) => ({
    ...{ topicId: topic.id, partition: index, offset: 1, leaderEpoch: 0, metadata: '', retentionMs: -1 },
  })
  await commit(world, 1, { offsets: [offset(0), offset(1), offset(2)] })
  const deleted = await deleteOffsets(rooms, 'g', [
    { topic: 'topic', partitions: [0, 7] },
    { topic: 'topic', partitions: [1] },
  ])
  assert(!isRefusal(deleted))
  assert.deepEqual(
    deleted.map(({ partitions }) => partitions.map(({ partition, result }) => [partition, result?.name ?? null])),
    [
      [
        [0, null],
        [7, 'UNKNOWN_TOPIC_OR_PARTITION'],
      ],
      [[1, null]],
    ],
  )
  assert.deepEqual(
    (await positionsOf(rooms)).map(row => row.partition),
    [2],
  )
  assert.deepEqual(listGroups(rooms, { states: [], types: [] }), [
    { groupId: 'g', type: 'classic', state: 'Empty', protocolType: '' },
  ])
})
