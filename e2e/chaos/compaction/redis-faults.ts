// The faults beside the cleaner on Redis, in addition to those of ../redis. Each one ends itself.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../../../testing/eventually.ts'
import type { BrokerProcess } from '../../../testing/process.ts'
import { newestFile } from '../../../testing/torn-file.ts'
import type { Orders } from '../orders.ts'
import {
  cutOffBroker,
  disturbRedisLink,
  fillRedis,
  flushFunctions,
  isTakenForDead,
  killBrokers,
  killConnections,
  killRedis,
  pauseRedis,
  storm,
  swallowReplies,
} from '../redis/faults.ts'
import { killsOfRedis, startAnyway } from '../redis/kill-faults.ts'
import { readCounter } from '../redis/probing.ts'
import type { Fault, RoundContext } from '../redis/round.ts'
import type { Node } from '../redis/scene.ts'
import { makeTopic, unmakeTopic } from '../redis/topics.ts'
import {
  fillTopic,
  flipBit,
  isUncleanable,
  jumpClocks,
  MOST_TIMES,
  OLD,
  PROGRESS,
  reconfigure,
  watchForWaits,
} from './common-faults.ts'
import { PASS_STEPS, REDIS_STEPS } from './steps.ts'

/** The results of a pass that another leader has ended: it is refused, or Redis has closed the connection meanwhile. */
const ENDED = ['ended', 'failed'].map(result => `svc_storage_cleaner_passes_total{result="${result}"}`)
/** More than one append, and less than the old topic. */
const ROOM_BYTES = 200_000
/** The flipped bit may be in an entry that another writer was about to replace. */
const MOST_FLIPS = 3

function brokersOf({ scene }: RoundContext): readonly BrokerProcess[] {
  return scene.nodes.map(({ broker }) => broker)
}

const killAt = (step: string, orders: Orders): Fault => ({
  name: `kill -9 when ${step}`,
  async act(context) {
    const { scene, run, random } = context
    const nth = 1 + random.below(MOST_TIMES)
    const stopped = await orders.stopAt(brokersOf(context), run, { step, nth, signal: 'SIGKILL' })
    await Promise.all(stopped.map(broker => broker.exited))
    // Half of the time another broker finishes the pass.
    if (stopped.length < scene.nodes.length && random.below(2) === 0) await run.progress(PROGRESS)
    await Promise.all(stopped.map(startAnyway))
    return `kill -9 of ${stopped.length} when ${step}, ${nth}`
  },
})

async function countEnded({ broker }: Node): Promise<number> {
  const counts = await Promise.all(ENDED.map(name => readCounter(broker, name)))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** The broker stops inside of a pass until another one leads its partitions. Then it goes on where it was. */
const pauseAt = (step: string, orders: Orders): Fault => ({
  name: `a pause past the expiry when ${step}`,
  async act(context) {
    const { scene, run, random } = context
    const ended = new Map<Node, number>()
    for (const node of scene.nodes) ended.set(node, await countEnded(node))
    const taken = new Map(scene.nodes.map(node => [node, isTakenForDead(context, node.id)]))
    const nth = 1 + random.below(MOST_TIMES)
    const stopped = await orders.stopAt(brokersOf(context), run, { step, nth, signal: 'SIGSTOP' })
    const [first, ...others] = scene.nodes.filter(({ broker }) => stopped.includes(broker)) as [Node, ...Node[]]
    for (const { broker } of others) broker.resume()
    await taken.get(first)!()
    await run.progress(5 * PROGRESS)
    first.broker.resume()
    // The store refuses its next piece, because another broker leads. So its pass ends and changes nothing.
    const isOver = async () => (await countEnded(first)) > ended.get(first)!
    await eventually(`the pass of broker ${first.id} ends`, isOver, 60_000)
    return `broker ${first.id} paused past its expiry when ${step}, ${nth}`
  },
})

/** Retention of another topic frees the memory that the compacted one needs. */
export const fullRedis: Fault = {
  name: 'a full Redis until retention has freed room',
  async act(context) {
    const { scene, run } = context
    const brokers = brokersOf(context)
    const [redis] = await scene.primaries()
    const topic = `old-${run.topic}`
    await makeTopic(brokers[0]!, topic, 1, OLD)
    await fillTopic(brokers, topic, 8, run)
    const waits = await watchForWaits(brokers, run)
    try {
      await redis!.ask('CONFIG', 'SET', 'maxmemory', Number(await redis!.info('used_memory')) + ROOM_BYTES)
      await waits()
      await run.progress(5 * PROGRESS)
    } finally {
      await redis!.ask('CONFIG', 'SET', 'maxmemory', '0')
    }
    await unmakeTopic(brokers[0]!, topic)
    return 'Redis full until retention had freed room'
  },
}

const clockJump = (orders: Orders): Fault => ({
  name: 'clocks that jump by a day',
  async act(context) {
    const brokers = brokersOf(context)
    const told = await jumpClocks(brokers, orders, context.run, context.random)
    // To set a clock right may be a jump forward. Its broker would drop nothing by time for a day, and later rounds on
    // these brokers wait for that.
    for (const broker of brokers) {
      await broker.kill('SIGTERM')
      await startAnyway(broker)
    }
    return told
  },
})

/** Redis then writes its base file as commands too, so that the bit can be found there. */
const PLAIN = { 'aof-use-rdb-preamble': 'no' }

const flippedBit: Fault = {
  name: 'a flipped bit',
  async act(context) {
    const { scene, run } = context
    const brokers = brokersOf(context)
    const [redis] = await scene.primaries()
    const from = brokers.map(broker => broker.output().length)
    for (let attempt = 1; ; attempt++) {
      await redis!.stop('SIGKILL')
      const isFlipped = await flipBit(await newestFile(redis!))
      run.isDamaged = true
      await redis!.start(PLAIN)
      await redis!.loaded()
      await run.progress(PROGRESS)
      if (!isFlipped) continue
      try {
        const why = await isUncleanable(brokers, run, from)
        await run.progress(PROGRESS)
        await redis!.stop('SIGKILL')
        for (const name of await readdir(join(redis!.folder, 'appendonlydir')))
          await flipBit(join(redis!.folder, 'appendonlydir', name), { isBack: true })
        run.isDamaged = false
        await redis!.start()
        await redis!.loaded()
        // The cleaner tries again when a config of the topic changes.
        await reconfigure(brokers[0]!, run.topic, 'min.cleanable.dirty.ratio', '0.02')
        return `a flipped bit, later flipped back: ${why}`
      } catch (error) {
        if (attempt === MOST_FLIPS) throw error
      }
    }
  },
}

export function killFaults(orders: Orders): readonly Fault[] {
  return [...PASS_STEPS, ...REDIS_STEPS].map(({ step }) => killAt(step, orders))
}

const PAUSED = ['a piece is with the store', 'a piece is cleaned', 'a piece is written', 'the map is made']

export function otherFaults(orders: Orders): readonly Fault[] {
  return [...PAUSED.map(step => pauseAt(step, orders)), clockJump(orders), flippedBit]
}

/** Faults of Redis and of the way to it. */
export const storeFaults: readonly Fault[] = [
  cutOffBroker,
  killRedis,
  swallowReplies,
  killConnections,
  fillRedis,
  fullRedis,
  flushFunctions,
  pauseRedis,
  disturbRedisLink,
  killBrokers,
  storm,
  killsOfRedis({ kills: 3, withBrokers: false }),
  killsOfRedis({ kills: 3, withBrokers: true }),
]
