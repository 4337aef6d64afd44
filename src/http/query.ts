// Shapes for what comes as text, in a query or a path: the text is taken only as it would be written here, and the reference
// shows the type that is meant.

import { z } from 'zod'

/** A decimal integer. Neither an empty text nor a list of texts is one. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const read = (value: unknown) => (typeof value === 'string' && /^-?[0-9]+$/.test(value) ? Number(value) : value)
  const why = `takes an integer from ${min}${max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`}`
  return z.preprocess(read, z.int(why).min(min, why).max(max, why))
}
