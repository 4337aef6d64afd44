// Judged batches in the log room: duplicates, order, stalls, deadlines, ends and failures. keyed-batches.test.ts tests
// the judge of compacted topics.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { TestJudge } from '../../testing/judge.ts'
import { batchWith } from '../../testing/poison.ts'
import { batchOf, type LogWorldOptions, openLogWorld, readAll } from '../../testing/sim/logs.ts'
import { codecs } from '../protocol/compression.ts'
import {
  INVALID_RECORD,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  NOT_LEADER_OR_FOLLOWER,
  OUT_OF_ORDER_SEQUENCE_NUMBER,
  REQUEST_TIMED_OUT,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { type BatchOptions, type BatchView, MAX_UNPACKED_BYTES, readRecords, viewBatch } from '../protocol/records.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Appended } from './lane.ts'
import type { Partition } from './partition.ts'

type Answer = Appended | Refusal

const said = (answer: Answer | null) => (answer === null ? null : isRefusal(answer) ? answer.name : answer.baseOffset)

function watch(promise: Promise<Answer>): { answer: Answer | null } {
  const seen: { answer: Answer | null } = { answer: null }
  void promise.then(answer => {
    seen.answer = answer
  })
  return seen
}

const valued = (values: readonly string[], options: BatchOptions = {}): BatchView =>
  batchOf(
    values.map(value => ({ value })),
    options,
  )

const idempotent = (baseSequence: number, value = 'good', producerEpoch = 0): BatchView =>
  valued([value], { producerId: 7, producerEpoch, baseSequence })

async function openJudged(t: TestContext, options: LogWorldOptions = {}) {
  const judge = new TestJudge()
  const world = await openLogWorld(t, { ...options, judge })
  return { ...world, judge, partition: await world.createPartition() }
}

async function valuesIn(partition: Partition): Promise<string[]> {
  const values: string[] = []
  for (const { bytes } of await readAll(partition)) {
    for (const { value } of await readRecords(bytes)) values.push(String(value))
  }
  return values
}

for (const compression of codecs) {
  test(`a bad batch leaves no offset and the batches around it are appended (${compression})`, async t => {
    const { partition, judge } = await openJudged(t)
    const sent = [['a'], ['b', 'X', 'c', 'X'], ['d']].map(values => valued(values, { compression }))
    const answers = await Promise.all(sent.map(batch => partition.append(batch, 0)))
    assert.deepEqual(answers.map(said), [0, 'INVALID_RECORD', 1])
    assert.deepEqual(
      (answers[1] as Refusal).recordErrors?.map(({ batchIndex }) => batchIndex),
      [1, 3],
    )
    assert.deepEqual(await valuesIn(partition), ['a', 'd'])
    assert.deepEqual(
      (await readAll(partition)).map(batch => batch.compression),
      [compression, compression],
    )
    assert.deepEqual([judge.looks, judge.verdicts], [3, 3])
  })
}

test('a topic without a judge is not looked into', async t => {
  const judge = new TestJudge()
  const world = await openLogWorld(t, { judge })
  await world.create('free')
  assert.equal(said(await world.partition('free').append(valued(['X']), 0)), 0)
  assert.equal(judge.looks, 0)
})

test('batches keep their order while a verdict is missing, and those that are decided meanwhile go together', async t => {
  const { partition, judge, clock, store } = await openJudged(t)
  const first = watch(partition.append(valued(['1']), 0))
  const release = judge.hold()
  const second = watch(partition.append(valued(['2']), 0))
  judge.next.push(new StoreUnavailable('away'))
  const rest = ['3', '4', '5'].map(value => watch(partition.append(valued([value]), 0)))
  await clock.settle()
  assert.deepEqual(
    [first, second, ...rest].map(({ answer }) => said(answer)),
    [0, null, null, null, null],
  )
  release()
  await clock.settle()
  const rows = [second, ...rest].map(({ answer }) => said(answer))
  assert.deepEqual(rows, [1, 'KAFKA_STORAGE_ERROR', 2, 3])
  assert.deepEqual(await valuesIn(partition), ['1', '2', '4', '5'])
  assert.equal(store.calls.append, 2)
})

test('a repeat of a stored batch gets the answer of the original, whatever its own verdict is, and waits for none', async t => {
  const { partition, judge, clock } = await openJudged(t)
  assert.equal(said(await partition.append(idempotent(0), 0)), 0)
  judge.next.push({ ...INVALID_RECORD, message: 'the subject has changed' })
  assert.equal(said(await partition.append(idempotent(0), 0)), 0)
  const release = judge.hold()
  const repeat = watch(partition.append(idempotent(0), 0))
  const next = watch(partition.append(idempotent(1), 0))
  await clock.settle()
  assert.deepEqual([said(repeat.answer), said(next.answer)], [0, null])
  release()
  await clock.settle()
  assert.equal(said(next.answer), 1)
  assert.equal(partition.endOffset, 2)
})

test('a batch out of order is refused without its verdict', async t => {
  const { partition, judge, clock } = await openJudged(t)
  assert.equal(said(await partition.append(idempotent(0), 0)), 0)
  judge.hold()
  const early = watch(partition.append(idempotent(5), 0))
  await clock.settle()
  assert.equal(said(early.answer), OUT_OF_ORDER_SEQUENCE_NUMBER.name)
})

test('a refused batch of a known producer takes no sequence, and the batches in flight behind it are out of order', async t => {
  const { partition } = await openJudged(t)
  assert.equal(said(await partition.append(idempotent(0), 0)), 0)
  const flight = [idempotent(1), idempotent(2, 'X'), idempotent(3), idempotent(4)]
  const { name } = OUT_OF_ORDER_SEQUENCE_NUMBER
  const answers = await Promise.all(flight.map(batch => partition.append(batch, 0)))
  assert.deepEqual(answers.map(said), [1, INVALID_RECORD.name, name, name])
  // As Java's and librdkafka's producers go on: with the next epoch, from sequence 0.
  const again = [idempotent(0, '3', 1), idempotent(1, '4', 1)].map(batch => partition.append(batch, 0))
  assert.deepEqual((await Promise.all(again)).map(said), [2, 3])
  assert.deepEqual(await valuesIn(partition), ['good', 'good', '3', '4'])
})

test('behind a bad first batch of a new producer the next one may be the first, as in Kafka', async t => {
  const { partition } = await openJudged(t)
  const flight = [idempotent(0, 'X'), idempotent(1), idempotent(2)].map(batch => partition.append(batch, 0))
  assert.deepEqual((await Promise.all(flight)).map(said), [INVALID_RECORD.name, 0, 1])
})

test('a first batch that could not be judged must come again before its successors; if it is bad then, they go on', async t => {
  const { partition, judge } = await openJudged(t)
  const { name } = OUT_OF_ORDER_SEQUENCE_NUMBER
  judge.next.push(new StoreUnavailable('away'))
  const flight = [idempotent(0), idempotent(1)].map(batch => partition.append(batch, 0))
  assert.deepEqual((await Promise.all(flight)).map(said), [KAFKA_STORAGE_ERROR.name, name])
  judge.next.push({ ...INVALID_RECORD, message: 'the subject has changed' })
  const again = [idempotent(0), idempotent(1)].map(batch => partition.append(batch, 0))
  assert.deepEqual((await Promise.all(again)).map(said), [INVALID_RECORD.name, 0])
})

test('the wait for a verdict is no stall, and a stall counts again from its end on', async t => {
  const { partition, judge, clock, store } = await openJudged(t)
  const stallMs = 1_000
  const release = judge.hold()
  const first = watch(partition.append(valued(['1']), 0, stallMs))
  const second = watch(partition.append(valued(['2']), 60_000, stallMs))
  await clock.advance(20 * stallMs)
  assert.deepEqual([first.answer, second.answer], [null, null])
  const stop = store.faults.hold('append')
  release()
  await clock.advance(stallMs - 100)
  assert.deepEqual([first.answer, second.answer], [null, null])
  await clock.advance(200)
  for (const { answer } of [first, second]) {
    assert.equal(said(answer), REQUEST_TIMED_OUT.name)
    assert.match((answer as Refusal).message, /may or may not/)
  }
  stop()
})

test("a caller's own deadline holds while the verdict is missing; the batch is not appended, and the lane goes on", async t => {
  const { partition, judge, clock } = await openJudged(t)
  const release = judge.hold()
  const first = watch(partition.append(valued(['1']), 500, 100))
  const second = watch(partition.append(valued(['2']), 0, 100))
  await clock.advance(499)
  assert.deepEqual([first.answer, second.answer], [null, null])
  await clock.advance(1)
  assert.equal(said(first.answer), REQUEST_TIMED_OUT.name)
  assert.match((first.answer as Refusal).message, /not checked within 500 ms, and the batch was not appended/)
  release()
  await clock.settle()
  assert.equal(said(second.answer), 0)
  assert.deepEqual(await valuesIn(partition), ['2'])
})

test('when the first batch is given up, a decided one behind it does not wait for another verdict', async t => {
  const { partition, judge, clock } = await openJudged(t)
  judge.hold()
  const first = watch(partition.append(valued(['1']), 500))
  judge.next.push({ ...INVALID_RECORD, message: 'bad' })
  const second = watch(partition.append(valued(['2']), 0))
  await clock.advance(400)
  assert.deepEqual([first.answer, second.answer], [null, null])
  await clock.advance(100)
  await clock.settle()
  assert.deepEqual([said(first.answer), said(second.answer)], [REQUEST_TIMED_OUT.name, INVALID_RECORD.name])
})

test('closing and removing a topic refuse batches without a verdict at once, and end their looks', async t => {
  const { partition, judge, clock, logs, catalogue, create, partition: _, ...world } = await openJudged(t)
  let isOver = () => false
  judge.onLook = look => {
    isOver = () => {
      try {
        return look.turn() === null
      } catch {
        return true
      }
    }
    return undefined
  }
  judge.hold()
  await create('removed')
  const removed = watch(logs.partition(catalogue.current().topics.get('removed')!.id, 0)!.append(valued(['1']), 0))
  await clock.settle()
  assert.equal(isOver(), false)
  await catalogue.remove([catalogue.current().topics.get('removed')!.id])
  await clock.settle()
  assert.equal(said(removed.answer), UNKNOWN_TOPIC_OR_PARTITION.name)
  assert.equal(isOver(), true)
  const waiting = watch(partition.append(valued(['1']), 0))
  await clock.settle()
  await logs.close()
  assert.equal(said(waiting.answer), NOT_LEADER_OR_FOLLOWER.name)
  assert.equal(world.store.calls.append, 0)
})

test('a verdict is kept when the batch is appended again after a lost append, a thief and a re-open', async t => {
  const { partition, judge, clock, store } = await openJudged(t)
  store.faults.failNext('append', 'unknown-lost')
  assert.equal(said(await partition.append(valued(['1']), 0)), 0)
  await store.open(partition.state.stream, 0, 0)
  const release = judge.hold()
  const flight = ['2', 'X', '3'].map(value => watch(partition.append(valued([value]), 0)))
  await clock.settle()
  partition.reopen()
  await clock.advance(1_000)
  release()
  await clock.advance(5_000)
  assert.deepEqual(
    flight.map(({ answer }) => said(answer)),
    [1, INVALID_RECORD.name, 2],
  )
  assert.deepEqual([judge.looks, judge.verdicts], [4, 4])
})

test('while the stream is opened again a stall counts, although the first batch has no verdict yet', async t => {
  const { partition, judge, clock, store } = await openJudged(t)
  judge.hold()
  const sent = watch(partition.append(valued(['1']), 0, 1_000))
  await clock.advance(5_000)
  store.faults.hold('open')
  partition.reopen()
  await clock.advance(900)
  assert.equal(sent.answer, null)
  await clock.advance(200)
  assert.equal(said(sent.answer), REQUEST_TIMED_OUT.name)
  store.faults.release()
})

test('records that cannot be read, a store that is away and a mistake of the judge refuse the batch; the lane goes on', async t => {
  const { partition, judge, lines } = await openJudged(t)
  const gzipped = (payload: Buffer) =>
    viewBatch(batchWith(payload, { codec: 'gzip', count: 1, baseTimestamp: 0, maxTimestamp: 0 }))
  for (const payload of [Buffer.from('no gzip'), gzipSync(Buffer.alloc(MAX_UNPACKED_BYTES + 1))]) {
    const refused = await partition.append(gzipped(payload), 0)
    assert.equal(said(refused), INVALID_RECORD.name)
    assert.match((refused as Refusal).message, /^The records of a batch for topic-0-0 cannot be read: gzip: /)
  }
  for (const isLate of [false, true]) {
    judge.isLate = isLate
    judge.next.push(new StoreUnavailable('gone fishing'))
    const away = await partition.append(valued(['1']), 0)
    assert.equal(said(away), KAFKA_STORAGE_ERROR.name)
    assert.match((away as Refusal).message, /nothing was written: gone fishing\.$/)
    judge.next.push(new TypeError('a mistake'))
    assert.equal(said(await partition.append(valued(['2']), 0)), UNKNOWN_SERVER_ERROR.name)
  }
  assert.ok(lines.some(line => line.includes('could not be checked') && line.includes('a mistake')))
  assert.equal(said(await partition.append(valued(['3']), 0)), 0)
})

test('a compacted topic checks keys first, and both checks share one look', async t => {
  const judge = new TestJudge()
  const world = await openLogWorld(t, { judge })
  const partition = await world.createPartition({ 'cleanup.policy': 'compact' })
  for (const compression of ['none', 'lz4'] as const) {
    const send = (key: string | null, value: string) =>
      partition.append(
        batchOf(
          [
            { key: 'a', value: 'a' },
            { key, value },
          ],
          { compression },
        ),
        0,
      )
    const keyless = await send(null, 'X')
    assert.match((keyless as Refusal).message, /^1 of 2 records have no key/)
    const bad = await send('k', 'X')
    assert.deepEqual((bad as Refusal).recordErrors, [
      { batchIndex: 1, batchIndexErrorMessage: 'record 1 begins with X' },
    ])
    assert.ok(!isRefusal(await send('k', 'v')))
  }
  assert.deepEqual([judge.looks, judge.verdicts], [6, 4])
})

test('small batches are judged before append returns; the others wait for a turn and for memory', async t => {
  const { partition, judge } = await openJudged(t)
  const big = 'v'.repeat(300_000)
  for (const compression of codecs) {
    const small = partition.append(valued(['v'.repeat(1_000)], { compression }), 0)
    assert.equal(judge.verdicts, judge.looks, compression)
    const before = judge.verdicts
    const large = partition.append(valued([big], { compression }), 0)
    assert.equal(judge.verdicts - before, compression === 'none' ? 1 : 0, compression)
    assert.ok(!isRefusal(await small) && !isRefusal(await large))
  }
})

test('of one partition at most two large batches are unpacked at a time, so that others get their turn', async t => {
  const { partition, judge, create, logs } = await openJudged(t)
  const other = await create('other')
  const order: string[] = []
  let open = 0
  let most = 0
  judge.onLook = ({ walk, turn }) => {
    assert.ok(walk.next())
    const name = String(walk.key())
    if (name === 'bomb') most = Math.max(most, ++open)
    return (async () => {
      for (let i = 0; i < 20; i++) await (turn() ?? new Promise(setImmediate))
      if (name === 'bomb') open--
      order.push(name)
    })()
  }
  const large = (key: string) => batchOf([{ key, value: 'v'.repeat(200_000) }], { compression: 'zstd' })
  const bombs = Array.from({ length: 12 }, () => partition.append(large('bomb'), 0))
  const small = logs.partition(other.id, 0)!.append(large('other'), 0)
  assert.equal(said(await small), 0)
  await Promise.all(bombs)
  assert.equal(most, 2)
  assert.ok(order.indexOf('other') < 5, order.join())
})

test('while a bomb holds the memory for large batches, ordinary ones of other topics are judged and appended', async t => {
  const { partition, judge, create, logs } = await openJudged(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  let isHeld = false
  judge.onLook = ({ unpackedBytes }) => {
    if (unpackedBytes < 67_000_000) return undefined
    isHeld = true
    return promise
  }
  const bomb = watch(partition.append(batchOf([{ value: Buffer.alloc(67_000_000) }], { compression: 'zstd' }), 0))
  while (!isHeld) await new Promise(setImmediate)
  const other = logs.partition((await create('other')).id, 0)!
  const sizes = [10, 200_000, 10, 200_000]
  const answers = sizes.map(size => other.append(valued(['v'.repeat(size)], { compression: 'gzip' }), 0))
  assert.deepEqual((await Promise.all(answers)).map(said), [0, 1, 2, 3])
  assert.equal(bomb.answer, null)
  resolve()
  while (bomb.answer === null) await new Promise(setImmediate)
  assert.equal(said(bomb.answer), 0)
})

test('a small batch that finds no time left in a turn still waits for no large ones, not even of its partition', async t => {
  const { partition, judge, create, logs } = await openJudged(t)
  const other = logs.partition((await create('other')).id, 0)!
  const { promise, resolve } = Promise.withResolvers<void>()
  let held = 0
  let small = 0
  judge.onLook = ({ unpackedBytes }) => {
    if (unpackedBytes < 1_000) small++
    if (unpackedBytes < 210_000) return undefined
    held++
    return promise
  }
  const large = (bytes: number) => valued(['v'.repeat(bytes)], { compression: 'zstd' })
  const sent = [partition.append(large(220_000), 0), partition.append(large(220_000), 0)]
  while (held < 2) await new Promise(setImmediate)
  // It is in line for a turn, and so is each batch behind it.
  sent.push(other.append(large(200_000), 0))
  for (let i = 0; i < 5; i++) await Promise.resolve()
  sent.push(partition.append(valued(['small'], { compression: 'zstd' }), 0))
  assert.equal(small, 0)
  for (let i = 0; i < 5; i++) await new Promise(setImmediate)
  const meanwhile = small
  resolve()
  await Promise.all(sent)
  assert.equal(meanwhile, 1, 'it was looked into while both large ones were held')
})
