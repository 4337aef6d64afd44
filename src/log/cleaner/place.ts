// How far a log is cleaned: the row `c` of its stream, which is written only with a rewrite. A pass that was
// interrupted is finished with the same part of the log as its map, because the part of the log before it was cleaned
// with that map.
//
//   format = 1 u8 | cleanedTo | passFrom | passTo    as float64 big-endian

import { assert } from '../../base/assert.ts'
import type { Pass, Row } from '../../store/store.ts'

export interface Place {
  /** The first dirty offset: below it each key stands once, or a mapped newer record has removed it. */
  readonly cleanedTo: number
  /** The part of the log that the map of the interrupted pass covers. */
  readonly passFrom: number
  /** -1 if no pass was interrupted. */
  readonly passTo: number
}

export const NOT_CLEANED: Place = Object.freeze({ cleanedTo: 0, passFrom: 0, passTo: -1 })

/**
 * Returns whether the last pass has to be finished. A trim may have dropped the part of the log that it had to
 * rewrite.
 */
export function isInterrupted({ start, cleaned, pass }: { start: number; cleaned: Place; pass: Pass }): boolean {
  return cleaned.passTo >= 0 && Math.max(start, pass.to) < Math.max(cleaned.passTo, pass.until)
}

const KEY = 'c'
const FORMAT = 1
const BYTES = 25

export function encodePlace({ cleanedTo, passFrom, passTo }: Place): Row {
  const value = Buffer.allocUnsafe(BYTES)
  value.writeUInt8(FORMAT, 0)
  value.writeDoubleBE(cleanedTo, 1)
  value.writeDoubleBE(passFrom, 9)
  value.writeDoubleBE(passTo, 17)
  return { key: KEY, value }
}

export function decodePlace(rows: ReadonlyMap<string, Uint8Array>): Place {
  const value = rows.get(KEY)
  if (value === undefined) return NOT_CLEANED
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  assert(
    bytes.length === BYTES && bytes[0] === FORMAT,
    `the place of the cleaner has format ${bytes[0]} and ${bytes.length} bytes, expected format ${FORMAT}`,
  )
  return { cleanedTo: bytes.readDoubleBE(1), passFrom: bytes.readDoubleBE(9), passTo: bytes.readDoubleBE(17) }
}
