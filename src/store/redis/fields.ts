// Encodes changes of a hash's fields for `applyFields` of functions.lua.

import type { Row } from '../store.ts'
import type { Argument } from './client/links.ts'

/**
 * Returns the number of fields to set, each of them with its value, then the fields to delete; an empty list if there
 * are no changes. If one field is changed twice, the last change counts.
 */
export function encodeFields(rows: readonly Row[]): readonly Argument[] {
  if (rows.length === 0) return []
  const sets: Argument[] = []
  const deletions: string[] = []
  // Most appends change one row or none.
  const changes = rows.length < 2 ? rows : new Map(rows.map(row => [row.key, row])).values()
  for (const { key, value } of changes) {
    if (value === null) deletions.push(key)
    else sets.push(key, value)
  }
  return [String(sets.length / 2), ...sets, ...deletions]
}
