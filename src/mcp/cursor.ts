// Cursors of lists: where the next page of a list begins, as a text that clients send back unread. A cursor holds no
// right and no secret: it only saves the client from counting, so it is not signed.

import { z } from 'zod'
import { declined } from '../admin/declined.ts'
import type { JsonValue, ToolDeclined } from './tool.ts'

/** Returns the cursor for a place in a list. */
export function cursorOf(place: JsonValue): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** Returns the place that the cursor names, in this shape; a refusal if the text is no cursor of this list. */
export function readCursor<S extends z.ZodType>(shape: S, cursor: string): z.output<S> | ToolDeclined {
  const found = shape.safeParse(parse(Buffer.from(cursor, 'base64url').toString()))
  if (found.success) return found.data
  return declined('INVALID_CURSOR', 'The cursor is not one of this list.', { cursor: 'is not one of this list' })
}

const offsetShape = z.strictObject({ offset: z.int().min(0) })

/** Returns where a page of a list begins that is cut by row numbers; 0 without a cursor. */
export function offsetOf(cursor: string | undefined): number | ToolDeclined {
  if (cursor === undefined) return 0
  const found = readCursor(offsetShape, cursor)
  return 'kind' in found ? (found as ToolDeclined) : found.offset
}

/**
 * Returns the rows of a page for `ToolAnswer.rows`. The page begins at `offset` and has `shown` of `total` rows.
 */
export function offsetRows(member: string, offset: number, total: number) {
  const cursorAfter = (kept: number) => (offset + kept < total ? cursorOf({ offset: offset + kept }) : null)
  return { member, total, cursorAfter }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
