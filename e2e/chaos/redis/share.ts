// What one run of the tests takes of the rounds: every second one, and the seed says which half, for the time that all of them
// take. The long form (`npm run chaos -- --store redis`) takes all.

import { systemRandom } from '../../../src/base/random.ts'

export const seed = Number(process.env.KETCH_SEED ?? systemRandom.below(1_000_000))

/** Whether this run takes the one at this place of its list. */
export function isTaken(at: number): boolean {
  return at % 2 === seed % 2
}
