// The long form of the readers beside the cleaner: `npm run compaction-readers`, or with `-- --minutes 2 --store redis`.
// It reads for ten minutes on each store, one after the other. A run of both stores writes its result to
// docs/compatibility. It fails if any reading is wrong.

import { parseArgs } from 'node:util'
import { plain } from '../../scripts/markdown.ts'
import { systemRandom } from '../../src/base/random.ts'
import { KAFKA_VERSION } from '../../testing/apache-kafka.ts'
import { keepFindings } from '../../testing/compatibility.ts'
import { kafkaJs } from '../kafkajs/client.ts'
import { confluentPython } from '../python/client.ts'
import { STORES } from './peers.ts'
import { type ReadersReport, readBesideCleaner, readersAbsence } from './readers.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
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

const reports: (ReadersReport & { readonly store: string })[] = []
for (const store of stores) {
  const ends: (() => Promise<void>)[] = []
  try {
    const cleanUp = { after: (end: () => Promise<void>) => void ends.push(end) }
    const report = await readBesideCleaner(cleanUp, { store, forMs: minutes * 60_000, seed })
    reports.push({ store, ...report })
    if (report.defects.length > 0) process.exitCode = 1
    console.log(`${report.defects.length === 0 ? '✔' : '✖'} ${store}, seed ${seed}: ${JSON.stringify(report)}`)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
if (stores.length === STORES.length) keep()

function keep(): void {
  const grouped = (number: number) => number.toLocaleString('en-US')
  const versions = { Java: KAFKA_VERSION, librdkafka: confluentPython.version(), kafkajs: kafkaJs.version() }
  const rows = reports.flatMap(({ readers }) => readers)
  const readings = rows.reduce((sum, row) => sum + row.readings, 0)
  const wrong = rows.reduce((sum, row) => sum + row.wrong, 0)
  const defects = reports.flatMap(report => report.defects.map(defect => [report.store, plain(defect)]))
  keepFindings('compaction-readers', {
    title: 'Consumers beside the log cleaner',
    order: 81,
    command: 'npm run compaction-readers',
    text: [
      `Three consumers read a compacted topic from offset 0 again and again for ${minutes} minutes on each store, while three producers wrote and the cleaner worked without a pause (seed ${seed}). A reading passes if the offsets rise, each record is the one that was acknowledged at its offset, and each key has a value at least as new as the last that was acknowledged before the reading began. No client reported an error; ${grouped(readings - wrong)} of ${grouped(readings)} readings passed.`,
    ],
    tables: [
      {
        caption: null,
        head: ['store', 'client', 'version', 'readings', 'records read'],
        rows: reports.flatMap(({ store, readers }) =>
          readers.map(({ client, readings, records }) => [
            store,
            client,
            versions[client],
            grouped(readings),
            grouped(records),
          ]),
        ),
      },
      {
        caption: 'The cleaner meanwhile:',
        head: ['store', 'records written', 'passes', 'records removed'],
        rows: reports.map(({ store, ...report }) => [
          store,
          ...[report.written, report.passes, report.dropped].map(grouped),
        ]),
      },
      { caption: 'Wrong readings:', head: ['store', 'defect'], rows: defects },
    ].filter(({ rows }) => rows.length > 0),
  })
}
