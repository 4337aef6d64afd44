import { test } from 'node:test'
import { drawnBy } from '../../../testing/at-length.ts'
import { noRedis } from '../../../testing/redis.ts'
import { seed } from '../../../testing/seed.ts'
import { ALONE_FAULTS } from './faults.ts'
import { runRound } from './round.ts'
import { openAlone } from './scene.ts'

test(`three brokers on one Redis lose and double nothing, whatever breaks (seed ${seed})`, {
  skip: noRedis,
  timeout: 580_000,
}, async t => {
  const scene = await openAlone(t, { seed })
  // Every fourth fault; KETCH_LONG=1 has all of them, and so has `npm run chaos -- --store redis`.
  for (const [at, fault] of drawnBy(seed, 4, ALONE_FAULTS).entries()) {
    t.diagnostic(JSON.stringify(await runRound(scene, at + 1, fault)))
  }
})
