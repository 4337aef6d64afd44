import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf, type LogWorld, openLogWorld } from '../../testing/sim/logs.ts'

const CAP = 'broker.metrics.offset-cardinality-cap'
const REFRESH_MS = 15_000

function offsets({ metrics }: LogWorld, topic: string, partition = 0): readonly number[] {
  const labels = { topic, partition: String(partition) }
  return [metrics.read('svc.broker.max_offset', labels), metrics.read('svc.broker.log_start_offset', labels)]
}

test('a partition has gauges from the start, and each refresh updates them', async t => {
  const world = await openLogWorld(t)
  await world.create('a')
  assert.deepEqual(offsets(world, 'a'), [0, 0])
  await world.partition('a').append(batchOf(7), 0)
  assert.deepEqual(offsets(world, 'a'), [0, 0])
  await world.clock.advance(REFRESH_MS)
  assert.deepEqual(offsets(world, 'a'), [7, 0])
})

test('the gauges of a removed topic are removed', async t => {
  const world = await openLogWorld(t)
  const { id } = await world.create('a')
  await world.catalogue.remove([id])
  await world.clock.advance(REFRESH_MS)
  assert.deepEqual(offsets(world, 'a'), [Number.NaN, Number.NaN])
})

test('above the cap no gauge is refreshed and one warning says so, until there are fewer partitions', async t => {
  const world = await openLogWorld(t, { overrides: { [CAP]: 2 } })
  await world.create('a', {}, 2)
  const { id } = await world.create('b')
  await world.partition('a').append(batchOf(7), 0)
  for (let i = 0; i < 3; i++) await world.clock.advance(REFRESH_MS)
  assert.deepEqual(offsets(world, 'a'), [0, 0])
  assert.deepEqual(offsets(world, 'b'), [Number.NaN, Number.NaN])
  const warnings = () => world.lines.filter(line => line.includes('offset gauges')).length
  assert.equal(warnings(), 1)
  await world.catalogue.remove([id])
  await world.clock.advance(REFRESH_MS)
  assert.deepEqual(offsets(world, 'a'), [7, 0])
  await world.create('b')
  assert.equal(warnings(), 2)
})
