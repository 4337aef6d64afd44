// Starts Apache Kafka beside Ketch, to compare answers and speed: one KRaft node, broker and controller in one
// process, with a folder of its own. The jars also contain Kafka's command-line tools.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from '../src/base/assert.ts'
import { systemClock } from '../src/base/clock.ts'
import type { CleanUp } from './broker.ts'
import { endWithUs } from './end-with-us.ts'
import { classPathOf, fetchJars, type Jars } from './jars.ts'
import { freePort } from './process.ts'

export const KAFKA_VERSION = '4.2.0'

export const kafkaJars: Jars = {
  name: `kafka-${KAFKA_VERSION}`,
  artifacts: [
    `org.apache.kafka:kafka_2.13:${KAFKA_VERSION}`,
    `org.apache.kafka:kafka-tools:${KAFKA_VERSION}`,
    // Log lines go to standard error. `-Dorg.slf4j.simpleLogger.defaultLogLevel` sets the lowest level.
    'org.slf4j:slf4j-simple:1.7.36',
  ],
}

export interface ApacheKafka {
  readonly host: '127.0.0.1'
  readonly port: number
  /** The port of a listener with SASL/PLAIN for `users`; null without users. */
  readonly saslPort: number | null
  /** The value of a client's `bootstrap.servers`. */
  readonly address: string
  readonly pid: number
  readonly folder: string
  /**
   * Milliseconds from the latest start of the process to the log line that Kafka has started, without formatting the
   * storage.
   */
  readonly startedInMs: number
  /** Returns everything that the process has printed. */
  output(): string
  /** Sends the signal by process id; resolves once the process is gone. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  /** Starts Kafka again on the same folder and ports. It must not be running. */
  start(): Promise<void>
}

/** The flags of Kafka's own start script, for measurements. */
export const KAFKA_FLAGS: readonly string[] = [
  ...['-Xmx1G', '-Xms1G', '-server', '-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20'],
  ...['-XX:InitiatingHeapOccupancyPercent=35', '-XX:+ExplicitGCInvokesConcurrent', '-Djava.awt.headless=true'],
]

/** Flags for short runs that measure nothing: half of the processor time of a start. */
const SHORT_RUN_FLAGS = ['-Xmx1G', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Djava.awt.headless=true']

/** Any id works, because no other node joins the cluster. */
const CLUSTER_ID = 'MkU3OEVBNTcwNTJENDM2Qk'

const START_WITHIN_MS = 120_000

/** Returns why Kafka cannot run here and how to enable it; null if it can. The first call fetches Kafka's jars. */
export function kafkaAbsence(): string | null {
  return fetchJars(kafkaJars)
}

/**
 * Starts Apache Kafka and resolves when Kafka logs that it has started. `properties` are lines of server.properties
 * and override the defaults for a single node. `jvmFlags` replace the flags for short runs. `users` are names and
 * passwords for a second listener, with SASL/PLAIN. Rejects with everything that Kafka printed if it ends first or does
 * not start within two minutes.
 */
export async function startApacheKafka(
  cleanUp: CleanUp,
  options: {
    properties?: Readonly<Record<string, string>>
    jvmFlags?: readonly string[]
    users?: Readonly<Record<string, string>>
  } = {},
): Promise<ApacheKafka> {
  const folder = await mkdtemp(join(tmpdir(), 'apache-kafka-'))
  const [port, controllerPort] = [await freePort(), await freePort()]
  const saslPort = options.users === undefined ? null : await freePort()
  const open = `PLAINTEXT://127.0.0.1:${port}`
  const listeners = saslPort === null ? open : `${open},SASL_PLAINTEXT://127.0.0.1:${saslPort}`
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': '1',
    listeners: `${listeners},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': listeners,
    'controller.listener.names': 'CONTROLLER',
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    'log.dirs': join(folder, 'logs'),
    'offsets.topic.replication.factor': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    ...saslProperties(options.users ?? {}),
    ...options.properties,
  }
  const file = join(folder, 'server.properties')
  await mkdir(join(folder, 'logs'))
  await writeFile(
    file,
    Object.entries(properties)
      .map(pair => `${pair.join('=')}\n`)
      .join(''),
  )
  format(file)

  let child: ChildProcess | null = null
  let exited = Promise.resolve()
  let output = ''
  let startedInMs = 0
  const start = async () => {
    assert(child === null, 'Kafka is running')
    const begunAt = systemClock.monotonic()
    const started = spawn('java', [
      ...[...(options.jvmFlags ?? SHORT_RUN_FLAGS), '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'],
      ...['-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info', '-cp', classPathOf(kafkaJars)],
      ...['kafka.Kafka', file],
    ])
    child = started
    endWithUs(started)
    exited = new Promise<void>(resolve => {
      started.on('close', () => {
        child = null
        resolve()
      })
    })
    await waitForStart(started, chunk => {
      output += chunk
    })
    startedInMs = systemClock.monotonic() - begunAt
  }
  cleanUp.after(async () => {
    child?.kill('SIGKILL')
    await exited
    await rm(folder, { recursive: true, force: true })
  })
  await start()
  return {
    host: '127.0.0.1',
    port,
    saslPort,
    address: `127.0.0.1:${port}`,
    folder,
    get pid() {
      assert(child?.pid !== undefined, 'Kafka is running')
      return child.pid
    },
    get startedInMs() {
      return startedInMs
    },
    output: () => output,
    async kill(signal) {
      child?.kill(signal)
      await exited
    },
    start,
  }
}

function saslProperties(users: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(users)
  if (entries.length === 0) return {}
  const options = entries.map(([name, password]) => `user_${name}="${password}"`).join(' ')
  return {
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT',
    'sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.sasl_plaintext.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required ${options};`,
  }
}

/** Formats the storage: writes the files that a KRaft node needs in its folders before it starts. */
function format(file: string): void {
  const flags = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', classPathOf(kafkaJars)]
  const args = [...flags, 'kafka.tools.StorageTool', 'format', '--cluster-id', CLUSTER_ID, '--config', file]
  const { status, stdout, stderr } = spawnSync('java', args, { encoding: 'utf8', timeout: START_WITHIN_MS })
  if (status !== 0) throw new Error(`Kafka's storage could not be formatted (status ${status})\n${stdout}${stderr}`)
}

/** Resolves once Kafka has started. `print` gets everything that it prints. */
async function waitForStart(child: ChildProcess, print: (chunk: Buffer) => void): Promise<void> {
  let output = ''
  const started = Promise.withResolvers<void>()
  const listen = (chunk: Buffer) => {
    print(chunk)
    output += chunk
    if (output.includes('Kafka Server started')) started.resolve()
  }
  child.stdout!.on('data', listen)
  child.stderr!.on('data', listen)
  child.on('error', started.reject)
  child.on('close', status => started.reject(new Error(`Kafka ended with status ${status}; it printed:\n${output}`)))
  const silence = setTimeout(
    () => started.reject(new Error(`Kafka did not start within two minutes; it printed:\n${output}`)),
    START_WITHIN_MS,
  )
  try {
    await started.promise
  } finally {
    clearTimeout(silence)
  }
}
