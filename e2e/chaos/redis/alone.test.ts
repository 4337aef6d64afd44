import { test } from 'node:test'
import { systemRandom } from '../../../src/base/random.ts'
import { noRedis } from '../../../testing/redis.ts'
import { ALONE_FAULTS } from './faults.ts'
import { runRound } from './round.ts'
import { openAlone } from './scene.ts'

const seed = Number(process.env.KETCH_SEED ?? systemRandom.below(1_000_000))

test(`three brokers on one Redis lose and double nothing, whatever breaks (seed ${seed})`, {
  skip: noRedis,
  timeout: 480_000,
}, async t => {
  const scene = await openAlone(t, { seed })
  for (const [at, fault] of ALONE_FAULTS.entries()) {
    // Half of them, for the time that it takes; which half, the seed says. The long form takes all.
    if (at % 2 !== seed % 2) continue
    t.diagnostic(JSON.stringify(await runRound(scene, at + 1, fault)))
  }
})
