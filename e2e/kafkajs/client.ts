// kafkajs as a client of the matrix, in the test's own process. It has gzip itself; this file adds the other codecs.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import kafkajs, { type IHeaders, type Kafka, type KafkaConfig, type Message, type RetryOptions } from 'kafkajs'
import { compress, decompress } from '../../src/protocol/compression.ts'
import {
  type Client,
  CODECS,
  type Codec,
  type Header,
  type Received,
  runsByCodec,
  withoutNullHeaders,
} from '../client.ts'
import { type ClientSecurity, fetchToken, NO_SECURITY } from '../security/security.ts'

const CODEC_NUMBERS = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const satisfies Record<Codec, number>

/** The limit in bytes; larger than any batch of the tests. */
const DECOMPRESSED_LIMIT = 64 * 1024 * 1024

for (const codec of CODECS) {
  if (codec === 'none' || codec === 'gzip') continue
  kafkajs.CompressionCodecs[CODEC_NUMBERS[codec]] = () => ({
    compress: (encoder: { buffer: Buffer }) => compress(codec, encoder.buffer),
    decompress: (bytes: Buffer) => decompress(codec, bytes, DECOMPRESSED_LIMIT),
  })
}

/**
 * Returns a kafkajs client that logs nothing, and that retries for a short time unless `retry` says otherwise. Commas
 * separate several addresses.
 */
export function openKafka(address: string, retry: RetryOptions = {}, security = NO_SECURITY): Kafka {
  return new kafkajs.Kafka({
    ...securityConfig(security),
    clientId: 'e2e',
    brokers: address.split(','),
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { initialRetryTime: 50, retries: 8, ...retry },
  })
}

function securityConfig({ tls, sasl }: ClientSecurity): Pick<KafkaConfig, 'ssl' | 'sasl'> {
  return {
    ...(tls !== null && {
      ssl: {
        ca: readFileSync(tls.caFile),
        ...(tls.own && { cert: readFileSync(tls.own.certificateFile), key: readFileSync(tls.own.keyFile) }),
      },
    }),
    ...(sasl !== null && { sasl: saslConfig(sasl) }),
  }
}

function saslConfig(sasl: NonNullable<ClientSecurity['sasl']>): NonNullable<KafkaConfig['sasl']> {
  switch (sasl.mechanism) {
    case 'SCRAM-SHA-256':
      return { mechanism: 'scram-sha-256', username: sasl.username, password: sasl.password }
    case 'PLAIN':
      return { mechanism: 'plain', username: sasl.username, password: sasl.password }
    case 'OAUTHBEARER':
      return { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: await fetchToken(sasl) }) }
    case 'GSSAPI':
      throw new Error('kafkajs has no GSSAPI')
  }
}

export const kafkaJs: Client = {
  name: 'kafkajs',
  from: 'npm',
  version: () => createRequire(import.meta.url)('kafkajs/package.json').version,
  absence: () => {
    try {
      createRequire(import.meta.url).resolve('kafkajs')
      return null
    } catch {
      return 'SKIPPED e2e/kafkajs: npm ci'
    }
  },
  codecs: CODECS,
  cannotSend: 'null header values',
  lacks: { GSSAPI: 'kafkajs does not have it' },
  // It does not read the error that the broker sends for a token (RFC 7628, section 3.2.2), and goes on. The broker
  // closes the connection then. Apache Kafka answers with ILLEGAL_SASL_STATE before it does.
  refused: /authentication|current SASL state|Closed connection/i,
  async produce(address, topic, records, security) {
    const sent = records.map(withoutNullHeaders)
    const producer = openKafka(address, {}, security).producer({ allowAutoTopicCreation: true })
    await producer.connect()
    try {
      for (const run of runsByCodec(sent)) {
        for (let at = 0; at < run.length; at += 500) {
          await producer.send({
            topic,
            acks: -1,
            compression: CODEC_NUMBERS[run[0]!.codec],
            messages: run.slice(at, at + 500).map(
              (record): Message => ({
                key: record.key,
                value: record.value,
                partition: record.partition!,
                timestamp: String(record.timestamp),
                headers: Object.fromEntries(record.headers.map(({ name, value }) => [name, value])) as IHeaders,
              }),
            ),
          })
        }
      }
    } finally {
      await producer.disconnect()
    }
    return sent
  },
  async consume(address, topic, group, count, security) {
    const consumer = openKafka(address, {}, security).consumer({
      groupId: group,
      heartbeatInterval: 500,
      maxWaitTimeInMs: 200,
    })
    const received: Received[] = []
    const enough = Promise.withResolvers<void>()
    await consumer.connect()
    try {
      consumer.on('consumer.crash', ({ payload }) => enough.reject(payload.error))
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        eachBatch: async ({ batch, resolveOffset }) => {
          for (const message of batch.messages) {
            received.push({
              partition: batch.partition,
              offset: Number(message.offset),
              timestamp: Number(message.timestamp),
              key: message.key,
              value: message.value,
              headers: headersOf(message.headers),
            })
            resolveOffset(message.offset)
          }
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

function headersOf(headers: IHeaders | undefined): Header[] {
  return Object.entries(headers ?? {}).flatMap(([name, values]) =>
    [values].flat().map(value => ({ name, value: value === null || value === undefined ? null : Buffer.from(value) })),
  )
}
