import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noRedis as skip } from '../../../testing/redis.ts'
import { seed } from '../../../testing/seed.ts'
import { lateAppends } from './faults.ts'
import { OPEN_SCRAPE, readCounter } from './probing.ts'
import { runRound } from './round.ts'
import { openAlone } from './scene.ts'

test(`a broker that wakes up after another has taken its lead writes nothing: the store refuses it (seed ${seed})`, {
  skip,
  timeout: 240_000,
}, async t => {
  // A timeout of Redis longer than its sleep lets the broker see the answers to its late appends.
  const scene = await openAlone(t, { seed, settings: { ...OPEN_SCRAPE, 'svc.redis.timeout': '60s' } })
  t.diagnostic(JSON.stringify(await runRound(scene, 1, lateAppends)))
  let refused = 0
  for (const { broker } of scene.nodes) {
    const count = await readCounter(broker, 'svc_storage_append_refusals_total{reason="fenced"}')
    const isLogged = /the store refused an append.*reason=fenced/.test(broker.output())
    assert.equal(count > 0, isLogged, 'refusals are counted and logged')
    refused += count
  }
  t.diagnostic(`${refused} appends of brokers that had slept were refused`)
  assert.ok(refused > 0, 'appends of a broker that slept were refused')
})
