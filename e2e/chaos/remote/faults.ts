// The faults of brokers in a round of the remote tier: kill -9, at random and at every step. Each one ends itself.

import type { BrokerProcess } from '../../../testing/process.ts'
import { writeTopic } from '../compaction/common-faults.ts'
import { isConnectionLoss } from '../producers.ts'
import { startAnyway } from '../redis/kill-faults.ts'
import { makeTopic } from '../redis/topics.ts'
import type { Run } from '../run.ts'
import type { RemoteFault, RoundContext } from './round.ts'
import { FENCING, STEP_NAMES } from './steps.ts'
import { AT_ONCE } from './topics.ts'
import type { World } from './world.ts'

/** A broker stops at a step at the latest when it comes there for this time. */
const MOST_TIMES = 3
const PROGRESS = 60
/** The brokers have the order before a fresh topic is created. */
const FRESH_MS = 500
const FRESH_MIB = 0.01

function pick<T>({ random }: Pick<RoundContext, 'random'>, list: readonly T[]): T {
  return list[random.below(list.length)]!
}

/** Creates a topic and fills it until that is done, also if brokers end meanwhile. */
async function makeFresh({ brokers }: World, run: Run): Promise<void> {
  await run.pause(FRESH_MS)
  for (;;) {
    try {
      await makeTopic(brokers.at(-1)!, 'fresh', 1, AT_ONCE).catch(error => {
        if (!/36|exists/.test(String(error))) throw error
      })
      return await writeTopic(brokers, 'fresh', FRESH_MIB, run)
    } catch (error) {
      if (!isConnectionLoss(error)) throw error
      await run.pause(FRESH_MS)
    }
  }
}

export const killAt = (step: string, mostTimes = MOST_TIMES): RemoteFault => ({
  name: `kill -9 when ${step}`,
  async act({ world, run, random }) {
    const nth = 1 + random.below(mostTimes)
    // Holders fence a table once, so one more table has to come.
    const fresh = step === FENCING ? makeFresh(world, run) : null
    const stopping = world.orders.stopAt(world.brokers, run, { step, nth: fresh === null ? nth : 1, signal: 'SIGKILL' })
    const stopped = await stopping
    await Promise.all(stopped.map(broker => broker.exited))
    // Half of the time another broker goes on with the work.
    if (stopped.length < world.brokers.length && random.below(2) === 0) await run.progress(PROGRESS)
    await Promise.all(stopped.map(startAnyway))
    await fresh
    return `kill -9 of ${stopped.length} when ${step}, ${nth}`
  },
})

const kills: RemoteFault = {
  name: 'one kill -9 after another',
  async act(context) {
    const { world, run, random } = context
    const pauses: number[] = []
    for (let kill = 0; kill < 3; kill++) {
      const broker = pick(context, world.brokers)
      const ms = random.below(1_500)
      pauses.push(ms)
      await run.pause(ms)
      await broker.kill('SIGKILL')
      if (world.brokers.length > 1) await run.pause(random.below(2_000))
      await startAnyway(broker)
    }
    return `kill -9 after ${pauses.join(', ')} ms`
  },
}

const killAll: RemoteFault = {
  name: 'kill -9 of all brokers and of Redis',
  async act({ world: { brokers, redis }, run, random }) {
    await run.pause(random.below(1_500))
    const all: readonly BrokerProcess[] = brokers
    await Promise.all([...all.map(broker => broker.kill('SIGKILL')), redis?.stop('SIGKILL')])
    await redis?.start()
    await redis?.loaded()
    await Promise.all(all.map(startAnyway))
    return 'kill -9 of all'
  },
}

export const KILL_FAULTS: readonly RemoteFault[] = [...STEP_NAMES.map(step => killAt(step)), kills, killAll]
