// `npm run compaction-users`: the long form of the tests in this folder, on both stores at the same time. Kafka Streams
// and Connect are killed ten times each, and LogCompactionTester runs with every codec. The result is stored for
// docs/compatibility.md. --seed repeats a run.

import { parseArgs } from 'node:util'
import { systemRandom } from '../../src/base/random.ts'
import { KAFKA_VERSION } from '../../testing/apache-kafka.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { keepFindings } from '../../testing/compatibility.ts'
import type { BrokerProcess } from '../../testing/process.ts'
import { CODECS } from '../client.ts'
import { javaConsole } from '../java/client.ts'
import { type CleanedTopic, cleanerCounts, STORES, type StoreName, startCleaningBroker } from './cleaning-broker.ts'
import { CONNECT_SETTINGS, connectAbsence, restartConnect } from './connect.ts'
import { LEAST_REDUCTION, runLogCompactionTester, TESTER_SETTINGS } from './log-compaction-tester.ts'
import { killStreams, STREAMS_SETTINGS, streamsAbsence } from './streams.ts'

const KILLS = 10
const MESSAGES = 1_000_000
/** Short enough that retention drops windows while the application runs. */
const SPARE_MS = 60_000

const { values } = parseArgs({ options: { seed: { type: 'string' } } })
const seed = Number(values.seed ?? systemRandom.below(1_000_000))
if (!Number.isSafeInteger(seed)) throw new Error(`--seed takes a whole number, got ${values.seed}`)
const absence = streamsAbsence() ?? connectAbsence() ?? javaConsole.absence()
if (absence !== null) {
  console.error(absence)
  process.exit(1)
}

/** One program on one store. */
interface Part {
  readonly program: string
  readonly settings: Readonly<Record<string, string>>
  /** Resolves with the result as Markdown. Throws if the program did not pass. */
  run(cleanUp: CleanUp, broker: BrokerProcess): Promise<string>
}

const count = (number: number) => number.toLocaleString('en')
const leftOf = ({ appended, left }: CleanedTopic) => `${count(left)} of ${count(appended)} records`

const KILLED: readonly Part[] = [
  {
    program: `Kafka Streams ${KAFKA_VERSION}`,
    settings: STREAMS_SETTINGS,
    async run(cleanUp, broker) {
      const report = await killStreams(cleanUp, broker, { kills: KILLS, seed, spareMs: SPARE_MS })
      if (report.windows.dropped === 0) throw new Error('retention has dropped nothing of the windowed store')
      return `${report.kills} kills; ${count(report.sent)} input records; ${count(report.keys)} keys and ${count(report.liveWindows)} live windows are right. The changelogs keep ${leftOf(report.table)} (table) and ${leftOf(report.windows)} (windows; retention dropped the offsets below ${count(report.windows.dropped)}).`
    },
  },
  {
    program: `Kafka Connect ${KAFKA_VERSION}`,
    settings: CONNECT_SETTINGS,
    async run(cleanUp, broker) {
      const report = await restartConnect(cleanUp, broker, { restarts: KILLS, seed })
      const topics = Object.entries(report.topics).map(([topic, cleaned]) => `\`${topic}\` keeps ${leftOf(cleaned)}`)
      return `${report.restarts} restarts; ${count(report.connectors)} connectors with their configs, offsets and status; ${count(report.lines)} lines arrived, ${count(report.sourceDoubles)} of them twice in the topic after ${report.sourceSteps} kills. ${topics.join(', ')}.`
    },
  },
]

const TESTERS: readonly Part[] = CODECS.map(codec => ({
  program: `LogCompactionTester, ${codec}`,
  settings: TESTER_SETTINGS,
  async run(_, broker) {
    const { produced, consumed, reduction } = await runLogCompactionTester(broker, codec, MESSAGES)
    if (reduction < LEAST_REDUCTION) throw new Error(`a reduction of ${reduction} %, below ${LEAST_REDUCTION} %`)
    return `${count(produced)} rows produced, ${count(consumed)} consumed: a reduction of ${reduction} %.`
  },
}))

interface Outcome {
  readonly passed: boolean
  readonly text: string
}

async function runPart({ program, settings, run }: Part, store: StoreName): Promise<Outcome> {
  const ends: (() => Promise<void>)[] = []
  const cleanUp = { after: (end: () => Promise<void>) => void ends.push(end) }
  try {
    const broker = await startCleaningBroker(cleanUp, store, settings)
    const result = await run(cleanUp, broker)
    const { passes, recordsDropped } = await cleanerCounts(broker)
    const text = `${result} The cleaner made ${count(passes)} passes and dropped ${count(recordsDropped)} records.`
    console.log(`✔ ${program} on ${store}: ${text}`)
    return { passed: true, text }
  } catch (error) {
    const { message } = error as Error
    console.log(`✖ ${program} on ${store}: ${message}`)
    return { passed: false, text: message.split('\n')[0]!.slice(0, 300) }
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function runParts(parts: readonly Part[], store: StoreName): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  for (const part of parts) outcomes.push(await runPart(part, store))
  return outcomes
}

/** The tester mostly waits, so it runs beside the programs that are killed. */
async function runStore(store: StoreName): Promise<readonly Outcome[]> {
  return (await Promise.all([runParts(KILLED, store), runParts(TESTERS, store)])).flat()
}

console.log(`seed ${seed}`)
const byStore = await Promise.all(STORES.map(runStore))
const all = byStore.flat()
const passed = all.filter(outcome => outcome.passed).length
keepFindings('compaction-users', {
  title: 'Users of compaction',
  order: 3,
  command: 'npm run compaction-users',
  text: [
    `Programs that keep their state in compacted topics, beside a cleaner whose rounds follow each other every 200 ms, on both stores (seed ${seed}). A Kafka Streams application with a table and a windowed store (\`compact,delete\`) loses its process (kill -9) and its state folder again and again; in the end both stores must equal the input. A worker of Kafka Connect in distributed mode is killed, with connectors made, changed, paused and removed in between; it must find its connectors, offsets and status, and copy each line of a growing file. Kafka's LogCompactionTester must find the last value of each key, and at least ${LEAST_REDUCTION} % of the records gone, with segments of 1 MiB by a topic pattern. At the end the test reads each cleaned topic: each key stands once. ${passed} of ${all.length} passed.`,
  ],
  tables: STORES.map((store, i) => ({
    caption: `On the ${store} store:`,
    head: ['program', 'outcome', 'result'],
    rows: [...KILLED, ...TESTERS].map(({ program }, at) => {
      const { passed, text } = byStore[i]![at]!
      return [program, passed ? 'passed' : 'failed', text]
    }),
  })),
})
process.exit(passed === all.length ? 0 : 1)
