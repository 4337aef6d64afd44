// @confluentinc/kafka-javascript, the newest librdkafka in Node, as a client of the matrix. It runs in the test's own
// process. build.ts builds it; without that build the tests are skipped, except in CI.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { CACHE } from '../../testing/cache.ts'
import { type Client, CODECS, type Header, type Received, runsByCodec, withoutNullHeaders } from '../client.ts'
import { librdkafkaSettings } from '../security/librdkafka.ts'
import { NO_SECURITY } from '../security/security.ts'

export const PACKAGE = '@confluentinc/kafka-javascript'
export const VERSION = '1.10.1'
/** The folder of the build. A binding works with one version of Node's binary interface only. */
export const FOLDER = join(CACHE, `confluent-kafka-javascript-${VERSION}-abi${process.versions.modules}`)

/** The part of its KafkaJS-like API that the tests use. */
interface Binding {
  readonly librdkafkaVersion: string
  readonly KafkaJS: {
    readonly Kafka: new (
      config: object,
    ) => {
      producer(config: object): {
        connect(): Promise<void>
        send(batch: { topic: string; messages: readonly object[] }): Promise<readonly { baseOffset?: string }[]>
        disconnect(): Promise<void>
      }
      consumer(config: object): {
        connect(): Promise<void>
        subscribe(to: { topic: string }): Promise<void>
        run(config: { eachMessage(payload: Payload): Promise<void> }): Promise<void>
        disconnect(): Promise<void>
      }
    }
  }
}

interface Payload {
  readonly partition: number
  readonly message: {
    readonly offset: string
    readonly timestamp: string
    readonly key: Buffer | null
    readonly value: Buffer | null
    readonly headers?: Readonly<Record<string, Buffer | string | readonly (Buffer | string)[]>>
  }
}

/** Returns a logger that prints nothing. It passes errors on. */
function makeLogger(error: (text: string) => void): object {
  const logger = { info() {}, error, warn() {}, debug() {}, namespace: () => logger, setLogLevel() {} }
  return logger
}

const load = (): Binding => createRequire(join(FOLDER, 'package.json'))(PACKAGE)

/** Returns a client that prints nothing. Its producers and consumers take librdkafka's settings. */
export const openConfluentJs = (brokers: readonly string[], onError: (text: string) => void = () => {}) =>
  new (load().KafkaJS.Kafka)({ kafkaJS: { brokers, clientId: 'e2e', logger: makeLogger(onError) } })

export const confluentJs: Client = {
  name: 'confluent-kafka-javascript',
  from: `built from npm: ${PACKAGE}`,
  version: () => `${VERSION} (librdkafka ${load().librdkafkaVersion})`,
  absence: () =>
    existsSync(join(FOLDER, 'node_modules', PACKAGE, 'build', 'Release', 'confluent-kafka-javascript.node'))
      ? null
      : 'SKIPPED e2e/confluent-js: node scripts/run.mjs e2e/confluent-js/build.ts',
  codecs: CODECS,
  cannotSend: 'null header values',
  lacks: { GSSAPI: 'it runs in the process of the tests, and librdkafka takes krb5.conf from the environment' },
  refused: /authentication/i,
  async produce(address, topic, records, security = NO_SECURITY) {
    const sent = records.map(withoutNullHeaders)
    for (const run of runsByCodec(sent)) {
      const complaints: string[] = []
      const producer = openConfluentJs([address], text => complaints.push(text)).producer({
        ...librdkafkaSettings(security),
        'compression.codec': run[0]!.codec,
        acks: -1,
        'linger.ms': 5,
      })
      // It connects again and again. When it gives up, its error does not say why, unlike its log.
      await producer.connect().catch(cause => {
        throw new Error(`${cause}; it logged ${complaints.join(', ')}`, { cause })
      })
      try {
        await producer.send({
          topic,
          messages: run.map(({ key, value, partition, timestamp, headers }) => ({
            key,
            value,
            partition,
            timestamp: String(timestamp),
            headers: Object.fromEntries(headers.map(header => [header.name, header.value])),
          })),
        })
      } finally {
        await producer.disconnect()
      }
    }
    return sent
  },
  /** It returns a header without a value as one with an empty value. */
  asRead: record => ({
    ...record,
    headers: record.headers.map(({ name, value }) => ({ name, value: value ?? Buffer.alloc(0) })),
  }),
  async consume(address, topic, group, count, security = NO_SECURITY) {
    const consumer = openConfluentJs([address]).consumer({
      ...librdkafkaSettings(security),
      kafkaJS: { groupId: group, fromBeginning: true },
      'heartbeat.interval.ms': 500,
    })
    const received: Received[] = []
    const enough = Promise.withResolvers<void>()
    await consumer.connect()
    try {
      await consumer.subscribe({ topic })
      await consumer.run({
        eachMessage: async ({ partition, message: { offset, timestamp, key, value, headers } }) => {
          received.push({
            partition,
            offset: Number(offset),
            timestamp: Number(timestamp),
            key,
            value,
            headers: headersOf(headers),
          })
          if (received.length >= count) enough.resolve()
        },
      })
      await enough.promise
    } finally {
      await consumer.disconnect()
    }
    return received
  },
}

function headersOf(headers: Payload['message']['headers']): Header[] {
  return Object.entries(headers ?? {}).flatMap(([name, values]) =>
    [values].flat().map(value => ({ name, value: Buffer.from(value as Buffer) })),
  )
}
