// Kills Redis under load, alone or together with all brokers, and starts it twice each time. In half of the kills it
// cuts the append-only file inside of a transaction, as a kill itself sometimes does. It cuts only appends that were
// not answered, because the proxies stopped the answers before. In half of the kills Redis may not rewrite that file,
// so that the cut part is still there at the second start.

import { stat } from 'node:fs/promises'
import type { BrokerProcess } from '../../../testing/process.ts'
import type { RedisServer } from '../../../testing/redis.ts'
import { newestFile, tearTransaction } from '../../../testing/torn-file.ts'
import { insist } from './insist.ts'
import type { Fault, RoundContext } from './round.ts'

/** With `appendfsync everysec` Redis may lose records that were acknowledged within this time before the kill. */
const UNSYNCED_MS = 3_000
/** Values that are acknowledged after each kill. */
const PROGRESS = 60
/** Time in which appends of every broker reach Redis. */
const UNANSWERED_MS = 200

interface Kills {
  readonly kills: number
  readonly withBrokers: boolean
}

/**
 * Returns a fault with several kills of Redis. The round judges it as any other: with `always` nothing may be lost,
 * and in no case may an offset have two values.
 */
export function killsOfRedis({ kills, withBrokers }: Kills): Fault {
  const name = `${kills} times kill -9 of Redis${withBrokers ? ' and of all brokers' : ''}, started twice`
  return {
    name,
    // No broker is left that knows which end offsets clients have seen.
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

/** Kills and starts Redis once. Resolves to the position at which its file was cut. */
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
    // Bytes that the proxy had held back are lost.
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

/** Starts a broker, and again if that fails. */
export async function startAnyway(broker: BrokerProcess): Promise<void> {
  await insist(async () => {
    try {
      await broker.start()
    } catch (error) {
      // A broker that was not ready in time still runs.
      await broker.kill('SIGKILL').catch(() => null)
      throw error
    }
  })
}

/** Returns the command to cut: mostly one of the last commands, where a seal is half done. */
function tearAt(draw: number): number {
  return draw < 6 ? -1 - (draw % 3) : draw - 5
}

async function startAgain(redis: RedisServer, isRewritten: boolean): Promise<void> {
  await redis.start()
  await redis.loaded()
  if (!isRewritten) await redis.ask('ACL', 'SETUSER', 'default', '-bgrewriteaof')
}
