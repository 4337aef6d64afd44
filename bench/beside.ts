// Measures whether a change costs performance: this checkout and another one take turns on the same machine.
// KETCH_BESIDE names the folder of the other checkout, in which its packages are installed.

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { noRedis, startRedis } from '../testing/redis.ts'
import type { Finding, Harness, Question } from './harness.ts'
import { compareInTurns, type Side, type Way } from './in-turns.ts'

const here = fileURLToPath(new URL('..', import.meta.url))
const other = process.env.KETCH_BESIDE === undefined ? undefined : resolve(process.env.KETCH_BESIDE)

/**
 * Bytes that are written before the measurement: a broker writes new files more slowly than files that it uses again.
 */
const FILL_BYTES = 3e9
const KEPT = { 'retention.bytes': String(64 * 2 ** 20) }
const UPKEEP = { 'svc.storage.worker.tick-interval': '1s' }
/** A broker that is stopped during a measurement must not be considered dead. */
const STOPPED = { 'svc.broker.expiry': '60s' }
/** Small enough for the tail cache to hold all of it. */
const TAIL_BYTES = 48 * 2 ** 20

interface OwnWay extends Way {
  readonly store: 'embedded' | 'redis'
}

const WAYS: readonly OwnWay[] = [
  { name: 'produce, 5 in flight', mode: 'produce', store: 'embedded', partitions: 16, connections: 1, inFlight: 5 },
  { name: 'produce, 40 in flight', mode: 'produce', store: 'embedded', partitions: 16, connections: 8, inFlight: 5 },
  { name: 'tail fetch, 1 consumer', mode: 'fetch', store: 'embedded', partitions: 4, connections: 1, inFlight: 1 },
  { name: 'tail fetch, 4 consumers', mode: 'fetch', store: 'embedded', partitions: 4, connections: 4, inFlight: 1 },
  { name: 'produce on Redis', mode: 'produce', store: 'redis', partitions: 16, connections: 8, inFlight: 5 },
]

export const beside: Question = {
  name: 'beside',
  asks: 'produce and fetch of this checkout beside another one, in turns: megabytes a second, and processor time for a gigabyte',
  absence() {
    if (other === undefined) return 'KETCH_BESIDE names no other checkout'
    return existsSync(join(other, 'src', 'main.ts')) ? null : `KETCH_BESIDE: ${other} holds no src/main.ts`
  },
  async answer(harness) {
    const findings: Finding[] = []
    for (const way of WAYS) {
      if (way.store === 'embedded' || noRedis === false) findings.push(...(await measure(harness, way)))
      else harness.say(`${way.name}: SKIPPED, ${noRedis}`)
    }
    return findings
  },
}

async function measure(harness: Harness, way: OwnWay): Promise<Finding[]> {
  const ours = await startOne(harness, way, here)
  const base = await startOne(harness, way, other!)
  return await compareInTurns(harness, way, { ours, base, baseName: 'the other checkout' })
}

/** Starts a broker of the checkout and fills its log: with the data to fetch, or until it uses its files again. */
async function startOne(harness: Harness, way: OwnWay, root: string): Promise<Side> {
  const redis = way.store === 'redis' ? await startRedis(harness) : undefined
  const settings = redis === undefined ? UPKEEP : { ...UPKEEP, ...STOPPED, 'svc.redis.uri': redis.uri }
  const broker = await harness.broker(settings, undefined, command =>
    command.map(part => part.replace(here, `${root}/`)),
  )
  const isProduce = way.mode === 'produce'
  await harness.topic(broker.port, 'bench', way.partitions, isProduce ? KEPT : {})
  const { partitions, connections, inFlight } = way
  const fill = { partitions, connections, 'in-flight': inFlight, bytes: isProduce ? FILL_BYTES : TAIL_BYTES }
  await harness.load('produce', broker, fill)
  return {
    port: broker.port,
    pid: broker.pid,
    end: async () => {
      await broker.kill('SIGKILL')
      await redis?.stop('SIGKILL')
    },
  }
}
