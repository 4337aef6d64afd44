// A Redis that is killed under load, alone or together with all brokers, and is started twice each time. In half of the
// kills its append-only file is torn inside a transaction, as a kill does by itself once in a while. Only appends
// without an answer are torn, because answers did not come through any more. In half of them Redis may not be asked to
// rewrite that file, so that the torn part is there at the second start.

import { stat } from 'node:fs/promises'
import type { BrokerProcess } from '../../../testing/process.ts'
import type { RedisServer } from '../../../testing/redis.ts'
import { newestFile, tearTransaction } from '../../../testing/torn-file.ts'
import type { Fault, RoundContext } from './round.ts'

/** `appendfsync everysec` may lose records that were acknowledged so long before the kill. */
const UNSYNCED_MS = 3_000
/** Values that are acknowledged after each kill. */
const PROGRESS = 60
/** Long enough for appends of every broker to reach Redis. */
const UNANSWERED_MS = 200
const MOST_STARTS = 5

interface Kills {
  readonly kills: number
  readonly withBrokers: boolean
}

/** Judged as any round is: with `always` nothing may be lost, and never may an offset hold two values. */
export function killsOfRedis({ kills, withBrokers }: Kills): Fault {
  const name = `${kills} times kill -9 of Redis${withBrokers ? ' and of all brokers' : ''}, started twice`
  return {
    name,
    // No broker is left that knows how far clients were told.
    leavesGaps: withBrokers,
    async act(context) {
      const torn: string[] = []
      for (let kill = 1; kill <= kills; kill++) {
        torn.push(await killOnce(context, withBrokers))
        await context.run.progress(PROGRESS)
      }
      return `${name}; torn at: ${torn.join(', ')}`
    },
  }
}

/** Answers where its file was torn. */
async function killOnce(context: RoundContext, withBrokers: boolean): Promise<string> {
  const { scene, run, random } = context
  const chance = () => random.below(2) === 0
  const [redis] = (await scene.primaries()) as readonly [RedisServer]
  const brokers = withBrokers ? scene.nodes.map(({ broker }) => broker) : []
  context.lossMayBegin(UNSYNCED_MS)
  let answered = { file: '', size: 0 }
  if (chance()) {
    for (const { toRedis } of scene.nodes) toRedis.freeze('to-client')
    const file = await newestFile(redis)
    answered = { file, size: (await stat(file)).size }
    await run.pause(UNANSWERED_MS)
  }
  await Promise.all([redis.stop('SIGKILL'), ...brokers.map(broker => broker.kill('SIGKILL'))])
  for (const { toRedis } of scene.nodes) {
    // Bytes that the link had held back are lost.
    toRedis.reset()
    await toRedis.refuse()
  }
  const isSameFile = answered.file === (await newestFile(redis))
  const torn = isSameFile ? await tearTransaction(redis, 'XADD', tearAt(random.below(8)), answered.size) : null
  await startAgain(redis, chance())
  await Promise.all(scene.nodes.map(({ toRedis }) => toRedis.heal()))
  await Promise.all(brokers.map(startAnyway))
  const since = random.below(3)
  if (since === 0) await run.progress(PROGRESS / 2)
  else if (since === 1) await run.pause(random.below(500))
  await redis.stop(chance() ? 'SIGTERM' : 'SIGKILL')
  await startAgain(redis, true)
  context.lossEnds()
  return torn === null ? 'nothing' : `${torn.name} (${torn.at} of ${torn.count})`
}

/** As whatever keeps a service running: on a busy machine Redis may not answer in time to a broker that starts. */
async function startAnyway(broker: BrokerProcess): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await broker.start()
    } catch (error) {
      if (attempt === MOST_STARTS) throw error
      // One that says nothing for too long runs still.
      await broker.kill('SIGKILL').catch(() => null)
    }
  }
}

/** Mostly at one of the last commands, which is where a seal is half done. */
function tearAt(draw: number): number {
  return draw < 6 ? -1 - (draw % 3) : draw - 5
}

async function startAgain(redis: RedisServer, isRewritten: boolean): Promise<void> {
  await redis.start()
  await redis.loaded()
  if (!isRewritten) await redis.ask('ACL', 'SETUSER', 'default', '-bgrewriteaof')
}
