// The rest after heavy work that a client causes, so that it takes a limited part of a processor.

/** For each ms that the work took, it rests this many ms. */
const REST = 5

/**
 * Returns for how many ms work rests after a turn that took `tookMs`: at most `longestMs`, and that for each of the
 * `inLine` that take turns. So n of them that always have work use 1 / (REST + 1 / n) of a processor together, at most.
 */
export function restAfter(tookMs: number, longestMs: number, inLine: number): number {
  return Math.min(REST * tookMs, longestMs) * Math.max(1, inLine)
}
