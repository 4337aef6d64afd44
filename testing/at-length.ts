// The amount of work of a test: all of it in `npm test -- --all`, which proves a merge, and a part of it in `npm
// test`.

/** Returns the first value with --all, and the second value without it. */
export const atLength = <T>(full: T, short: T): T => (process.env.KETCH_ALL === '1' ? full : short)
