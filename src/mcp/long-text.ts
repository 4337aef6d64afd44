// Long texts in parts. A tool answers as much of a text as fits, from a character on, and says where the next part
// begins, so that a client can read a text of any length.

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
  let [most, fitting] = [Math.min(rest.length, maxBytes), 0]
  if (most === rest.length && isFitting(bodyOf(rest, null), maxBytes)) return { body: bodyOf(rest, null) }
  while (fitting < most) {
    const middle = Math.ceil((fitting + most) / 2)
    if (isFitting(withPart(middle), maxBytes)) fitting = middle
    else most = middle - 1
  }
  return { body: withPart(fitting) }
}

function isFitting(body: object, maxBytes: number): boolean {
  return Buffer.byteLength(JSON.stringify({ untrusted_data: body })) <= maxBytes
}
