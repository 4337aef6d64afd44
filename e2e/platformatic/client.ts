// @platformatic/kafka as a client of the matrix, in the test's own process. It speaks only the flexible versions, and
// has all codecs itself.

import { readFileSync } from 'node:fs'
import {
  type ConnectionOptions,
  Consumer,
  clientSoftwareVersion,
  MessagesStreamModes,
  Producer,
  type SASLOptions,
} from '@platformatic/kafka'
import { type Client, CODECS, type Received, runsByCodec } from '../client.ts'
import { type ClientSecurity, fetchToken, NO_SECURITY } from '../security/security.ts'

/** Records in one call, which makes one request. */
const AT_ONCE = 500

function connectionOptions({ tls, sasl }: ClientSecurity): Pick<ConnectionOptions, 'tls' | 'sasl'> {
  return {
    ...(tls !== null && {
      tls: {
        ca: readFileSync(tls.caFile),
        ...(tls.own && { cert: readFileSync(tls.own.certificateFile), key: readFileSync(tls.own.keyFile) }),
      },
    }),
    ...(sasl !== null && { sasl: saslOptions(sasl) }),
  }
}

function saslOptions(sasl: NonNullable<ClientSecurity['sasl']>): SASLOptions {
  switch (sasl.mechanism) {
    case 'SCRAM-SHA-256':
    case 'PLAIN':
      return sasl
    case 'OAUTHBEARER':
      return { mechanism: 'OAUTHBEARER', token: () => fetchToken(sasl) }
    case 'GSSAPI':
      throw new Error('@platformatic/kafka has no GSSAPI')
  }
}

export const platformatic: Client = {
  name: 'platformatic-kafka',
  from: 'npm: @platformatic/kafka',
  version: () => clientSoftwareVersion,
  absence: () => null,
  codecs: CODECS,
  cannotSend: null,
  lacks: { GSSAPI: 'it takes a function of the application for it, and has none itself' },
  // It does not read the error that the broker sends for a token (RFC 7628, section 3.2.2), and goes on.
  refused: /authentication|current SASL state/i,
  async produce(address, topic, records, security = NO_SECURITY) {
    const producer = new Producer({
      clientId: 'e2e',
      bootstrapBrokers: [address],
      idempotent: true,
      // By default an idempotent producer never gives up, not even after a wrong password.
      retries: 3,
      ...connectionOptions(security),
    })
    try {
      for (const run of runsByCodec(records)) {
        for (let at = 0; at < run.length; at += AT_ONCE) {
          await producer.send({
            acks: -1,
            compression: run[0]!.codec,
            messages: run.slice(at, at + AT_ONCE).map(({ key, value, partition, timestamp, headers }) => ({
              topic,
              // Its types exclude null, but it sends null.
              key: key as Buffer,
              value: value as Buffer,
              partition: partition!,
              timestamp: BigInt(timestamp!),
              headers: new Map(headers.map(header => [Buffer.from(header.name), header.value as Buffer])),
            })),
          })
        }
      }
    } finally {
      await producer.close()
    }
    return records
  },
  async consume(address, topic, group, count, security = NO_SECURITY) {
    const consumer = new Consumer({
      clientId: 'e2e',
      bootstrapBrokers: [address],
      groupId: group,
      ...connectionOptions(security),
    })
    const received: Received[] = []
    try {
      const stream = await consumer.consume({ topics: [topic], mode: MessagesStreamModes.EARLIEST, maxWaitTime: 200 })
      for await (const { partition, offset, timestamp, key, value, headerEntries } of stream) {
        // Its types exclude null; it returns undefined instead.
        received.push({
          partition,
          offset: Number(offset),
          timestamp: Number(timestamp),
          key: key ?? null,
          value: value ?? null,
          headers: headerEntries.map(([name, bytes]) => ({ name: name.toString(), value: bytes ?? null })),
        })
        if (received.length >= count) break
      }
    } finally {
      await consumer.close(true)
    }
    return received
  },
}
