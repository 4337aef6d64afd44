// Searches keys and values for a text. A value can be 64 MB long, and in the worst case the search compares each byte
// of the text with each byte of the value. Therefore a long value is searched in pieces, and other work gets its turn
// in between.

import type { Turns } from '../../base/clock.ts'
import type { Filter } from './record-reader.ts'

/** The size of a piece. To search it takes some milliseconds at worst, with the longest text that is allowed. */
const PIECE_BYTES = 16 * 1024

/** Returns a filter for records that contain the text; null if every record passes. */
export function filterOf(contains: string | null): Filter | null {
  if (contains === null || contains === '') return null
  const wanted = Buffer.from(contains)
  return ({ key, value }, turn) => {
    const parts = [key, value].filter(part => part !== null)
    if (parts.every(part => part.length <= PIECE_BYTES)) return parts.some(part => part.includes(wanted))
    return search(parts, wanted, turn)
  }
}

async function search(parts: readonly Buffer[], wanted: Buffer, turn: Turns): Promise<boolean> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PIECE_BYTES) {
      // Pieces overlap by the length of the text, so that a match across two pieces is found.
      if (part.subarray(at, at + PIECE_BYTES + wanted.length - 1).includes(wanted)) return true
      const others = turn()
      if (others !== undefined) await others
    }
  }
  return false
}
