import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assigning, claim, commit, DELAY_MS, enter, openGroupWorld, subscribing } from '../../../testing/sim/groups.ts'
import { batchOf, openLogWorld } from '../../../testing/sim/logs.ts'
import { aloneInCluster } from '../../cluster/cluster.ts'
import { openReadPositions } from '../../coordinator/read-positions.ts'
import type { Values } from '../../settings/settings.ts'
import { testSettings } from '../../settings/settings.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { publishLag } from './lag-gauges.ts'

const REFRESH_MS = 15_000
const NOBODY = { generation: -1, memberId: '', instanceId: null }

/** Opens a broker with a topic of two partitions with ten records each. */
async function open(t: TestContext, overrides: Partial<Values> = {}, configs: Readonly<Record<string, string>> = {}) {
  const logWorld = await openLogWorld(t)
  const { clock, store, catalogue, logs, metrics, partition } = logWorld
  const world = await openGroupWorld(t, clock, store, {}, catalogue)
  const topic = await logWorld.create('topic', configs, 2)
  for (const index of [0, 1]) await partition('topic', index).append(batchOf(10), 0)
  const cluster = aloneInCluster(0, null)
  await cluster.announce([])
  const lines: string[] = []
  const gauges = publishLag({
    catalogue,
    logs,
    groups: world.groups,
    store,
    cluster,
    peers: { ask: () => assert.fail('there is no other broker') },
    readPositions: openReadPositions(clock),
    settings: testSettings(overrides),
    clock,
    metrics,
    logger: createLogger({ clock, write: line => lines.push(line), format: 'plain' }),
  })
  t.after(() => gauges.close())
  const commitTo = async (groupId: string, ...offsets: readonly number[]) => {
    const asked = offsets.map((offset, index) => ({
      ...{ topicId: topic.id, partition: index, offset, leaderEpoch: -1, metadata: '', retentionMs: -1 },
    }))
    await commit(world, 0, { groupId, ...NOBODY, offsets: asked })
  }
  const lags = () =>
    Object.fromEntries([...metrics.series('svc.group.lag')].map(each => [each.labels.group, each.value]))
  return { clock, world, topic, lines, partition, commitTo, lags }
}

test('the lag of every group is published a second after the start and then with each refresh', async t => {
  const { clock, commitTo, lags, partition } = await open(t)
  await commitTo('g', 4, 10)
  await commitTo('h', 10, 10)
  assert.deepEqual(lags(), {})
  await clock.advance(1_000)
  assert.deepEqual(lags(), { g: 6, h: 0 })
  await partition('topic').append(batchOf(5), 0)
  await clock.advance(REFRESH_MS)
  assert.deepEqual(lags(), { g: 11, h: 5 })
})

test('a deleted group no longer has a gauge', async t => {
  const { clock, world, commitTo, lags } = await open(t)
  await commitTo('g', 4)
  await clock.advance(1_000)
  await world.groups.remove('g')
  await clock.advance(REFRESH_MS)
  assert.deepEqual(lags(), {})
})

test('an unknown lag reads NaN, and becomes a number when it is known again', async t => {
  const refreshMs = 4_000
  const { clock, world, topic, lags } = await open(t, { 'broker.metrics.group-lag-refresh-interval': refreshMs })
  const { joined, memberId } = await enter(world, { clientId: 'reader', ...subscribing('topic') })
  await clock.advance(DELAY_MS)
  const joint = { groupId: 'g', generation: 1, memberId, instanceId: null, protocolType: null, protocolName: null }
  await world.groups.sync({ ...joint, assignments: [{ memberId, assignment: assigning({ topic: [0, 1] }) }] })
  await clock.advance(refreshMs)
  assert.deepEqual(lags(), { g: Number.NaN })
  const first = { topicId: topic.id, partition: 0, offset: 4, leaderEpoch: -1, metadata: '', retentionMs: -1 }
  await commit(world, 0, { ...claim(joined.got()!), offsets: [first] })
  world.groups.heartbeat('g', claim(joined.got()!))
  await clock.advance(refreshMs)
  assert.deepEqual(lags(), { g: 6 })
})

test('if offsets follow the clock, the lag of a group is 0 or unknown', async t => {
  const { clock, commitTo, lags, partition } = await open(t, {}, { 'offset.sequence.bits': '11' })
  const ends = [0, 1].map(index => partition('topic', index).highWatermark)
  await commitTo('behind', 0, 0)
  await commitTo('halfway', ends[0]!, 0)
  await commitTo('done', ...ends)
  await clock.advance(1_000)
  assert.deepEqual(lags(), { behind: Number.NaN, done: 0, halfway: 0 })
})

test('above the cap there are as many gauges as the cap allows, all read NaN, and one warning is written', async t => {
  const { clock, world, commitTo, lags, lines } = await open(t, { 'broker.metrics.group-lag-cardinality-cap': 2 })
  for (const group of ['a', 'b']) await commitTo(group, 4)
  await clock.advance(1_000)
  assert.deepEqual(lags(), { a: 6, b: 6 })
  await commitTo('c', 4)
  for (let i = 0; i < 3; i++) await clock.advance(REFRESH_MS)
  assert.deepEqual(lags(), { a: Number.NaN, b: Number.NaN })
  assert.equal(lines.filter(line => line.includes('group-lag-cardinality-cap is 2')).length, 1)
  await world.groups.remove('a')
  await clock.advance(REFRESH_MS)
  assert.deepEqual(lags(), { b: 6, c: 6 })
})
