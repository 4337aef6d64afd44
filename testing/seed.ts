// The seed of what tests draw at random: `npm test` gives a fixed one, `npm test -- --all` a fresh one, which it
// prints.

export const seed = Number(process.env.KETCH_SEED ?? 1)
