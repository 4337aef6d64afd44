// The checks that all places make before they read: of a range, and of the memory that the bytes would take.

import { assert } from '../../base/assert.ts'
import { type ByteRange, ObjectStoreError } from './objects.ts'

/** Throws AssertionFailed unless the range is of integers with 0 ≤ start ≤ end. */
export function checkRange(range: ByteRange | undefined): void {
  if (range === undefined) return
  const { start, end } = range
  assert(
    Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end,
    `a range needs integers with 0 ≤ start ≤ end, got [${start}, ${end})`,
  )
}

/** Only metadata is read whole. That of ten thousand commits has some 5 MB. */
const MOST_WHOLE_BYTES = 64 * 1024 ** 2
/** The largest parts of data files are columns of a row group. */
const MOST_RANGE_BYTES = 2 * 1024 ** 3

/**
 * Throws an ObjectStoreError for more bytes than the broker holds at once: another program may have put anything under
 * the name, and memory that cannot be had would end the broker. `what` names the object.
 */
export function checkMemory(what: string, bytes: number, range: ByteRange | undefined): void {
  const most = range === undefined ? MOST_WHOLE_BYTES : MOST_RANGE_BYTES
  if (bytes <= most) return
  throw new ObjectStoreError(
    'refused',
    `cannot read ${what}: ${bytes} bytes are more than the ${most} that are read at once`,
  )
}
