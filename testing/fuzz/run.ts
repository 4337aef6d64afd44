// The fuzzer's command line: `npm run fuzz -- --seconds 60`, an hour with `--seconds 3600`, one target with `--target
// requests`. An input that fails is stored in testing/corpus/<target>, and `npm test` runs it from then on.
// KETCH_SEED repeats a run, except for differences in the machine's speed.

import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { seededRandom, systemRandom } from '../../src/base/random.ts'
import { crashFolder } from '../corpus.ts'
import { startCoverage } from './coverage.ts'
import { type Campaign, type Crash, openCampaign } from './fuzz.ts'
import { targets } from './targets.ts'

const SLICE_MS = 2000
const REPORT_MS = process.stdout.isTTY ? 1000 : 15_000

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' }, target: { type: 'string' } } })
const seconds = Number(values.seconds)
if (!(seconds > 0)) throw new Error(`--seconds takes a number above 0, got ${values.seconds}`)
const chosen = targets.filter(target => values.target === undefined || target.name === values.target)
if (chosen.length === 0) {
  throw new Error(`no target is called ${values.target}; there are ${targets.map(target => target.name).join(', ')}`)
}

const seed = Number(process.env.KETCH_SEED ?? systemRandom.below(1_000_000))
const coverage = startCoverage()
let campaigns: readonly Campaign[] = chosen.map(target => openCampaign(target, coverage, seededRandom(seed)))
const startedAtMs = systemClock.monotonic()
const leftMs = () => startedAtMs + seconds * 1000 - systemClock.monotonic()
let reportAtMs = REPORT_MS
let crashes = 0
console.log(`fuzzing ${chosen.map(target => target.name).join(', ')} for ${seconds} s, seed ${seed}`)

function report(): void {
  const elapsedMs = systemClock.monotonic() - startedAtMs
  reportAtMs = elapsedMs + REPORT_MS
  const words = campaigns.map(({ target, runs, inputs, blocks }) => `${target.name} ${runs}/${inputs}/${blocks}`)
  console.log(`${(elapsedMs / 1000).toFixed(0)} s, runs/inputs/blocks: ${words.join(', ')}`)
}

function keep({ target }: Campaign, { input, error }: Crash): void {
  crashes++
  const file = join(crashFolder(target.name), createHash('sha256').update(input).digest('hex').slice(0, 12))
  mkdirSync(crashFolder(target.name), { recursive: true })
  writeFileSync(file, input)
  console.log(`✖ ${target.name} failed on ${input.length} bytes, kept in ${file}\n${error.stack}`)
}

while (leftMs() > 0 && campaigns.length > 0) {
  for (const campaign of campaigns) {
    const crash = await campaign.go(Math.min(SLICE_MS, (seconds * 1000) / chosen.length, Math.max(0, leftMs())))
    if (systemClock.monotonic() - startedAtMs > reportAtMs) report()
    if (crash === null) continue
    keep(campaign, crash)
    campaigns = campaigns.filter(each => each !== campaign)
  }
}
report()
coverage.stop()
console.log(crashes === 0 ? '✔ nothing failed' : `✖ ${crashes} targets failed`)
process.exit(crashes === 0 ? 0 : 1)
