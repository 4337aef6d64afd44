// A Kafka Streams application (Streams.java, Kafka 4.2) that is killed again and again with its state folder deleted,
// while its input goes on and the cleaner compacts its changelogs. After each kill only the changelogs can tell it
// what it knew. At the end its stores must equal the input: the table the last value of each key, the windowed store
// the last value of each key in each window that is still retained.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Random, seededRandom } from '../../src/base/random.ts'
import { KAFKA_VERSION } from '../../testing/apache-kafka.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { endWithUs } from '../../testing/end-with-us.ts'
import { eventually } from '../../testing/eventually.ts'
import { classPathOf, fetchJars, type Jars } from '../../testing/jars.ts'
import type { BrokerProcess } from '../../testing/process.ts'
import { hasProgram } from '../../testing/programs.ts'
import { noRedis } from '../../testing/redis.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { createTopic } from '../../testing/topic.ts'
import { type Running, runCommand, startCommand } from '../command.ts'
import { JAVA_FLAGS } from '../java/jars.ts'
import { openKafka } from '../kafkajs/client.ts'
import { assertCleaned, CLEANED_AT_ONCE, type CleanedTopic, cleanerCounts, cleanUntilIdle } from './cleaning-broker.ts'

const source = fileURLToPath(new URL('Streams.java', import.meta.url))
const jars: Jars = {
  name: `kafka-streams-${KAFKA_VERSION}`,
  artifacts: [`org.apache.kafka:kafka-streams:${KAFKA_VERSION}`, 'org.slf4j:slf4j-simple:1.7.36'],
}

/** Compiles the application once, because it starts often. Resolves with its class path. */
async function compile(folder: string): Promise<string> {
  await runCommand('javac', ['-cp', classPathOf(jars), '-d', folder, source])
  return [folder, classPathOf(jars)].join(delimiter)
}

/** Returns the reason why the application cannot run on this machine; null if it can. */
export function streamsAbsence(): string | null {
  if (!hasProgram('javac')) return 'SKIPPED e2e/compaction: apt-get install default-jdk-headless maven'
  if (noRedis !== false) return noRedis
  const absence = fetchJars(jars)
  return absence === null ? null : `SKIPPED e2e/compaction: ${absence}`
}

const TOPIC = 'input'
const APPLICATION = 'totals'
const PARTITIONS = 2
const KEYS = 600
const BATCH = 50
/** One of this number of records is a tombstone. */
const TOMBSTONES = 20
const FILLER = 'x'.repeat(600)

const WINDOW_MS = 4_000
const RETENTION_MS = 12_000

const STREAMS_CONFIGS: Readonly<Record<string, string>> = {
  'commit.interval.ms': '500',
  // Every update reaches the changelog at once.
  'statestore.cache.max.bytes': '0',
  'replication.factor': '1',
  'consumer.session.timeout.ms': '6000',
  'consumer.heartbeat.interval.ms': '500',
  'topic.delete.retention.ms': '5000',
  ...Object.fromEntries(Object.entries(CLEANED_AT_ONCE).map(([name, value]) => [`topic.${name}`, value])),
}

/** Settings of the broker for the short session timeout of the application. */
export const STREAMS_SETTINGS: Readonly<Record<string, string>> = { 'svc.broker.group-min-session-timeout': '1s' }

/** The state that the input leads to. */
interface Expected {
  readonly table: ReadonlyMap<string, string>
  /** By `key start`. */
  readonly windows: ReadonlyMap<string, string>
  readonly sent: number
  /** The largest timestamp. */
  readonly newestMs: number
}

interface Input {
  /** Stops sending. Resolves with the state that the input leads to. */
  stop(): Promise<Expected>
  /** Ends the producer after a failed run. */
  end(): Promise<void>
}

/** Sends records for random keys until it is stopped, one batch after the other. */
async function startInput({ address }: BrokerProcess, random: Random): Promise<Input> {
  const producer = openKafka(address).producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const table = new Map<string, string>()
  const windows = new Map<string, string>()
  let sent = 0
  let newestMs = 0
  let isStopped = false

  const next = (timestamp: number) => {
    const key = `key-${random.below(KEYS)}`
    const window = `${key} ${timestamp - (timestamp % WINDOW_MS)}`
    const number = String(++sent)
    if (random.below(TOMBSTONES) === 0) {
      table.delete(key)
      windows.delete(window)
      return { key, value: null, timestamp: String(timestamp) }
    }
    table.set(key, number)
    windows.set(window, number)
    return { key, value: `${number} ${FILLER}`, timestamp: String(timestamp) }
  }
  const run = async () => {
    while (!isStopped) {
      newestMs = Date.now()
      const messages = Array.from({ length: BATCH }, () => next(newestMs))
      await producer.send({ topic: TOPIC, messages })
      await pause(20)
    }
  }
  const running = run()
  running.catch(() => {})
  const end = async () => {
    isStopped = true
    await running
    await producer.disconnect()
  }
  return {
    async stop() {
      await end()
      return { table, windows, sent, newestMs }
    },
    end,
  }
}

/** The entries of the application's stores. */
interface Dump extends Pick<Expected, 'table' | 'windows'> {
  /** The records that it has read from the changelogs since its start. */
  readonly restored: number
}

class Application {
  readonly #address: string
  readonly #classPath: string
  readonly #folder: string
  readonly #spareMs: number
  #running: Running | null = null
  #dumps = 0

  constructor(address: string, classPath: string, folder: string, spareMs: number) {
    this.#address = address
    this.#classPath = classPath
    this.#folder = folder
    this.#spareMs = spareMs
  }

  /** Starts it and resolves when it runs: when it has restored its stores. */
  async start(): Promise<void> {
    const spare = { 'windowstore.changelog.additional.retention.ms': String(this.#spareMs) }
    const configs = Object.entries({ ...STREAMS_CONFIGS, ...spare }).map(pair => pair.join('='))
    const args = [
      this.#address,
      APPLICATION,
      join(this.#folder, 'state'),
      TOPIC,
      String(WINDOW_MS),
      String(RETENTION_MS),
    ]
    const java = [...JAVA_FLAGS, '-cp', this.#classPath, 'Streams', ...args, ...configs]
    this.#running = startCommand('java', java, { keepOpen: true })
    endWithUs(this.#running.child)
    await this.#line(line => line === 'state RUNNING')
  }

  /** Kills it and deletes its state folder. */
  async kill(): Promise<void> {
    const { child } = this.#running!
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
    assert.equal(
      child.signalCode,
      'SIGKILL',
      `the application ended before it was killed\n${this.#running!.complaints()}`,
    )
    await rm(join(this.#folder, 'state'), { recursive: true, force: true })
  }

  /** Ends it after a failed run. */
  close(): void {
    this.#running?.child.kill('SIGKILL')
  }

  async dump(): Promise<Dump> {
    const name = `dump-${++this.#dumps}`
    this.#running!.child.stdin!.write(`${join(this.#folder, name)}\n`)
    await this.#line(line => line === `wrote ${name}`)
    const text = await readFile(join(this.#folder, name), 'utf8')
    const table = new Map<string, string>()
    const windows = new Map<string, string>()
    let restored = 0
    for (const line of text.trimEnd().split('\n')) {
      const [kind, key, ...rest] = line.split(' ')
      if (kind === 'restored') restored = Number(key)
      else if (kind === 'table') table.set(key!, rest[0]!)
      else windows.set(`${key} ${rest[0]}`, rest[1]!)
    }
    return { table, windows, restored }
  }

  async #line(satisfies: (line: string) => boolean): Promise<void> {
    const line = await this.#running!.line(each => each.startsWith('failed ') || satisfies(each))
    assert(!line.startsWith('failed '), `the application ${line}\n${this.#running!.complaints()}`)
  }
}

/**
 * Returns the differences between the application's stores and the input. The broker may have dropped windows that
 * began before `keptFromMs`.
 */
function differences(
  { table, windows }: Pick<Expected, 'table' | 'windows'>,
  expected: Expected,
  keptFromMs: number,
): { readonly found: readonly string[]; readonly liveWindows: number } {
  const found: string[] = []
  for (const [key, value] of expected.table) {
    if (table.get(key) !== value) found.push(`table: ${key} is ${table.get(key)}, must be ${value}`)
  }
  for (const [key, value] of table) if (!expected.table.has(key)) found.push(`table: ${key} is ${value}, must be gone`)
  // An older window may be gone already. If it is not, its value must be right.
  const liveFrom = Math.max(expected.newestMs - RETENTION_MS, keptFromMs)
  let liveWindows = 0
  for (const [window, value] of expected.windows) {
    const isLive = Number(window.split(' ')[1]) > liveFrom
    if (isLive) liveWindows++
    const is = windows.get(window)
    if (is !== value && (isLive || is !== undefined)) found.push(`window: ${window} is ${is}, must be ${value}`)
  }
  for (const [window, value] of windows) {
    if (!expected.windows.has(window)) found.push(`window: ${window} is ${value}, must be gone`)
  }
  return { found, liveWindows }
}

async function hasCommittedAll({ address }: BrokerProcess): Promise<boolean> {
  const admin = openKafka(address).admin()
  await admin.connect()
  try {
    const [committed] = await admin.fetchOffsets({ groupId: APPLICATION, topics: [TOPIC] })
    const ends = await admin.fetchTopicOffsets(TOPIC)
    const committedOf = new Map(committed!.partitions.map(({ partition, offset }) => [partition, offset]))
    return ends.every(({ partition, high }) => committedOf.get(partition) === high)
  } finally {
    await admin.disconnect()
  }
}

export interface StreamsReport {
  readonly kills: number
  readonly sent: number
  readonly keys: number
  readonly liveWindows: number
  /** The records of the changelogs that the last start of the application has read. */
  readonly restored: number
  readonly table: CleanedTopic
  readonly windows: CleanedTopic
}

const LONGEST_MS = 180_000

export interface StreamsRun {
  readonly kills: number
  readonly seed: number
  /** The broker keeps the changelog of the windows for so much longer, because its clock goes on without input. */
  readonly spareMs: number
}

/**
 * Kills the application `kills` times and compares its stores with the input. Throws with the differences. Throws also
 * if the cleaner made no pass between two kills.
 */
export async function killStreams(
  cleanUp: CleanUp,
  broker: BrokerProcess,
  { kills, seed, spareMs }: StreamsRun,
): Promise<StreamsReport> {
  const random = seededRandom(seed)
  const folder = await temporaryFolder(cleanUp, 'ketch-streams-')
  await createTopic(broker, TOPIC, PARTITIONS)
  const application = new Application(broker.address, await compile(folder), folder, spareMs)
  cleanUp.after(async () => application.close())
  const input = await startInput(broker, random)
  cleanUp.after(() => input.end())
  await application.start()
  let { recordsDropped } = await cleanerCounts(broker)
  for (let kill = 0; kill < kills; kill++) {
    await pause(1_000 + random.below(4_000))
    await eventually(
      `the cleaner drops records before kill ${kill + 1}`,
      async () => (await cleanerCounts(broker)).recordsDropped > recordsDropped,
      LONGEST_MS,
    )
    ;({ recordsDropped } = await cleanerCounts(broker))
    await application.kill()
    await application.start()
  }
  const expected = await input.stop()
  const keptFromMs = () => Date.now() - RETENTION_MS - spareMs
  let last = differences(await application.dump(), expected, keptFromMs())
  await eventually(
    'the application has processed its input',
    async () => {
      last = differences(await application.dump(), expected, keptFromMs())
      return last.found.length === 0
    },
    LONGEST_MS,
  ).catch(error => {
    throw new Error(`${error.message}; ${last.found.length} differences: ${last.found.slice(0, 10).join('; ')}`)
  })
  // The application commits the input behind the changelogs. From then on a new start reads only the changelogs.
  await eventually('the application has committed its input', () => hasCommittedAll(broker), LONGEST_MS)
  await cleanUntilIdle(broker)
  await application.kill()
  await application.start()
  const { restored, ...stores } = await application.dump()
  const { found, liveWindows } = differences(stores, expected, keptFromMs())
  assert.deepEqual(found.slice(0, 10), [], `${found.length} differences after a start from the changelogs alone`)
  await application.kill()
  const table = await assertCleaned(broker, `${APPLICATION}-table-changelog`, PARTITIONS)
  const windows = await assertCleaned(broker, `${APPLICATION}-windows-changelog`, PARTITIONS)
  const { failures } = await cleanerCounts(broker)
  assert.equal(failures, 0, broker.output())
  return { kills: kills + 1, sent: expected.sent, keys: expected.table.size, liveWindows, restored, table, windows }
}
