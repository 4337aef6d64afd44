// The long form of the hostile run: `npm run hostile`, or `npm run hostile -- --requests 1000000`. KETCH_SEED repeats
// a run.

import { parseArgs } from 'node:util'
import { systemRandom } from '../../src/base/random.ts'
import { type HostileReport, runHostile } from './run.ts'

const MOST_GROWTH_BYTES = 50e6
const REPORT_EVERY = 10_000

const { values } = parseArgs({ options: { requests: { type: 'string', default: '100000' } } })
const count = Number(values.requests)
if (!Number.isSafeInteger(count) || count < 1)
  throw new Error(`--requests takes a number above 0, got ${values.requests}`)
const seed = Number(process.env.KETCH_SEED ?? systemRandom.below(1_000_000))

const say = ({ sent, startBytes, growthBytes, slowestMs }: HostileReport) =>
  `${sent} damaged requests: memory ${mega(startBytes)} at the start, ${mega(growthBytes)} more now, ` +
  `slowest answer to the client beside them ${slowestMs.toFixed(0)} ms`
const mega = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`

const ends: (() => Promise<void>)[] = []
let next = 0
try {
  const report = await runHostile(
    { after: fn => void ends.push(fn) },
    {
      count,
      seed,
      progress(report) {
        if (report.sent < next) return
        next += REPORT_EVERY
        console.log(say(report))
      },
    },
  )
  const isSmall = report.growthBytes < MOST_GROWTH_BYTES
  console.log(`${isSmall ? '✔' : '✖ grew by 50 MB or more:'} seed ${seed}: ${say(report)}`)
  if (!isSmall) process.exitCode = 1
} catch (error) {
  console.log(`✖ seed ${seed}: ${(error as Error).stack}`)
  process.exitCode = 1
} finally {
  for (const end of ends.reverse()) await end()
}
