// The long form of the comparison with Apache Kafka: `npm run compaction-beside`, or with `-- --seeds 20 --first 7`. It
// writes the result to docs/compatibility, and fails if anything differs.

import { parseArgs } from 'node:util'
import { KAFKA_VERSION, kafkaAbsence } from '../../testing/apache-kafka.ts'
import { keepFindings } from '../../testing/compatibility.ts'
import { noRedis } from '../../testing/redis.ts'
import { type Comparison, compareWithKafka } from './beside-kafka.ts'

/** The histories that are compared at the same time. The brokers are restarted once for each such part. */
const AT_ONCE = 20

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '200' }, first: { type: 'string', default: '1' } },
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
  keep(comparison)
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
  for (const difference of differences) console.log(`    ${difference}`)
}

function keep({ seeds, batches, records, bytes, left, tombstonesGone, answers, differences }: Comparison): void {
  const grouped = (number: number) => number.toLocaleString('en-US')
  keepFindings('compaction', {
    title: 'Log compaction beside Apache Kafka',
    order: 80,
    command: 'npm run compaction-beside',
    text: [
      `${seeds} seeded histories were sent to Apache Kafka ${KAFKA_VERSION} and to Ketch, on the embedded store and on Redis, and cleaned: ${differences.length === 0 ? 'nothing differs' : `${differences.length} differences`}.`,
      `The same bytes went to all three: keys, tombstones, headers, every codec, batches of 1 to 800 records, idempotent producers, records without a key from before the topic was compacted. All were restarted in between. After three cleanings the newest record of each key has the same offset, timestamp, headers and value, and stands alone; tombstones are there until their time and gone afterwards; batches have the same offsets, epochs, codecs and producer fields. ListOffsets by time, OffsetForLeaderEpoch, and Fetch at an offset that is gone have the same answers.`,
    ],
    tables: [
      {
        caption: null,
        head: ['batches', 'records', 'MB', 'records left', 'tombstones gone', 'answers compared'],
        rows: [[batches, records, Math.round(bytes / 1e6), left, tombstonesGone, answers].map(grouped)],
      },
      {
        caption: 'Differences:',
        head: ['seed, stage and broker'],
        rows: differences.map(difference => [difference]),
      },
    ].filter(({ rows }) => rows.length > 0),
  })
}
