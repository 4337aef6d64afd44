// The six clients of a soak: three producers (kafkajs, librdkafka in Python with idempotence, Kafka's own in Java)
// and three groups (kcat, kafkajs, Java). They report their acknowledgements and records to the ledger. Visitors only
// come and go. A client that fails or ends by itself ends the soak: this file retries nothing.

import type { ChildProcess } from 'node:child_process'
import { sleep, systemClock } from '../../src/base/clock.ts'
import { deleteTopics } from '../../src/protocol/messages/delete-topics.ts'
import type { BrokerProcess } from '../../testing/process.ts'
import { createTopic } from '../../testing/topic.ts'
import { connect } from '../../testing/wire.ts'
import { followCommand } from '../command.ts'
import { JAVA_ARGUMENTS } from '../java/jars.ts'
import { openKafka } from '../kafkajs/client.ts'
import { PYTHON, scriptPath } from '../python/client.ts'
import type { Ledger } from './ledger.ts'

export const PARTITIONS = 4
/** The topics of the soak. Retention drops records of the first by size, and of the second by time. */
export const BY_SIZE = 'by-size'
export const BY_TIME = 'by-time'
const BOTH = [BY_SIZE, BY_TIME]

const keysOf = (...topics: readonly string[]) =>
  topics.flatMap(topic => Array.from({ length: PARTITIONS }, (_, partition) => `${topic}:${partition}`))

/** The keys (partitions) that each group reads. */
export const GROUPS = new Map([
  ['kcat', keysOf(...BOTH)],
  ['kafkajs', keysOf(...BOTH)],
  ['java', keysOf(BY_TIME)],
])

const VALUE_BYTES = 1024
const RECORDS_PER_SECOND = 500

/** Values are unique over all producers. Those of Kafka's own producer count from 0. */
const PYTHON_FIRST = 1_000_000_000
const KAFKAJS_FIRST = 2_000_000_000

export interface Scene {
  readonly broker: BrokerProcess
  readonly ledger: Ledger
  readonly stopping: AbortSignal
}

/** One client. `ended` rejects if the client fails, and resolves when it has left after the scene's signal. */
export interface Running {
  readonly name: string
  readonly ended: Promise<void>
}

const nowNs = () => Number(process.hrtime.bigint())

/** Starts the producers and the visitors, which stop at the signal. Groups start before them and stop after them. */
export function startProducers(scene: Scene): readonly Running[] {
  return [
    { name: 'kafkajs producer', ended: produceByKafkaJs(scene) },
    { name: 'Python producer', ended: produceByPython(scene) },
    { name: 'Java producer', ended: produceByJava(scene) },
    { name: 'visitors', ended: visit(scene) },
  ]
}

export function startGroups(scene: Scene): readonly Running[] {
  return [
    { name: 'kcat group', ended: readByKcat(scene) },
    { name: 'kafkajs group', ended: readByKafkaJs(scene) },
    { name: 'Java group', ended: readByJava(scene) },
  ]
}

const aborted = (signal: AbortSignal) =>
  signal.aborted
    ? Promise.resolve()
    : new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))

const terminate = (child: ChildProcess) => void child.kill('SIGTERM')

async function produceByPython(scene: Scene): Promise<void> {
  const settings = ['enable.idempotence=true', `records.per.second=${RECORDS_PER_SECOND}`, `value.bytes=${VALUE_BYTES}`]
  const args = ['load', scene.broker.address, BY_SIZE, String(PARTITIONS), String(PYTHON_FIRST), ...settings]
  const endInput = (child: ChildProcess) => void child.stdin!.end()
  await followCommand(scene.stopping, [PYTHON, scriptPath('confluent.py'), ...args], endInput, text => {
    const { value, partition, begun, ended, offset, error } = JSON.parse(text)
    if (offset === undefined) throw new Error(`a record of Python was not delivered: ${error}`)
    scene.ledger.sent(`${BY_SIZE}:${partition}`, { offset, value, begunNs: begun, endedNs: ended, idempotent: true })
  })
}

async function produceByJava(scene: Scene): Promise<void> {
  const begunNs = nowNs()
  const args = ['--bootstrap-server', scene.broker.address, '--topic', BY_TIME, '--throughput', RECORDS_PER_SECOND]
  const java = [...JAVA_ARGUMENTS, 'org.apache.kafka.tools.VerifiableProducer', ...args.map(String)]
  await followCommand(scene.stopping, ['java', ...java], terminate, text => {
    const { name, partition, offset, value, exception, message } = JSON.parse(text)
    if (name === 'producer_send_error') throw new Error(`a record of Java was not sent: ${exception} ${message}`)
    if (name !== 'producer_send_success') return
    const times = { begunNs, endedNs: nowNs() }
    scene.ledger.sent(`${BY_TIME}:${partition}`, { offset, value: Number(value), ...times, idempotent: false })
  })
}

/** Sends a tenth of its rate every tenth of a second, to topics and partitions in turn. */
async function produceByKafkaJs({ broker, ledger, stopping }: Scene): Promise<void> {
  const producer = openKafka(broker.address).producer({ allowAutoTopicCreation: false })
  await producer.connect()
  let next = KAFKAJS_FIRST
  for (let turn = 0; !stopping.aborted; turn++) {
    const topic = BOTH[turn % 2]!
    const partition = (turn >> 1) % PARTITIONS
    const values = Array.from({ length: RECORDS_PER_SECOND / 10 }, () => next++)
    const messages = values.map(value => ({ partition, value: String(value).padEnd(VALUE_BYTES) }))
    const begunNs = nowNs()
    const [answer] = await producer.send({ topic, acks: -1, messages })
    const baseOffset = Number(answer!.baseOffset)
    const endedNs = nowNs()
    values.forEach((value, at) => {
      ledger.sent(`${topic}:${partition}`, { offset: baseOffset + at, value, begunNs, endedNs, idempotent: false })
    })
    await sleep(systemClock, 100)
  }
  await producer.disconnect()
}

async function readByKcat(scene: Scene): Promise<void> {
  const format = ['-q', '-u', '-f', '%t %p %o %s\n']
  const args = ['-G', 'kcat', '-b', scene.broker.address, '-X', 'auto.offset.reset=earliest', ...format, ...BOTH]
  await followCommand(scene.stopping, ['kcat', ...args], terminate, text => {
    const [topic, partition, offset, value] = text.split(' ', 4)
    scene.ledger.seen('kcat', `${topic}:${partition}`, [[Number(offset), Number(value)]])
  })
}

async function readByJava(scene: Scene): Promise<void> {
  const args = ['--bootstrap-server', scene.broker.address, '--topic', BY_TIME, '--group-id', 'java', '--verbose']
  const java = [...JAVA_ARGUMENTS, 'org.apache.kafka.tools.VerifiableConsumer', ...args]
  await followCommand(scene.stopping, ['java', ...java, '--reset-policy', 'earliest'], terminate, text => {
    const { name, topic, partition, offset, value, success, error } = JSON.parse(text)
    if (name === 'offsets_committed' && success !== true) throw new Error(`Java could not commit: ${error}`)
    if (name === 'record_data') scene.ledger.seen('java', `${topic}:${partition}`, [[offset, Number(value)]])
  })
}

async function readByKafkaJs({ broker, ledger, stopping }: Scene): Promise<void> {
  const consumer = openKafka(broker.address).consumer({ groupId: 'kafkajs', maxWaitTimeInMs: 500 })
  const crashed = Promise.withResolvers<never>()
  consumer.on('consumer.crash', ({ payload }) => crashed.reject(payload.error))
  await consumer.connect()
  await consumer.subscribe({ topics: BOTH, fromBeginning: true })
  await consumer.run({
    eachBatch: async ({ batch: { topic, partition, messages }, resolveOffset }) => {
      if (messages.length === 0) return
      ledger.seen(
        'kafkajs',
        `${topic}:${partition}`,
        messages.map(message => [Number(message.offset), Number(message.value)] as const),
      )
      resolveOffset(messages.at(-1)!.offset)
    },
  })
  await Promise.race([aborted(stopping), crashed.promise])
  await consumer.disconnect()
}

/** Every few seconds: creates and deletes a topic, and lets a member join, read and leave. */
async function visit({ broker, stopping }: Scene): Promise<void> {
  const stopped = aborted(stopping)
  while (!stopping.aborted) {
    await createTopic(broker, 'visited', 3)
    const consumer = openKafka(broker.address).consumer({ groupId: 'visitors', maxWaitTimeInMs: 200 })
    await consumer.connect()
    await consumer.subscribe({ topics: [BY_TIME] })
    const arrived = Promise.withResolvers<void>()
    consumer.on('consumer.crash', ({ payload }) => arrived.reject(payload.error))
    await consumer.run({ eachMessage: async () => arrived.resolve() })
    // The producers stop at the same signal, so there may be no more records.
    await Promise.race([arrived.promise, stopped])
    await consumer.disconnect()
    const wire = await connect(broker)
    const { responses } = await wire.send(deleteTopics, 5, { topicNames: ['visited'], timeoutMs: 10_000 })
    await wire.close()
    if (responses[0]!.errorCode !== 0) throw new Error(`a topic could not be removed: error ${responses[0]!.errorCode}`)
    await sleep(systemClock, 2000)
  }
}
