// The long form of the comparison with Apache Kafka: `npm run compaction-beside`, or with `-- --seeds 20 --first 7`. It
// fails if anything differs. With 200 seeds or more it writes the result to docs/compatibility.

import { parseArgs } from 'node:util'
import { plain } from '../../scripts/markdown.ts'
import { KAFKA_VERSION, kafkaAbsence } from '../../testing/apache-kafka.ts'
import { keepFindings } from '../../testing/compatibility.ts'
import { noRedis } from '../../testing/redis.ts'
import { type Comparison, compareWithKafka } from './beside-kafka.ts'

/** The histories that are compared at the same time. The brokers are restarted once for each such part. */
const AT_ONCE = 20
const SEEDS = 200

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: String(SEEDS) }, first: { type: 'string', default: '1' } },
})
const [count, first] = [numberOf('seeds', 1), numberOf('first', 0)]
const absence = kafkaAbsence() ?? noRedis
if (absence !== false) {
  console.error(absence)
  process.exit(1)
}
const ends: (() => Promise<void>)[] = []
try {
  const seeds = Array.from({ length: count }, (_, i) => first + i)
  const comparison = await compareWithKafka({ after: end => void ends.push(end) }, seeds, AT_ONCE, show)
  if (count >= SEEDS) keep(comparison)
  if (comparison.differences.length > 0) process.exitCode = 1
} finally {
  for (const end of ends.reverse()) await end()
}

function numberOf(option: keyof typeof values, least: number): number {
  const number = Number(values[option])
  if (Number.isSafeInteger(number) && number >= least) return number
  throw new Error(`--${option} takes a whole number of at least ${least}, got ${values[option]}`)
}

function show({ differences, ...counts }: Comparison): void {
  console.log(`${differences.length === 0 ? '✔' : '✖'} ${JSON.stringify(counts)}`)
  for (const { seed, what } of differences) console.log(`    seed ${seed}, ${what}`)
}

function keep({ seeds, batches, records, bytes, left, tombstonesGone, answers, differences }: Comparison): void {
  const grouped = (number: number) => number.toLocaleString('en-US')
  const differing = new Set(differences.map(({ seed }) => seed)).size
  keepFindings('compaction-beside', {
    title: 'Log compaction beside Apache Kafka',
    order: 80,
    command: 'npm run compaction-beside',
    text: [
      `Seeded histories of one partition were sent to Apache Kafka ${KAFKA_VERSION} and to Ketch, on the embedded store and on Redis, as the same bytes: keys, tombstones, headers, every codec, batches of 1 to 800 records, idempotent producers, and records without a key from before the topic was compacted. They were cleaned three times, and the brokers were restarted in between.`,
      `Compared are the records that are left, with offsets, timestamps, headers and values; the offsets, epochs, codecs and producer fields of the batches; tombstones before and after their time; and the answers to ListOffsets by time, OffsetForLeaderEpoch, and Fetch at an offset that is gone. After cleaning, ${seeds - differing} of ${seeds} histories are the same on all three.`,
    ],
    tables: [
      {
        caption: null,
        head: ['batches', 'records', 'MB', 'records left', 'tombstones gone', 'answers compared'],
        rows: [[batches, records, Math.round(bytes / 1e6), left, tombstonesGone, answers].map(grouped)],
      },
      {
        caption: 'Differences:',
        head: ['seed', 'difference'],
        rows: differences.map(({ seed, what }) => [String(seed), plain(what)]),
      },
    ].filter(({ rows }) => rows.length > 0),
  })
}
