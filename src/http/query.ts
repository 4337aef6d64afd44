// Shapes for what comes as text, in a query or a path: the text is taken only as it would be written here, and the reference
// shows the type that is meant.

import { z } from 'zod'

/** Why a place in a log is at no time below 0: to the leader, which may be another broker, -1 and below are signs, not times. */
export const SOUGHT_TIME = "takes an integer from 0: Kafka's protocol cannot ask for a time before 1970"

/** A decimal integer. Neither an empty text nor a list of texts is one. */
export function integer(
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
  why = `takes an integer from ${min}${max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`}`,
) {
  const read = (value: unknown) => (typeof value === 'string' && /^-?[0-9]+$/.test(value) ? Number(value) : value)
  return z.preprocess(read, z.int(why).min(min, why).max(max, why))
}
