import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryObjects } from '../../../testing/memory-objects.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { ObjectStoreError } from '../objects/objects.ts'
import { Breaker, probePlace } from './breaker.ts'

function open() {
  const clock = new SimulatedClock()
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain' })
  const world = { clock, lines, probes: 0, why: null as string | null, isSilent: false }
  const breaker = new Breaker({
    clock,
    logger,
    async probe() {
      world.probes++
      if (world.isSilent) await new Promise(() => {})
      if (world.why !== null) throw new ObjectStoreError('away', world.why)
    },
  })
  return Object.assign(world, { breaker })
}

test('a suspicion opens the breaker only if the probe fails, and the next probe that succeeds closes it', async () => {
  const world = open()
  const { breaker, clock } = world
  breaker.suspect()
  await clock.settle()
  assert.deepEqual([world.probes, breaker.isOpen], [1, false])
  breaker.suspect()
  assert.equal(world.probes, 1, 'not more than one probe in a while')
  await clock.advance(6_000)
  world.why = 'it is away'
  breaker.suspect()
  await clock.settle()
  assert.deepEqual([breaker.isOpen, breaker.state.why], [true, 'it is away'])
  breaker.suspect()
  assert.equal(world.probes, 2)
  assert.equal(await breaker.check(), false)
  world.why = null
  assert.equal(await breaker.check(), true)
  assert.equal(breaker.state.breaker, 'closed')
  assert.equal(world.lines.length, 2)
})

test('calls at the same time share a probe, and a place that gives no answer is away', async () => {
  const world = open()
  world.isSilent = true
  const answers = Promise.all([world.breaker.check(), world.breaker.check()])
  await world.clock.advance(10_001)
  assert.deepEqual([await answers, world.probes], [[false, false], 1])
  assert.match(world.breaker.state.why!, /no answer within 10000 ms/)
})

test('a probe writes, reads and deletes an object', async () => {
  const objects = new MemoryObjects(new SimulatedClock())
  await probePlace(objects, seededRandom(1))
  assert.equal(objects.held.size, 0)
  objects.read = async () => null
  await assert.rejects(probePlace(objects, seededRandom(1)), { kind: 'refused', message: /cannot be read/ })
})
