// The cleanup.policy of a topic of a running broker, changed back and forth by the APIs of operators, with data in the
// log and rounds of the storage worker between the changes. On both stores.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CleaningBroker, startCleaningBroker } from '../../../testing/cleaning.ts'
import { countersOf, fetchOne } from '../../../testing/kafka.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { createTopic } from '../../../testing/topic.ts'
import type { Wire } from '../../../testing/wire.ts'
import { INVALID_RECORD, NONE } from '../../protocol/errors.ts'
import { alterConfigs } from '../../protocol/messages/alter-configs.ts'
import { incrementalAlterConfigs } from '../../protocol/messages/incremental-alter-configs.ts'
import { listOffsets } from '../../protocol/messages/list-offsets.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { encodeBatch, type NewRecord, readRecords, splitBatches } from '../../protocol/records.ts'

const TOPIC = 2
const [SET, APPEND, SUBTRACT] = [0, 2, 3]
const HOUR = 60 * 60_000
/** Each round seals everything, and every sealed part is dirty enough. */
const COMMON = { 'segment.ms': '1', 'min.cleanable.dirty.ratio': '0' }

class Topic {
  readonly #broker: CleaningBroker
  readonly #wire: Wire

  constructor(broker: CleaningBroker, wire: Wire) {
    this.#broker = broker
    this.#wire = wire
  }

  /** Resolves with the error code and, after an append, the offset. */
  async send(record: NewRecord): Promise<readonly [code: number, offset: number]> {
    const records = encodeBatch([{ timestamp: Date.now(), ...record }])
    const topicData = [{ name: 't', partitionData: [{ index: 0, records }] }]
    const { responses } = await this.#wire.send(produce, 9, { acks: -1, timeoutMs: 30_000, topicData })
    const { errorCode, baseOffset } = responses[0]!.partitionResponses[0]!
    return [errorCode, baseOffset]
  }

  /** Sends one change for each entry. */
  async change(...edits: readonly (readonly [operation: number, name: string, value: string])[]): Promise<void> {
    const configs = edits.map(([configOperation, name, value]) => ({ name, configOperation, value }))
    const resources = [{ resourceType: TOPIC, resourceName: 't', configs }]
    const { responses } = await this.#wire.send(incrementalAlterConfigs, 1, { resources, validateOnly: false })
    assert.deepEqual([responses[0]!.errorCode, responses[0]!.errorMessage], [NONE, null])
  }

  /** Replaces all configs. */
  async replace(configs: Readonly<Record<string, string>>): Promise<void> {
    const list = Object.entries(configs).map(([name, value]) => ({ name, value }))
    const resources = [{ resourceType: TOPIC, resourceName: 't', configs: list }]
    const { responses } = await this.#wire.send(alterConfigs, 2, { resources, validateOnly: false })
    assert.deepEqual([responses[0]!.errorCode, responses[0]!.errorMessage], [NONE, null])
  }

  /** Runs a round that sees the last append as older than segment.ms, and returns what a consumer reads then. */
  async round(): Promise<readonly string[]> {
    await sleep(5)
    assert.equal((await this.#broker.round()).failures, 0)
    return await this.records()
  }

  async records(): Promise<readonly string[]> {
    const all: string[] = []
    const earliest = { partitionIndex: 0, currentLeaderEpoch: -1, timestamp: -2 }
    const topics = [{ name: 't', partitions: [earliest] }]
    const listed = await this.#wire.send(listOffsets, 7, { replicaId: -1, isolationLevel: 0, topics })
    let next = listed.topics[0]!.partitions[0]!.offset
    for (;;) {
      const row = await fetchOne(this.#wire, next, { maxWaitMs: 0 })
      assert.equal(row.errorCode, NONE)
      const batches = splitBatches(row.records ?? Buffer.alloc(0))
      if (batches.length === 0) return all
      for (const { bytes } of batches) {
        for (const { offset, key, value } of await readRecords(bytes)) all.push(`${offset} ${key}=${value}`)
      }
      next = batches.at(-1)!.lastOffset + 1
    }
  }
}

for (const [store, skip] of [
  ['the embedded store', false],
  ['Redis', noRedis],
] as const) {
  test(`cleanup.policy goes back and forth on a topic with data: ${store}`, { skip }, async t => {
    const overrides = store === 'Redis' ? { 'redis.uri': (await startRedis(t)).uri } : {}
    const broker = await startCleaningBroker(t, overrides)
    const { sample } = countersOf(broker)
    const keyless = () => sample('svc_storage_cleaner_keyless_records_total')
    await createTopic(broker, 't', 1, { ...COMMON, 'cleanup.policy': 'delete', 'retention.ms': '-1' })
    const topic = new Topic(broker, await broker.connect())

    const old = { timestamp: Date.now() - 2 * HOUR }
    assert.deepEqual(await topic.send({ key: 'a', value: '1', ...old }), [NONE, 0])
    assert.deepEqual(await topic.send({ value: 'no key', ...old }), [NONE, 1])
    assert.deepEqual(await topic.send({ key: 'b', value: '1', ...old }), [NONE, 2])
    assert.deepEqual(await topic.send({ key: 'b', ...old }), [NONE, 3])
    const appended = ['0 a=1', '1 null=no key', '2 b=1', '3 b=null']
    for (let i = 0; i < 2; i++) assert.deepEqual(await topic.round(), appended, 'nothing is cleaned, nor dropped')

    // To compact: the next produce is checked, and retention.ms drops nothing more.
    await topic.change([SET, 'cleanup.policy', 'compact'], [SET, 'retention.ms', String(HOUR)])
    assert.deepEqual(await topic.send({ value: 'no key' }), [INVALID_RECORD.code, -1])
    assert.deepEqual(await topic.send({ key: 'a', value: '2', ...old }), [NONE, 4])
    assert.deepEqual(await topic.round(), ['3 b=null', '4 a=2'])
    assert.equal(await keyless(), 1)

    // Also delete: what is old goes, whether or not it was cleaned.
    await topic.change([APPEND, 'cleanup.policy', 'delete'])
    assert.deepEqual(await topic.send({ value: 'no key' }), [INVALID_RECORD.code, -1])
    assert.deepEqual(await topic.send({ key: 'a', value: '3' }), [NONE, 5])
    assert.deepEqual(await topic.round(), ['5 a=3'])

    // Only delete: records without a key are taken again, and a tombstone and what it removes stay.
    await topic.change([SUBTRACT, 'cleanup.policy', 'compact'])
    assert.deepEqual(await topic.send({ value: 'no key' }), [NONE, 6])
    assert.deepEqual(await topic.send({ key: 'a', value: '4' }), [NONE, 7])
    assert.deepEqual(await topic.send({ key: 'a' }), [NONE, 8])
    assert.deepEqual(await topic.send({ key: 'c', value: '1' }), [NONE, 9])
    for (let i = 0; i < 2; i++)
      assert.deepEqual(await topic.round(), ['5 a=3', '6 null=no key', '7 a=4', '8 a=null', '9 c=1'])
    assert.deepEqual(await broker.clean('t').then(reports => reports.map(({ outcome }) => outcome)), ['ended'])
    assert.equal(await keyless(), 1)

    // To compact once more, by the older API: the cleaner goes on with everything from before and after.
    await topic.replace({ ...COMMON, 'cleanup.policy': 'compact', 'delete.retention.ms': '0' })
    assert.deepEqual(await topic.send({ value: 'no key' }), [INVALID_RECORD.code, -1])
    assert.deepEqual(await topic.round(), ['8 a=null', '9 c=1'])
    assert.equal(await keyless(), 2)
    assert.deepEqual(await topic.send({ key: 'c', value: '2' }), [NONE, 10])
    assert.deepEqual(await topic.round(), ['10 c=2'])
  })
}
