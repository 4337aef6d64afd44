// A crowd of producers and members of one group on one topic of several brokers. Its clients are real Kafka clients.
// The crowd records the acknowledged records, and the records that each member read. All producers are idempotent and
// never give up. The test causes the faults and checks the end.

import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { sleep, systemClock } from '../../src/base/clock.ts'
import { followCommand } from '../command.ts'
import { openConfluentJs } from '../confluent-js/client.ts'
import { JAVA_ARGUMENTS } from '../java/jars.ts'
import { PYTHON, scriptPath } from '../python/client.ts'

export interface Placed {
  readonly partition: number
  readonly offset: number
  readonly value: number
}

/** The parameters of a client of the crowd: every broker's address, and its topic and group. */
export interface Scene {
  readonly addresses: readonly string[]
  readonly topic: string
  readonly partitions: number
  readonly group: string
  readonly stopping: AbortSignal
}

/**
 * Runs until `stopping`, and then finishes the work that it began. Calls `say` for every record that was acknowledged
 * to it, or that it read.
 */
type Part = (scene: Scene, say: (record: Placed) => void) => Promise<void>

/** Records per second of each producer. */
const RECORDS_PER_SECOND = 100

/** Values are unique over all producers. Those of Kafka's own producer count from 0. */
const PYTHON_FIRST = 1_000_000_000
const CONFLUENT_JS_FIRST = 2_000_000_000

const LOOK_MS = 50

/** The error of Java's producer if another thread closes it during a send. */
const CLOSED_WHILE_SENDING = 'Producer closed while send in progress'

const terminate = (child: ChildProcess) => void child.kill('SIGTERM')
const endInput = (child: ChildProcess) => void child.stdin!.end()

/** librdkafka 2.0: it learns the leaders only from Metadata. */
const produceByPython: Part = ({ addresses, topic, partitions, stopping }, say) => {
  const settings = ['enable.idempotence=true', `records.per.second=${RECORDS_PER_SECOND}`]
  const args = ['load', addresses.join(), topic, String(partitions), String(PYTHON_FIRST), ...settings]
  return followCommand(stopping, [PYTHON, scriptPath('confluent.py'), ...args], endInput, line => {
    const { value, partition, offset, error } = JSON.parse(line)
    assert.equal(error, undefined, 'a record of librdkafka was not delivered')
    say({ partition, offset, value })
  })
}

/** Kafka's own producer: it uses the leader that a refusal names (KIP-951). `config` is a file of producer configs. */
const produceByJava =
  (config: string): Part =>
  ({ addresses, topic, stopping }, say) => {
    const args = ['--bootstrap-server', addresses.join(), '--topic', topic, '--command-config', config]
    // Without keys it would send to one partition for a long time.
    const paced = ['--repeating-keys', '100', '--throughput', String(RECORDS_PER_SECOND)]
    const java = ['org.apache.kafka.tools.VerifiableProducer', ...args, ...paced]
    return followCommand(stopping, ['java', ...JAVA_ARGUMENTS, ...java], terminate, line => {
      const { name, partition, offset, value, exception, message } = JSON.parse(line)
      // The tool sends in one thread and closes its producer in another. Its last record may not be sent.
      if (stopping.aborted && message === CLOSED_WHILE_SENDING) return
      assert.notEqual(name, 'producer_send_error', `a record of Java was not sent: ${exception} ${message}`)
      if (name === 'producer_send_success') say({ partition, offset, value: Number(value) })
    })
  }

/** With these settings Java's producer never gives up; by default the tool does not retry. */
export const JAVA_PRODUCER_CONFIG = [
  ...['enable.idempotence=true', 'retries=2147483647', 'delivery.timeout.ms=2147483647'],
  ...['request.timeout.ms=10000', 'linger.ms=0'],
].join('\n')

const readByKcat: Part = ({ addresses, topic, group, stopping }, say) => {
  const settings = ['auto.offset.reset=earliest', 'auto.commit.interval.ms=500', 'heartbeat.interval.ms=500']
  const options = [...settings.flatMap(each => ['-X', each]), '-q', '-u', '-f', '%p %o %s\n']
  const command = ['kcat', '-G', group, '-b', addresses.join(), ...options, topic] as const
  return followCommand(stopping, command, terminate, line => {
    const [partition, offset, value] = line.split(' ').map(Number)
    say({ partition: partition!, offset: offset!, value: value! })
  })
}

const readByPython: Part = ({ addresses, topic, group, stopping }, say) => {
  const settings = ['auto.commit.interval.ms=500']
  const command = [PYTHON, scriptPath('confluent.py'), 'member', addresses.join(), topic, group, ...settings] as const
  return followCommand(stopping, command, endInput, line => {
    const { record } = JSON.parse(line)
    if (record === undefined) return
    const { partition, offset, value } = record
    say({ partition, offset, value: Number(Buffer.from(value, 'base64')) })
  })
}

/** It commits after every poll. */
const readByJava: Part = ({ addresses, topic, group, stopping }, say) => {
  const args = ['--bootstrap-server', addresses.join(), '--topic', topic, '--group-id', group, '--verbose']
  const java = ['org.apache.kafka.tools.VerifiableConsumer', ...args, '--reset-policy', 'earliest']
  return followCommand(stopping, ['java', ...JAVA_ARGUMENTS, ...java], terminate, line => {
    const { name, partition, offset, value } = JSON.parse(line)
    if (name === 'record_data') say({ partition, offset, value: Number(value) })
  })
}

/**
 * The newest librdkafka, in this process. It uses the leader that a refusal names. It sends one record after another
 * to each partition.
 */
const produceByConfluentJs: Part = async ({ addresses, topic, partitions, stopping }, say) => {
  const producer = openConfluentJs(addresses).producer({
    'enable.idempotence': true,
    acks: -1,
    'message.timeout.ms': 0,
    'linger.ms': 0,
    'reconnect.backoff.max.ms': 200,
  })
  await producer.connect()
  let next = CONFLUENT_JS_FIRST
  const produceTo = async (partition: number) => {
    while (!stopping.aborted) {
      const value = next++
      const [placed] = await producer.send({ topic, messages: [{ partition, value: String(value) }] })
      say({ partition, offset: Number(placed!.baseOffset), value })
      await sleep(systemClock, (1000 / RECORDS_PER_SECOND) * partitions)
    }
  }
  await Promise.all(Array.from({ length: partitions }, (_, partition) => produceTo(partition)))
  await producer.disconnect()
}

const readByConfluentJs: Part = async ({ addresses, topic, group, stopping }, say) => {
  const consumer = openConfluentJs(addresses).consumer({
    kafkaJS: { groupId: group, fromBeginning: true },
    'heartbeat.interval.ms': 500,
    'auto.commit.interval.ms': 500,
  })
  await consumer.connect()
  await consumer.subscribe({ topic })
  await consumer.run({
    eachMessage: async ({ partition, message: { offset, value } }) => {
      say({ partition, offset: Number(offset), value: Number(value) })
    },
  })
  if (!stopping.aborted) await once(stopping, 'abort')
  await consumer.disconnect()
}

/** The clients of a crowd, by the names that messages use. */
export interface Cast {
  readonly producers: Readonly<Record<string, Part>>
  readonly members: Readonly<Record<string, Part>>
}

/** The clients of Debian and of Maven Central, as members of one group. */
export const commonCast = (javaProducerConfig: string): Cast => ({
  producers: { 'Python producer': produceByPython, 'Java producer': produceByJava(javaProducerConfig) },
  members: { 'kcat member': readByKcat, 'Python member': readByPython, 'Java member': readByJava },
})

/** The newest librdkafka everywhere. */
export const confluentJsCast: Cast = {
  producers: { 'librdkafka producer': produceByConfluentJs },
  members: { 'librdkafka member': readByConfluentJs, 'another librdkafka member': readByConfluentJs },
}

export interface Crowd {
  readonly acknowledged: readonly Placed[]
  readonly read: readonly Placed[]
  /**
   * Resolves when, from the call on, every producer got an acknowledgement from each partition and every member read
   * a record.
   */
  everybodyGoesOn(what: string, withinMs: number): Promise<void>
  /**
   * Stops the producers and waits until all their records are acknowledged; then it waits until all of these are
   * read, and stops the members.
   */
  finish(withinMs: number): Promise<void>
}

/** Starts all clients of the cast. They end with the test. If one fails, every call that waits for the crowd fails. */
export function startCrowd(
  cleanUp: { after(fn: () => void): void },
  scene: Omit<Scene, 'stopping'>,
  { producers, members }: Cast,
): Crowd {
  const acknowledged: Placed[] = []
  const read: Placed[] = []
  const seen = new Map<string, Placed[]>()
  const producing = new AbortController()
  const reading = new AbortController()
  cleanUp.after(() => {
    producing.abort()
    reading.abort()
  })
  const start = (parts: Cast['producers'], { signal }: AbortController, all: Placed[]) =>
    Object.entries(parts).map(([name, part]) => {
      const own: Placed[] = []
      seen.set(name, own)
      const say = (record: Placed) => {
        own.push(record)
        all.push(record)
      }
      return part({ ...scene, stopping: signal }, say).catch(error => {
        throw new Error(`${name}: ${error.message}`, { cause: error })
      })
    })
  const readers = start(members, reading, read)
  const writers = start(producers, producing, acknowledged)
  const failed = Promise.all([...readers, ...writers]).then(() => new Promise<never>(() => {}))
  failed.catch(() => {})

  const until = async (what: string, missing: () => readonly string[], withinMs: number) => {
    const begunAt = systemClock.monotonic()
    for (let lacks = missing(); lacks.length > 0; lacks = missing()) {
      if (systemClock.monotonic() - begunAt > withinMs) throw new Error(`${what}: ${lacks.slice(0, 20).join('; ')}`)
      await Promise.race([sleep(systemClock, LOOK_MS), failed])
    }
  }

  return {
    acknowledged,
    read,
    async everybodyGoesOn(what, withinMs) {
      const from = new Map([...seen].map(([name, records]) => [name, records.length]))
      const since = (name: string) => seen.get(name)!.slice(from.get(name))
      const missing = () => [
        ...Object.keys(producers).flatMap(name => {
          const reached = new Set(since(name).map(each => each.partition))
          return reached.size === scene.partitions ? [] : [`${name} reached the partitions ${[...reached].sort()} only`]
        }),
        ...Object.keys(members).flatMap(name => (since(name).length > 0 ? [] : [`${name} read nothing`])),
      ]
      await until(what, missing, withinMs)
    },
    async finish(withinMs) {
      producing.abort()
      await Promise.race([Promise.all(writers), failed])
      const missing = () => {
        const places = new Set(read.map(placeOf))
        return acknowledged.filter(each => !places.has(placeOf(each))).map(each => `${placeOf(each)} was not read`)
      }
      await until('the group reads everything', missing, withinMs)
      reading.abort()
      await Promise.all(readers)
    },
  }
}

const placeOf = ({ partition, offset }: Placed) => `offset ${offset} of partition ${partition}`
