// The long form of the chaos runs: `npm run chaos`. It does 50 kills with the default fsync, fewer with fsync by
// interval (a killed process loses nothing that it has written to the kernel), and as many faults of the network.
// --seed (or KETCH_SEED) repeats a run. With --store redis it runs --rounds rounds on Redis (redis/long.ts), or only
// those from --first to --last. With --kills it kills Redis that many times, and starts it twice after each kill.
// `npm run chaos -- compaction` does --rounds rounds beside the cleaner, half of them on each store
// (compaction/long.ts). `npm run chaos -- remote` does --rounds rounds with the remote tier (remote/long.ts).
// `npm run chaos -- registry` kills brokers under registrations of schemas, --kills times each (registry.ts).

import { parseArgs } from 'node:util'
import { systemRandom } from '../../src/base/random.ts'
import { confluentPython } from '../python/client.ts'
import { type ChaosOptions, disturbNetwork, killAndStart, runChaos } from './chaos.ts'
import { runCompaction } from './compaction/long.ts'
import { runKills, runLong } from './redis/long.ts'
import { runRegistry } from './registry.ts'
import { runRemote } from './remote/long.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: 'string', default: 'embedded' },
    kills: { type: 'string' },
    rounds: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
    last: { type: 'string' },
    seed: { type: 'string', default: process.env.KETCH_SEED ?? String(systemRandom.below(1_000_000)) },
  },
})

/** Returns the number that an option names. Throws if it is not a whole number of at least `least`. */
function numberOf(option: 'kills' | 'rounds' | 'first' | 'last' | 'seed', least: number): number {
  const number = Number(values[option])
  if (Number.isSafeInteger(number) && number >= least) return number
  throw new Error(`--${option} takes a whole number of at least ${least}, got ${values[option]}`)
}

const seed = numberOf('seed', 0)
const rounds = numberOf('rounds', 1)
const first = numberOf('first', 1)
const last = values.last === undefined ? rounds : numberOf('last', 1)
const [what, ...more] = positionals
if (what !== undefined && (!['compaction', 'registry', 'remote'].includes(what) || more.length > 0))
  throw new Error(`npm run chaos takes compaction, registry, remote or no word, got ${positionals.join(' ')}`)
if (what === 'remote') process.exit((await runRemote({ rounds, seed, first, last })) ? 0 : 1)
if (what === 'compaction') process.exit((await runCompaction({ rounds, seed, first, last })) ? 0 : 1)
if (what === 'registry') {
  const kills = values.kills === undefined ? 20 : numberOf('kills', 1)
  process.exit((await runRegistry({ kills, seed })) ? 0 : 1)
}
if (values.store === 'redis' && values.kills !== undefined) {
  process.exit((await runKills({ kills: numberOf('kills', 1), seed })) ? 0 : 1)
}
if (values.store === 'redis') process.exit((await runLong({ rounds, seed, first, last })) ? 0 : 1)
if (values.store !== 'embedded') throw new Error(`--store takes embedded or redis, got ${values.store}`)
const kills = values.kills === undefined ? 50 : numberOf('kills', 1)

const absence = confluentPython.absence()
if (absence !== null) console.log(`without an idempotent producer of librdkafka: ${absence}`)
const librdkafka = absence === null

const runs: readonly ({ readonly name: string } & ChaosOptions)[] = [
  { name: 'kill -9, fsync of every round', faults: kills, seed, librdkafka, fault: killAndStart },
  {
    name: 'kill -9, fsync by interval',
    faults: Math.ceil(kills / 5),
    seed,
    librdkafka,
    fault: killAndStart,
    settings: { 'svc.storage.local.embedded.fsync': 'interval' },
  },
  { name: 'network', faults: kills, seed, fault: disturbNetwork },
]

for (const { name, ...options } of runs) {
  const ends: (() => Promise<void>)[] = []
  try {
    const report = await runChaos({ after: fn => void ends.push(fn) }, options)
    console.log(`✔ ${name}, seed ${seed}: ${JSON.stringify(report)}`)
  } catch (error) {
    console.log(`✖ ${name}: ${(error as Error).message}`)
    process.exitCode = 1
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
