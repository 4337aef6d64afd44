// Whether bytes are UTF-8 (RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF). It allocates nothing.

import { asciiUntil } from '../ascii.ts'

/** `view` is over the same bytes. */
export function isUtf8(bytes: Uint8Array, view: DataView, from: number, to: number): boolean {
  let at = from
  while (at < to) {
    at = asciiUntil(bytes, view, at, to)
    if (at >= to) return true
    const length = sequenceLength(bytes, at, to)
    if (length === 0) return false
    at += length
  }
  return true
}

/** The length of the sequence at `at`, whose first byte is not ASCII; 0 if it is not valid. */
function sequenceLength(bytes: Uint8Array, at: number, to: number): number {
  const first = bytes[at] as number
  if (first < 0xc2 || first > 0xf4) return 0
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  if (at + length > to) return 0
  const second = bytes[at + 1] as number
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
  if (second < least || second > most) return 0
  for (let index = 2; index < length; index++) {
    if (((bytes[at + index] as number) & 0xc0) !== 0x80) return 0
  }
  return length
}
