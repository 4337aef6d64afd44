// A maximum matching of two sets, when it costs much to know whether two members fit. It asks only for the pairs that
// it needs, each once, and it grows the matching along alternating paths (Kuhn's algorithm, breadth first).

export interface Question {
  readonly left: number
  readonly right: number
}

/**
 * Returns the size of a maximum matching of `lefts` and `rights` members, or `wanted` once that many fit. Yields the
 * pairs about which it wants to know whether they fit. `likely` names the partner that a left member probably has.
 */
export function* maximumMatching(
  lefts: number,
  rights: number,
  wanted: number,
  likely: (left: number) => number | undefined,
): Generator<Question, number, boolean> {
  const fits = new Map<number, boolean>()
  const ask = function* (left: number, right: number): Generator<Question, boolean, boolean> {
    const key = left * rights + right
    const known = fits.get(key)
    if (known !== undefined) return known
    const answer = yield { left, right }
    fits.set(key, answer)
    return answer
  }
  const leftOf = new Map<number, number>()
  const rightOf = new Map<number, number>()
  const match = (left: number, right: number) => {
    leftOf.set(right, left)
    rightOf.set(left, right)
  }
  const waiting: number[] = []
  for (let left = 0; left < lefts; left++) {
    const right = likely(left)
    if (right !== undefined && !leftOf.has(right) && (yield* ask(left, right))) match(left, right)
    else waiting.push(left)
  }
  const searchFree = function* (
    start: number,
    cameFrom: Map<number, number>,
  ): Generator<Question, number | null, boolean> {
    const queue = [start]
    for (const left of queue) {
      for (let right = 0; right < rights; right++) {
        if (cameFrom.has(right) || dead.has(right) || !(yield* ask(left, right))) continue
        cameFrom.set(right, left)
        const next = leftOf.get(right)
        if (next === undefined) return right
        queue.push(next)
      }
    }
    return null
  }
  // Right members from which no path leads to a free one. They stay so, and are left out.
  const dead = new Set<number>()
  let size = leftOf.size
  for (const [at, start] of waiting.entries()) {
    // Stops too when the members that are left cannot be enough.
    if (size >= wanted || size + waiting.length - at < wanted) break
    const cameFrom = new Map<number, number>()
    const free = yield* searchFree(start, cameFrom)
    if (free === null) {
      for (const right of cameFrom.keys()) dead.add(right)
      continue
    }
    size++
    for (let right = free; ; ) {
      const left = cameFrom.get(right)!
      const before = rightOf.get(left)
      match(left, right)
      if (before === undefined) break
      right = before
    }
  }
  return Math.min(size, wanted)
}
