// The API schemas of times (docs/decisions/0034).

import { z } from 'zod'

/**
 * The shape of every member whose name ends in `At`: RFC 3339 in UTC with milliseconds, as
 * `Date.prototype.toISOString` writes it.
 */
export const timeShape = z.iso.datetime({ precision: 3 })

/** The shape of a member whose name ends in `Timestamp`. */
export const timestampShape = z.int().meta({ description: 'Milliseconds since 1970.' })
