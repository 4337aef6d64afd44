import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openLogWorld } from '../../testing/sim/logs.ts'
import { reachIn } from '../../testing/sim/reach.ts'
import { seededRandom } from '../base/random.ts'
import { type Peers, PeerUnavailable } from '../cluster/peers.ts'
import { SOLE_LEADERSHIP } from '../log/leadership.ts'
import { isRefusal, UNKNOWN_TOPIC_OR_PARTITION } from '../protocol/errors.ts'
import { isDeclined } from './declined.ts'
import type { ReachRooms } from './reach.ts'
import { browseRecords } from './records/browse.ts'
import { produceRecords } from './records/produce.ts'
import { describeTopic, listTopics } from './topic-listing.ts'

/** Opens a broker that leads the even partitions of a topic. The leader of the odd partitions does not answer. */
async function openBesideSilence(t: TestContext, isUnsent: boolean) {
  const world = await openLogWorld(t, {
    leadership: { ...SOLE_LEADERSHIP, leads: (_, index) => index % 2 === 0 },
  })
  await world.create('t', {}, 4)
  const rooms: ReachRooms = {
    ...reachIn(world),
    cluster: { ...reachIn(world).cluster, leaderOf: (_, index) => index % 2 },
    peers: {
      ask: async brokerId => {
        throw new PeerUnavailable(brokerId, 'has not answered within 5000 ms', isUnsent)
      },
    },
  }
  return { ...rooms, registry: null, random: seededRandom(1), metrics: world.metrics, store: world.store }
}

test('if a broker does not answer, a page, a list and a description lack only its partitions', async t => {
  const rooms = await openBesideSilence(t, false)
  const record = (partition: number) => ({ partition, value: { text: `in ${partition}` } })
  const written = await produceRecords(rooms, 't', [record(0), record(1), record(2)])
  assert.ok(!isRefusal(written) && !isDeclined(written))
  // The other broker may or may not have written the record.
  assert.deepEqual(
    written.messages.map(({ offset, error }) => [offset, error?.code]),
    [
      [0, undefined],
      [null, 'REQUEST_TIMED_OUT'],
      [0, undefined],
    ],
  )
  assert.equal(
    written.messages[1]!.error!.detail,
    'The leader does not answer: broker 1 has not answered within 5000 ms; it may be done all the same.',
  )
  const browsed = await browseRecords(rooms, 't', {
    partition: null,
    order: 'newest',
    seek: { timestamp: 2_000_000_000_000 },
    cursor: null,
    limit: 50,
    contains: null,
    decode: 'utf8',
    keyDecode: 'utf8',
    previewBytes: 100,
  })
  assert.ok(!isRefusal(browsed))
  const { page } = browsed
  assert.deepEqual(page.messages.map(({ value }) => value?.text).sort(), ['in 0', 'in 2'])
  assert.deepEqual(
    page.unavailable.map(({ partition, code }) => `${partition} ${code}`),
    ['1 LEADER_NOT_AVAILABLE', '3 LEADER_NOT_AVAILABLE'],
  )
  const described = await describeTopic(rooms, 't')
  assert.ok(!isRefusal(described))
  assert.deepEqual(
    described.leaders.map(({ leader, end, error }) => [leader, end, error?.code]),
    [
      [0, 1, undefined],
      [1, null, 'LEADER_NOT_AVAILABLE'],
      [0, 1, undefined],
      [1, null, 'LEADER_NOT_AVAILABLE'],
    ],
  )
  const { topics } = await listTopics(rooms, { q: '', sort: 'sizeBytes', order: 'asc', offset: 0, limit: 10 })
  assert.deepEqual([topics[0]!.records, topics[0]!.sizeBytes], [null, null])
})

test('a request that certainly did not reach another broker gets an error that clients retry', async t => {
  const rooms = await openBesideSilence(t, true)
  const refused = await produceRecords(rooms, 't', [{ partition: 1, value: null }])
  assert.ok(isRefusal(refused) && refused.name === 'LEADER_NOT_AVAILABLE')
})

test('if the leader does not know the partition yet, the client gets an error that clients retry', async t => {
  const rooms = await openBesideSilence(t, true)
  const topicId = rooms.catalogue.current().topics.get('t')!.id
  const partitionResponses = [{ index: 1, errorCode: UNKNOWN_TOPIC_OR_PARTITION.code, recordErrors: [] }]
  const peers: Peers = { ask: async () => ({ responses: [{ topicId, partitionResponses }] }) as never }
  const refused = await produceRecords({ ...rooms, peers }, 't', [{ partition: 1, value: null }])
  assert.ok(isRefusal(refused))
  assert.deepEqual(
    [refused.name, refused.message],
    ['LEADER_NOT_AVAILABLE', "Broker 1 does not know partition 1 of 't' at this moment."],
  )
})
