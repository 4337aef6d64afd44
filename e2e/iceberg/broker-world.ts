// Tables that a broker makes: a Kafka client produces, the storage worker offloads, the local segments go, and the same
// client reads everything again, from the tables.

import assert from 'node:assert/strict'
import { deleteRecords } from '../../src/protocol/messages/delete-records.ts'
import { listOffsets } from '../../src/protocol/messages/list-offsets.ts'
import type { Values } from '../../src/settings/settings.ts'
import { type CleanUp, startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { createTopic } from '../../testing/topic.ts'
import { CODECS, makeRecords, type Received } from '../client.ts'
import { kafkaJs } from '../kafkajs/client.ts'
import type { SeenRecord } from './sums.ts'
import { type Lake, TOKEN, type World } from './world.ts'

/** Topics by name: their partitions, their records, and how many parts the records are produced in. */
const TOPICS = { orders: [3, 900, 3], 'a.b': [1, 40, 1], 'a-b': [1, 60, 1] } as const

const SETTINGS: Partial<Values> = {
  'admin.password': 'a long password',
  'storage.remote.catalog.token': TOKEN,
  'storage.worker.tick-interval': 200,
  'storage.remote.iceberg.max-file-wait': 0,
}

/** Each round seals what was appended, and drops it here when the table has it. */
const AT_ONCE = { 'segment.ms': '1', 'local.retention.ms': '1', 'retention.ms': '-1', 'remote.storage.enable': 'true' }

/** The special timestamp of the end of a partition. */
const LATEST = -1

const OFFLOAD_MS = 60_000

interface TableProperties {
  /** The archived offsets [base, next) of each partition. */
  readonly ranges: Readonly<Record<string, readonly (readonly [number, number])[]>>
  readonly logStarts: Readonly<Record<string, number>>
}

/** The settings of a broker whose tables are in this bucket. */
const inLake = ({ bucket, endpoint, region, keyId, secret }: Lake): Partial<Values> => ({
  'storage.remote.path': `s3://${bucket}/ketch`,
  'storage.remote.s3.endpoint': endpoint,
  'storage.remote.s3.region': region,
  'storage.remote.s3.path-style-access': true,
  'storage.remote.s3.access-key-id': keyId,
  'storage.remote.s3.secret-access-key': secret,
})

export async function openBrokerWorld(cleanUp: CleanUp, lake: Lake | null = null): Promise<World> {
  const folder = await temporaryFolder(cleanUp, 'ketch-tables-')
  const place = lake === null ? { 'storage.remote.path': folder } : inLake(lake)
  const broker = await startBroker(cleanUp, { ...SETTINGS, ...place }, { hasHttp: true })
  const catalog = `${broker.url}/iceberg`
  const address = `127.0.0.1:${broker.port}`

  /** Resolves with the properties of the table as the catalog shows them; null without a table. */
  async function propertiesOf(topic: string): Promise<TableProperties | null> {
    const url = `${catalog}/v1/namespaces/default/tables/${topic}`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } })
    if (answer.status === 404) return null
    assert.equal(answer.status, 200)
    const { metadata } = (await answer.json()) as { metadata: { properties: Record<string, string> } }
    const read = (name: string) => JSON.parse(metadata.properties[name] ?? '{}')
    return { ranges: read('kafka.offload.ranges'), logStarts: read('kafka.offload.log-starts') }
  }

  const wire = await broker.connect()

  /**
   * Resolves with the number of records that the topic has. A new topic may refuse some partitions of a request while
   * its table is read, and kafkajs then sends the records of all of them again.
   */
  async function countOf(topic: string, partitions: number): Promise<number> {
    const asked = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp: LATEST }))
    const answer = await wire.send(listOffsets, 9, { replicaId: -1, topics: [{ name: topic, partitions: asked }] })
    return answer.topics[0]!.partitions.reduce((sum, { offset }) => sum + offset, 0)
  }

  const topics = new Map<string, readonly SeenRecord[]>()
  for (const [topic, [partitions, count, parts]] of Object.entries(TOPICS)) {
    await createTopic(broker, topic, partitions, AT_ONCE)
    const records = makeRecords({ count, partitions, codecs: CODECS, seed: 20 })
    for (let part = 1; part <= parts; part++) {
      const [from, to] = [((part - 1) * count) / parts, (part * count) / parts]
      await kafkaJs.produce(address, topic, records.slice(from, to))
      const total = await countOf(topic, partitions)
      assert.ok(total >= to)
      // Each part has a file of its own then, because a round seals what it finds.
      await eventually(
        `the table of ${topic} has ${total} records`,
        async () => {
          const ranges = (await propertiesOf(topic))?.ranges ?? {}
          return Object.values(ranges).reduce((sum, each) => sum + each.at(-1)![1], 0) === total
        },
        OFFLOAD_MS,
      )
    }
    const total = await countOf(topic, partitions)
    const received = await kafkaJs.consume(address, topic, `reader of ${topic}`, total)
    assert.equal(received.length, total)
    topics.set(topic, received.map(seen))
  }
  return {
    catalog,
    token: TOKEN,
    folder,
    lake,
    topics,
    async retain() {
      // The first of the three files of the partition is below it, and it is inside of the second one.
      const offset = Math.floor(TOPICS.orders[1] / TOPICS.orders[0] / 3) + 60
      const answer = await wire.send(deleteRecords, 2, {
        topics: [{ name: 'orders', partitions: [{ partitionIndex: 0, offset: offset }] }],
        timeoutMs: 10_000,
      })
      assert.equal(answer.topics[0]!.partitions[0]!.errorCode, 0)
      await eventually(
        'the table has the log start',
        async () => (await propertiesOf('orders'))?.logStarts[0] === offset,
        OFFLOAD_MS,
      )
      return offset
    },
  }
}

const seen = ({ partition, offset, key, value, headers }: Received): SeenRecord => ({
  ...{ partition, offset, key, value },
  headers: headers.map(header => [header.name, header.value] as const),
})
