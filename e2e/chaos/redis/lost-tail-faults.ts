// A Redis that comes back without its last acknowledged writes. `appendfsync everysec` can cause that if the server
// is killed while a sync is slow. A test cannot make a disk slow, so it cuts the end of the append-only file while
// the server is down: the result, and the view of the brokers, is the same. The brokers must report the loss, and no
// other data may be lost.

import { stat, truncate } from 'node:fs/promises'
import { eventually } from '../../../testing/eventually.ts'
import type { RedisServer } from '../../../testing/redis.ts'
import { newestFile } from '../../../testing/torn-file.ts'
import type { Fault, RoundContext } from './round.ts'
import { follow, type RedisScene, type ReplicatedScene } from './scene.ts'

/** The settings of such a scene. */
export const UNSYNCED = { appendfsync: 'everysec', mayLose: true } as const

/**
 * Longer than Redis delays a write because of a sync: writes that were acknowledged before are in the file after it.
 */
const WRITTEN_MS = 3_000
/** Values that are acknowledged; most of them are in the part that is cut. */
const PROGRESS = 300

/**
 * Kills the server and starts it again without at least the newest half of its writes. Resolves to the bytes that are
 * lost.
 */
async function loseTail<S extends RedisScene>(context: RoundContext<S>, redis: RedisServer): Promise<number> {
  const { run, random } = context
  context.lossMayBegin()
  await run.pause(WRITTEN_MS)
  const log = await newestFile(redis)
  const { size: kept } = await stat(log)
  await run.progress(PROGRESS)
  await redis.stop('SIGKILL')
  const { size } = await stat(log)
  const end = kept + random.below(Math.floor((size - kept) / 2))
  await truncate(log, end)
  context.lossEnds()
  await redis.start()
  await redis.loaded()
  return size - end
}

async function isReported({ scene, run }: RoundContext, from: readonly number[]): Promise<void> {
  await eventually(
    'a broker says that the end of a log was lost',
    async () => {
      await run.pause(50)
      return scene.nodes.some(({ broker }, at) => broker.output().includes('the store lost the end of', from[at]))
    },
    60_000,
  )
}

export const unsyncedTail: Fault = {
  name: 'kill -9 of a Redis that had not synced its tail',
  raisesEpoch: true,
  async act(context) {
    const { scene } = context
    const from = scene.nodes.map(({ broker }) => broker.output().length)
    const [redis] = await scene.primaries()
    const bytes = await loseTail(context, redis!)
    await isReported(context, from)
    return `Redis killed, the last ${bytes} bytes of its append-only file lost`
  },
}

/**
 * A primary that is back before a fail-over. Its replica copies the loss, although the brokers waited for the
 * replica.
 */
export const unsyncedPrimary: Fault<ReplicatedScene> = {
  name: 'a primary that is back before a fail-over, without its tail',
  raisesEpoch: true,
  async act(context) {
    const { scene } = context
    const from = scene.nodes.map(({ broker }) => broker.output().length)
    const bytes = await loseTail(context, scene.primary)
    await follow(scene.primary, scene.replica, scene.replication)
    await isReported(context, from)
    return `a primary killed and started again without the last ${bytes} bytes of its append-only file`
  },
}
