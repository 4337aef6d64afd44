// Whether a piece of a text is ASCII. Most texts are, and then they need no check of their UTF-8.

/** The bits of four bytes that ASCII has not. */
const NOT_ASCII = 0x80808080 | 0
const PIECE = 16

/**
 * Returns where the first byte stands that is not ASCII; `end` if all are. `view` is over the same bytes. A text
 * of 16 bytes or more is read in pieces of 16, the last of which may overlap the one before it: to stop within them
 * would take longer than to go on.
 */
export function asciiUntil(bytes: Uint8Array, view: DataView, from: number, end: number): number {
  let at = from
  const last = end - PIECE
  if (last >= from) {
    let bits = piece(view, last)
    for (; at < last; at += PIECE) bits |= piece(view, at)
    if ((bits & NOT_ASCII) === 0) return end
    at = from
  }
  const wordsEnd = end - 3
  while (at < wordsEnd && (view.getInt32(at, true) & NOT_ASCII) === 0) at += 4
  while (at < end && bytes[at]! < 0x80) at++
  return at
}

const piece = (view: DataView, at: number): number =>
  view.getInt32(at, true) | view.getInt32(at + 4, true) | view.getInt32(at + 8, true) | view.getInt32(at + 12, true)
