// Producers that send numbers at a steady rate while a test changes the security around them, and a check that every
// number that was acknowledged is in the topic once.

import assert from 'node:assert/strict'
import { isLong } from '../../testing/at-length.ts'
import { eventually } from '../../testing/eventually.ts'
import { openConfluentJs } from '../confluent-js/client.ts'
import { withJavaLoad } from '../java/records.ts'
import { kafkaJs, openKafka } from '../kafkajs/client.ts'
import { librdkafkaSettings } from './librdkafka.ts'
import type { ClientSecurity } from './security.ts'

export interface Load {
  /** The numbers that the broker has acknowledged so far. */
  readonly acknowledged: ReadonlySet<number>
  /** The errors of the others. */
  readonly failures: readonly string[]
  /** How often the producer has authenticated again on an open connection; null if it does not count. */
  readonly again: number | null
  /** Resolves when this many more numbers are acknowledged. */
  more(count: number): Promise<void>
}

export interface LoadOptions {
  readonly address: string
  readonly topic: string
  readonly security: ClientSecurity
}

export const PARTITIONS = 2
/** Each request of a producer costs both sides processor time; KETCH_LONG=1 sends more of them. */
const PER_SECOND = isLong ? 200 : 50
const LONGEST_MS = 60_000

/** Returns a load with the functions that its producer calls. */
function newLoad() {
  const acknowledged = new Set<number>()
  const failures: string[] = []
  const load = {
    acknowledged,
    failures,
    again: null as number | null,
    more(count: number) {
      const wanted = acknowledged.size + count
      return eventually(`${count} more acknowledgements`, () => acknowledged.size >= wanted, LONGEST_MS).catch(
        error => {
          throw new Error(`${error.message}; ${failures.length} failures, such as ${failures.at(-1)}`, { cause: error })
        },
      )
    },
  }
  return { load, acknowledge: (value: number) => acknowledged.add(value), fail: (why: string) => failures.push(why) }
}

/** Runs an idempotent producer of Kafka's Java client while `use` runs. */
export function javaLoad(version: string) {
  return (options: LoadOptions, use: (load: Load) => Promise<void>): Promise<void> => {
    const { address, topic, security } = options
    return withJavaLoad(version, security, [address, topic, PARTITIONS, PER_SECOND], async running => {
      const { load, acknowledge, fail } = newLoad()
      load.again = 0
      let rest = ''
      running.child.stdout!.on('data', (chunk: Buffer) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop()!
        for (const line of lines) {
          if (line.startsWith('again ')) load.again = Number(line.slice('again '.length))
          else if (line.includes(' ')) fail(line)
          else acknowledge(Number(line))
        }
      })
      try {
        await Promise.race([use(load), running.done.then(() => assert.fail('the producer ended by itself'))])
        running.child.stdin!.end('\n')
        await running.done
      } finally {
        running.child.kill('SIGKILL')
      }
    })
  }
}

/** The same with librdkafka in the version of its binding for Node. */
export async function confluentLoad(
  { address, topic, security }: LoadOptions,
  use: (load: Load) => Promise<void>,
): Promise<void> {
  const producer = openConfluentJs([address]).producer({
    ...librdkafkaSettings(security),
    'enable.idempotence': true,
    'linger.ms': 2,
    'message.timeout.ms': 0,
    'reconnect.backoff.max.ms': 200,
  })
  await producer.connect()
  const { load, acknowledge, fail } = newLoad()
  let stopping = false
  const send = async () => {
    for (let value = 0; !stopping; value++) {
      const messages = [{ value: String(value), partition: value % PARTITIONS }]
      pending.add(
        producer.send({ topic, messages }).then(
          () => acknowledge(value),
          error => fail(`${value} ${error}`),
        ),
      )
      await new Promise(resolve => setTimeout(resolve, 1_000 / PER_SECOND))
    }
  }
  const pending = new Set<Promise<unknown>>()
  const sending = send()
  try {
    await use(load)
  } finally {
    stopping = true
    await sending
    await Promise.all(pending)
    await producer.disconnect()
  }
}

/** Asserts that nothing failed, and that the topic has every acknowledged number once and nothing else. */
export async function assertNothingLost(load: Load, { address, topic, security }: LoadOptions): Promise<void> {
  assert.deepEqual(load.failures, [])
  const admin = openKafka(address, {}, security).admin()
  await admin.connect()
  const ends = await admin.fetchTopicOffsets(topic)
  await admin.disconnect()
  const count = ends.reduce((sum, { offset }) => sum + Number(offset), 0)
  const records = await kafkaJs.consume(address, topic, `checkers-of-${topic}`, count, security)
  const values = records.map(({ value }) => Number(value))
  assert.equal(new Set(values).size, values.length, 'no number is in the topic twice')
  assert.deepEqual(new Set(values), load.acknowledged, 'the topic has the acknowledged numbers')
}
