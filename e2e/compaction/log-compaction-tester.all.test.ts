import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { drawnBy } from '../../testing/at-length.ts'
import { noRedis } from '../../testing/redis.ts'
import { seed } from '../../testing/seed.ts'
import type { Codec } from '../client.ts'
import { javaConsole } from '../java/client.ts'
import { type StoreName, startCleaningBroker } from './cleaning-broker.ts'
import { LEAST_REDUCTION, runLogCompactionTester, TESTER_SETTINGS } from './log-compaction-tester.ts'

const skip = javaConsole.absence() ?? noRedis
/** A run has one of them, which the seed draws; KETCH_LONG=1 has both. The long form has every codec on both stores. */
const RUNS: readonly (readonly [StoreName, Codec])[] = [
  ['embedded', 'none'],
  ['redis', 'zstd'],
]

suite('a cleaner beside LogCompactionTester', { concurrency: true }, () => {
  for (const [store, codec] of drawnBy(seed, 2, RUNS)) {
    test(`LogCompactionTester passes with the codec ${codec} on the ${store} store, and finds a cleaned log`, {
      skip,
      timeout: 600_000,
    }, async t => {
      const broker = await startCleaningBroker(t, store, TESTER_SETTINGS)
      const report = await runLogCompactionTester(broker, codec, 300_000)
      t.diagnostic(JSON.stringify(report))
      assert.ok(report.reduction >= LEAST_REDUCTION, JSON.stringify(report))
    })
  }
})
