import { test } from 'node:test'
import { rewriteCrashRun } from '../../../testing/rewrite-crash.ts'

test('a rewrite is there as a whole or not at all after a stop at any call of the disk, 200 times', async () => {
  for (let seed = 1_001; seed <= 1_200; seed++) await rewriteCrashRun(seed, 3)
})
