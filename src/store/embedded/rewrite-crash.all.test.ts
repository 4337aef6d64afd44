import { test } from 'node:test'
import { isLong } from '../../../testing/at-length.ts'
import { rewriteCrashRun } from '../../../testing/rewrite-crash.ts'
import { seed } from '../../../testing/seed.ts'

/** KETCH_LONG=1 does more. Each run has other seeds. */
const RUNS = isLong ? 200 : 40
const FIRST = seed * 1_000 + 1

test(`a rewrite is there as a whole or not at all after a stop at any call of the disk, ${RUNS} times from ${FIRST} on`, async () => {
  for (let each = FIRST; each < FIRST + RUNS; each++) await rewriteCrashRun(each, 3)
})
