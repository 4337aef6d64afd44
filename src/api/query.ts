// Schemas of values that arrive as text, in a query or a path. They accept a text only in the form that this API itself
// writes. The reference shows the type of the value.

import { z } from 'zod'

/** The reason why a search by time accepts no time below 0: in Kafka's protocol -1 and below have special meanings. */
export const SOUGHT_TIME = "takes an integer from 0: Kafka's protocol cannot ask for a time before 1970"

/** The most characters in a list of names in a query. */
export const LONGEST_NAMES = 24 * 1024

/** Returns the schema of a decimal integer. It accepts neither an empty text nor a list of texts. */
export function integer(
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
  why = `takes an integer from ${min}${max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`}`,
) {
  const read = (value: unknown) => (typeof value === 'string' && /^-?[0-9]+$/.test(value) ? Number(value) : value)
  return z.preprocess(read, z.int(why).min(min, why).max(max, why))
}

/** Whether a list has the topics that programs keep for themselves, such as `__consumer_offsets`. */
export const internalQuery = z
  .enum(['true', 'false'])
  .default('true')
  .meta({ description: 'false leaves out the topics whose names begin with `__`.' })
