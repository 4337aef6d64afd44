// The difference of two texts as `diff -u` writes it. Myers' algorithm finds the shortest edit. If that would take too
// long, the different middle is replaced as a whole.

const CONTEXT = 3
/** The most lines that the search inserts and deletes. The work grows with its square. */
const MOST_EDITS = 2_000

/** Returns the difference with its head and hunks; '' if the texts are equal. Names stand for the texts in the head. */
export function unifiedDiff(before: string, after: string, names: readonly [before: string, after: string]): string {
  if (before === after) return ''
  const steps = editOf(linesOf(before), linesOf(after))
  return `--- ${names[0]}\n+++ ${names[1]}\n${hunksOf(steps)}`
}

type Sign = ' ' | '-' | '+'
type Step = readonly [sign: Sign, line: string]

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

function editOf(before: readonly string[], after: readonly string[]): readonly Step[] {
  let start = 0
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start++
  let [left, right] = [before.length, after.length]
  while (left > start && right > start && before[left - 1] === after[right - 1]) {
    left--
    right--
  }
  const all = (sign: Sign, lines: readonly string[]) => lines.map((line): Step => [sign, line])
  const [old, young] = [before.slice(start, left), after.slice(start, right)]
  const middle = shortestEdit(old, young) ?? [...all('-', old), ...all('+', young)]
  return [...all(' ', before.slice(0, start)), ...middle, ...all(' ', before.slice(left))]
}

/** Returns the shortest edit (E. Myers, 1986: An O(ND) difference algorithm); null if it is longer than MOST_EDITS. */
function shortestEdit(before: readonly string[], after: readonly string[]): readonly Step[] | null {
  const most = Math.min(before.length + after.length, MOST_EDITS)
  /** The furthest place in `before` on each diagonal, after each number of edits. Diagonal k is at index k + most. */
  const furthest = new Int32Array(2 * most + 2)
  const trace: Int32Array[] = []
  for (let edits = 0; edits <= most; edits++) {
    trace.push(furthest.slice(most - edits, most + edits + 2))
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = most + diagonal
      const goesDown = diagonal === -edits || (diagonal !== edits && furthest[at - 1]! < furthest[at + 1]!)
      let x = goesDown ? furthest[at + 1]! : furthest[at - 1]! + 1
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x++
      furthest[at] = x
      if (x >= before.length && x - diagonal >= after.length) return stepsOf(trace, before, after)
    }
  }
  return null
}

function stepsOf(trace: readonly Int32Array[], before: readonly string[], after: readonly string[]): readonly Step[] {
  const steps: Step[] = []
  let [x, y] = [before.length, after.length]
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const furthest = (diagonal: number) => trace[edits]![diagonal + edits]!
    const diagonal = x - y
    const goesDown = diagonal === -edits || (diagonal !== edits && furthest(diagonal - 1) < furthest(diagonal + 1))
    const from = goesDown ? diagonal + 1 : diagonal - 1
    const x0 = edits === 0 ? 0 : furthest(from)
    const y0 = edits === 0 ? 0 : x0 - from
    while (x > x0 && y > y0) {
      steps.push([' ', before[--x]!])
      y--
    }
    if (edits === 0) break
    steps.push(goesDown ? ['+', after[--y]!] : ['-', before[--x]!])
  }
  return steps.reverse()
}

function hunksOf(steps: readonly Step[]): string {
  const changes = steps.flatMap(([sign], at) => (sign === ' ' ? [] : [at]))
  let text = ''
  let [old, young, done] = [1, 1, 0]
  for (let first = 0; first < changes.length; ) {
    let last = first
    while (last + 1 < changes.length && changes[last + 1]! - changes[last]! <= 2 * CONTEXT) last++
    const from = Math.max(0, changes[first]! - CONTEXT)
    const to = Math.min(steps.length, changes[last]! + 1 + CONTEXT)
    for (const [sign] of steps.slice(done, from)) {
      if (sign !== '+') old++
      if (sign !== '-') young++
    }
    const hunk = steps.slice(from, to)
    const [olds, youngs] = (['+', '-'] as const).map(other => hunk.filter(([sign]) => sign !== other).length)
    text += `@@ -${rangeOf(old, olds!)} +${rangeOf(young, youngs!)} @@\n`
    for (const [sign, line] of hunk) text += `${sign}${line}\n`
    old += olds!
    young += youngs!
    done = to
    first = last + 1
  }
  return text
}

/** A range without lines names the line before it. */
function rangeOf(from: number, count: number): string {
  if (count === 1) return String(from)
  return `${count === 0 ? from - 1 : from},${count}`
}
