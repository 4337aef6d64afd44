// Produce into a compacted topic, in the log room: refused records without a key, and the order of batches.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { batchWith } from '../../testing/poison.ts'
import { batchOf, openLogWorld, readAll } from '../../testing/sim/logs.ts'
import { INVALID_RECORD, isRefusal } from '../protocol/errors.ts'
import { MAX_UNPACKED_BYTES, viewBatch } from '../protocol/records.ts'
import { Unpacking } from './unpacking.ts'

const gzipped = (payload: Buffer) =>
  viewBatch(batchWith(payload, { codec: 'gzip', count: 1, baseTimestamp: 0, maxTimestamp: 0 }))

const COMPACTED = { 'cleanup.policy': 'compact,delete' }

for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
  test(`a record without a key is refused with its number, and nothing is written (${compression})`, async t => {
    const partition = await (await openLogWorld(t)).createPartition(COMPACTED)
    const { name } = partition.state
    const records = [{ key: 'a', value: '1' }, { value: '2' }, { key: '', value: '3' }, { key: null }]
    const refused = await partition.append(batchOf(records, { compression }), 0)
    assert.ok(isRefusal(refused))
    assert.equal(refused.code, INVALID_RECORD.code)
    assert.match(refused.message, /^2 of 4 records have no key, the first one is record 1 of the batch\./)
    const batchIndexErrorMessage = `Compacted topic cannot accept message without key in topic partition ${name}.`
    assert.deepEqual(refused.recordErrors, [
      { batchIndex: 1, batchIndexErrorMessage },
      { batchIndex: 3, batchIndexErrorMessage },
    ])
    assert.equal(partition.endOffset, 0)
    const taken = await partition.append(batchOf([{ key: '', value: '1' }, { key: 'a' }], { compression }), 0)
    assert.equal(!isRefusal(taken) && taken.baseOffset, 0)
  })
}

test('a refusal names at most 100 records, and counts all of them', async t => {
  const partition = await (await openLogWorld(t)).createPartition(COMPACTED)
  const refused = await partition.append(batchOf(100_000, { compression: 'gzip' }), 0)
  assert.ok(isRefusal(refused))
  assert.match(refused.message, /^100000 of 100000 records have no key/)
  assert.equal(refused.recordErrors?.length, 100)
})

test('a batch that does not unpack, or unpacks to too much, is refused: the cleaner could never clean it', async t => {
  const partition = await (await openLogWorld(t)).createPartition(COMPACTED)
  for (const payload of [Buffer.from('no gzip'), gzipSync(Buffer.alloc(MAX_UNPACKED_BYTES + 1))]) {
    const refused = await partition.append(gzipped(payload), 0)
    assert.ok(isRefusal(refused))
    assert.match(refused.message, /^The records of a batch for topic-0-0 cannot be read: gzip: /)
    assert.equal(refused.code, INVALID_RECORD.code)
  }
})

test('batches that must be unpacked and others enter the log in the order of the calls', async t => {
  const partition = await (await openLogWorld(t)).createPartition(COMPACTED)
  const big = 'x'.repeat(500_000)
  const sent = [
    batchOf([{ key: '0', value: big }], { compression: 'lz4' }),
    batchOf([{ key: '1' }]),
    batchOf([{ value: 'no key' }], { compression: 'zstd' }),
    batchOf([{ key: '2', value: big }], { compression: 'gzip' }),
    batchOf([{ key: '3' }]),
  ]
  const answers = await Promise.all(sent.map(batch => partition.append(batch, 0)))
  assert.deepEqual(
    answers.map(answer => (isRefusal(answer) ? answer.name : answer.baseOffset)),
    [0, 1, 'INVALID_RECORD', 2, 3],
  )
  assert.deepEqual(
    (await readAll(partition)).map(({ compression }) => compression),
    ['lz4', 'none', 'gzip', 'none'],
  )
})

test('a topic that is not compacted opens no batch', async t => {
  const looks = [t.mock.method(Unpacking.prototype, 'look'), t.mock.method(Unpacking.prototype, 'lookSoon')]
  const partition = await (await openLogWorld(t)).createPartition()
  assert.ok(!isRefusal(await partition.append(gzipped(Buffer.from('no gzip')), 0)))
  assert.ok(!isRefusal(await partition.append(batchOf([{ value: 'no key' }], { compression: 'lz4' }), 0)))
  const calls = () => looks.map(({ mock }) => mock.callCount())
  assert.deepEqual(calls(), [0, 0])
  const compacted = await (await openLogWorld(t)).createPartition(COMPACTED)
  assert.ok(!isRefusal(await compacted.append(batchOf([{ key: 'k' }]), 0)))
  assert.deepEqual(calls(), [0, 1])
})
