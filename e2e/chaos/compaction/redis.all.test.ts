import { type TestContext, test } from 'node:test'
import { drawnBy } from '../../../testing/at-length.ts'
import { noRedis } from '../../../testing/redis.ts'
import { seed } from '../../../testing/seed.ts'
import { type Orders, openOrders } from '../orders.ts'
import { failOver, failOverWithoutTail } from '../redis/fail-over-faults.ts'
import { cutOffBroker } from '../redis/faults.ts'
import { type Fault, runRound } from '../redis/round.ts'
import { openAlone, openReplicated, type RedisScene, type SceneOptions } from '../redis/scene.ts'
import { lateRewrite, PATIENT } from './late-rewrite.ts'
import { fullRedis, killFaults, otherFaults } from './redis-faults.ts'
import { STEPS } from './steps.ts'
import { CLEANING, COMPACTED } from './topics.ts'

/**
 * The faults of a run of this file: one step of a pass or one fault beside the passes, and one of two where two are
 * alike. KETCH_LONG=1 has all of them. The long form, `npm run chaos -- compaction`, has all faults.
 */
const oneOf = <T>(faults: readonly T[]) => drawnBy(seed, faults.length, faults)
const oneOfTwo = <T>(faults: readonly T[]) => drawnBy(seed, 2, faults)

async function play<S extends RedisScene>(
  t: TestContext,
  open: (options: SceneOptions) => Promise<S>,
  faultsOf: (orders: Orders) => readonly Fault<S>[],
): Promise<void> {
  const orders = await openOrders(t, STEPS)
  const scene = await open({ seed, settings: CLEANING, nodeFlags: orders.nodeFlags })
  for (const [at, fault] of faultsOf(orders).entries())
    t.diagnostic(JSON.stringify(await runRound(scene, at + 1, fault, COMPACTED)))
}

const options = { skip: noRedis, timeout: 580_000 }

test(`faults beside the cleaner of three brokers lose no newest record, and leave no key (seed ${seed})`, options, t =>
  play(
    t,
    options => openAlone(t, options),
    orders => [...oneOf([...killFaults(orders), ...otherFaults(orders)]), ...oneOfTwo([cutOffBroker, fullRedis])],
  ),
)

test(
  `a piece of a pass that reaches Redis after another broker has taken the lead changes nothing (seed ${seed})`,
  options,
  t =>
    play(
      t,
      options => openAlone(t, { ...options, settings: { ...CLEANING, ...PATIENT } }),
      orders => [lateRewrite(orders)],
    ),
)

const isWaitedFor = oneOfTwo([true, false])

if (isWaitedFor.includes(true))
  test(
    `beside the cleaner, a fail-over to a replica that is waited for loses no newest record (seed ${seed})`,
    options,
    t =>
      play(
        t,
        options => openReplicated(t, { ...options, waitReplicas: 1 }),
        () => drawnBy(seed >> 1, 2, [failOver, failOverWithoutTail]),
      ),
  )

if (isWaitedFor.includes(false))
  test(
    `beside the cleaner, a fail-over to a replica that is not waited for loses only what the replica lacked (seed ${seed})`,
    options,
    t =>
      play(
        t,
        options => openReplicated(t, { ...options, waitReplicas: 0 }),
        () => [failOverWithoutTail],
      ),
  )
