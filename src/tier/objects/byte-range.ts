// The check of a range that all places make before they read.

import { assert } from '../../base/assert.ts'
import type { ByteRange } from './objects.ts'

/** Throws AssertionFailed unless the range is of integers with 0 ≤ start ≤ end. */
export function checkRange(range: ByteRange | undefined): void {
  if (range === undefined) return
  const { start, end } = range
  assert(
    Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end,
    `a range needs integers with 0 ≤ start ≤ end, got [${start}, ${end})`,
  )
}
