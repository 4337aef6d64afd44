// Consumers and the moves of a log of the remote tier: readers that lag while the local store trims, deletions into the
// cold part, brokers that start again, and partitions that get another leader.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteRecords } from '../../src/protocol/messages/delete-records.ts'
import { encodeBatch, readRecords, splitBatches } from '../../src/protocol/records.ts'
import type { Values } from '../../src/settings/settings.ts'
import { eventually } from '../../testing/eventually.ts'
import { noRedis } from '../../testing/redis.ts'
import { seed } from '../../testing/seed.ts'
import { createTopic, createTopicOfAll } from '../../testing/topic.ts'
import type { Wire } from '../../testing/wire.ts'
import { confluentPython, startPython } from '../python/client.ts'
import { batchesOfAllCodecs } from './awkward-batches.ts'
import { assertSeenAgain, type Seen, see } from './bytes.ts'
import {
  allCold,
  COLD,
  fetchRow,
  inReverse,
  leadersOf,
  lookUp,
  offsetOf,
  PLACES,
  patientRow,
  SEALED_AT_ONCE,
  STORES,
  sendAll,
  startTiered,
  TIME,
} from './tiered.ts'

const TOPIC = 'orders'
const OFFSET_OUT_OF_RANGE = 1
const NO_PRODUCER = { producerId: -1, producerEpoch: -1 }

for (const store of ['embedded', 'Redis'] as const)
  test(`consumers that lag behind the local store lose no record and see none twice, on ${store}`, {
    skip: confluentPython.absence() ?? (store === 'Redis' && noRedis),
    timeout: 300_000,
  }, async t => {
    const cleanUp = inReverse(t)
    const { values } = await PLACES.folder(cleanUp)
    const broker = await startTiered(cleanUp, { ...(await STORES[store](cleanUp)), ...values })
    await createTopic(broker, TOPIC, 1, { ...SEALED_AT_ONCE, ...COLD })
    const wire = await broker.connect()
    const total = 4_000
    const producing = (async () => {
      const producer = await broker.connect()
      for (let at = 0; at < total; at += 20) {
        const values = Array.from({ length: 20 }, (_, i) => ({ value: `${at + i}`.padEnd(200) }))
        await sendAll(producer, TOPIC, 0, [encodeBatch(values)])
      }
    })()
    // The readers begin when their first records have left the local store, and come to the local ones in the end.
    const isBehind = async () => (await offsetOf(wire, TOPIC, 0, TIME.earliestLocal)) >= total / 4
    await eventually('a quarter of the records is cold', isBehind, 60_000)
    const member = startPython('confluent.py', [
      'member',
      `127.0.0.1:${broker.port}`,
      TOPIC,
      'laggards',
      'fetch.message.max.bytes=4096',
    ])
    cleanUp.after(async () => void member.child.kill('SIGKILL'))
    const seen: string[] = []
    let moves = 0
    for (let offset = 0; offset < total; ) {
      const start = await offsetOf(wire, TOPIC, 0, TIME.earliestLocal)
      if (start > offset) moves++
      const { records } = await patientRow(wire, TOPIC, 0, offset, 1)
      for (const { bytes, lastOffset } of splitBatches(records ?? new Uint8Array()).slice(0, 1)) {
        for (const record of await readRecords(bytes)) seen.push(`${record.offset} ${String(record.value).trim()}`)
        offset = lastOffset + 1
      }
    }
    await producing
    assert.deepEqual(
      seen,
      Array.from({ length: total }, (_, i) => `${i} ${i}`),
    )
    t.diagnostic(`${moves} of ${total / 20} fetches began below the local start`)
    assert.ok(moves > 0, 'the reader never lagged')
    await member.line(line => line.includes(`"offset": ${total - 1},`))
    member.child.stdin!.end()
    const lines = String(await member.done)
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const offsets = lines.flatMap(({ record }) => (record === undefined ? [] : [record.offset]))
    assert.deepEqual(
      offsets,
      Array.from({ length: total }, (_, i) => i),
    )
  })

/** Deletes the records below an offset. Returns the low watermark that the broker answers. */
async function deleteBelow(wire: Wire, index: number, offset: number): Promise<number> {
  const topics = [{ name: TOPIC, partitions: [{ partitionIndex: index, offset }] }]
  const { topics: answers } = await wire.send(deleteRecords, 2, { topics, timeoutMs: 30_000 })
  const { errorCode, lowWatermark } = answers[0]!.partitions[0]!
  assert.equal(errorCode, 0)
  return lowWatermark
}

for (const store of ['embedded', 'Redis'] as const)
  test(`records are deleted up to an offset of the cold part, and later up to the end, on ${store}`, {
    skip: store === 'Redis' && noRedis,
    timeout: 300_000,
  }, async t => {
    const cleanUp = inReverse(t)
    const values: Partial<Values> = { ...(await STORES[store](cleanUp)), ...(await PLACES.folder(cleanUp)).values }
    const first = await startTiered(cleanUp, values)
    await createTopic(first, TOPIC, 1, { ...SEALED_AT_ONCE, ...COLD })
    const wire = await first.connect()
    const batches = Array.from({ length: 12 }, (_, b) =>
      encodeBatch(
        Array.from({ length: 10 }, (_, i) => ({ value: `${b * 10 + i}`, timestamp: 1_000_000 + b * 10 + i })),
      ),
    )
    await sendAll(wire, TOPIC, 0, batches)
    await allCold(wire, TOPIC, 1)
    const assertStart = async (asked: Wire, start: number) => {
      assert.equal(await offsetOf(asked, TOPIC, 0, TIME.earliest), start)
      assert.equal((await fetchRow(asked, TOPIC, 0, start - 1)).errorCode, OFFSET_OUT_OF_RANGE)
      const { records, logStartOffset } = await patientRow(asked, TOPIC, 0, start)
      assert.equal(logStartOffset, start)
      const [batch] = splitBatches(records ?? new Uint8Array())
      assert.equal(batch?.baseOffset, start - (start % 10), 'the batch that has the offset comes whole')
      assert.equal((await lookUp(asked, TOPIC, 0, 0)).offset, start, 'no look-up finds a deleted record')
    }
    assert.equal(await deleteBelow(wire, 0, 37), 37)
    await assertStart(wire, 37)
    assert.equal(await deleteBelow(wire, 0, 12), 37, 'the log start never goes back')
    await first.broker.close()
    const second = await startTiered(cleanUp, values)
    const again = await second.connect()
    await assertStart(again, 37)
    assert.equal(await deleteBelow(again, 0, -1), 120)
    assert.equal(await offsetOf(again, TOPIC, 0, TIME.earliest), 120)
    assert.equal((await fetchRow(again, TOPIC, 0, 119)).errorCode, OFFSET_OUT_OF_RANGE)
    await sendAll(again, TOPIC, 0, batches.slice(0, 2))
    await allCold(again, TOPIC, 1)
    await assertStart(again, 120)
  })

test('partitions that get another leader again and again answer as before, on Redis', {
  skip: noRedis,
  timeout: 600_000,
}, async t => {
  const cleanUp = inReverse(t)
  const partitions = 4
  const shared = { ...(await STORES.Redis(cleanUp)), ...(await PLACES.bucket(cleanUp)).values, 'broker.expiry': 5_000 }
  const start = (id: number) => startTiered(cleanUp, { ...shared, 'broker.id': id })
  const brokers = new Map([
    [1, await start(1)],
    [2, await start(2)],
  ])
  await createTopicOfAll(brokers.get(1)!, TOPIC, partitions, [1, 2], { ...SEALED_AT_ONCE, ...COLD })
  const wires = new Map<number, Wire>()
  for (const [id, broker] of brokers) wires.set(id, await broker.connect())
  let seen: Seen[] = []
  const ledBy = async (asked: number, ids: readonly number[]) =>
    eventually(
      `brokers ${ids} lead`,
      async () => {
        const leaders = await leadersOf(wires.get(asked)!, TOPIC)
        return ids.every(id => leaders.includes(id)) && leaders.every(id => ids.includes(id))
      },
      60_000,
    )
  const wireOf = async (asked: number, index: number) => wires.get((await leadersOf(wires.get(asked)!, TOPIC))[index]!)!
  const round = async (asked: number, number: number) => {
    const before = seen
    seen = []
    for (let index = 0; index < partitions; index++) {
      const wire = await wireOf(asked, index)
      if (before[index] !== undefined) await assertSeenAgain(wire, TOPIC, index, before[index]!)
      await sendAll(wire, TOPIC, index, batchesOfAllCodecs(seed + number * 10 + index, 8, NO_PRODUCER))
      // Some records are still local then, others are cold.
      seen.push(await see(wire, TOPIC, index, 50, seed + index))
    }
  }
  await round(1, 0)
  for (const [number, [stopped, other]] of (
    [
      [1, 2],
      [2, 1],
    ] as const
  ).entries()) {
    await brokers.get(stopped)!.broker.close()
    await ledBy(other, [other])
    await round(other, 2 * number + 1)
    brokers.set(stopped, await start(stopped))
    wires.set(stopped, await brokers.get(stopped)!.connect())
    await ledBy(other, [1, 2])
    await ledBy(stopped, [1, 2])
    await round(other, 2 * number + 2)
  }
  for (let index = 0; index < partitions; index++) {
    const wire = await wireOf(1, index)
    await eventually(
      `${TOPIC}-${index} is cold`,
      async () =>
        (await offsetOf(wire, TOPIC, index, TIME.earliestLocal)) === (await offsetOf(wire, TOPIC, index, TIME.latest)),
      60_000,
    )
    await assertSeenAgain(wire, TOPIC, index, seen[index]!)
  }
})
