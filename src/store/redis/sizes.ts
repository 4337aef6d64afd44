// A leader's notes of how large a stream's entries are, without a number for each: so that it can say how many bytes
// live and ask for no more entries than fit. Stored with every append as one field of the stream's meta hash.

export interface Sizes {
  /** Bytes of all batches that were ever appended: the position of the next entry. */
  readonly end: number
  /** The position of the first live entry. */
  readonly start: number
  /** No live entry is larger. */
  readonly largest: number
  /** Where the largest one begins. */
  readonly largestAt: number
  /** No entry behind that one is larger than this. */
  readonly largestAfter: number
}

export const NO_SIZES: Sizes = Object.freeze({ end: 0, start: 0, largest: 0, largestAt: -1, largestAfter: 0 })

/** With one more entry of this size at this offset. */
export function grown(sizes: Sizes, offset: number, bytes: number): Sizes {
  const end = sizes.end + bytes
  return bytes >= sizes.largest
    ? { ...sizes, end, largest: bytes, largestAt: offset, largestAfter: 0 }
    : { ...sizes, end, largestAfter: Math.max(sizes.largestAfter, bytes) }
}

export function encodeSizes({ end, start, largest, largestAt, largestAfter }: Sizes): string {
  return `${end} ${start} ${largest} ${largestAt} ${largestAfter}`
}

export function decodeSizes(text: string): Sizes {
  if (text === '') return NO_SIZES
  const [end, start, largest, largestAt, largestAfter] = text.split(' ').map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ]
  return { end, start, largest, largestAt, largestAfter }
}

/**
 * A reply may always have this many bytes, even if the caller asked for fewer: otherwise one large entry would force
 * small ones to be read one by one.
 */
const SHORT_REPLY_BYTES = 1024 * 1024

/**
 * How many entries may be asked for so that their bytes fit, at least one. `average` is what entries there have been
 * like. Where some live entry is much larger, the reply may pass `bytes`, but never both that and a megabyte.
 */
export function countThatFits(sizes: Sizes, average: number, bytes: number): number {
  if (average <= 0 || sizes.largest <= 0) return 1
  const likely = Math.floor(bytes / average)
  const safe = Math.floor(Math.max(bytes, SHORT_REPLY_BYTES) / sizes.largest)
  return Math.max(1, Math.min(likely, safe))
}
