import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawnBy } from '../../testing/at-length.ts'
import { noRedis } from '../../testing/redis.ts'
import { seed } from '../../testing/seed.ts'
import { type PoisonOptions, runPoison } from './poison.ts'

const MOST_GROWTH_BYTES = 300e6
const LONGEST_WAIT_MS = 250

/**
 * These seeds make large batches of most kinds and in every codec, damaged batches, and batches in many frames. A run
 * has each of them on one of the stores, which the seed of the run draws; KETCH_LONG=1 has all of them on both.
 */
const SEEDS = [9, 10, 12, 20, 21, 39, 54, 58, 61, 126, 137]

const STORES: readonly (readonly [PoisonOptions['store'], string | false])[] = [
  ['embedded', false],
  ['redis', noRedis],
]

for (const [at, [store, skip]] of STORES.entries()) {
  test(`batches that are expensive on purpose do not harm a broker or the other clients (${store})`, {
    skip,
    timeout: 280_000,
  }, async t => {
    const { growthBytes, slowestMs, elsewhereMs, heaviest, long } = await runPoison(t, {
      store,
      seeds: drawnBy(seed + at, STORES.length, SEEDS),
      atOnce: 2,
    })
    t.diagnostic(
      `memory grew by ${(growthBytes / 1e6).toFixed(0)} MB (${heaviest}), the slowest answer took ${slowestMs.toFixed(0)} ms, ` +
        `and ${elsewhereMs.toFixed(0)} ms where there was no poison`,
    )
    assert.ok(growthBytes < MOST_GROWTH_BYTES, `memory grew by ${growthBytes} bytes at ${heaviest}`)
    // On a busy machine a client waits at a broker without poison too. That wait does not count against the poison.
    assert.ok(slowestMs < LONGEST_WAIT_MS + 2 * elsewhereMs, `an answer took ${slowestMs} ms: ${long.join('\n')}`)
  })
}
