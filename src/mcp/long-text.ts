// Long texts in parts. A tool answers as much of a text as fits, from a character on, and says where the next part
// begins, so that a client can read a text of any length.

import { largestNumber } from '../base/bisect.ts'
import type { ToolAnswer } from './tool.ts'

/**
 * Returns the largest answer that fits. `bodyOf` makes a body of a part and the start of the next one; null at the end.
 */
export function partOf(
  text: string,
  from: number,
  maxBytes: number,
  bodyOf: (part: string, next: number | null) => object,
): ToolAnswer {
  const rest = text.slice(from)
  const withPart = (length: number) => {
    const part = rest.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')
    const next = from + part.length
    return bodyOf(part, next < text.length ? next : null)
  }
  // A character takes at least one byte.
  const most = Math.min(rest.length, maxBytes)
  if (most === rest.length && isFitting(withPart(most), maxBytes)) return { body: withPart(most) }
  return { body: withPart(largestNumber(0, most, each => isFitting(withPart(each), maxBytes)) ?? 0) }
}

function isFitting(body: object, maxBytes: number): boolean {
  return Buffer.byteLength(JSON.stringify({ untrusted_data: body })) <= maxBytes
}
