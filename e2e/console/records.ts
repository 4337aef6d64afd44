// Appends records to a partition and reads them back with the raw client, so that a test knows every byte that is in
// the broker, whatever the console shows.

import assert from 'node:assert/strict'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import {
  type DecodedRecord,
  encodeBatch,
  type NewRecord,
  readRecords,
  splitBatches,
} from '../../src/protocol/records.ts'
import type { Wire } from '../../testing/wire.ts'

/** Appends one batch as the broker gets it from a producer. Resolves with the offset of its first record. */
export async function appendBatch(wire: Wire, topic: string, partition: number, records: Buffer): Promise<number> {
  const topicData = [{ name: topic, partitionData: [{ index: partition, records }] }]
  const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 120_000, topicData })
  const { errorCode, baseOffset } = responses[0]!.partitionResponses[0]!
  assert.equal(errorCode, 0, `partition ${partition} of ${topic} takes records`)
  return baseOffset
}

/** Appends records with the present time. Resolves with the offset of the first one. */
export function append(wire: Wire, topic: string, partition: number, records: readonly NewRecord[]): Promise<number> {
  const timestamp = Date.now()
  return appendBatch(wire, topic, partition, encodeBatch(records.map(record => ({ timestamp, ...record }))))
}

/** Reads all records of a partition from an offset on. */
export async function readFrom(wire: Wire, topic: string, partition: number, offset: number): Promise<DecodedRecord[]> {
  const partitions = [{ partition, fetchOffset: offset, partitionMaxBytes: 50_000_000 }]
  const { responses } = await wire.send(fetch, 12, { maxWaitMs: 5_000, minBytes: 1, topics: [{ topic, partitions }] })
  const { errorCode, records } = responses[0]!.partitions[0]!
  assert.equal(errorCode, 0, `partition ${partition} of ${topic} can be read`)
  const found: DecodedRecord[] = []
  for (const { bytes } of splitBatches(records ?? Buffer.alloc(0))) found.push(...(await readRecords(bytes)))
  return found.filter(record => record.offset >= offset)
}
