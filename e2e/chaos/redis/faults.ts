// The faults of a round on Redis. Each one draws its choices from the seed, lasts for a while, and ends itself.

import { eventually } from '../../../testing/eventually.ts'
import type { TcpProxy } from '../../../testing/proxy.ts'
import { halfOpenClient } from './half-open.ts'
import { killsOfRedis, startAnyway } from './kill-faults.ts'
import type { Fault, RoundContext } from './round.ts'
import { EXPIRY_MS, type Node } from './scene.ts'
import { topicAgain } from './topic-again.ts'

/** Values that must be acknowledged during a fault that the other brokers can compensate. */
const PROGRESS = 100

function pick<T>({ random }: RoundContext, list: readonly T[]): T {
  return list[random.below(list.length)]!
}

const quiet: Fault = { name: 'nothing', act: async () => 'nothing' }

const killBroker: Fault = {
  name: 'kill -9 of a broker',
  async act(context) {
    const { id, broker } = pick(context, context.scene.nodes)
    await broker.kill('SIGKILL')
    // Half of the time the broker is back before the others notice.
    if (context.random.below(2) === 0) await context.run.progress(PROGRESS)
    await startAnyway(broker)
    return `kill -9 of broker ${id}`
  },
}

export const killBrokers: Fault = {
  name: 'kill -9 of all brokers',
  async act({ scene }) {
    await Promise.all(scene.nodes.map(({ broker }) => broker.kill('SIGKILL')))
    await Promise.all(scene.nodes.map(({ broker }) => startAnyway(broker)))
    return 'kill -9 of all brokers'
  },
}

export const storm: Fault = {
  name: 'one kill -9 after another',
  async act(context) {
    const ids: number[] = []
    for (let kills = 0; kills < 4; kills++) {
      const { id, broker } = pick(context, context.scene.nodes)
      ids.push(id)
      await broker.kill('SIGKILL')
      await context.run.pause(context.random.below(EXPIRY_MS))
      await startAnyway(broker)
    }
    return `kill -9 of brokers ${ids.join()}`
  },
}

const rollingRestart: Fault = {
  name: 'a rolling restart',
  async act({ scene, run }) {
    for (const { broker } of scene.nodes) {
      await broker.kill('SIGTERM')
      await run.progress(PROGRESS)
      await startAnyway(broker)
    }
    return 'a rolling restart'
  },
}

const pauseBroker: Fault = {
  name: 'a short pause of a broker',
  async act(context) {
    const { id, broker } = pick(context, context.scene.nodes)
    const ms = 100 + context.random.below(EXPIRY_MS / 2)
    broker.pause()
    await context.run.pause(ms)
    broker.resume()
    return `broker ${id} paused for ${ms} ms`
  },
}

const pausePastExpiry: Fault = {
  name: 'a pause of a broker past its expiry',
  async act(context) {
    const { id, broker } = pick(context, context.scene.nodes)
    const taken = isTakenForDead(context, id)
    broker.pause()
    await taken()
    await context.run.progress(5 * PROGRESS)
    broker.resume()
    return `broker ${id} paused until another led`
  },
}

/**
 * Pauses each broker while appends of it are on their way to Redis. They arrive after another broker has taken over
 * the lead.
 */
export const lateAppends: Fault = {
  name: 'a broker that wakes up and whose appends arrive late',
  async act(context) {
    const { scene, run } = context
    for (const { id, broker, toRedis } of scene.nodes) {
      const taken = isTakenForDead(context, id)
      toRedis.freeze('to-server')
      // Its producers get no response: the requests wait in front of Redis.
      await run.pause(300)
      broker.pause()
      await taken()
      await run.progress(PROGRESS)
      await toRedis.heal()
      broker.resume()
      await run.progress(PROGRESS)
    }
    return 'each broker paused until another led, its appends arriving then'
  },
}

/** Returns a function that resolves when another broker has logged, from here on, that this broker is dead. */
export function isTakenForDead({ scene, run }: RoundContext, id: number): () => Promise<void> {
  const others = scene.nodes.filter(node => node.id !== id)
  const before = others.map(node => node.broker.output().length)
  return () =>
    eventually(
      `broker ${id} is considered dead`,
      async () => {
        await run.pause(50)
        return others.some((node, at) => takenForDead(id).test(node.broker.output().slice(before[at])))
      },
      10 * EXPIRY_MS,
    )
}

function takenForDead(id: number): RegExp {
  return new RegExp(`broker ${id} .*considered dead`)
}

export const cutOffBroker: Fault = {
  name: 'a broker cut off from Redis',
  async act(context) {
    const { id, toRedis } = pick(context, context.scene.nodes)
    toRedis.freeze('to-server')
    toRedis.freeze('to-client')
    await context.run.progress(5 * PROGRESS)
    await context.run.pause(context.random.below(2 * EXPIRY_MS))
    await toRedis.heal()
    return `broker ${id} cut off from Redis`
  },
}

export const killRedis: Fault = {
  name: 'kill -9 of Redis',
  async act({ scene, run, random }) {
    const redis = scene.servers[random.below(scene.servers.length)]!
    const ms = random.below(2_000)
    await redis.stop('SIGKILL')
    await run.pause(ms)
    await redis.start()
    await redis.loaded()
    return `kill -9 of Redis, away for ${ms} ms`
  },
}

export const pauseRedis: Fault = {
  name: 'a pause of Redis',
  async act({ scene, run, random }) {
    const redis = scene.servers[random.below(scene.servers.length)]!
    const ms = 200 + random.below(4_000)
    redis.pause()
    await run.pause(ms)
    redis.resume()
    return `Redis paused for ${ms} ms`
  },
}

async function disturb(context: RoundContext, what: string, proxyOf: (node: Node) => TcpProxy): Promise<string> {
  const { run, random } = context
  const { id } = pick(context, context.scene.nodes)
  const proxy = proxyOf(context.scene.nodes.find(node => node.id === id)!)
  const done: string[] = []
  for (let times = 0; times < 4; times++) {
    done.push(await proxy.disturb())
    await run.pause(50 + random.below(700))
    await proxy.heal()
    await run.pause(random.below(200))
  }
  return `${what} ${id}: ${done.join(', ')}`
}

export const disturbRedisLink: Fault = {
  name: 'a broken link between a broker and Redis',
  act: context => disturb(context, 'between Redis and broker', node => node.toRedis),
}

const disturbClientLink: Fault = {
  name: 'a broken link between clients and a broker',
  act: context => disturb(context, 'between clients and broker', node => node.toClients),
}

export const swallowReplies: Fault = {
  name: 'replies of Redis that get lost',
  async act({ scene, run, random }) {
    const times = 5 + random.below(10)
    for (let at = 0; at < times; at++) {
      scene.nodes[random.below(scene.nodes.length)]!.toRedis.swallowNextReply()
      await run.pause(random.below(150))
    }
    for (const { toRedis } of scene.nodes) await toRedis.heal()
    return `${times} replies of Redis lost`
  },
}

export const killConnections: Fault = {
  name: 'connections that Redis kills',
  async act({ scene, run, random }) {
    for (let times = 0; times < 5; times++) {
      for (const redis of await scene.primaries()) await redis.ask('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await run.pause(random.below(400))
    }
    return 'every connection killed by Redis, 5 times'
  },
}

export const fillRedis: Fault = {
  name: 'a full Redis',
  async act({ scene, run, random }) {
    const ms = 200 + random.below(2_500)
    for (const redis of await scene.primaries()) await redis.ask('CONFIG', 'SET', 'maxmemory', '1mb')
    await run.pause(ms)
    for (const redis of await scene.primaries()) await redis.ask('CONFIG', 'SET', 'maxmemory', '0')
    return `Redis full for ${ms} ms`
  },
}

/** As after a fail-over to a server that never had the library. */
export const flushFunctions: Fault = {
  name: 'Functions that are gone',
  async act({ scene, run, random }) {
    for (let times = 0; times < 4; times++) {
      for (const redis of await scene.primaries()) await redis.ask('FUNCTION', 'FLUSH')
      await run.pause(random.below(400))
    }
    return 'the Functions flushed, 4 times'
  },
}

/** A foreign client writes to the streams of the topic. An append checks for such entries (`arm` in without.ts). */
const stranger: Fault = {
  name: 'entries of a stranger',
  async act({ scene, run, random, topicId }) {
    const [redis] = await scene.primaries()
    const partition = random.below(run.partitions)
    const key = `svc:stream:{${topicId}:${partition}}:batches`
    for (let times = 0; times < 3; times++) {
      await redis!.ask('XADD', key, 'NOMKSTREAM', '*', 'x', 'y')
      // A second foreign entry without an append in between would be one too many.
      await run.progress(10 * PROGRESS)
    }
    return `3 entries of a stranger in ${key}`
  },
}

/** The faults of brokers and their clients, for any store. */
export const BROKER_FAULTS: readonly Fault[] = [killBroker, pausePastExpiry, disturbClientLink, killConnections, storm]

export const ALONE_FAULTS: readonly Fault[] = [
  killBroker,
  killRedis,
  disturbRedisLink,
  pausePastExpiry,
  swallowReplies,
  cutOffBroker,
  pauseRedis,
  disturbClientLink,
  killBrokers,
  killConnections,
  quiet,
  storm,
  fillRedis,
  flushFunctions,
  pauseBroker,
  rollingRestart,
  stranger,
  topicAgain,
  halfOpenClient,
  killsOfRedis({ kills: 3, withBrokers: false }),
  killsOfRedis({ kills: 3, withBrokers: true }),
]
