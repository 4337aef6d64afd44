// Kafka Connect in distributed mode (Kafka 4.2) with its file connectors. The worker is killed again and again, while
// the cleaner compacts its three topics: the configs of the connectors, the offsets of the source, and the status.
// After each start the worker knows only what these topics tell it. A source copies a growing file into a topic, a sink
// copies the topic into another file. Between the kills connectors are made, changed, paused and removed.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect, isDeepStrictEqual } from 'node:util'
import { systemClock, within } from '../../src/base/clock.ts'
import { seededRandom } from '../../src/base/random.ts'
import { KAFKA_VERSION } from '../../testing/apache-kafka.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { endWithUs } from '../../testing/end-with-us.ts'
import { eventually } from '../../testing/eventually.ts'
import { freePort } from '../../testing/free-port.ts'
import { classPathOf, fetchJars, type Jars } from '../../testing/jars.ts'
import type { BrokerProcess } from '../../testing/process.ts'
import { noRedis } from '../../testing/redis.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { createTopic } from '../../testing/topic.ts'
import { type Running, startCommand } from '../command.ts'
import { JAVA_FLAGS } from '../java/jars.ts'
import { assertCleaned, CLEANED_AT_ONCE, type CleanedTopic, cleanerCounts, readPartition } from './cleaning-broker.ts'

const jars: Jars = {
  name: `kafka-connect-${KAFKA_VERSION}`,
  artifacts: [
    `org.apache.kafka:connect-runtime:${KAFKA_VERSION}`,
    `org.apache.kafka:connect-file:${KAFKA_VERSION}`,
    'org.slf4j:slf4j-simple:1.7.36',
  ],
}

/** Returns the reason why Connect cannot run on this machine; null if it can. */
export function connectAbsence(): string | null {
  if (noRedis !== false) return noRedis
  const absence = fetchJars(jars)
  return absence === null ? null : `SKIPPED e2e/compaction: ${absence}`
}

const LINES = 'lines'
/** The topics of Connect with their partitions. */
const TOPICS = { 'connect-configs': 1, 'connect-offsets': 3, 'connect-status': 2 } as const
const LONGEST_MS = 180_000
/** Connect itself answers a request that it cannot serve after 90 s. */
const ANSWER_MS = 100_000
const LINES_AT_ONCE = 20

/** Settings of the broker for the short session timeout of the worker. */
export const CONNECT_SETTINGS: Readonly<Record<string, string>> = { 'svc.broker.group-min-session-timeout': '1s' }

function workerProperties(address: string, port: number): string {
  const topicConfigs = Object.entries({ ...CLEANED_AT_ONCE, 'delete.retention.ms': '5000' })
  const properties = {
    'bootstrap.servers': address,
    'group.id': 'connect',
    listeners: `http://127.0.0.1:${port}`,
    'config.storage.topic': 'connect-configs',
    'offset.storage.topic': 'connect-offsets',
    'status.storage.topic': 'connect-status',
    'offset.storage.partitions': String(TOPICS['connect-offsets']),
    'status.storage.partitions': String(TOPICS['connect-status']),
    ...Object.fromEntries(
      ['config', 'offset', 'status'].flatMap(storage => [
        [`${storage}.storage.replication.factor`, '1'],
        ...topicConfigs.map(([name, value]) => [`${storage}.storage.${name}`, value]),
      ]),
    ),
    'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
    'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
    'offset.flush.interval.ms': '250',
    'session.timeout.ms': '3000',
    'heartbeat.interval.ms': '500',
    'rebalance.timeout.ms': '6000',
    // These two are for the group of the sink.
    'consumer.session.timeout.ms': '3000',
    'consumer.heartbeat.interval.ms': '500',
    // A worker that comes back gets its connectors at once.
    'scheduled.rebalance.max.delay.ms': '0',
    'plugin.discovery': 'service_load',
  }
  return Object.entries(properties)
    .map(pair => `${pair.join('=')}\n`)
    .join('')
}

interface Status {
  readonly connector: { readonly state: string }
  readonly tasks: readonly { readonly state: string }[]
}

type ConnectorConfig = Readonly<Record<string, string>>

/** A worker of Connect, and its REST API. */
class Worker {
  readonly #file: string
  readonly #url: string
  #running: Running | null = null

  constructor(file: string, port: number) {
    this.#file = file
    this.#url = `http://127.0.0.1:${port}`
  }

  /**
   * Starts it and resolves when it has read its topics (KIP-1017). Its REST API answers before that, without
   * connectors.
   */
  async start(): Promise<void> {
    const main = 'org.apache.kafka.connect.cli.ConnectDistributed'
    this.#running = startCommand('java', [...JAVA_FLAGS, '-cp', classPathOf(jars), main, this.#file])
    endWithUs(this.#running.child)
    const { child } = this.#running
    await eventually(
      'the worker of Connect is healthy',
      async () => {
        assert(child.exitCode === null, `the worker ended with ${child.exitCode}\n${this.#running!.complaints()}`)
        return (await this.#send('GET', '/health'))?.status === 200 || (await pause(100, false))
      },
      LONGEST_MS,
    )
  }

  /** Ends it with the signal, and resolves when the process is gone. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child, complaints } = this.#running!
    assert(child.exitCode === null && child.signalCode === null, `the worker ended by itself\n${complaints()}`)
    const closed = once(child, 'close')
    child.kill(signal)
    const isEnded = closed.then(() => true)
    if (await within(systemClock, LONGEST_MS, isEnded, () => false)) return
    let threads = ''
    child.stdout!.on('data', chunk => (threads += chunk))
    child.kill('SIGQUIT')
    await pause(1_000)
    throw new Error(
      `the worker has not ended ${LONGEST_MS} ms after ${signal}\n${complaints().slice(-4000)}\n${threads}`,
    )
  }

  /** Ends it after a failed run. */
  close(): void {
    this.#running?.child.kill('SIGKILL')
  }

  /** Makes or changes a connector. */
  async put(name: string, config: ConnectorConfig): Promise<void> {
    await this.#ask('PUT', `/connectors/${name}/config`, config)
  }

  async remove(name: string): Promise<void> {
    await this.#ask('DELETE', `/connectors/${name}`)
  }

  async pause(name: string): Promise<void> {
    await this.#ask('PUT', `/connectors/${name}/pause`)
  }

  async resume(name: string): Promise<void> {
    await this.#ask('PUT', `/connectors/${name}/resume`)
  }

  /** Resolves with the configs of all connectors, without their names. */
  async configs(): Promise<ReadonlyMap<string, ConnectorConfig>> {
    const body = await this.#ask('GET', '/connectors?expand=info')
    return new Map(
      Object.entries(body as Record<string, { info: { config: ConnectorConfig } }>).map(([key, { info }]) => {
        const { name: _, ...config } = info.config
        return [key, config]
      }),
    )
  }

  /** Resolves with the states of all connectors that have one: of the connector, then of its tasks. */
  async states(): Promise<ReadonlyMap<string, string>> {
    const body = await this.#ask('GET', '/connectors?expand=status')
    return new Map(
      Object.entries(body as Record<string, { status: Status }>).map(([name, { status }]) => [
        name,
        [status.connector, ...status.tasks].map(({ state }) => state).join(' '),
      ]),
    )
  }

  /** Resolves with the stored place of a file source in its file, in bytes; 0 without one. */
  async position(name: string): Promise<number> {
    const { offsets } = (await this.#ask('GET', `/connectors/${name}/offsets`)) as {
      offsets: readonly { readonly offset: { readonly position: number } }[]
    }
    return offsets[0]?.offset.position ?? 0
  }

  /** Sends a request until the worker takes it: it refuses most requests while it rebalances. */
  async #ask(method: string, path: string, body?: unknown): Promise<unknown> {
    let last = ''
    let taken: unknown
    await eventually(
      `Connect takes ${method} ${path}`,
      async () => {
        const answer = await this.#send(method, path, body)
        taken = answer?.body
        last = JSON.stringify(answer)
        return (answer !== null && answer.status < 400) || (await pause(100, false))
      },
      LONGEST_MS,
    ).catch(error => {
      throw new Error(`${error.message}; the last answer was ${last}\n${this.#running!.complaints().slice(-2000)}`)
    })
    return taken
  }

  /** Resolves with null if the worker does not listen or does not answer. */
  async #send(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown } | null> {
    const json =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    let answer: Response
    let text: string
    try {
      answer = await fetch(`${this.#url}${path}`, { method, ...json, signal: AbortSignal.timeout(ANSWER_MS) })
      text = await answer.text()
    } catch (error) {
      if (error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError')) return null
      throw error
    }
    // While it starts, its web server answers with a page.
    const isJson = answer.headers.get('content-type')?.includes('json') === true
    return { status: answer.status, body: isJson ? JSON.parse(text) : text }
  }
}

/** The lines of the file that the source copies: numbers from 0, all of the same length. */
const LINE_DIGITS = 9
const LINE_BYTES = LINE_DIGITS + 1

interface Lines {
  /** Stops writing. Resolves with the number of lines. */
  stop(): Promise<number>
}

/** Appends lines to a file until it is stopped. */
function startLines(file: string): Lines {
  let count = 0
  let isStopped = false
  const run = async () => {
    while (!isStopped) {
      const lines = Array.from({ length: LINES_AT_ONCE }, () => `${String(count++).padStart(LINE_DIGITS, '0')}\n`)
      await appendFile(file, lines.join(''))
      await pause(20)
    }
  }
  const running = run()
  running.catch(() => {})
  return {
    async stop() {
      isStopped = true
      await running
      return count
    },
  }
}

/**
 * Asserts that a copy of the lines lacks none of the first `count`. Returns the places where it goes back, because the
 * copying began again there.
 */
function backwardSteps(copy: readonly number[], count: number): readonly number[] {
  const steps: number[] = []
  let most = -1
  for (const [i, line] of copy.entries()) {
    assert(line <= most + 1, `line ${line} follows ${copy[i - 1]}; line ${most + 1} is missing`)
    if (i > 0 && line !== copy[i - 1]! + 1) steps.push(line)
    most = Math.max(most, line)
  }
  assert.equal(most, count - 1, 'the copy ends with the last line')
  return steps
}

const SOURCE = 'org.apache.kafka.connect.file.FileStreamSourceConnector'
const SINK = 'org.apache.kafka.connect.file.FileStreamSinkConnector'

/** The connectors that must exist. */
type Model = Map<string, { readonly config: ConnectorConfig; readonly state: 'RUNNING' | 'PAUSED' }>

export interface ConnectReport {
  readonly restarts: number
  readonly lines: number
  /** How often the source began again below the end of its topic, and the lines that it sent again. */
  readonly sourceSteps: number
  readonly sourceDoubles: number
  readonly sinkSteps: number
  readonly sinkDoubles: number
  readonly connectors: number
  readonly topics: Readonly<Record<string, CleanedTopic>>
}

/**
 * Ends the worker `restarts` times and starts it again: every fifth time it may shut down, otherwise it is killed.
 * Throws if a connector, its config or its status is lost, if the source goes back behind the offset that it had
 * stored, or if a line is missing.
 */
export async function restartConnect(
  cleanUp: CleanUp,
  broker: BrokerProcess,
  { restarts, seed }: { readonly restarts: number; readonly seed: number },
): Promise<ConnectReport> {
  const random = seededRandom(seed)
  const folder = await temporaryFolder(cleanUp, 'ketch-connect-')
  const [input, output] = [join(folder, 'input'), join(folder, 'output')]
  await writeFile(join(folder, 'other'), 'one line\n')
  const port = await freePort()
  await writeFile(join(folder, 'worker'), workerProperties(broker.address, port))
  await createTopic(broker, LINES, 1)
  await createTopic(broker, 'other', 1)

  const worker = new Worker(join(folder, 'worker'), port)
  cleanUp.after(async () => worker.close())
  const model: Model = new Map()
  const put = async (name: string, config: ConnectorConfig) => {
    await worker.put(name, config)
    model.set(name, { config, state: model.get(name)?.state ?? 'RUNNING' })
  }
  const other = (batch: number) => ({
    'connector.class': SOURCE,
    'tasks.max': '1',
    file: join(folder, 'other'),
    topic: 'other',
    'batch.size': String(batch),
  })
  /** Makes, changes, pauses or resumes, and removes a connector. */
  const change = async (life: number) => {
    await put(`made-${life}`, other(1 + life))
    await put('changed', other(100 + life))
    const { config, state } = model.get('paused')!
    await (state === 'PAUSED' ? worker.resume('paused') : worker.pause('paused'))
    model.set('paused', { config, state: state === 'PAUSED' ? 'RUNNING' : 'PAUSED' })
    if (model.delete(`made-${life - 2}`)) await worker.remove(`made-${life - 2}`)
  }
  const check = async (when: string) => {
    assert.deepEqual(await worker.configs(), new Map([...model].map(([name, { config }]) => [name, config])), when)
    const expected = new Map([...model].map(([name, { state }]) => [name, `${state} ${state}`]))
    let states: ReadonlyMap<string, string> = new Map()
    await eventually(
      `${when}, the status of each connector is right`,
      async () => {
        states = await worker.states()
        return isDeepStrictEqual(states, expected) || (await pause(100, false))
      },
      LONGEST_MS,
    ).catch(error => {
      throw new Error(`${error.message}: ${inspect(states)} must be ${inspect(expected)}`)
    })
  }

  await worker.start()
  const lines = startLines(input)
  cleanUp.after(async () => void (await lines.stop()))
  await put('source', { 'connector.class': SOURCE, 'tasks.max': '1', file: input, topic: LINES })
  await put('sink', { 'connector.class': SINK, 'tasks.max': '1', file: output, topics: LINES })
  await put('paused', other(1))
  await change(0)
  await check('at first')
  /** The offsets that the source had stored before each restart, as numbers of lines. */
  const stored: number[] = []
  let { recordsDropped } = await cleanerCounts(broker)
  for (let restart = 1; restart <= restarts; restart++) {
    await change(restart)
    await eventually(
      `the cleaner drops records before restart ${restart}`,
      async () => (await cleanerCounts(broker)).recordsDropped > recordsDropped || (await pause(100, false)),
      LONGEST_MS,
    )
    ;({ recordsDropped } = await cleanerCounts(broker))
    await pause(random.below(1_500))
    const position = await worker.position('source')
    assert(position > (stored.at(-1) ?? 0), `the source goes on between restarts; it is at ${position} bytes`)
    stored.push(position / LINE_BYTES)
    await worker.end(restart % 5 === 0 ? 'SIGTERM' : 'SIGKILL')
    await worker.start()
    await check(`after restart ${restart}`)
    const now = await worker.position('source')
    assert(now >= position, `after restart ${restart} the source is at ${now} bytes, and it was at ${position}`)
  }
  const count = await lines.stop()
  const copied = async () => ((await readFile(output, 'latin1')).match(/\d{9}/g) ?? []).map(Number)
  await eventually(
    'the sink has copied the last line',
    async () => (await copied()).at(-1) === count - 1 || (await pause(200, false)),
    LONGEST_MS,
  )
  await worker.end('SIGTERM')

  const sent = (await readPartition(broker, LINES, 0)).map(({ value }) => Number(value))
  const sourceSteps = backwardSteps(sent, count)
  assert(sourceSteps.length <= restarts, `the source went back ${sourceSteps.length} times`)
  // A kill after which the source sent no line again has no step, so the steps may belong to later kills.
  for (const [i, line] of sourceSteps.entries())
    assert(line >= stored[i]!, `the source went back to line ${line}, and it had stored ${stored[i]}`)
  const received = await copied()
  const sinkSteps = backwardSteps(received, count)
  assert(sinkSteps.length <= 2 * restarts, `the sink went back ${sinkSteps.length} times`)
  const topics: Record<string, CleanedTopic> = {}
  for (const [topic, partitions] of Object.entries(TOPICS)) {
    topics[topic] = await assertCleaned(broker, topic, partitions)
  }
  const { failures } = await cleanerCounts(broker)
  assert.equal(failures, 0, broker.output())
  return {
    restarts,
    lines: count,
    sourceSteps: sourceSteps.length,
    sourceDoubles: sent.length - count,
    sinkSteps: sinkSteps.length,
    sinkDoubles: received.length - count,
    connectors: model.size,
    topics,
  }
}
