// The matrix relies on the comparison, so these tests try each way in which records can differ.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareRecords, makeRecords, type Received } from './client.ts'

const sent = makeRecords({ count: 400, partitions: 2, codecs: ['none'], seed: 1 })
const between = { from: 0, to: 1 }

/** The records that a client receives when everything is right. */
function receiveAll(): Received[] {
  const next = [0, 0]
  return sent.map(({ partition, timestamp, key, value, headers }) => {
    assert(partition !== null && timestamp !== null)
    return { partition, offset: next[partition]!++, timestamp, key, value, headers }
  })
}

/** Returns all records, with one of them changed. */
function replaceAt(index: number, change: (record: Received) => Partial<Received>): Received[] {
  return receiveAll().map((record, i) => (i === index ? { ...record, ...change(record) } : record))
}

test('records that arrive as they were sent are the same', () => {
  compareRecords(sent, receiveAll(), between)
})

test('every way in which records can differ is seen', () => {
  const swapped = receiveAll()
  const [a, b] = [swapped[20]!, swapped[22]!]
  swapped[20] = { ...b, offset: a.offset }
  swapped[22] = { ...a, offset: b.offset }
  const differences: readonly (readonly [RegExp, Received[]])[] = [
    [/number of records/, receiveAll().slice(1)],
    [/overtook/, swapped],
    [/dense/, replaceAt(30, record => ({ offset: record.offset + 1 }))],
    [/twice or was never sent/, replaceAt(30, () => ({ key: sent[29]!.key, value: sent[29]!.value }))],
    [
      /bytes of record 37 differ/,
      replaceAt(37, record => ({ value: Buffer.concat([record.value!, Buffer.from('!')]) })),
    ],
    [/bytes of record 11 differ/, replaceAt(11, () => ({ value: Buffer.alloc(0) }))],
    [/bytes of record 16 differ/, replaceAt(16, record => ({ headers: record.headers.slice(1) }))],
    [/bytes of record 16 differ/, replaceAt(16, record => ({ headers: record.headers.toReversed() }))],
    [/the timestamp/, replaceAt(40, record => ({ timestamp: record.timestamp + 1 }))],
  ]
  for (const [message, received] of differences) assert.throws(() => compareRecords(sent, received, between), message)
})

test('a record in another partition than asked for is seen', () => {
  const next = [0, 0]
  const elsewhere = receiveAll().map((record, i) => {
    const partition = i === 50 ? 1 - record.partition : record.partition
    return { ...record, partition, offset: next[partition]!++ }
  })
  assert.throws(() => compareRecords(sent, elsewhere, between), /the partition/)
})

test('a timestamp that the client left to the time of sending must be of that time', () => {
  const unstamped = sent.map(record => ({ ...record, timestamp: null }))
  const { timestamp: first } = sent[0]!
  const to = sent.at(-1)!.timestamp!
  compareRecords(unstamped, receiveAll(), { from: first!, to })
  assert.throws(() => compareRecords(unstamped, receiveAll(), { from: first!, to: to - 1 }), /time of sending/)
})
