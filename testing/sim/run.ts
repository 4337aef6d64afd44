// The command line of the simulations. `npm run sim -- --seeds 10000 --from 1` runs 10,000 seeds and prints those that
// fail. `npm run sim -- --scenario storage --seeds 10000` does the same with the storage worker: lease, segments and
// cleaner. `npm run sim -- --seed 17` repeats one seed and prints its trace. `--scenario` takes a name of scenarios.ts,
// or `all` for a table of them. The exit status is 1 if a scenario that allows no violation has one.

import { parseArgs } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { type Row, SCENARIOS } from './scenarios.ts'
import { COLUMNS, type Column } from './violations.ts'

const REPORT_MS = process.stdout.isTTY ? 1_000 : 15_000
const EXAMPLES = 10

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    scenario: { type: 'string', default: 'safe' },
  },
})

function wholeNumber(option: string, value: string): number {
  const number = Number(value)
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new Error(`${option}: a whole number above 0 is expected, got ${JSON.stringify(value)}`)
}

function scenarioOf(name: string): Row {
  const found = SCENARIOS[name]
  if (found !== undefined) return found
  throw new Error(`no scenario is called ${JSON.stringify(name)}; there are ${Object.keys(SCENARIOS).join(', ')}`)
}

async function repeat(seed: number, name: string): Promise<boolean> {
  const { lines, violations, hash } = await scenarioOf(name).simulate(seed, true)
  console.log(lines!.join('\n'))
  console.log(`seed ${seed}, ${name}: ${violations.length} violations, trace ${hash.toString(16)}`)
  return violations.length === 0
}

async function runMany(name: string, from: number, seeds: number): Promise<boolean> {
  const scenario = scenarioOf(name)
  const found = Object.fromEntries(COLUMNS.map(column => [column, 0])) as Record<Column, number>
  const first: Partial<Record<Column, number>> = {}
  let failed = 0
  const done: Record<string, number> = {}
  let reportAtMs = systemClock.monotonic() + REPORT_MS
  for (let seed = from; seed < from + seeds; seed++) {
    const outcome = await scenario.simulate(seed)
    for (const [kind, times] of Object.entries(outcome.done)) done[kind] = (done[kind] ?? 0) + times
    for (const column of new Set(outcome.violations.map(violation => violation.column))) {
      found[column]++
      first[column] ??= seed
    }
    if (outcome.violations.length > 0 && scenario.red.length === 0 && ++failed <= EXAMPLES) {
      for (const { column, kind, detail } of outcome.violations.slice(0, 3)) {
        console.log(`✖ seed ${seed}: ${column}: ${kind}: ${detail}`)
      }
      console.log(`  npm run sim -- --scenario ${name} --seed ${seed}`)
    }
    if (systemClock.monotonic() < reportAtMs) continue
    reportAtMs = systemClock.monotonic() + REPORT_MS
    console.log(`${name}: ${seed - from + 1} of ${seeds} seeds, ${failed} failed`)
  }
  const cells = COLUMNS.flatMap(column =>
    found[column] > 0 ? `${column} ${found[column]} (first ${first[column]})` : [],
  )
  const work = Object.entries(done).map(([kind, times]) => `${kind} ${times}`)
  console.log(`${name}: ${seeds} seeds from ${from}; ${work.join(', ')}`)
  console.log(`${name}: seeds with violations: ${cells.join(', ') || 'none'}`)
  return scenario.red.length > 0 || failed === 0
}

const names = values.scenario === 'all' ? Object.keys(SCENARIOS) : [values.scenario]
let isGreen = true
for (const name of names) {
  if (values.seed !== undefined) isGreen = (await repeat(wholeNumber('--seed N', values.seed), name)) && isGreen
  else
    isGreen =
      (await runMany(name, wholeNumber('--from N', values.from), wholeNumber('--seeds N', values.seeds))) && isGreen
}
// process.exit() would drop the output that a pipe has not taken yet.
process.exitCode = isGreen ? 0 : 1
