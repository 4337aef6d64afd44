import { test } from 'node:test'
import { noRedis as skip } from '../../../testing/redis.ts'
import { seed } from '../../../testing/seed.ts'
import { runRound } from '../redis/round.ts'
import { openAlone } from '../redis/scene.ts'
import { openOrders } from './orders.ts'
import { killFaults, otherFaults } from './redis-faults.ts'
import { CLEANING, COMPACTED } from './topics.ts'

/** Every second step and pause. The long form, `npm run chaos -- compaction`, has all, and faults of Redis too. */
const isDrawn = (_: unknown, at: number) => (at + seed) % 2 === 0

test(`faults beside the cleaner of three brokers lose no newest record, and leave no key (seed ${seed})`, {
  skip,
  timeout: 580_000,
}, async t => {
  const orders = await openOrders(t)
  const scene = await openAlone(t, { seed, settings: CLEANING, nodeFlags: orders.nodeFlags })
  const faults = [...killFaults(orders), ...otherFaults(orders)].filter(isDrawn)
  for (const [at, fault] of faults.entries()) {
    t.diagnostic(JSON.stringify(await runRound(scene, at + 1, fault, COMPACTED)))
  }
})
