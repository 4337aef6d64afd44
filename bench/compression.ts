// Measures the savings and the cost of storage compression: 200-byte JSON records in batches of several sizes, with
// each codec, and with zstd with and without its dictionary. It compares the rate with an uncompressed topic and
// measures how long the event loop is blocked.

import { seededRandom } from '../src/base/random.ts'
import { describeLogDirs } from '../src/protocol/messages/describe-log-dirs.ts'
import { produce } from '../src/protocol/messages/produce.ts'
import { encodeBatch } from '../src/protocol/records.ts'
import { eventually } from '../testing/eventually.ts'
import { type BrokerProcess, startBrokerProcess } from '../testing/process.ts'
import { connect, type Wire } from '../testing/wire.ts'
import { cpuSeconds, type Finding, type Harness, median, type Question } from './harness.ts'
import { LOOP_DELAY_FLAG, loopDelay } from './loop-delay.ts'

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
/** For each number of records in a batch: the records that a round sends in all its batches. */
const SIZES = new Map([
  [1, 4_000],
  [10, 20_000],
  [100, 100_000],
  [4_000, 200_000],
])
/** The number of records that a topic's dictionary is trained from, and a few more. */
const TRAINING = 12_000
const IN_FLIGHT = 16
/** Prevents a dictionary: the broker would need more samples than it gets. */
const NEVER = { 'svc.storage.local.compression.dictionary.sample-count': '1000000000' }
/** The longest time in milliseconds for which one piece of work may block the event loop. */
const LONGEST_MS = 20

const random = seededRandom(5)
const hex = (digits: number) => Array.from({ length: digits }, () => random.below(16).toString(16)).join('')
const one = <T>(...of: readonly T[]): T => of[random.below(of.length)]!

/** Returns a record of about 200 bytes, as a shop's service may write it. */
function record(i: number): string {
  return JSON.stringify({
    id: hex(16),
    user: `user-${random.below(100_000)}`,
    event: one('view', 'click', 'buy', 'search'),
    at: 1_760_000_000_000 + i * 37 + random.below(30),
    url: `/products/${random.below(5_000)}`,
    amount: random.below(10_000) / 100,
    currency: one('EUR', 'USD', 'GBP'),
    country: one('DE', 'FR', 'US', 'PL', 'IT'),
    returning: random.below(2) === 0,
    agent: one('Mozilla/5.0', 'curl/8.1', 'okhttp/4.9'),
  })
}

function batchesOf(records: number, total: number): Buffer[] {
  const batch = (_: unknown, i: number) =>
    encodeBatch(
      Array.from({ length: records }, (_, j) => ({ value: record(i * records + j), timestamp: 1_760_000_000_000 })),
    )
  return Array.from({ length: Math.max(1, Math.floor(total / records)) }, batch)
}

interface Sent {
  readonly producedBytes: number
  readonly storedBytes: number
  readonly seconds: number
  readonly cpuSeconds: number
}

export const compression: Question = {
  name: 'compression',
  asks: 'storage compression of 200-byte JSON records: stored size, produce rate, longest block of the event loop',
  async answer(harness) {
    const start = async (settings: Readonly<Record<string, string>>) => {
      const broker = await startBrokerProcess(harness, { settings, nodeFlags: [LOOP_DELAY_FLAG] })
      const wire = await connect({ port: broker.port })
      harness.after(() => wire.close())
      return { broker, wire }
    }
    const common = { 'svc.storage.local.embedded.fsync': 'interval' }
    const trained = await start(common)
    const plain = await start({ ...common, ...NEVER })

    const findings: Finding[] = []
    for (const [records, total] of SIZES) {
      const training = batchesOf(records, Math.max(TRAINING, 20 * records))
      const batches = batchesOf(records, total)
      let base: readonly Sent[] = []
      for (const codec of CODECS) {
        const rounds = await measure(harness, plain, `${codec}-${records}`, codec, training, batches)
        if (codec === 'none') base = rounds.sent
        findings.push(...findingsOf(`${codec}, ${records} in a batch`, rounds, base))
      }
      const rounds = await measure(harness, trained, `dictionary-${records}`, 'zstd', training, batches)
      findings.push(...findingsOf(`zstd with a dictionary, ${records} in a batch`, rounds, base))
    }
    return findings
  },
}

interface Rounds {
  readonly sent: readonly Sent[]
  readonly longestMs: readonly number[]
}

async function measure(
  harness: Harness,
  { broker, wire }: { broker: BrokerProcess; wire: Wire },
  topic: string,
  codec: string,
  training: readonly Buffer[],
  batches: readonly Buffer[],
): Promise<Rounds> {
  await harness.topic(broker.port, topic, 1, { 'storage.compression.type': codec })
  await send(broker, wire, topic, training)
  if (topic.startsWith('dictionary')) {
    await eventually(
      'a dictionary',
      () => new RegExp(`dictionary was trained.*${topic}\\b`).test(broker.output()),
      30_000,
    )
  }
  const sent: Sent[] = []
  const longestMs: number[] = []
  for (let round = 0; round < harness.rounds; round++) {
    await loopDelay(broker)
    sent.push(await send(broker, wire, topic, batches))
    longestMs.push((await loopDelay(broker)).max)
  }
  return { sent, longestMs }
}

async function send(broker: BrokerProcess, wire: Wire, topic: string, batches: readonly Buffer[]): Promise<Sent> {
  const before = { stored: await storedBytes(wire, topic), cpu: cpuSeconds(broker.pid), at: performance.now() }
  let next = 0
  let producedBytes = 0
  const worker = async () => {
    while (next < batches.length) {
      const records = batches[next++]!
      producedBytes += records.length
      const { responses } = await wire.send(produce, 9, {
        transactionalId: null,
        acks: -1,
        timeoutMs: 30_000,
        topicData: [{ name: topic, partitionData: [{ index: 0, records }] }],
      })
      const { errorCode, errorMessage } = responses[0]!.partitionResponses[0]!
      if (errorCode !== 0) throw new Error(`produce to ${topic}: error ${errorCode}, ${errorMessage}`)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  return {
    producedBytes,
    seconds: (performance.now() - before.at) / 1000,
    cpuSeconds: cpuSeconds(broker.pid) - before.cpu,
    storedBytes: (await storedBytes(wire, topic)) - before.stored,
  }
}

async function storedBytes(wire: Wire, topic: string): Promise<number> {
  const { results } = await wire.send(describeLogDirs, 4, { topics: [{ topic, partitions: [0] }] })
  return results[0]!.topics[0]?.partitions[0]?.partitionSize ?? 0
}

function findingsOf(what: string, { sent, longestMs }: Rounds, base: readonly Sent[]): Finding[] {
  const rate = ({ producedBytes, seconds }: Sent) => producedBytes / seconds / 1e6
  const cpu = ({ producedBytes, cpuSeconds: seconds }: Sent) => (seconds * 1e6) / (producedBytes / 1e3)
  const { producedBytes, storedBytes } = sent.at(-1)!
  const [rates, baseRates] = [sent.map(rate), base.map(rate)]
  return [
    { what: `${what}: stored`, value: (100 * storedBytes) / producedBytes, unit: '% of what was produced' },
    {
      what: `${what}: produced`,
      value: median(rates),
      unit: 'MB/s',
      samples: rates,
      ratio: median(rates) / median(baseRates),
      ratioOf: 'none',
      notes: `${median(sent.map(cpu)).toFixed(0)} ms of processor for each MB`,
    },
    {
      what: `${what}: event loop held up`,
      value: median(longestMs),
      unit: 'ms',
      samples: longestMs,
      ceiling: LONGEST_MS,
    },
  ]
}
