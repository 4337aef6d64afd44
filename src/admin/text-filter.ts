// Looks for a text in keys and values. A value can be 64 MB long, and a text can be made so that each byte of it is compared with each
// byte of the value: so a long one is searched in pieces, and others have their turn in between.

import type { Turns } from '../base/clock.ts'
import type { Filter } from './record-reader.ts'

/** With the longest text that may be looked for it takes some milliseconds at worst. */
const PIECE_BYTES = 16 * 1024

/** Null lets everything through. */
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
      // A piece has room for a text that begins at its end.
      if (part.subarray(at, at + PIECE_BYTES + wanted.length - 1).includes(wanted)) return true
      const others = turn()
      if (others !== undefined) await others
    }
  }
  return false
}
