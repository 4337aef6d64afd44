// Checks UTF-8 without decoding it (RFC 3629: no surrogates, nothing overlong, nothing beyond U+10FFFF).

/** Returns where the first wrong character begins; `end` if all are right. */
export function utf8Until(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end) {
    const first = bytes[at]!
    if (first < 0x80) {
      at++
      continue
    }
    const second = at + 1 < end ? bytes[at + 1]! : 0
    if (first < 0xe0) {
      if (first < 0xc2 || (second & 0xc0) !== 0x80) return at
      at += 2
      continue
    }
    const third = at + 2 < end ? bytes[at + 2]! : 0
    if ((third & 0xc0) !== 0x80) return at
    if (first < 0xf0) {
      const least = first === 0xe0 ? 0xa0 : 0x80
      const most = first === 0xed ? 0x9f : 0xbf
      if (second < least || second > most) return at
      at += 3
      continue
    }
    const fourth = at + 3 < end ? bytes[at + 3]! : 0
    const least = first === 0xf0 ? 0x90 : 0x80
    const most = first === 0xf4 ? 0x8f : 0xbf
    if (first > 0xf4 || second < least || second > most || (fourth & 0xc0) !== 0x80) return at
    at += 4
  }
  return at
}

/** The last place up to `at` where no character is cut in two, if the bytes are UTF-8. */
export function characterStart(bytes: Uint8Array, at: number, end: number): number {
  let start = at
  while (start < end && start > at - 4 && (bytes[start]! & 0xc0) === 0x80) start--
  return start
}
