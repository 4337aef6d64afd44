// What `npm test` asks of the simulation: 200 seeds of everything in force, and that leaving out a safeguard is noticed. `npm run
// sim` asks more seeds, repeats one, and prints what happens in it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCENARIOS } from './scenarios.ts'
import { type Column, type Outcome, simulate } from './simulation.ts'

const SAFE_SEEDS = 200
const OTHER_SEEDS = 5
/** Within so many seeds a safeguard that is missing must have been noticed. The first dozen does, most of the time. */
const RED_SEEDS = 300

async function* runs(name: string, seeds: number): AsyncGenerator<Outcome> {
  for (let seed = 1; seed <= seeds; seed++) yield await simulate(seed, SCENARIOS[name]!)
}

function expectNothing({ seed, violations }: Outcome, name: string): void {
  const found = violations.map(({ column, kind, detail }) => `${column}: ${kind}: ${detail}`)
  assert.deepEqual(found, [], `repeat it with: npm run sim -- --scenario ${name} --seed ${seed}`)
}

const has = ({ violations }: Outcome, column: Column) => violations.some(violation => violation.column === column)

test('the same seed is the same story, and another seed another one', async () => {
  const hashes = new Map<number, number>()
  for (const seed of [3, 4, 3, 5, 4]) {
    const { hash } = await simulate(seed, SCENARIOS.safe!)
    assert.equal(hashes.get(seed) ?? hash, hash)
    hashes.set(seed, hash)
  }
  assert.equal(new Set(hashes.values()).size, 3)
})

test(`nothing is wrong in ${SAFE_SEEDS} seeds of brokers, fail-overs, pauses and lost answers`, async () => {
  let acknowledged = 0
  let commits = 0
  let failOvers = 0
  for await (const outcome of runs('safe', SAFE_SEEDS)) {
    expectNothing(outcome, 'safe')
    acknowledged += outcome.acknowledged
    commits += outcome.commits
    failOvers += outcome.failOvers
  }
  // A simulation in which nothing happens finds nothing either.
  assert.ok(acknowledged > 20 * SAFE_SEEDS && commits > 10 * SAFE_SEEDS && failOvers > SAFE_SEEDS / 2)
})

for (const [name, { red }] of Object.entries(SCENARIOS)) {
  if (name === 'safe') continue
  if (red.length === 0) {
    test(`nothing is wrong in the scenario ${name}`, async () => {
      for await (const outcome of runs(name, OTHER_SEEDS)) expectNothing(outcome, name)
    })
    continue
  }
  test(`the scenario ${name} is noticed: ${red.join(', ')}`, async () => {
    const missing = new Set(red)
    for await (const outcome of runs(name, RED_SEEDS)) {
      for (const column of missing) if (has(outcome, column)) missing.delete(column)
      if (missing.size === 0) return
    }
    assert.fail(`${[...missing].join(', ')} was not found in ${RED_SEEDS} seeds`)
  })
}

test('where acknowledged records are lost, the floor keeps their offsets from being used again', async () => {
  const divergent = { losing: 0, 'losing-no-floor': 0 }
  for (const name of ['losing', 'losing-no-floor'] as const) {
    for await (const outcome of runs(name, 30)) if (has(outcome, 'divergence')) divergent[name]++
  }
  assert.ok(divergent.losing * 3 < divergent['losing-no-floor'], `seeds with divergence: ${JSON.stringify(divergent)}`)
})
