// Finds the name that a mistyped one probably means. Only an error message uses it: the loader never accepts a near
// name.

/** The most edits between two names for a suggestion. With more edits it is another name, and would mislead. */
const MOST_EDITS = 3
const LARGEST_SHARE = 1 / 3

/** The known name with the fewest single-character edits from `name` (case ignored); null if no name is near. */
export function nearest(name: string, known: readonly string[]): string | null {
  const wanted = name.slice(0, 200).toLowerCase()
  let best: string | null = null
  let bestEdits = Math.min(MOST_EDITS, Math.floor(wanted.length * LARGEST_SHARE)) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - wanted.length) >= bestEdits) continue
    const edits = countEdits(wanted, candidate.toLowerCase(), bestEdits)
    if (edits < bestEdits) {
      best = candidate
      bestEdits = edits
    }
  }
  return best
}

/**
 * Returns the Levenshtein distance; it computes one row of the table at a time. If the distance is `most` or more,
 * the result is any number from `most` on.
 */
function countEdits(from: string, to: string, most: number): number {
  const row = Uint16Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    let diagonal = row[0]!
    let least = i
    row[0] = i
    for (let j = 1; j <= to.length; j++) {
      const above = row[j]!
      const replaced = diagonal + (from.charCodeAt(i - 1) === to.charCodeAt(j - 1) ? 0 : 1)
      const edits = Math.min(replaced, above + 1, row[j - 1]! + 1)
      row[j] = edits
      diagonal = above
      if (edits < least) least = edits
    }
    // Later rows never have a smaller number.
    if (least >= most) return least
  }
  return row[to.length]!
}
