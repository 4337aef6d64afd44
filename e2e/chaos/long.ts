// The long form of the chaos runs: `npm run chaos`. 50 kills with the default fsync, fewer with the interval (a killed
// process loses nothing of what it handed to the kernel) and of the network's faults. KETCH_SEED repeats a run.

import { parseArgs } from 'node:util'
import { systemRandom } from '../../src/base/random.ts'
import { confluentPython } from '../python/client.ts'
import { type ChaosOptions, disturbNetwork, killAndStart, runChaos } from './chaos.ts'

const { values } = parseArgs({ options: { kills: { type: 'string', default: '50' } } })
const kills = Number(values.kills)
if (!Number.isSafeInteger(kills) || kills < 1) throw new Error(`--kills takes a number above 0, got ${values.kills}`)
const seed = Number(process.env.KETCH_SEED ?? systemRandom.below(1_000_000))

const absence = confluentPython.absence()
if (absence !== null) console.log(`without an idempotent producer of librdkafka: ${absence}`)
const librdkafka = absence === null

const rounds: readonly ({ readonly name: string } & ChaosOptions)[] = [
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

for (const { name, ...options } of rounds) {
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
