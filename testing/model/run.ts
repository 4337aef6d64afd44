// The command line of the model tests, which compare brokers with a plain model. `npm run model -- --store redis
// --seeds 1000 --from 1` runs this many seeds and prints those that fail. `--seed 17` repeats one seed and prints its
// steps; `--keep 0,4,9` runs only these of its operations. `--only produce,delete-records` allows only these kinds.
// The exit status is 1 if an answer differed from the model.

import { parseArgs } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { type RedisServer, startRedis } from '../redis.ts'
import { operationKinds } from './operations.ts'
import { type Outcome, type RunOptions, runSeed, shrink } from './run-seed.ts'
import type { StoreName } from './scene.ts'

const STORES: readonly string[] = ['embedded', 'redis']
const REPORT_MS = process.stdout.isTTY ? 1_000 : 15_000
const SHRINK_MS = 60_000
const LAST_LINES = 60

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'embedded' },
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    operations: { type: 'string', default: '80' },
    'at-once': { type: 'string', default: '2' },
    only: { type: 'string' },
    keep: { type: 'string' },
  },
})

function wholeNumber(option: string, value: string): number {
  const number = Number(value)
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new Error(`--${option}: a whole number above 0 is expected, got ${JSON.stringify(value)}`)
}

function oneOf(option: string, value: string, known: readonly string[]): string {
  if (known.includes(value)) return value
  throw new Error(`--${option}: got ${JSON.stringify(value)}, takes ${known.join(', ')}`)
}

const store = oneOf('store', values.store, STORES) as StoreName
const only = values.only?.split(',').map(kind => oneOf('only', kind, operationKinds)) ?? []
const count = wholeNumber('operations', values.operations)
const keep = values.keep?.split(',').map(Number) ?? null

function commandFor(seed: number, { performed }: Outcome): string {
  const kinds = only.length === 0 ? '' : ` --only ${only.join()}`
  const operations = count === 80 ? '' : ` --operations ${count}`
  const places = performed.map(({ index }) => index).join()
  return `npm run model -- --store ${store} --seed ${seed}${operations}${kinds} --keep ${places}`
}

function report(seed: number, outcome: Outcome): void {
  const { trace, error, performed } = outcome
  console.log(`✖ seed ${seed} on ${store}: ${error!.name === 'Difference' ? error!.message : error!.stack}`)
  for (const line of trace.slice(-LAST_LINES)) console.log(`    ${line}`)
  console.log(`  ${performed.length} operations; repeat it with: ${commandFor(seed, outcome)}`)
}

const afters: (() => Promise<void>)[] = []
const cleanUp = { after: (end: () => Promise<void>) => void afters.push(end) }

async function startStore(): Promise<RedisServer | null> {
  return store === 'redis' ? startRedis(cleanUp) : null
}

async function repeat(seed: number): Promise<boolean> {
  const outcome = await runSeed({ store, seed, count, only, keep, redis: await startStore() })
  if (outcome.error === null) {
    console.log(outcome.trace.join('\n'))
    console.log(`seed ${seed} on ${store}: ${outcome.performed.length} operations, every answer agrees with the model`)
    return true
  }
  report(seed, outcome)
  return false
}

async function runMany(from: number, seeds: number): Promise<boolean> {
  let next = from
  let done = 0
  let operations = 0
  let failed = 0
  let reportAtMs = systemClock.monotonic() + REPORT_MS
  const startedAtMs = systemClock.monotonic()
  const lane = async () => {
    const redis = await startStore()
    while (next < from + seeds) {
      const seed = next++
      const options: RunOptions = { store, seed, count, only, keep, redis }
      const outcome = await runSeed(options)
      operations += outcome.performed.length
      done++
      if (outcome.error !== null) {
        failed++
        report(seed, outcome)
        const shortest = await shrink(options, outcome, SHRINK_MS)
        if (shortest !== outcome) report(seed, shortest)
      }
      if (systemClock.monotonic() < reportAtMs) continue
      reportAtMs = systemClock.monotonic() + REPORT_MS
      console.log(`${store}: ${done} of ${seeds} seeds, ${failed} failed`)
    }
  }
  await Promise.all(Array.from({ length: wholeNumber('at-once', values['at-once']) }, lane))
  const seconds = ((systemClock.monotonic() - startedAtMs) / 1000).toFixed(0)
  console.log(`${store}: ${seeds} seeds from ${from}, ${operations} operations, ${failed} failed, ${seconds} s`)
  return failed === 0
}

let isGreen = false
try {
  isGreen =
    values.seed !== undefined
      ? await repeat(wholeNumber('seed', values.seed))
      : await runMany(wholeNumber('from', values.from), wholeNumber('seeds', values.seeds))
} finally {
  for (const after of afters.reverse()) await after()
}
process.exit(isGreen ? 0 : 1)
