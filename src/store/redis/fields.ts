// Changes of a hash's fields, as `applyFields` of functions.lua takes them.

import type { Row } from '../store.ts'
import type { Argument } from './client/links.ts'

/**
 * How many are set, then each with its value, then those that are deleted; nothing for none. Of two changes of one
 * field the last counts.
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
