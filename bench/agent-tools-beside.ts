// Measures whether producers notice agents: records are paced while one agent calls the tools that read 20 times a
// second, beside the same without calls, on the embedded store and on Redis. Records of 64 KiB come at half of the full
// rate. The floors are for these. Single records of 1 KiB come to a broker that has nothing else to do: they show each
// millisecond of a call, and have no floor. The event loop of the broker is measured by a preload (loop-delay.mjs). The
// agent is a client in this process, the producer is another process.
//
//   npm run bench -- agent-tools-beside --rounds 7 --seconds 20     the figures that are kept
//   npm run bench -- agent-tools-beside --rounds 2 --seconds 4      the short form
//
// KETCH_EACH_TOOL=1 measures each tool by itself first.

import { offsetCommit } from '../src/protocol/messages/offset-commit.ts'
import { connectAgent } from '../testing/agent-client.ts'
import { type BrokerProcess, startBrokerProcess } from '../testing/process.ts'
import { noRedis, startRedis } from '../testing/redis.ts'
import { connect } from '../testing/wire.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'
import { LOOP_DELAY_FLAG, loopDelay } from './loop-delay.ts'
import { commitMany, createMany, manyNames } from './many.ts'
import type { Paced } from './paced.ts'
import { registerSchema } from './verdicts.ts'

const CALLS_PER_SECOND = 20
/** Calls that are unanswered at one time; the broker works on four. */
const MOST_UNANSWERED = 16
/** Records of 1 KiB in a second, on a broker that has nothing else to do. */
const LIGHT_RATE = 1_000
const LARGE_BYTES = 65_536
const PARTITIONS = 16
const PACED = 'paced'
const READ = 'read'
const READ_BYTES = 16e6
const TOPICS = 200
const GROUPS = 50
const WIDE = 'wide'
const WIDE_PARTITIONS = 128
/** Of the p99 without calls. */
const P99_CEILING = 1.5
/** Milliseconds that the delay of the event loop may grow. */
const DELAY_CEILING_MS = 20

const SETTINGS = {
  'svc.admin.security-enabled': 'false',
  'svc.mcp.enabled': 'true',
  'svc.storage.worker.tick-interval': '1s',
  'svc.admin.metrics-history.interval': '1s',
}

const SCHEMA = JSON.stringify({
  ...{ type: 'record', name: 'Order' },
  fields: Array.from({ length: 50 }, (_, at) => ({ name: `field${at}`, type: ['null', 'string'], default: null })),
})

type Client = Awaited<ReturnType<typeof connectAgent>>
type Call = readonly [tool: string, args: Readonly<Record<string, unknown>>]

/** Every tool that reads, some with their largest answer. They come in turns. */
const CALLS: readonly Call[] = [
  ['cluster_health', {}],
  ['list_topics', { sort: 'sizeBytes', order: 'desc' }],
  ['describe_topic', { topic: WIDE, configs: 'all', maxBytes: 65_536 }],
  ['read_messages', { topic: READ, order: 'newest', limit: 50 }],
  ['read_messages', { topic: READ, contains: 'a text that no record has', limit: 20 }],
  ['get_message', { topic: READ, partition: 0, offset: 0 }],
  ['list_groups', { sort: 'lag.totalLag', order: 'desc' }],
  ['describe_group', { group: 'wide-group' }],
  ['explain_lag', { group: 'wide-group', lookSeconds: 0.2 }],
  ['metrics_history', { points: 120 }],
  ['storage', { sort: 'sizeBytes', order: 'desc', maxBytes: 65_536 }],
  ['storage', { show: 'segments', topic: READ, partition: 0 }],
  ['list_schemas', {}],
  ['get_schema', { subject: 'orders-value' }],
  ['check_schema', { subject: 'orders-value', schema: '"string"' }],
  ['list_settings', {}],
]

/** Half of a round. */
interface Half extends Paced {
  readonly delay: { readonly p999: number; readonly max: number }
}

export const agentToolsBeside: Question = {
  name: 'agent-tools-beside',
  asks: `producers at half of their full rate, and of ${LIGHT_RATE} records/s, while an agent calls the tools that read ${CALLS_PER_SECOND} times a second, beside the same without calls`,
  async answer(harness) {
    const findings = await measure(harness, 'embedded', {})
    if (noRedis !== false) {
      harness.say(noRedis)
      return findings
    }
    const { uri } = await startRedis(harness)
    return [...findings, ...(await measure(harness, 'Redis', { 'svc.redis.uri': uri }))]
  },
}

async function measure(
  harness: Harness,
  store: string,
  settings: Readonly<Record<string, string>>,
): Promise<readonly Finding[]> {
  const broker = await startBrokerProcess(harness, {
    settings: { ...SETTINGS, ...settings },
    nodeFlags: [LOOP_DELAY_FLAG, ...(process.env.KETCH_BROKER_FLAGS?.split(' ') ?? [])],
  })
  await fill(harness, broker)
  const client = await connectAgent(harness, broker.url, undefined, null)
  const load = { topic: PACED, partitions: PARTITIONS, connections: 1, 'in-flight': 5, seconds: harness.seconds }
  const full: number[] = []
  for (let at = 0; at < 3; at++) full.push((await harness.load('produce', broker, load)).megabytesPerSecond)
  const halfRate = Math.floor((median(full) * 1e6) / LARGE_BYTES / 2)
  harness.say(
    `${store}: the full rate is ${median(full).toFixed(0)} MB/s; paced at ${halfRate} records of 64 KiB in a second`,
  )
  const findings = [
    ...(await compare(harness, broker, client, {
      ...{ name: `${store}, half of the full rate`, hasCeilings: true, bytes: LARGE_BYTES, rate: halfRate },
    })),
    ...(await compare(harness, broker, client, {
      ...{ name: `${store}, ${LIGHT_RATE} records/s`, hasCeilings: false, bytes: 1_024, rate: LIGHT_RATE },
    })),
  ]
  await broker.kill('SIGTERM')
  return findings
}

interface Load {
  readonly name: string
  readonly hasCeilings: boolean
  readonly bytes: number
  /** Records in a second. */
  readonly rate: number
}

async function compare(
  harness: Harness,
  broker: BrokerProcess,
  client: Client,
  { name, hasCeilings, bytes, rate }: Load,
): Promise<readonly Finding[]> {
  const { seconds } = harness
  const load = { topic: PACED, partitions: PARTITIONS, 'record-bytes': bytes, rate, seconds }
  const called: Agent[] = []
  const half = async (calls: readonly Call[]): Promise<Half> => {
    await loopDelay(broker)
    const agent = calls.length > 0 ? callInTurns(client, calls) : null
    const paced = await harness.paced('produce', broker.port, load)
    if (agent !== null) called.push(await agent.stop())
    return { ...paced, delay: await loopDelay(broker) }
  }
  // The first calls pay for the compiler.
  await half(CALLS)
  if (process.env.KETCH_EACH_TOOL === '1') await explainEach(harness, half)
  called.length = 0
  const { found, notes } = await harness.quietly(async () => {
    // The order changes each round, because a half may influence the next one.
    const isCalledFirst = called.length % 2 === 1
    const first = await half(isCalledFirst ? CALLS : [])
    const second = await half(isCalledFirst ? [] : CALLS)
    const [alone, beside] = isCalledFirst ? [second, first] : [first, second]
    harness.say(
      `${name}: p50 ${inMs(beside.latencyMs.p50)} beside ${inMs(alone.latencyMs.p50)}, p99 ${inMs(beside.latencyMs.p99)} beside ${inMs(alone.latencyMs.p99)}, ` +
        `delay at p99.9 ${inMs(beside.delay.p999)} beside ${inMs(alone.delay.p999)}, at most ${inMs(beside.delay.max)} beside ${inMs(alone.delay.max)}`,
    )
    return { alone, beside }
  })
  const samplesOf = (figure: (half: Half) => number) => ({
    samples: found.map(({ beside }) => figure(beside)),
    baseSamples: found.map(({ alone }) => figure(alone)),
  })
  const compared = (what: string, figure: (half: Half) => number, wanted: Partial<Finding>): Finding => {
    const { samples, baseSamples } = samplesOf(figure)
    return {
      ...{
        what: `${name}: ${what}`,
        value: median(samples),
        unit: 'ms',
        ratio: median(samples) / median(baseSamples),
      },
      ...{ ratioOf: `without calls (${inMs(median(baseSamples))})`, samples, baseSamples, notes, ...wanted },
    }
  }
  const delays = samplesOf(half => half.delay.p999)
  const longest = samplesOf(half => half.delay.max)
  const times = called.flatMap(({ answeredInMs }) => answeredInMs)
  const rates = called.map(({ answeredInMs, seconds }) => answeredInMs.length / seconds)
  return [
    compared('produce p50', half => half.latencyMs.p50, {}),
    compared('produce p99', half => half.latencyMs.p99, hasCeilings ? { ceiling: P99_CEILING } : {}),
    {
      ...{ what: `${name}: delay of the event loop at p99.9, beyond that without calls`, unit: 'ms' },
      value: median(delays.samples) - median(delays.baseSamples),
      ...(hasCeilings && { ceiling: DELAY_CEILING_MS }),
      ...delays,
      notes: `${inMs(median(delays.samples))} beside ${inMs(median(delays.baseSamples))}; the longest of all ${inMs(Math.max(...longest.samples))} beside ${inMs(Math.max(...longest.baseSamples))}`,
    },
    {
      ...{ what: `${name}: calls`, value: median(rates), unit: '/s', floor: 0.95 * CALLS_PER_SECOND, samples: rates },
      notes: `answered in ${inMs(median(times))}, the slowest in ${inMs(Math.max(...times))}`,
    },
  ]
}

function inMs(ms: number): string {
  return `${ms.toPrecision(3)} ms`
}

/** Creates everything that the tools show. */
async function fill(harness: Harness, broker: BrokerProcess): Promise<void> {
  const { port } = broker
  harness.say('making topics, records, groups and schemas')
  const names = manyNames(TOPICS)
  await createMany(port, names)
  await commitMany(port, GROUPS, names, 10)
  await harness.topic(port, PACED, PARTITIONS, { 'retention.bytes': String(16 * 2 ** 20) })
  await harness.topic(port, WIDE, WIDE_PARTITIONS)
  const everywhere = { topic: WIDE, partitions: WIDE_PARTITIONS, 'record-bytes': 100, bytes: 2e6 }
  await harness.load('produce', broker, everywhere)
  await commitEverywhere(port)
  await harness.topic(port, READ, PARTITIONS)
  await harness.load('produce', broker, {
    topic: READ,
    partitions: PARTITIONS,
    'record-bytes': 1_024,
    bytes: READ_BYTES,
  })
  for (let at = 0; at < 20; at++) await registerSchema(broker, at === 0 ? 'orders-value' : `s-${at}`, SCHEMA, 'AVRO')
}

/** Commits offset 0 of a group in each partition of the wide topic. */
async function commitEverywhere(port: number): Promise<void> {
  const wire = await connect({ port })
  const partitions = Array.from({ length: WIDE_PARTITIONS }, (_, partitionIndex) => ({
    ...{ partitionIndex, committedOffset: 0, committedMetadata: null },
  }))
  const { topics } = await wire.send(offsetCommit, 8, {
    ...{ groupId: 'wide-group', memberId: '', topics: [{ name: WIDE, partitions }] },
  })
  const refused = topics[0]!.partitions.find(({ errorCode }) => errorCode !== 0)
  if (refused !== undefined) throw new Error(`a commit was refused with ${refused.errorCode}`)
  await wire.close()
}

/** Says what each tool alone does to the producer, with the same number of calls. */
async function explainEach(harness: Harness, half: (calls: readonly Call[]) => Promise<Half>): Promise<void> {
  for (const each of CALLS) {
    const { latencyMs, delay } = await half([each])
    harness.say(`${JSON.stringify(each)}: p99 ${inMs(latencyMs.p99)}, delay at most ${inMs(delay.max)}`)
  }
}

async function call(client: Client, tool: string, args: Readonly<Record<string, unknown>>): Promise<void> {
  const { isError, structuredContent } = await client.callTool({ name: tool, arguments: args })
  if (isError === true) throw new Error(`${tool} answered ${JSON.stringify(structuredContent)}`)
}

/** The calls of half a round. */
interface Agent {
  readonly answeredInMs: readonly number[]
  readonly seconds: number
}

/** Calls the tools in turns at a fixed rate, whether or not the earlier calls are answered. */
function callInTurns(client: Client, calls: readonly Call[]): { stop(): Promise<Agent> } {
  const begunAtMs = performance.now()
  const answeredInMs: number[] = []
  const unanswered = new Set<Promise<void>>()
  let [sent, isOver] = [0, false]
  const running = (async () => {
    while (!isOver) {
      const atMs = begunAtMs + (sent * 1_000) / CALLS_PER_SECOND
      await new Promise(resolve => setTimeout(resolve, Math.max(0, atMs - performance.now())))
      if (unanswered.size >= MOST_UNANSWERED) await Promise.race(unanswered)
      const [tool, args] = calls[sent++ % calls.length]!
      const sentAtMs = performance.now()
      const answer = call(client, tool, args).then(() => {
        answeredInMs.push(performance.now() - sentAtMs)
        unanswered.delete(answer)
      })
      unanswered.add(answer)
    }
    await Promise.all(unanswered)
  })()
  // The caller that stops it gets the error.
  running.catch(() => {})
  return {
    async stop() {
      isOver = true
      const seconds = (performance.now() - begunAtMs) / 1_000
      await running
      return { answeredInMs, seconds }
    },
  }
}
