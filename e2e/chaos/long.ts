// The long form of the chaos run: `npm run chaos`. 50 kills with the default fsync, 10 with the interval (a killed process
// loses nothing of what it handed to the kernel). KETCH_SEED repeats a run.

import { parseArgs } from 'node:util'
import { systemRandom } from '../../src/base/random.ts'
import { killAgainAndAgain } from './kill.ts'

const { values } = parseArgs({ options: { kills: { type: 'string', default: '50' } } })
const kills = Number(values.kills)
if (!Number.isSafeInteger(kills) || kills < 1) throw new Error(`--kills takes a number above 0, got ${values.kills}`)
const seed = Number(process.env.KETCH_SEED ?? systemRandom.below(1_000_000))

const rounds: readonly { readonly name: string; readonly kills: number; readonly settings: Record<string, string> }[] =
  [
    { name: 'fsync of every round', kills, settings: {} },
    {
      name: 'fsync by interval',
      kills: Math.ceil(kills / 5),
      settings: { 'svc.storage.local.embedded.fsync': 'interval' },
    },
  ]

for (const round of rounds) {
  const ends: (() => Promise<void>)[] = []
  try {
    const report = await killAgainAndAgain(
      { after: fn => void ends.push(fn) },
      { kills: round.kills, seed, settings: round.settings },
    )
    console.log(`✔ ${round.name}, seed ${seed}: ${JSON.stringify(report)}`)
  } catch (error) {
    console.log(`✖ ${round.name}: ${(error as Error).message}`)
    process.exitCode = 1
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
