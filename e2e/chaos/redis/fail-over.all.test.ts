// A run has every second fault of those with a replica to wait for, which the seed draws; KETCH_LONG=1 has all of them.

import { test } from 'node:test'
import { drawnBy } from '../../../testing/at-length.ts'
import { noRedis as skip } from '../../../testing/redis.ts'
import { seed } from '../../../testing/seed.ts'
import { REPLICATED_FAULTS, UNCONFIRMED_FAULTS } from './fail-over-faults.ts'
import { runRound } from './round.ts'
import { openReplicated } from './scene.ts'

const timeout = 580_000

test(`with a replica to wait for, no fail-over loses anything acknowledged (seed ${seed})`, {
  skip,
  timeout,
}, async t => {
  const scene = await openReplicated(t, { seed, waitReplicas: 1 })
  for (const [at, fault] of drawnBy(seed, 2, REPLICATED_FAULTS).entries()) {
    t.diagnostic(JSON.stringify(await runRound(scene, at + 1, fault)))
  }
})

test(`without a replica to wait for, a fail-over loses only the records that the replica lacked, and no offset has two values (seed ${seed})`, {
  skip,
  timeout,
}, async t => {
  const scene = await openReplicated(t, { seed, waitReplicas: 0 })
  for (const [at, fault] of UNCONFIRMED_FAULTS.entries()) {
    t.diagnostic(JSON.stringify(await runRound(scene, at + 1, fault)))
  }
})
