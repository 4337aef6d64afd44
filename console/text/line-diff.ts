// The lines in which two texts differ, for two records or the configs before and after a change. The algorithm is that
// of Myers, "An O(ND) Difference Algorithm" (1986), with a limit: texts that have little in common are not worth it.

export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
  /** The number of the line in each text, from 1; null if the text lacks it. */
  readonly before: number | null
  readonly after: number | null
}

/** The most removed and added lines for which the shortest difference is searched. Memory grows with its square. */
const MOST_CHANGES = 1_000

/**
 * Returns the lines of both texts in order. Between the common beginning and the common end, texts that differ in more
 * than 1000 lines are shown as all lines removed, then all lines added.
 */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const old = linesOf(before)
  const fresh = linesOf(after)
  const shortest = Math.min(old.length, fresh.length)
  let start = 0
  while (start < shortest && old[start] === fresh[start]) start++
  let end = 0
  while (end < shortest - start && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end++
  const rows: DiffLine[] = []
  let oldAt = 0
  let freshAt = 0
  const same = (count: number) => {
    for (let at = 0; at < count; at++) rows.push({ kind: 'same', text: old[oldAt]!, before: ++oldAt, after: ++freshAt })
  }
  const step = (kind: 'removed' | 'added') => {
    if (kind === 'removed') rows.push({ kind, text: old[oldAt]!, before: ++oldAt, after: null })
    else rows.push({ kind, text: fresh[freshAt]!, before: null, after: ++freshAt })
  }
  same(start)
  const oldMiddle = old.slice(start, old.length - end)
  const freshMiddle = fresh.slice(start, fresh.length - end)
  for (const kind of shortestScript(oldMiddle, freshMiddle) ?? wholeScript(oldMiddle, freshMiddle)) {
    if (kind === 'same') same(1)
    else step(kind)
  }
  same(end)
  return rows
}

type Script = readonly DiffLine['kind'][]

/** A line end at the end begins no further line. */
function linesOf(text: string): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function wholeScript(old: readonly string[], fresh: readonly string[]): Script {
  return [...old.map(() => 'removed' as const), ...fresh.map(() => 'added' as const)]
}

/** Returns null if the texts differ in more lines than the limit. */
function shortestScript(old: readonly string[], fresh: readonly string[]): Script | null {
  const most = Math.min(old.length + fresh.length, MOST_CHANGES)
  /** The furthest line of the old text on each diagonal (old minus fresh, plus the offset), after each step. */
  const trace: Int32Array[] = []
  const offset = most + 1
  const furthest = new Int32Array(2 * most + 3)
  for (let changes = 0; changes <= most; changes++) {
    trace.push(furthest.slice(offset - changes - 1, offset + changes + 2))
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let x = isDown(furthest, offset, diagonal, changes)
        ? furthest[offset + diagonal + 1]!
        : furthest[offset + diagonal - 1]! + 1
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x++
      furthest[offset + diagonal] = x
      if (x >= old.length && x - diagonal >= fresh.length) return backtrack(trace, old.length, fresh.length)
    }
  }
  return null
}

/** Returns whether the path comes to the diagonal by adding a line, and not by removing one. */
function isDown(furthest: Int32Array, offset: number, diagonal: number, changes: number): boolean {
  if (diagonal === -changes) return true
  return diagonal !== changes && furthest[offset + diagonal - 1]! < furthest[offset + diagonal + 1]!
}

function backtrack(trace: readonly Int32Array[], oldLength: number, freshLength: number): Script {
  const script: DiffLine['kind'][] = []
  let x = oldLength
  let y = freshLength
  for (let changes = trace.length - 1; changes >= 0; changes--) {
    const furthest = trace[changes]!
    const offset = changes + 1
    const diagonal = x - y
    const from = isDown(furthest, offset, diagonal, changes) ? diagonal + 1 : diagonal - 1
    const fromX = changes === 0 ? 0 : furthest[offset + from]!
    const fromY = changes === 0 ? 0 : fromX - from
    while (x > fromX && y > fromY) {
      script.push('same')
      x--
      y--
    }
    if (changes === 0) break
    script.push(from > diagonal ? 'added' : 'removed')
    x = fromX
    y = fromY
  }
  return script.reverse()
}
