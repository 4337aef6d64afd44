// A broker process on one of the stores, with helpers for tests of what it judges: registering schemas, producing and
// reading bytes.

import assert from 'node:assert/strict'
import { fetch as fetchApi } from '../src/protocol/messages/fetch.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import { type BatchOptions, encodeBatch, type NewRecord, readRecords, splitBatches } from '../src/protocol/records.ts'
import type { CleanUp } from './broker.ts'
import { type ProducedRow, produceTo } from './kafka.ts'
import { type BrokerProcess, startBrokerProcess } from './process.ts'
import { startRedis } from './redis.ts'
import { connect, type Wire } from './wire.ts'

export interface JudgedBroker {
  readonly broker: BrokerProcess
  readonly wire: Wire
  /** Asks the registry. Throws if it refuses. */
  ask(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>
  /** Resolves with the id. */
  register(subject: string, schema: object | string, schemaType?: string): Promise<number>
  /** Produces one batch to partition 0 of the topic `t`. */
  produce(records: readonly NewRecord[], options?: BatchOptions): Promise<ProducedRow>
  /** Reads all values of partition 0 of `t`. */
  values(): Promise<Buffer[]>
}

const SETTINGS = {
  'svc.admin.security-enabled': 'false',
  'svc.topics[0].name': 't*',
  'svc.topics[0].auto-create': 'true',
  'svc.topics[0].partitions': '1',
}

/** Starts a broker on the embedded store. */
export async function startJudgedBroker(
  cleanUp: CleanUp,
  options: Parameters<typeof startBrokerProcess>[1] = {},
): Promise<JudgedBroker> {
  const broker = await startBrokerProcess(cleanUp, { ...options, settings: { ...SETTINGS, ...options.settings } })
  const wire = await connect({ port: broker.port })
  cleanUp.after(() => wire.close())
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  const ask: JudgedBroker['ask'] = async (method, path, body) => {
    const response = await fetch(`${broker.url}/schema-registry${path}`, {
      method,
      // With it an answer has all members.
      headers: { 'content-type': 'application/json', 'confluent-accept-unknown-properties': 'true' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as Record<string, unknown>
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${JSON.stringify(answer)}`)
    return answer
  }
  return {
    ...{ broker, wire, ask },
    async register(subject, schema, schemaType = 'AVRO') {
      const text = typeof schema === 'string' ? schema : JSON.stringify(schema)
      const { id } = await ask('POST', `/subjects/${encodeURIComponent(subject)}/versions`, {
        schema: text,
        schemaType,
      })
      return id as number
    },
    produce: (records, batchOptions) => produceTo(wire, encodeBatch(records, batchOptions)),
    async values() {
      const values: Buffer[] = []
      for (let offset = 0; ; ) {
        const topics = [{ topic: 't', partitions: [{ partition: 0, fetchOffset: offset, partitionMaxBytes: 1e8 }] }]
        const { responses } = await wire.send(fetchApi, 12, { maxWaitMs: 10, minBytes: 1, topics })
        const batches = splitBatches(responses[0]!.partitions[0]!.records ?? Buffer.alloc(0))
        if (batches.length === 0) return values
        for (const { bytes } of batches) {
          for (const record of await readRecords(bytes)) if (record.offset >= offset) values.push(record.value!)
        }
        offset = batches.at(-1)!.lastOffset + 1
      }
    },
  }
}

/** The settings of a broker on a Redis of its own. */
export async function onRedis(cleanUp: CleanUp): Promise<Readonly<Record<string, string>>> {
  return { 'svc.redis.uri': (await startRedis(cleanUp)).uri }
}
