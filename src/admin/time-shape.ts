// A time in an answer of the API: the shape of every member whose name ends in `At` (docs/decisions/0034).

import { z } from 'zod'

/** RFC 3339 in UTC with milliseconds, as `Date.prototype.toISOString` writes it. */
export const timeShape = z.iso.datetime({ precision: 3 })
