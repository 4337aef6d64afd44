// A broker on the memory store, with helpers for tests of the Kafka listener: batches, requests of one partition,
// counters. For tests of the disk and of real clients see testing/process.ts and e2e/.

import assert from 'node:assert/strict'
import { type Clock, systemClock } from '../src/base/clock.ts'
import { apiVersions } from '../src/protocol/messages/api-versions.ts'
import { fetch } from '../src/protocol/messages/fetch.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import { produce } from '../src/protocol/messages/produce.ts'
import { type BatchOptions, encodeBatch, type NewRecord, readRecords, splitBatches } from '../src/protocol/records.ts'
import type { RequestInput, ResponseOf } from '../src/protocol/schema.ts'
import type { Values } from '../src/settings/settings.ts'
import { type CleanUp, startBroker, type TestBroker, type TestBrokerOptions } from './broker.ts'
import { eventually } from './eventually.ts'
import { createMemoryStore, type MemoryStore } from './sim/memory-store.ts'
import type { Wire } from './wire.ts'

export interface Ground extends TestBroker {
  readonly store: MemoryStore
  /** Resolves with the value of one line of the scrape; 0 if the line is missing. */
  sample(line: string): Promise<number>
  /** Resolves with the number of failures that were counted for this operation and error type. */
  failures(operation: string, errorType: string): Promise<number>
  /** Resolves with the number of requests of the API that were read completely. */
  received(api: string): Promise<number>
}

/** Starts a broker in memory that has the topic `t` with one partition. */
export async function startGround(
  cleanUp: CleanUp,
  overrides: Partial<Values> = {},
  clock: Clock = systemClock,
  options: Pick<TestBrokerOptions, 'policies' | 'judge'> = {},
): Promise<Ground> {
  const store = createMemoryStore(clock)
  cleanUp.after(async () => store.faults.release())
  const broker = await startBroker(cleanUp, overrides, { clock, openStore: async () => store, ...options })
  const wire = await broker.connect()
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  await wire.close()
  const counters = countersOf(broker)
  return {
    ...broker,
    store,
    ...counters,
    received: api => counters.sample(`svc_broker_frame_size_count{direction="in",api_key="${api}"}`),
  }
}

/** Returns functions that read the metrics of the broker. */
export function countersOf({ broker }: TestBroker): Pick<Ground, 'sample' | 'failures'> {
  const sample = async (line: string) => {
    const text = await broker.metrics.scrape()
    const found = text.split('\n').find(each => each.startsWith(`${line} `))
    return found === undefined ? 0 : Number(found.slice(line.length + 1))
  }
  return {
    sample,
    failures: (operation, errorType) =>
      sample(`svc_broker_failures_total{operation="${operation}",error_type="${errorType}"}`),
  }
}

/** Returns the lines of a log whose format is JSON. */
export function linesOf({ log }: TestBroker): readonly Record<string, unknown>[] {
  return log()
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)
}

/** The time at which the simulated clock begins, in milliseconds. It is in the past of the real clock. */
const TIMESTAMP = 1_700_000_000_000

/** Returns one batch of records with these values. */
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

/** Returns the request to read partition 0 of `t` from an offset on. */
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

/** Returns the values of all records of a row, with their offsets. */
export async function valuesOf(row: FetchedRow): Promise<[number, string][]> {
  const values: [number, string][] = []
  for (const { bytes } of splitBatches(row.records ?? Buffer.alloc(0))) {
    for (const record of await readRecords(bytes)) values.push([record.offset, String(record.value)])
  }
  return values
}

/**
 * The settings of readLate. A fetch that waits for memory while its client does not read would be answered without
 * records after the usual wait.
 */
export const LATE = {
  'broker.max-pending-bytes': 2_000_000,
  'broker.resume-pending-bytes': 1_000_000,
  'broker.fetch-max-wait': 30_000,
}

/**
 * Fills the topic with records of `size` bytes, asks for them forty times, and reads nothing until the broker stops
 * reading this client. Other clients must be served meanwhile.
 */
export async function readLate(ground: Pick<Ground, 'sample'>, wire: Wire, other: Wire) {
  const size = 500_000
  for (let i = 0; i < 4; i++) await produceTo(other, batchOf([Buffer.alloc(size, i)]))
  wire.socket.pause()
  const options = { maxWaitMs: LATE['broker.fetch-max-wait'] }
  const answers = Array.from({ length: 40 }, () => wire.send(fetch, 12, fetchFrom(0, options)))
  await eventually('reading is paused', async () => (await ground.sample('svc_broker_backpressure_connections')) === 1)
  assert.ok((await ground.sample('svc_broker_pending_bytes')) > LATE['broker.max-pending-bytes'])
  await other.send(apiVersions, 0, {})
  wire.socket.resume()
  return { size, answers }
}
