// The part of a product of cases that one run takes. `npm test -- --all` draws a new seed, and the seed chooses the
// part, so that a few runs come by every case. KETCH_LONG=1 takes all cases at once (long.ts).

import { drawnBy } from '../../testing/at-length.ts'
import { seed } from '../../testing/seed.ts'

/** The parts of a product of many cases. */
const PARTS = 3

/**
 * Returns the cases that this run takes of one row of the product: every `parts`-th one. The next row begins at the
 * next case, so that each row and each column has its share in every run.
 */
export function partOf<T>(cases: readonly T[], row = 0, parts = PARTS): readonly T[] {
  return drawnBy(row + seed, parts, cases)
}

/** Returns the case that this run takes of one row. */
export function oneOf<T>(cases: readonly T[], row = 0): T {
  return cases[(row + seed) % cases.length]!
}
