// The seed of a run of these tests: another one each time, unless KETCH_SEED repeats one. Each test's name says it.

import { systemRandom } from '../../../src/base/random.ts'

export const seed = Number(process.env.KETCH_SEED ?? systemRandom.below(1_000_000))
