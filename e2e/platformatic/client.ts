// @platformatic/kafka as a client of the matrix, in the test's own process. It speaks only the flexible versions, and
// has all codecs itself.

import { Consumer, clientSoftwareVersion, MessagesStreamModes, Producer } from '@platformatic/kafka'
import { type Client, CODECS, type Received, runsByCodec } from '../client.ts'

/** Records in one call, which makes one request. */
const AT_ONCE = 500

export const platformatic: Client = {
  name: 'platformatic-kafka',
  from: 'npm: @platformatic/kafka',
  version: () => clientSoftwareVersion,
  absence: () => null,
  codecs: CODECS,
  cannotSend: null,
  async produce(address, topic, records) {
    const producer = new Producer({ clientId: 'e2e', bootstrapBrokers: [address], idempotent: true })
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
  async consume(address, topic, group, count) {
    const consumer = new Consumer({ clientId: 'e2e', bootstrapBrokers: [address], groupId: group })
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
