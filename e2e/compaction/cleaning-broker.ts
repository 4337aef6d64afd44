// A broker whose storage worker is always at work, and proofs that it has cleaned a topic: the place that the cleaner
// has reached, and the log as a client reads it, in which each key stands once below that place.

import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Round } from '../../src/api/storage.ts'
import { NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE } from '../../src/protocol/errors.ts'
import { fetch as fetchApi } from '../../src/protocol/messages/fetch.ts'
import { readRecords, splitBatches } from '../../src/protocol/records.ts'
import { adminClient } from '../../testing/admin-client.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { readOpenMetrics } from '../../testing/openmetrics.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { startRedis } from '../../testing/redis.ts'
import { connect } from '../../testing/wire.ts'

export const STORES = ['embedded', 'redis'] as const
export type StoreName = (typeof STORES)[number]

/** The time from the start of a round of the storage worker to the start of the next one. */
const TICK = '200ms'

/** Configs of a compacted topic that is cleaned as soon as it holds an older record of any key. */
export const CLEANED_AT_ONCE: Readonly<Record<string, string>> = {
  'segment.bytes': String(2 ** 20),
  'segment.ms': '1000',
  // With a larger ratio the cleaner may leave the last few records for ever.
  'min.cleanable.dirty.ratio': '0',
}

/** Starts a broker on a new, empty store. The rounds of its storage worker follow each other without a pause. */
export async function startCleaningBroker(
  cleanUp: CleanUp,
  store: StoreName,
  settings: Readonly<Record<string, string>> = {},
): Promise<BrokerProcess> {
  const redis = store === 'redis' ? { 'svc.redis.uri': (await startRedis(cleanUp)).uri } : {}
  return startBrokerProcess(cleanUp, {
    settings: {
      'svc.admin.security-enabled': 'false',
      'svc.broker.rebalance-delay': '0',
      'svc.storage.worker.tick-interval': TICK,
      ...redis,
      ...settings,
    },
  })
}

/** Counters of the cleaner since the broker started. */
export interface CleanerCounts {
  readonly passes: number
  readonly recordsDropped: number
  readonly bytesDropped: number
  /** The phases of the storage worker that failed. */
  readonly failures: number
}

/** Resolves with the counters of the cleaner. Asserts that no partition is uncleanable. */
export async function cleanerCounts({ url }: BrokerProcess): Promise<CleanerCounts> {
  const answer = await fetch(`${url}/actuator/prometheus`, { headers: { accept: 'application/openmetrics-text' } })
  assert.equal(answer.status, 200)
  const families = readOpenMetrics(await answer.text())
  const sum = (family: string, labels = '') => {
    let total = 0
    for (const [name, value] of families.get(family)?.samples ?? []) if (name.includes(labels)) total += value
    return total
  }
  assert.equal(sum('svc_storage_cleaner_uncleanable_partitions'), 0, 'no partition is uncleanable')
  return {
    passes: sum('svc_storage_cleaner_passes', 'result="done"'),
    recordsDropped: sum('svc_storage_cleaner_records', 'result="dropped"'),
    bytesDropped: sum('svc_storage_cleaner_bytes', 'result="dropped"'),
    failures: sum('svc_storage_worker_failures'),
  }
}

/**
 * Runs rounds of the storage worker until one finds nothing to roll and nothing to clean. The cleaner's thread steps
 * back for other work, so on a busy machine a pass takes longer than a round.
 */
export async function cleanUntilIdle({ url }: BrokerProcess): Promise<void> {
  const isIdle = async () => {
    const { status, body } = await adminClient(url).ask('POST', '/api/v1/storage/worker/run')
    assert(status === 200 || status === 503, JSON.stringify(body))
    const brokers: readonly Round['brokers'][number][] = body.round?.brokers ?? []
    return brokers.length > 0 && brokers.every(each => each.outcome === 'done' && each.rolled + each.due === 0)
  }
  await eventually('the cleaner has nothing to do', async () => (await isIdle()) || (await pause(100, false)), IDLE_MS)
}

const IDLE_MS = 300_000

/** A partition as the segments route describes it. */
interface Place {
  readonly startOffset: number
  readonly endOffset: number
  readonly cleanedTo: number
}

/** On a busy machine a broker may not confirm itself in time. Its partitions answer again a moment later. */
async function placeOf({ url }: BrokerProcess, topic: string, partition: number): Promise<Place> {
  const path = `/api/v1/topics/${topic}/partitions/${partition}/segments`
  let place: Place | null = null
  await eventually(
    `the leader of ${topic}-${partition} describes it`,
    async () => {
      const { status, body } = await adminClient(url).ask('GET', path)
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.uncleanable, null)
      if (body.trouble === null) place = body
      return place !== null || (await pause(100, false))
    },
    IDLE_MS,
  )
  return place!
}

export interface KeyedRecord {
  readonly offset: number
  readonly key: string | null
  readonly value: string | null
}

/** Reads a partition from its first record to its end, as a client does. Asserts that the offsets rise. */
export async function readPartition(
  broker: BrokerProcess,
  topic: string,
  partition: number,
): Promise<readonly KeyedRecord[]> {
  const wire = await connect(broker)
  const records: KeyedRecord[] = []
  try {
    for (let next = 0; ; ) {
      const partitions = [{ partition, fetchOffset: next, partitionMaxBytes: 2 ** 24 }]
      const { responses } = await wire.send(fetchApi, 12, {
        maxWaitMs: 0,
        minBytes: 0,
        topics: [{ topic, partitions }],
      })
      const row = responses[0]!.partitions[0]!
      if (row.errorCode === OFFSET_OUT_OF_RANGE.code) {
        const { startOffset } = await placeOf(broker, topic, partition)
        assert(startOffset > next, `${topic}-${partition} does not begin above ${next}, which is out of its range`)
        next = startOffset
        continue
      }
      if (row.errorCode === NOT_LEADER_OR_FOLLOWER.code) {
        await placeOf(broker, topic, partition)
        continue
      }
      assert.equal(row.errorCode, 0, `${topic}-${partition} at ${next}`)
      const batches = splitBatches(row.records ?? Buffer.alloc(0))
      if (batches.length === 0) return records
      for (const { bytes, lastOffset } of batches) {
        for (const { offset, key, value } of await readRecords(bytes)) {
          assert(offset >= next, `${topic}-${partition} answers ${offset} after ${next - 1}`)
          records.push({
            offset,
            key: key === null ? null : key.toString('latin1'),
            value: value === null ? null : String(value),
          })
        }
        next = lastOffset + 1
      }
    }
  } finally {
    await wire.close()
  }
}

/** The log of a topic after cleaning. */
export interface CleanedTopic {
  /** The records that were ever appended, by the ends of the partitions. */
  readonly appended: number
  /** The records that a client can still read. */
  readonly left: number
  /** The sum of the first offsets: records that retention has dropped. */
  readonly dropped: number
}

/**
 * Waits until the cleaner has reached the end of each partition; no client may append meanwhile. Asserts that each key
 * stands once then. Resolves with how much is left.
 */
export async function assertCleaned(broker: BrokerProcess, topic: string, partitions: number): Promise<CleanedTopic> {
  const sum = { appended: 0, left: 0, dropped: 0 }
  for (let partition = 0; partition < partitions; partition++) {
    const name = `${topic}-${partition}`
    await eventually(
      `the cleaner reaches the end of ${name}`,
      async () => {
        const { cleanedTo, endOffset } = await placeOf(broker, topic, partition)
        return cleanedTo === endOffset || (await pause(100, false))
      },
      IDLE_MS,
    )
    const records = await readPartition(broker, topic, partition)
    const offsets = new Map<string, number>()
    for (const { offset, key } of records) {
      assert(key !== null, `${name} has a record without a key at ${offset}`)
      assert(!offsets.has(key), `${name} has the key ${key} at ${offsets.get(key)} and at ${offset}`)
      offsets.set(key, offset)
    }
    const { startOffset, endOffset } = await placeOf(broker, topic, partition)
    sum.appended += endOffset
    sum.left += records.length
    sum.dropped += startOffset
  }
  return sum
}
