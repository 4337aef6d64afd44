// The long form of the readers beside the cleaner: `npm run compaction-readers`, or `-- --minutes 2 --store redis`. It
// reads for ten minutes on each store, one after the other, and fails if any reading is wrong. A run of ten minutes
// or more writes its result to docs/compatibility.

import { parseArgs } from 'node:util'
import { plain } from '../../scripts/markdown.ts'
import { systemRandom } from '../../src/base/random.ts'
import { KAFKA_VERSION } from '../../testing/apache-kafka.ts'
import { keepFindings } from '../../testing/compatibility.ts'
import { kafkaJs } from '../kafkajs/client.ts'
import { confluentPython } from '../python/client.ts'
import { STORES, type Store } from './peers.ts'
import { type ReadersReport, readBesideCleaner, readersAbsence } from './readers.ts'

const MINUTES = 10

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: String(MINUTES) },
    store: { type: 'string' },
    seed: { type: 'string', default: process.env.KETCH_SEED ?? String(systemRandom.below(1_000_000)) },
  },
})
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new Error(`--minutes takes a number above 0, got ${values.minutes}`)
const seed = Number(values.seed)
if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed takes a whole number, got ${values.seed}`)
const stores = STORES.filter(store => values.store === undefined || store === values.store)
if (stores.length === 0) throw new Error(`--store takes ${STORES.join(' or ')}, got ${values.store}`)
const absence = readersAbsence()
if (absence !== false) {
  console.error(absence)
  process.exit(1)
}

for (const store of stores) {
  const ends: (() => Promise<void>)[] = []
  try {
    const cleanUp = { after: (end: () => Promise<void>) => void ends.push(end) }
    const report = await readBesideCleaner(cleanUp, { store, forMs: minutes * 60_000, leastPasses: 1, seed })
    if (minutes >= MINUTES) keep(store, report)
    if (report.defects.length > 0) process.exitCode = 1
    console.log(`${report.defects.length === 0 ? '✔' : '✖'} ${store}, seed ${seed}: ${JSON.stringify(report)}`)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

function keep(store: Store, { readers, written, passes, dropped, defects }: ReadersReport): void {
  const grouped = (number: number) => number.toLocaleString('en-US')
  const versions = { Java: KAFKA_VERSION, librdkafka: confluentPython.version(), kafkajs: kafkaJs.version() }
  const readings = readers.reduce((sum, row) => sum + row.readings, 0)
  const wrong = readers.reduce((sum, row) => sum + row.wrong, 0)
  keepFindings(store === 'embedded' ? 'compaction-readers' : `compaction-readers-${store}`, {
    title: `Consumers beside the log cleaner${store === 'redis' ? ' on Redis' : ''}`,
    order: 81 + STORES.indexOf(store),
    command: `npm run compaction-readers -- --store ${store}`,
    text: [
      `Three consumers read a compacted topic from offset 0 again and again for ${minutes} minutes, while three producers wrote ${grouped(written)} records and the cleaner removed ${grouped(dropped)} in ${grouped(passes)} passes (seed ${seed}). A reading passes if the offsets rise, each record is the one that was acknowledged at its offset, and each key has a value at least as new as the last that was acknowledged before the reading began. No client reported an error; ${grouped(readings - wrong)} of ${grouped(readings)} readings passed.`,
    ],
    tables: [
      {
        caption: null,
        head: ['client', 'version', 'readings', 'records read'],
        rows: readers.map(({ client, readings, records }) => [
          client,
          versions[client],
          grouped(readings),
          grouped(records),
        ]),
      },
      { caption: 'Wrong readings:', head: ['defect'], rows: defects.map(defect => [plain(defect)]) },
    ].filter(({ rows }) => rows.length > 0),
  })
}
