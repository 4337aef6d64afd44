// The part of the model that `npm test` runs: some seeds on each store, and a broker whose data loss the model must
// notice. KETCH_LONG=1 takes more seeds. `npm run model` runs a thousand, or repeats one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../src/base/random.ts'
import { atLength, isLong } from '../at-length.ts'
import { noRedis, type RedisServer, startRedis } from '../redis.ts'
import { seed } from '../seed.ts'
import { Difference } from './difference.ts'
import { readLog } from './read-operations.ts'
import { runSeed } from './run-seed.ts'
import { Scene, type StoreName } from './scene.ts'
import { createTopic } from './topic-operations.ts'
import { produceSome } from './write-operations.ts'

const COUNT = 80
/** Seeds that end in 0 run brokers as processes that can be killed. */
const SEEDS = (isLong ? [1, 2, 3, 4, 5, 6, 10] : atLength([1, 2, 10], [1, 10])).map(number => (seed - 1) * 10 + number)

async function expectSeed(store: StoreName, seed: number, redis: RedisServer | null): Promise<void> {
  const { error, trace } = await runSeed({ store, seed, count: COUNT, only: [], keep: null, redis })
  const again = `repeat it with: npm run model -- --store ${store} --seed ${seed}`
  if (error !== null) throw new Error([again, ...trace.slice(-20)].join('\n'), { cause: error })
}

for (const each of SEEDS) {
  test(`a broker on the embedded store answers as the model does, seed ${each}`, () =>
    expectSeed('embedded', each, null))

  test(`brokers on Redis answer as the model does, seed ${each}`, { skip: noRedis }, async t => {
    await expectSeed('redis', each, await startRedis(t))
  })
}

test('the model notices a record that is missing from the store', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const plan = { store: 'redis', brokers: 1, areProcesses: false, hasHttp: false, fsync: 'always' } as const
  const scene = await Scene.open(plan, 1, redis, 'lossy')
  t.after(() => scene.close())
  await createTopic(scene, seededRandom(1))
  for (let round = 1; round <= 6; round++) await produceSome(scene, seededRandom(round))
  const [topic] = scene.topics.values()
  const partition = topic!.logs.findIndex(log => log.batches.length > 1)
  for (const key of (await redis.ask('KEYS', '*')) as string[]) {
    if ((await redis.ask('TYPE', key)) !== 'stream') continue
    const [first] = (await redis.ask('XRANGE', key, '-', '+', 'COUNT', 1)) as [string][]
    if (first !== undefined) await redis.ask('XDEL', key, first[0])
  }
  const [peer] = scene.peers
  const look = async () => {
    await scene.stop(peer!, 'close')
    await scene.start(peer!)
    await scene.ready()
    await readLog(scene, { topic: topic!, partition, log: topic!.logs[partition]! })
  }
  await assert.rejects(look, Difference)
})
