// Finds what somebody probably meant. Used only to word an error, never to accept anything.

/** The known name with the fewest single-character edits from `name` (case ignored). */
export function nearest(name: string, known: readonly string[]): string {
  const wanted = name.slice(0, 200).toLowerCase()
  let best = ''
  let bestEdits = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    if (Math.abs(candidate.length - wanted.length) >= bestEdits) continue
    const edits = countEdits(wanted, candidate.toLowerCase())
    if (edits < bestEdits) {
      best = candidate
      bestEdits = edits
    }
  }
  return best
}

/** Levenshtein distance, one row of the table at a time. */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}
