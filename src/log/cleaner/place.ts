// How far a log is cleaned: the row `c` of its stream, which is written only with a rewrite. A pass that was
// interrupted is finished with the same part of the log as its map, because the part of the log before it was cleaned
// with that map.
//
//   format = 1 u8 | cleanedTo | passFrom | passTo    as float64 big-endian

import type { Opened, Pass, Row } from '../../store/store.ts'

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

class UnreadablePlace extends Error {}

/** Throws UnreadablePlace. */
export function decodePlace(rows: ReadonlyMap<string, Uint8Array>): Place {
  const value = rows.get(KEY)
  if (value === undefined) return NOT_CLEANED
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  if (bytes.length !== BYTES || bytes[0] !== FORMAT) {
    const found = `format ${bytes[0]} and ${bytes.length} bytes`
    throw new UnreadablePlace(`it has ${found}, expected format ${FORMAT} and ${BYTES} bytes`)
  }
  return { cleanedTo: bytes.readDoubleBE(1), passFrom: bytes.readDoubleBE(9), passTo: bytes.readDoubleBE(17) }
}

/**
 * Returns the place of a stream that was opened. If its row cannot be read, or names offsets that the log does not
 * have, returns the reason, and a place from which the cleaner begins anew: it first finishes the pass of the store.
 */
export function placeOf({ rows, end, pass }: Pick<Opened, 'rows' | 'end' | 'pass'>): {
  readonly place: Place
  readonly why: string | null
} {
  const anew = { cleanedTo: 0, passFrom: 0, passTo: pass.to < pass.until ? Math.min(pass.until, end) : -1 }
  try {
    const place = decodePlace(rows)
    const { cleanedTo, passFrom, passTo } = place
    const isWithin = [cleanedTo, passFrom, passTo + 1].every(each => Number.isInteger(each) && each >= 0)
    if (isWithin && Math.max(cleanedTo, passFrom, passTo) <= end) return { place, why: null }
    return { place: anew, why: `it is ${JSON.stringify(place)}, and the log ends at ${end}` }
  } catch (error) {
    if (!(error instanceof UnreadablePlace)) throw error
    return { place: anew, why: error.message }
  }
}
