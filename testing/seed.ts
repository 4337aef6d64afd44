// The seed of all random values in tests. `npm test` uses a fixed seed; `npm test -- --all` uses a new one and prints
// it.

export const seed = Number(process.env.KETCH_SEED ?? 1)
