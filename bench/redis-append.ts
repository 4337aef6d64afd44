// Compares the Redis store's append with the bare commands that it consists of: the same batches as plain XADDs,
// through the same connections, grouped and trimmed in the same way, on the same server, in turns.

import { systemClock } from '../src/base/clock.ts'
import { exampleAppend, exampleBatch } from '../src/store/examples.ts'
import type { RedisLinks } from '../src/store/redis/client/links.ts'
import type { Batch, Store } from '../src/store/store.ts'
import { noRedis, startRedis } from '../testing/redis.ts'
import { openTestLinks } from '../testing/redis-links.ts'
import { openTestStore } from '../testing/redis-store.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'

const BATCH_BYTES = 64 * 1024
const GROUP = 4
const PARTITIONS = 8
/** Groups between two trims. A trim keeps `KEPT` entries below the newest group. */
const TRIM_EVERY = 32
const KEPT = 2 * GROUP

type Loop = (partition: number, isOver: () => boolean) => Promise<number>

/** Runs the loops of all partitions at once; resolves with MB a second. */
async function measure(seconds: number, loop: Loop): Promise<number> {
  const began = systemClock.monotonic()
  const isOver = () => systemClock.monotonic() - began > seconds * 1000
  const groups = await Promise.all(Array.from({ length: PARTITIONS }, (_, partition) => loop(partition, isOver)))
  const bytes = groups.reduce((sum, count) => sum + count, 0) * GROUP * BATCH_BYTES
  return bytes / 1e3 / (systemClock.monotonic() - began)
}

function batchesAt(template: Batch, at: number): Batch[] {
  return Array.from({ length: GROUP }, (_, i) => ({ ...template, baseOffset: at + i, nextOffset: at + i + 1 }))
}

async function appendLoop(store: Store, round: number, template: Batch): Promise<Loop> {
  const streams = Array.from({ length: PARTITIONS }, (_, i) => `${round}:${i}`)
  await store.create(streams)
  for (const stream of streams) await store.open(stream, 0, 0)
  return async (partition, isOver) => {
    const stream = streams[partition]!
    let groups = 0
    for (; !isOver(); groups++) {
      const at = groups * GROUP
      const outcome = await store.append(exampleAppend(stream, 1, at, batchesAt(template, at)))
      if (outcome.kind !== 'appended') throw new Error(JSON.stringify(outcome))
      if (groups % TRIM_EVERY === TRIM_EVERY - 1) await store.trim(stream, 1, at - KEPT, [])
    }
    await store.remove([stream])
    return groups
  }
}

function bareLoop(links: RedisLinks, template: Batch): Loop {
  return async (partition, isOver) => {
    const key = `{${partition}}:bare`
    const header = Buffer.alloc(28, 1)
    let groups = 0
    for (; !isOver(); groups++) {
      const at = groups * GROUP
      const link = links.write(key)
      await Promise.all(
        batchesAt(template, at).map(({ baseOffset, bytes }) =>
          link.send(['XADD', key, `1-${baseOffset + 1}`, 'h', header, 'b', bytes]),
        ),
      )
      if (groups % TRIM_EVERY === TRIM_EVERY - 1) await link.send(['XTRIM', key, 'MINID', `1-${at - KEPT + 1}`])
    }
    await links.write(key).send(['UNLINK', key])
    return groups
  }
}

export const redisAppend: Question = {
  name: 'redis-append',
  asks: `Which share of a bare loop of plain XADDs does the Redis store's append reach, ${GROUP} batches of 64 KiB to a group, ${PARTITIONS} partitions?`,
  absence: () => (noRedis === false ? null : noRedis),
  async answer(harness: Harness): Promise<readonly Finding[]> {
    const cleanUp = { after: (fn: () => Promise<void>) => harness.after(fn) }
    const redis = await startRedis(cleanUp)
    const values = { 'redis.uri': redis.uri, 'storage.local.write.connections': 8 }
    const { store } = await openTestStore(cleanUp, values)
    const { links } = await openTestLinks(cleanUp, values)
    const template = exampleBatch(0, 1, BATCH_BYTES)
    let rounds = 0
    const round = async () => ({
      bare: await measure(harness.seconds, bareLoop(links, template)),
      append: await measure(harness.seconds, await appendLoop(store, rounds++, template)),
    })
    // The first round warms up.
    await round()
    const { found, notes } = await harness.quietly(round)
    const appends = found.map(({ append }) => append)
    const bares = found.map(({ bare }) => bare)
    return [
      {
        what: 'append path alone',
        value: median(appends),
        unit: 'MB/s',
        ratio: median(appends) / median(bares),
        ratioOf: `plain XADD through the same client (${median(bares).toFixed(0)} MB/s)`,
        floor: 0.75,
        samples: appends,
        baseSamples: bares,
        notes,
      },
    ]
  },
}
