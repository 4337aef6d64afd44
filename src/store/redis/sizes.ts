// The leader's statistics of the entry sizes of a stream, without a number for each entry. With them the leader knows
// how many live bytes there are, and how many entries a read may request. They are stored with every append as one
// field of the stream's meta hash.

export interface Sizes {
  /** The total size in bytes of all batches that were ever appended: the position of the next entry. */
  readonly end: number
  /** The position of the first live entry. They run on without a gap within a part of the log only (cleaned.ts). */
  readonly start: number
  /** The upper limit in bytes of the size of a live entry. */
  readonly largest: number
  /** The base offset of the largest entry. */
  readonly largestAt: number
  /** The upper limit in bytes of the size of the entries after the largest one. */
  readonly largestAfter: number
}

export const NO_SIZES: Sizes = Object.freeze({ end: 0, start: 0, largest: 0, largestAt: -1, largestAfter: 0 })

/** Returns the sizes after one more entry of this size was appended at this offset. */
export function grown(sizes: Sizes, offset: number, bytes: number): Sizes {
  const end = sizes.end + bytes
  return bytes >= sizes.largest
    ? { ...sizes, end, largest: bytes, largestAt: offset, largestAfter: 0 }
    : { ...sizes, end, largestAfter: Math.max(sizes.largestAfter, bytes) }
}

/** Returns the sizes after an entry of this size has replaced others at this offset. */
export function rewrittenAt(sizes: Sizes, offset: number, bytes: number): Sizes {
  if (bytes > sizes.largest)
    return { ...sizes, largest: bytes, largestAt: offset, largestAfter: Math.max(sizes.largest, sizes.largestAfter) }
  return offset > sizes.largestAt ? { ...sizes, largestAfter: Math.max(sizes.largestAfter, bytes) } : sizes
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
 * The size in bytes that every reply may have, even if the caller requested fewer. Otherwise one large entry would
 * force reads of small entries one by one.
 */
const SHORT_REPLY_BYTES = 1024 * 1024

/**
 * Returns how many entries a read may request so that their bytes fit, at least one. `average` is the average size of
 * the entries so far. If some live entry is much larger, the reply may exceed `bytes`, but then it has at most 1 MiB
 * or a single entry.
 */
export function countThatFits(sizes: Sizes, average: number, bytes: number): number {
  if (average <= 0 || sizes.largest <= 0) return 1
  const likely = Math.floor(bytes / average)
  const safe = Math.floor(Math.max(bytes, SHORT_REPLY_BYTES) / sizes.largest)
  return Math.max(1, Math.min(likely, safe))
}
