import { test } from 'node:test'
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
  for (const [at, fault] of ALONE_FAULTS.entries()) {
    t.diagnostic(JSON.stringify(await runRound(scene, at + 1, fault)))
  }
})
