// How much a test does: everything in `npm test -- --all`, which proves a merge, and a part of the same in `npm test`.

/** The first choice with --all, the second one without. */
export const atLength = <T>(full: T, short: T): T => (process.env.KETCH_ALL === '1' ? full : short)
