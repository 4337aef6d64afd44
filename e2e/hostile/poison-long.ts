// The long form of the poison run: `npm run poison`, or `npm run poison -- --seeds 2000 --from 1 --store redis
// --at-once 3`.

import { parseArgs } from 'node:util'
import { type PoisonReport, runPoison } from './poison.ts'

const MOST_GROWTH_BYTES = 300e6
const LONGEST_WAIT_MS = 250
const REPORT_EVERY = 20

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    store: { type: 'string', default: 'both' },
    'at-once': { type: 'string', default: '3' },
  },
})
const [seeds, from, atOnce] = [values.seeds, values.from, values['at-once']].map(Number)
if (![seeds, from, atOnce].every(number => Number.isSafeInteger(number) && number! >= 1))
  throw new Error(
    `--seeds, --from and --at-once take numbers above 0, got ${values.seeds}, ${values.from}, ${values['at-once']}`,
  )
const stores = (['redis', 'embedded'] as const).filter(store => values.store === 'both' || values.store === store)
if (stores.length === 0) throw new Error(`--store takes redis, embedded or both, got ${values.store}`)

const mega = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`
const say = ({ seeds, slowestMs, elsewhereMs, long, startBytes, growthBytes, heaviest }: PoisonReport) =>
  `${seeds} batches: clients beside them waited at most ${slowestMs.toFixed(0)} ms (without poison on the same machine ${elsewhereMs.toFixed(0)} ms), ` +
  `${long.length} times longer than ${LONGEST_WAIT_MS} ms; memory ${mega(startBytes)} at the start and at most ${mega(growthBytes)} more, at ${heaviest}`

for (const store of stores) {
  const ends: (() => Promise<void>)[] = []
  try {
    const report = await runPoison(
      { after: fn => void ends.push(fn) },
      {
        store,
        atOnce: atOnce!,
        seeds: Array.from({ length: seeds! }, (_, i) => from! + i),
        progress(report) {
          if (report.seeds % REPORT_EVERY === 0) console.log(`${store}: ${say(report)}`)
        },
      },
    )
    const isGood = report.growthBytes < MOST_GROWTH_BYTES && report.slowestMs - report.elsewhereMs < LONGEST_WAIT_MS
    console.log(`${isGood ? '✔' : '✖'} ${store}: ${say(report)}`)
    console.log(
      [...report.answers]
        .sort()
        .map(([answer, count]) => `${answer}: ${count}`)
        .join(', '),
    )
    for (const wait of report.long) console.log(`  ${wait}`)
    if (!isGood) process.exitCode = 1
  } catch (error) {
    console.log(`✖ ${store}: ${(error as Error).stack}`)
    process.exitCode = 1
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
process.exit()
