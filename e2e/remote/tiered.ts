// Brokers with a remote tier for the tests of this folder, on both stores and both kinds of places, and what the tests
// ask them with the raw client. All brokers run in the process of the test.

import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { seededRandom } from '../../src/base/random.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { incrementalAlterConfigs } from '../../src/protocol/messages/incremental-alter-configs.ts'
import { listOffsets } from '../../src/protocol/messages/list-offsets.ts'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { type BatchView, splitBatches } from '../../src/protocol/records.ts'
import type { Values } from '../../src/settings/settings.ts'
import { type CleanUp, startBroker, type TestBroker, type TestBrokerOptions } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { inBucket } from '../../testing/holder-world.ts'
import { startRedis } from '../../testing/redis.ts'
import { startS3Stub } from '../../testing/s3-stub.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import type { Wire } from '../../testing/wire.ts'

/** Rounds follow each other at once, and no segment waits for another one. */
const PROMPT: Partial<Values> = {
  'admin.security-enabled': false,
  'storage.worker.tick-interval': 100,
  'storage.worker.lease-duration': 30_000,
  'storage.remote.iceberg.max-file-wait': 0,
  'storage.remote.iceberg.offload.threads': 1,
  'storage.remote.iceberg.read.threads': 2,
}

/** Each round seals what was appended before it. No record is too old or too new. */
export const SEALED_AT_ONCE = {
  'segment.ms': '1',
  'retention.ms': '-1',
  'max.message.bytes': '70000000',
  'message.timestamp.after.max.ms': '9223372036854775807',
}

/** The local store drops everything that the table has. */
export const COLD = { 'remote.storage.enable': 'true', 'local.retention.ms': '1', 'local.retention.bytes': '0' }

export const TIME = { latest: -1, earliest: -2, largest: -3, earliestLocal: -4, latestTiered: -5, pending: -6 }

/** A machine on which other tests run too may need this long to offload what a test wrote. */
const OFFLOADED_WITHIN_MS = 120_000

/**
 * Runs the clean-ups of a test in reverse order: clients leave before their broker closes, and the broker closes before
 * its store and its place go.
 */
export function inReverse(t: TestContext): CleanUp {
  const cleanUps: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const cleanUp of cleanUps.toReversed()) await cleanUp()
  })
  return { after: cleanUp => void cleanUps.push(cleanUp) }
}

/** Where the tables are. */
interface TestPlace {
  readonly values: Partial<Values>
  /** Resolves with the keys of all objects. */
  keys(): Promise<readonly string[]>
}

export const PLACES = {
  async folder(cleanUp: CleanUp): Promise<TestPlace> {
    const path = await temporaryFolder(cleanUp, 'ketch-remote-')
    return { values: { 'storage.remote.path': path }, keys: () => readdir(path, { recursive: true }) }
  },
  async bucket(cleanUp: CleanUp): Promise<TestPlace> {
    const stub = await startS3Stub(cleanUp)
    const { path, values } = inBucket(stub)
    return { values: { ...values, 'storage.remote.path': path! }, keys: async () => [...stub.objects.keys()] }
  },
}

export const STORES = {
  embedded: async (cleanUp: CleanUp): Promise<Partial<Values>> => ({
    'storage.local.embedded.path': await temporaryFolder(cleanUp, 'ketch-remote-'),
  }),
  Redis: async (cleanUp: CleanUp): Promise<Partial<Values>> => ({ 'redis.uri': (await startRedis(cleanUp)).uri }),
}

/** Starts a broker with a remote tier. Started again with the same values, it finds what it had. */
export function startTiered(
  cleanUp: CleanUp,
  values: Partial<Values>,
  options: TestBrokerOptions = {},
): Promise<TestBroker> {
  return startBroker(cleanUp, { ...PROMPT, ...values }, options)
}

/** Changes configs of a topic. */
export async function alterTopic(wire: Wire, topic: string, configs: Readonly<Record<string, string>>): Promise<void> {
  const pairs = Object.entries(configs).map(([name, value]) => ({ name, configOperation: 0, value }))
  const { responses } = await wire.send(incrementalAlterConfigs, 1, {
    validateOnly: false,
    resources: [{ resourceType: 2, resourceName: topic, configs: pairs }],
  })
  assert.equal(responses[0]!.errorCode, 0, responses[0]!.errorMessage ?? '')
}

async function send(wire: Wire, topic: string, index: number, batch: Buffer): Promise<number> {
  const body = { acks: -1, timeoutMs: 30_000, topicData: [{ name: topic, partitionData: [{ index, records: batch }] }] }
  const { responses } = await wire.send(produce, 9, body)
  return responses[0]!.partitionResponses[0]!.errorCode
}

/** Sends the batches one after the other. Tries again while the partition takes no records yet. */
export async function sendAll(wire: Wire, topic: string, index: number, batches: readonly Buffer[]): Promise<void> {
  /** The leader reads the table; a partition has moved; a broker has just begun to lead. */
  const passing = [3, 5, 6, 56]
  for (const [i, batch] of batches.entries())
    await eventually(
      `${topic}-${index} takes batch ${i}`,
      async () => {
        const code = await send(wire, topic, index, batch)
        if (code !== 0 && !passing.includes(code)) throw new Error(`${topic}-${index} answered ${code} to batch ${i}`)
        return code === 0
      },
      60_000,
    )
}

export interface TimeAnswer {
  readonly errorCode: number
  readonly timestamp: number
  readonly offset: number
  readonly leaderEpoch: number
}

/** Asks for the offset of a time. Asks again, as clients do, if the object store needs longer than the broker waits. */
export async function lookUp(wire: Wire, topic: string, index: number, timestamp: number): Promise<TimeAnswer> {
  const topics = [{ name: topic, partitions: [{ partitionIndex: index, timestamp }] }]
  for (let attempt = 1; ; attempt++) {
    const answer = await wire.send(listOffsets, 11, { replicaId: -1, topics, timeoutMs: 30_000 })
    const { errorCode, offset, timestamp: found, leaderEpoch } = answer.topics[0]!.partitions[0]!
    if ((errorCode !== REQUEST_TIMED_OUT && errorCode !== NOT_LEADER) || attempt === LOOK_UP_ATTEMPTS)
      return { errorCode, timestamp: found, offset, leaderEpoch }
  }
}

const REQUEST_TIMED_OUT = 7
/** A broker that gets no processor for seconds is not confirmed on Redis, and leads again soon. Clients ask again. */
const NOT_LEADER = 6
const LOOK_UP_ATTEMPTS = 5

export const offsetOf = async (wire: Wire, topic: string, index: number, time: number): Promise<number> =>
  (await lookUp(wire, topic, index, time)).offset

/** Resolves when the local store has nothing of the partitions below their ends. */
export async function allCold(wire: Wire, topic: string, partitions: number): Promise<void> {
  for (let index = 0; index < partitions; index++) {
    const isCold = async () =>
      (await offsetOf(wire, topic, index, TIME.earliestLocal)) === (await offsetOf(wire, topic, index, TIME.latest))
    await eventually(`all of ${topic}-${index} is cold`, isCold, OFFLOADED_WITHIN_MS)
  }
}

interface FetchedRow {
  readonly errorCode: number
  readonly records: Uint8Array | null
  readonly highWatermark: number
  readonly logStartOffset: number
}

/** Reads from an offset; with `maxBytes` the first batch comes whole, and no other that does not fit. */
export async function fetchRow(
  wire: Wire,
  topic: string,
  partition: number,
  fetchOffset: number,
  maxBytes = 4_000_000,
): Promise<FetchedRow> {
  const topics = [{ topic, partitions: [{ partition, fetchOffset, partitionMaxBytes: maxBytes }] }]
  const { responses } = await wire.send(fetch, 12, { maxWaitMs: 200, minBytes: 1, topics })
  return responses[0]!.partitions[0] as FetchedRow
}

/** Resolves with the first row that has records, or with one at the end of the partition. */
export async function patientRow(
  wire: Wire,
  topic: string,
  partition: number,
  offset: number,
  maxBytes?: number,
): Promise<FetchedRow> {
  let row: FetchedRow | undefined
  await eventually(
    `${topic}-${partition} answers from ${offset} on`,
    async () => {
      row = await fetchRow(wire, topic, partition, offset, maxBytes)
      if (row.errorCode === NOT_LEADER) return false
      assert.equal(row.errorCode, 0, `the fetch of ${topic}-${partition} at ${offset}`)
      return (row.records?.length ?? 0) > 0 || offset >= row.highWatermark
    },
    60_000,
  )
  return row!
}

/** Reads all batches of a partition from an offset up to its high watermark, as a raw fetch returns them. */
export async function readBatches(wire: Wire, topic: string, partition: number, from = 0): Promise<BatchView[]> {
  const batches: BatchView[] = []
  for (let offset = from; ; ) {
    const { records, highWatermark } = await patientRow(wire, topic, partition, offset)
    for (const batch of splitBatches(records ?? new Uint8Array())) {
      if (batch.lastOffset < offset) continue
      batches.push(batch)
      offset = batch.lastOffset + 1
    }
    if (offset >= highWatermark) return batches
  }
}

/** Asserts that both are the same batches, byte for byte. */
export function assertSameBatches(actual: readonly BatchView[], expected: readonly BatchView[], where: string): void {
  for (const [i, { bytes, baseOffset }] of expected.entries())
    assert.ok(actual[i]?.bytes.equals(bytes), `${where}: the batch at offset ${baseOffset} differs`)
  assert.equal(actual.length, expected.length, `${where}: the number of batches`)
}

/** Returns the ids of the leaders by partition, as the broker of the connection sees them. */
export async function leadersOf(wire: Wire, name: string): Promise<number[]> {
  const { topics } = await wire.send(metadata, 9, { topics: [{ name }] })
  return topics[0]!.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex).map(each => each.leaderId)
}

/** Returns `count` random times between and around those of the batches, and beyond all of them. */
export function timesAround(batches: readonly BatchView[], count: number, seed: number): number[] {
  const random = seededRandom(seed)
  const stamps = batches.flatMap(({ baseTimestamp, maxTimestamp }) => [baseTimestamp, maxTimestamp])
  // A time below 0 is one of Kafka's special words, or an invalid request.
  const sane = stamps.filter(stamp => stamp >= 0)
  return Array.from({ length: count }, () => {
    const near = sane[random.below(sane.length)] ?? 0
    return Math.max(0, near + random.below(2001) - 1000)
  })
}
