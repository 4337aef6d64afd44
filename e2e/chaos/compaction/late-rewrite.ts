// A leader that stands still with a piece of a pass that it is about to send to Redis, until other brokers lead. Then
// the piece reaches Redis, which must refuse it. The other pauses are in redis-faults.ts.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { keysOf, type StreamKeys } from '../../../src/store/redis/keys.ts'
import { eventually } from '../../../testing/eventually.ts'
import type { RedisServer } from '../../../testing/redis.ts'
import type { Orders } from '../orders.ts'
import { isTakenForDead } from '../redis/faults.ts'
import { readCounter } from '../redis/probing.ts'
import { type Fault, keysWritten } from '../redis/round.ts'
import { PROGRESS } from './common-faults.ts'
import { LAST } from './steps.ts'

/**
 * Settings of the scene. A timeout of Redis longer than the pause lets the broker see the answer. The other brokers
 * stand still while the piece arrives, and must not expire meanwhile.
 */
export const PATIENT: Readonly<Record<string, string>> = { 'svc.redis.timeout': '60s', 'svc.broker.expiry': '5s' }

const REFUSED = 'svc_storage_worker_refusals_total{reason="fenced"}'

export const lateRewrite = (orders: Orders): Fault => ({
  name: 'a piece of a pass that reaches Redis when another broker leads',
  async act(context) {
    const { scene, run, history, topicId } = context
    const [redis] = await scene.primaries()
    const { stream } = keysOf('svc')
    const streams = Array.from({ length: run.partitions }, (_, partition) => stream(`${topicId}:${partition}`))
    const refused = new Map<number, number>()
    for (const { id, broker } of scene.nodes) refused.set(id, await readCounter(broker, REFUSED))
    const taken = new Map(scene.nodes.map(({ id }) => [id, isTakenForDead(context, id)]))
    const brokers = scene.nodes.map(({ broker }) => broker)
    const stopped = await orders.stopAt(brokers, run, { step: LAST, nth: 1, signal: 'SIGSTOP' })
    const late = scene.nodes.find(({ broker }) => stopped.includes(broker))!
    const others = brokers.filter(broker => broker !== late.broker)
    for (const broker of others) broker.resume()
    await taken.get(late.id)!()
    // The first record that another leader takes raises the epoch of its stream.
    const from = history.ops.length
    while (keysWritten(history, from).size < run.partitions) await run.progress(PROGRESS / 10)
    for (const broker of others) broker.pause()
    try {
      // A broker that knows of the refusal opens the streams again, so it must not learn of it yet.
      late.toRedis.freeze('to-client')
      const before = await contentAtRest(redis!, streams)
      const isThere = await watchForRewrite(redis!)
      late.broker.resume()
      await isThere()
      assert.deepEqual(await contentOf(redis!, streams), before, 'a piece that Redis refuses changes nothing')
    } finally {
      await late.toRedis.heal()
      for (const broker of others) broker.resume()
    }
    const isRefused = async () => (await readCounter(late.broker, REFUSED)) > refused.get(late.id)!
    await eventually(`Redis refuses the piece of broker ${late.id}`, isRefused)
    await run.progress(PROGRESS)
    return `a piece of broker ${late.id} refused, because another broker led`
  },
})

/** Returns a function that resolves when Redis has executed a rewrite since now. */
async function watchForRewrite(redis: RedisServer): Promise<() => Promise<void>> {
  const hasRewritten = async () => {
    const log = (await redis.ask('SLOWLOG', 'GET', '-1')) as [id: number, at: number, us: number, command: Buffer[]][]
    return log.some(([, , , command]) => /^ketch_.*_rewrite$/.test(String(command[1])))
  }
  // With this, each command is in the log of slow ones.
  await redis.ask('CONFIG', 'SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '10000')
  await redis.ask('SLOWLOG', 'RESET')
  return async () => {
    await eventually('a rewrite arrives at Redis', hasRewritten)
    await redis.ask('CONFIG', 'SET', 'slowlog-log-slower-than', '-1')
  }
}

/** A hash of the content of each key. */
type Content = Readonly<Record<string, string>>

/** Resolves with the content when the commands that were on their way have been executed. */
async function contentAtRest(redis: RedisServer, streams: readonly StreamKeys[]): Promise<Content> {
  let found: Content = {}
  await eventually('the streams stay as they are', async () => {
    const before = found
    found = await contentOf(redis, streams)
    return isDeepStrictEqual(found, before)
  })
  return found
}

async function contentOf(redis: RedisServer, streams: readonly StreamKeys[]): Promise<Content> {
  return await redis.session(async ask => {
    const content: Record<string, string> = {}
    const put = (key: string, parts: readonly string[]) => {
      content[key] = createHash('sha256').update(parts.join('\n'), 'latin1').digest('hex')
    }
    for (const { batches, cleaned, meta, rows } of streams) {
      for (const key of [batches, ...cleaned]) put(key, ((await ask('XRANGE', key, '-', '+')) as unknown[]).map(textOf))
      for (const key of [meta, rows]) {
        const flat = (await ask('HGETALL', key)) as Buffer[]
        // Redis returns the fields of a hash in no order.
        const fields = Array.from({ length: flat.length / 2 }, (_, at) => textOf(flat.slice(2 * at, 2 * at + 2)))
        put(key, fields.toSorted())
      }
    }
    return content
  })
}

function textOf(reply: unknown): string {
  return Array.isArray(reply) ? reply.map(textOf).join(' ') : (reply as Buffer).toString('latin1')
}
