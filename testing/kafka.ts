// A broker on the store in memory and the questions that tests of the Kafka door ask of it: batches, requests of one
// partition, counters. For what rests on a disk, and for clients as they are, see testing/process.ts and e2e/.

import { type Clock, systemClock } from '../src/base/clock.ts'
import { fetch } from '../src/protocol/messages/fetch.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import { produce } from '../src/protocol/messages/produce.ts'
import { type BatchOptions, encodeBatch, type NewRecord, readRecords, splitBatches } from '../src/protocol/records.ts'
import type { RequestInput, ResponseOf } from '../src/protocol/schema.ts'
import type { Values } from '../src/settings/settings.ts'
import { type CleanUp, startBroker, type TestBroker } from './broker.ts'
import { createMemoryStore, type MemoryStore } from './sim/memory-store.ts'
import type { Wire } from './wire.ts'

export interface Ground extends TestBroker {
  readonly store: MemoryStore
  /** The value of one line of the scrape, 0 when it is not there. */
  sample(line: string): Promise<number>
  /** How often this was counted as failed. */
  failures(operation: string, errorType: string): Promise<number>
  /** How many requests of the API were read whole. */
  received(api: string): Promise<number>
}

/** A broker in memory that has the topic `t` with one partition. */
export async function startGround(
  cleanUp: CleanUp,
  overrides: Partial<Values> = {},
  clock: Clock = systemClock,
): Promise<Ground> {
  const store = createMemoryStore(clock)
  cleanUp.after(async () => store.faults.release())
  const broker = await startBroker(cleanUp, overrides, { clock, openStore: async () => store })
  const wire = await broker.connect()
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  await wire.close()
  const sample = async (line: string) => {
    const text = await broker.broker.metrics.scrape()
    const found = text.split('\n').find(each => each.startsWith(`${line} `))
    return found === undefined ? 0 : Number(found.slice(line.length + 1))
  }
  return {
    ...broker,
    store,
    sample,
    failures: (operation, errorType) =>
      sample(`svc_broker_failures_total{operation="${operation}",error_type="${errorType}"}`),
    received: api => sample(`svc_broker_frame_size_count{direction="in",api_key="${api}"}`),
  }
}

/** When the simulated clock begins, and long enough ago for the real one. */
const TIMESTAMP = 1_700_000_000_000

/** One batch of records with these values. */
export function batchOf(
  values: readonly (string | Buffer)[],
  options: BatchOptions = {},
  timestamp = TIMESTAMP,
): Buffer {
  const records = values.map((value): NewRecord => ({ key: null, value: Buffer.from(value), headers: [], timestamp }))
  return encodeBatch(records, options)
}

export type ProduceInput = RequestInput<typeof produce>
export type FetchInput = RequestInput<typeof fetch>
export type ProducedRow = ResponseOf<typeof produce>['responses'][number]['partitionResponses'][number]
export type FetchedRow = ResponseOf<typeof fetch>['responses'][number]['partitions'][number]

/** Produces to one partition of `t` and returns its row. */
export async function produceTo(
  wire: Wire,
  records: Buffer | null,
  { version = 9, index = 0, ...rest }: Partial<ProduceInput> & { version?: number; index?: number } = {},
): Promise<ProducedRow> {
  const topicData = [{ name: 't', partitionData: [{ index, records }] }]
  const { responses } = await wire.send(produce, version, { acks: -1, timeoutMs: 30_000, topicData, ...rest })
  return responses[0]!.partitionResponses[0]!
}

/** The request to read partition 0 of `t` from an offset on. */
export function fetchFrom(fetchOffset: number, options: Partial<FetchInput> = {}): FetchInput {
  const partitionMaxBytes = 100_000_000
  const topics = [{ topic: 't', partitions: [{ partition: 0, fetchOffset, partitionMaxBytes }] }]
  return { maxWaitMs: 500, minBytes: 1, topics, ...options }
}

/** Reads partition 0 of `t` and returns its row. */
export async function fetchOne(
  wire: Wire,
  fetchOffset: number,
  { version = 12, ...options }: Partial<FetchInput> & { version?: number } = {},
): Promise<FetchedRow> {
  const { responses } = await wire.send(fetch, version, fetchFrom(fetchOffset, options))
  return responses[0]!.partitions[0]!
}

/** The values of all records of a row, with their offsets. */
export async function valuesOf(row: FetchedRow): Promise<[number, string][]> {
  const values: [number, string][] = []
  for (const { bytes } of splitBatches(row.records ?? Buffer.alloc(0))) {
    for (const record of await readRecords(bytes)) values.push([record.offset, String(record.value)])
  }
  return values
}
