import { test } from 'node:test'
import { rewriteCrashRun } from '../../../testing/rewrite-crash.ts'

for (let seed = 1; seed <= 3; seed++) {
  test(`a rewrite is there as a whole or not at all after a stop at any call of the disk (seed ${seed})`, () =>
    rewriteCrashRun(seed, 4))
}
