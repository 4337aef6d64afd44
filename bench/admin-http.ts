// How soon does the admin API answer what people look at, on a broker with much to show: the first page of topics, the
// lag of every group, the newest records of a large topic; and what does it cost producers when a script asks for all
// of it, and signs in, every second: as the broker comes, where a producer waits for the disk, and with fsync=interval,
// where nothing but the processor is in the way. KETCH_TOPICS, KETCH_GROUPS and KETCH_RECORDS make it smaller than the
// promise is for.

import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { systemClock } from '../src/base/clock.ts'
import { offsetCommit } from '../src/protocol/messages/offset-commit.ts'
import { freePort } from '../testing/process.ts'
import { connect } from '../testing/wire.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'
import { createMany } from './scale.ts'

const TOPICS = Number(process.env.KETCH_TOPICS ?? '5000')
const GROUPS = Number(process.env.KETCH_GROUPS ?? '300')
const RECORDS = Number(process.env.KETCH_RECORDS ?? '10000000')

const LARGE = 'large'
const LARGE_PARTITIONS = 4
const RECORD_BYTES = 100
/** Where the records go whose latency is measured. */
const PACED = { topic: 'paced', partitions: 16, rate: 1000 }
/** Topics that each group has committed in. */
const COMMITTED_TOPICS = 10
/** Each query is asked so often in a round. */
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
  asks: `with ${TOPICS} topics, ${GROUPS} groups and ${RECORDS} records in one topic: what people look at, and what looking costs producers`,
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
  /** Of the admin API. */
  readonly base: string
  stop(): Promise<void>
}

/** A broker with all there is to look at. */
async function watchable(harness: Harness, settings: Readonly<Record<string, string>>): Promise<Watchable> {
  const httpPort = await freePort()
  const broker = await harness.broker({
    'server.port': String(httpPort),
    'svc.admin.password': PASSWORD,
    ...settings,
  })
  const { port } = broker
  harness.say('making topics, records and groups')
  await createMany(port, TOPICS)
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
  await commitAll(port)
  return { port, base: `http://127.0.0.1:${httpPort}`, stop: async () => void (await broker.kill('SIGTERM')) }
}

async function measureQueries(base: string, harness: Harness): Promise<Finding[]> {
  const cookie = await signIn(base)
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

/** With the setting as it is called in what is found. Rounds alternate, so that both see the same machine. */
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
      what: `produce p99 with ${setting} while somebody looks and signs in every second`,
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

/** Signs in and asks for everything, every second, until the returned function is called. */
function repeatQueries(base: string): () => Promise<void> {
  let isOver = false
  const stop = Promise.withResolvers<void>()
  const run = async () => {
    while (!isOver) {
      const again = new Promise<void>(resolve => setTimeout(resolve, EVERY_MS))
      const cookie = await signIn(base)
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

async function signIn(base: string): Promise<string> {
  const response = await fetch(`${base}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password: PASSWORD }),
  })
  const cookie = response.headers.get('set-cookie')?.split(';')[0]
  if (!response.ok || cookie === undefined)
    throw new Error(`signing in was answered ${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
  return cookie
}

/** Milliseconds until the answer is there as a whole. */
async function ask(base: string, path: string, cookie: string): Promise<number> {
  const begunAtMs = systemClock.monotonic()
  const response = await fetch(`${base}${path}`, { headers: { cookie } })
  const text = await response.text()
  const tookMs = systemClock.monotonic() - begunAtMs
  if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${text}`)
  return tookMs
}

/**
 * Asks as a browser does and leaves the answer compressed: the browser runs on another machine, and its work on this
 * one would be counted as the broker's.
 */
async function receive(base: string, path: string, cookie: string): Promise<void> {
  const asking = get(`${base}${path}`, { agent: LOOKING, headers: { cookie, 'accept-encoding': 'gzip, deflate' } })
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== 200) throw new Error(`${path} was answered ${response.statusCode}`)
}

/** Each group has committed in some topics, as consumers without a membership do. */
async function commitAll(port: number): Promise<void> {
  const wire = await connect({ port })
  for (let group = 0; group < GROUPS; group++) {
    const { topics } = await wire.send(offsetCommit, 8, {
      groupId: `group-${group}`,
      memberId: '',
      topics: Array.from({ length: Math.min(COMMITTED_TOPICS, TOPICS) }, (_, i) => ({
        name: `many-${(group * COMMITTED_TOPICS + i) % TOPICS}`,
        partitions: [{ partitionIndex: 0, committedOffset: 0, committedMetadata: null }],
      })),
    })
    const refused = topics.flatMap(topic => topic.partitions).find(({ errorCode }) => errorCode !== 0)
    if (refused) throw new Error(`a commit was refused with ${refused.errorCode}`)
  }
  await wire.close()
}
