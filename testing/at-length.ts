// The amount of work of a test: all of it in `npm test -- --all`, which proves a merge, and a part of it in `npm
// test`.

/**
 * True with KETCH_LONG=1, the long form of some tests. Without it `npm test -- --all` does a part of their rounds, and
 * the seed of each run draws others.
 */
export const isLong = process.env.KETCH_LONG === '1'

/** Returns one of every `of` elements, which the seed draws; all of them in the long form. */
export const drawnBy = <T>(seed: number, of: number, all: readonly T[]): readonly T[] =>
  isLong ? all : all.filter((_, at) => (at + seed) % of === 0)

/** Returns the first value with --all, and the second value without it. */
export const atLength = <T>(full: T, short: T): T => (process.env.KETCH_ALL === '1' ? full : short)
