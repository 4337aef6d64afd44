// The part of the simulation that `npm test` runs: seeds with every safeguard, and a proof that a missing safeguard
// is noticed. With --all each run draws other seeds; KETCH_LONG=1 takes 200 of them. `npm run sim` runs any number of
// seeds, repeats one, and prints its trace.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atLength, drawnBy, isLong } from '../at-length.ts'
import { seed } from '../seed.ts'
import { SCENARIOS } from './scenarios.ts'
import type { Column, Outcome } from './violations.ts'

const SAFE_SEEDS = isLong ? 200 : atLength(50, 30)
const STORAGE_SEEDS = isLong ? 200 : 20
const OTHER_SEEDS = 5
/**
 * The number of seeds within which a missing safeguard must be noticed. Most are noticed within the first dozen; one
 * was once not noticed in 300.
 */
const RED_SEEDS = 1_500

/** The first simulation seed of each scenario; it depends on the seed of the run. */
const FIRST_SEED = (seed - 1) * 1_000 + 1

/**
 * With its fixed seed, `npm test` would always take the same hundred seeds before the one that shows the damage. It
 * begins a little before that one; if a change moves it, later seeds follow. With --all every second scenario has drawn
 * seeds, and the seed of the run decides which ones; with KETCH_LONG=1 all of them have.
 */
const NEAR: Readonly<Record<string, number>> = {
  'no-wait': 24,
  'no-visibility': 86,
  'no-compare-silently': 180,
  'torn-no-sweep': 16,
  losing: 26,
}
const DRAWN = new Set(drawnBy(seed, 2, Object.keys(SCENARIOS)))
const firstRed = (name: string) => (atLength(DRAWN.has(name), seed !== 1) ? FIRST_SEED : (NEAR[name] ?? 1))

async function* runs(name: string, seeds: number, first = FIRST_SEED): AsyncGenerator<Outcome> {
  for (let each = first; each < first + seeds; each++) yield await SCENARIOS[name]!.simulate(each)
}

function expectNothing({ seed, violations }: Outcome, name: string): void {
  const wrong = violations.filter(({ kind }) => kind !== 'stuck' || !SCENARIOS[name]!.mayStall)
  const found = wrong.map(({ column, kind, detail }) => `${column}: ${kind}: ${detail}`)
  assert.deepEqual(found, [], `repeat it with: npm run sim -- --scenario ${name} --seed ${seed}`)
}

const has = ({ violations }: Outcome, column: Column) => violations.some(violation => violation.column === column)

for (const name of ['safe', 'storage']) {
  test(`the same seed gives the same trace, and another seed gives another one: ${name}`, async () => {
    const hashes = new Map<number, number>()
    for (const seed of [3, 4, 3, 5, 4]) {
      const { hash } = await SCENARIOS[name]!.simulate(seed)
      assert.equal(hashes.get(seed) ?? hash, hash)
      hashes.set(seed, hash)
    }
    assert.equal(new Set(hashes.values()).size, 3)
  })
}

test(`nothing is wrong in ${SAFE_SEEDS} seeds of brokers, fail-overs, pauses and lost answers`, async () => {
  let acknowledged = 0
  let commits = 0
  let failOvers = 0
  for await (const outcome of runs('safe', SAFE_SEEDS)) {
    expectNothing(outcome, 'safe')
    acknowledged += outcome.done.acknowledged!
    commits += outcome.done.commits!
    failOvers += outcome.done.failOvers!
  }
  // A simulation without any work would also find nothing.
  assert.ok(acknowledged > 20 * SAFE_SEEDS && commits > 10 * SAFE_SEEDS && failOvers > SAFE_SEEDS / 2)
})

test(`nothing is wrong in ${STORAGE_SEEDS} seeds of the storage worker: lease, segments and cleaner`, async () => {
  const done: Record<string, number> = {}
  for await (const outcome of runs('storage', STORAGE_SEEDS)) {
    expectNothing(outcome, 'storage')
    for (const [kind, times] of Object.entries(outcome.done)) done[kind] = (done[kind] ?? 0) + times
  }
  // Every part of the worker must have worked, and every fault must have happened.
  const least = { acknowledged: 50, sealed: 10, cleaned: 30, dropped: 10, tombstones: 0.1, takeovers: 1, blows: 1 }
  for (const [kind, times] of Object.entries(least)) {
    assert.ok(done[kind]! > times * STORAGE_SEEDS, `${kind}: ${done[kind]} in ${STORAGE_SEEDS} seeds`)
  }
})

for (const [name, { red }] of Object.entries(SCENARIOS)) {
  if (name === 'safe' || name === 'storage') continue
  if (red.length === 0) {
    test(`nothing is wrong in the scenario ${name}`, async () => {
      for await (const outcome of runs(name, OTHER_SEEDS)) expectNothing(outcome, name)
    })
    continue
  }
  test(`the scenario ${name} is noticed: ${red.join(', ')}`, async () => {
    const missing = new Set(red)
    for await (const outcome of runs(name, RED_SEEDS, firstRed(name))) {
      for (const column of missing) if (has(outcome, column)) missing.delete(column)
      if (missing.size === 0) return
    }
    assert.fail(`${[...missing].join(', ')} was not found in ${RED_SEEDS} seeds`)
  })
}

test('if acknowledged records are lost, the floor keeps their offsets from being used again', async () => {
  const divergent = { losing: 0, 'losing-no-floor': 0 }
  for (const name of ['losing', 'losing-no-floor'] as const) {
    // The frequency depends on the seed. These thirty seeds are known to show the difference.
    for await (const outcome of runs(name, 30, 1)) if (has(outcome, 'divergence')) divergent[name]++
  }
  assert.ok(divergent.losing * 3 < divergent['losing-no-floor'], `seeds with divergence: ${JSON.stringify(divergent)}`)
})
