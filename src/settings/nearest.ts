// Finds what somebody probably meant. Used only to word an error, never to accept anything.

/** The known name with the fewest single-character edits from `name` (case ignored). */
export function nearest(name: string, known: readonly string[]): string {
  const wanted = name.slice(0, 200).toLowerCase()
  let best = ''
  let bestEdits = Number.POSITIVE_INFINITY
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

/** Levenshtein distance, one row of the table at a time; where it is no less than `most`, any number from there on. */
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
    // Rows further down never hold less.
    if (least >= most) return least
  }
  return row[to.length]!
}
