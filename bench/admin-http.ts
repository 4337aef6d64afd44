// Measures the admin API on a broker with many topics, groups and records. First it measures the latency of the
// queries that people make: the first page of topics, the lag of every group, and the newest records of a large
// topic. Then it measures the latency of a producer while a script signs in and sends all these queries every second:
// once with the default fsync, with which a producer waits for the disk, and once with fsync=interval, with which
// only the processor limits the producer. KETCH_TOPICS, KETCH_GROUPS and KETCH_RECORDS set smaller amounts than the
// promise is for.

import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { systemClock } from '../src/base/clock.ts'
import { signInAt } from '../testing/admin-client.ts'
import { freePort } from '../testing/process.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'
import { commitMany, createMany, manyNames } from './many.ts'

const TOPICS = Number(process.env.KETCH_TOPICS ?? '5000')
const GROUPS = Number(process.env.KETCH_GROUPS ?? '300')
const RECORDS = Number(process.env.KETCH_RECORDS ?? '10000000')

const LARGE = 'large'
const LARGE_PARTITIONS = 4
const RECORD_BYTES = 100
/** The topic whose produce latency is measured, and the records a second that it gets. */
const PACED = { topic: 'paced', partitions: 16, rate: 1000 }
/** The number of topics in which each group has committed offsets. */
const COMMITTED_TOPICS = 10
/** How often each query is sent in a round. */
const REPEATS = 10
const EVERY_MS = 1000
const PASSWORD = 'of the benchmark'
const LOOKING = new Agent({ keepAlive: true, maxSockets: 1 })

interface Query {
  readonly what: string
  readonly path: string
  readonly ceilingMs: number
}

const QUERIES: readonly Query[] = [
  { what: 'first page of topics', path: '/api/v1/topics', ceilingMs: 50 },
  {
    what: `newest 50 records of ${RECORDS}`,
    path: `/api/v1/topics/${LARGE}/messages?order=newest&limit=50`,
    ceilingMs: 100,
  },
  { what: 'lag of all groups', path: '/api/v1/metrics/consumer-lag', ceilingMs: 500 },
]

export const adminHttp: Question = {
  name: 'admin-http',
  asks: `${TOPICS} topics, ${GROUPS} groups and ${RECORDS} records in one topic: latency of the admin API, and its cost for producers`,
  async answer(harness) {
    const asItComes = await watchable(harness, {})
    const findings = await measureQueries(asItComes.base, harness)
    findings.push(...(await measureProducers('fsync=always', asItComes, harness)))
    await asItComes.stop()
    const unsynced = await watchable(harness, { 'svc.storage.local.embedded.fsync': 'interval' })
    findings.push(...(await measureProducers('fsync=interval', unsynced, harness)))
    return findings
  },
}

interface Watchable {
  readonly port: number
  /** The base URL of the admin API. */
  readonly base: string
  stop(): Promise<void>
}

/** Starts a broker and creates the topics, records and groups. */
async function watchable(harness: Harness, settings: Readonly<Record<string, string>>): Promise<Watchable> {
  const httpPort = await freePort()
  const broker = await harness.broker({
    'server.port': String(httpPort),
    'svc.admin.password': PASSWORD,
    ...settings,
  })
  const { port } = broker
  harness.say('making topics, records and groups')
  const names = manyNames(TOPICS)
  await createMany(port, names)
  await harness.topic(port, LARGE, LARGE_PARTITIONS)
  await harness.topic(port, PACED.topic, PACED.partitions)
  await harness.load(
    'produce',
    { port, pid: process.pid },
    {
      topic: LARGE,
      partitions: LARGE_PARTITIONS,
      connections: LARGE_PARTITIONS,
      'record-bytes': RECORD_BYTES,
      bytes: RECORDS * RECORD_BYTES,
    },
  )
  await commitMany(port, GROUPS, names, COMMITTED_TOPICS)
  return { port, base: `http://127.0.0.1:${httpPort}`, stop: async () => void (await broker.kill('SIGTERM')) }
}

async function measureQueries(base: string, harness: Harness): Promise<Finding[]> {
  const { cookie } = await signInAt(base, 'admin', PASSWORD)
  const findings: Finding[] = []
  for (const { what, path, ceilingMs } of QUERIES) {
    // The first request pays for the compiler; people ask more than once.
    await ask(base, path, cookie)
    const samples: number[] = []
    for (let i = 0; i < harness.rounds * REPEATS; i++) samples.push(await ask(base, path, cookie))
    const notes = `slowest ${Math.max(...samples).toFixed(0)} ms`
    findings.push({ what, value: median(samples), unit: 'ms', ceiling: ceilingMs, samples, notes })
  }
  return findings
}

/**
 * Measures the produce p99; `setting` is named in the findings. Rounds alternate, so that both see the same machine.
 */
async function measureProducers(setting: string, { base, port }: Watchable, harness: Harness): Promise<Finding[]> {
  const args = { ...PACED, seconds: harness.seconds }
  const { found, notes } = await harness.quietly(async () => {
    const alone = (await harness.paced('produce', port, args)).latencyMs.p99
    const stop = repeatQueries(base)
    try {
      const watched = (await harness.paced('produce', port, args)).latencyMs.p99
      harness.say(`${setting}: produce p99 ${alone.toFixed(2)} ms alone, ${watched.toFixed(2)} ms watched`)
      return { alone, watched }
    } finally {
      await stop()
    }
  })
  const alone = found.map(round => round.alone)
  const watched = found.map(round => round.watched)
  const value = median(watched)
  return [
    { what: `produce p99 with ${setting}, without console users`, value: median(alone), unit: 'ms', samples: alone },
    {
      what: `produce p99 with ${setting} while a user looks and signs in every second`,
      value,
      unit: 'ms',
      ratio: value / median(alone),
      ratioOf: 'without console users',
      ceiling: 2,
      samples: watched,
      baseSamples: alone,
      notes,
    },
  ]
}

/** Signs in and sends all queries every second, until the caller calls the returned function. */
function repeatQueries(base: string): () => Promise<void> {
  let isOver = false
  const stop = Promise.withResolvers<void>()
  const run = async () => {
    while (!isOver) {
      const again = new Promise<void>(resolve => setTimeout(resolve, EVERY_MS))
      const { cookie } = await signInAt(base, 'admin', PASSWORD)
      for (const { path } of QUERIES) await receive(base, path, cookie)
      await Promise.race([again, stop.promise])
    }
  }
  const running = run()
  // The caller that stops it gets the error.
  running.catch(() => {})
  return () => {
    isOver = true
    stop.resolve()
    return running
  }
}

/** Returns the milliseconds until the whole answer has arrived. */
async function ask(base: string, path: string, cookie: string): Promise<number> {
  const begunAtMs = systemClock.monotonic()
  const response = await fetch(`${base}${path}`, { headers: { cookie } })
  const text = await response.text()
  const tookMs = systemClock.monotonic() - begunAtMs
  if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${text}`)
  return tookMs
}

/**
 * Sends the request as a browser does and does not decompress the answer: a browser runs on another machine, and its
 * work on this machine would be counted as the broker's.
 */
async function receive(base: string, path: string, cookie: string): Promise<void> {
  const asking = get(`${base}${path}`, { agent: LOOKING, headers: { cookie, 'accept-encoding': 'gzip, deflate' } })
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== 200) throw new Error(`${path} was answered ${response.statusCode}`)
}
