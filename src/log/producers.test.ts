import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { INVALID_PRODUCER_EPOCH, isRefusal, OUT_OF_ORDER_SEQUENCE_NUMBER } from '../protocol/errors.ts'
import {
  checkSequence,
  decodeProducer,
  encodeProducer,
  isExpired,
  lastSequenceOf,
  type Producer,
  type ProducerBatch,
  producerIdOf,
  producerKey,
  withBatch,
} from './producers.ts'

const LAST = 2 ** 31 - 1
const ID = 4_000

/**
 * Checks batches of (epoch, base sequence, records). Returns the result of each: its offset, `repeat of …`, or an
 * error.
 */
function feed(batches: readonly (readonly [epoch: number, baseSequence: number, records: number])[], known?: Producer) {
  let state = known
  let offset = 0
  const verdicts = batches.map(([epoch, baseSequence, records]) => {
    const lastSequence = lastSequenceOf(baseSequence, records - 1)
    const verdict = checkSequence(state, ID, epoch, baseSequence, lastSequence)
    if (isRefusal(verdict)) return verdict.name
    if (verdict !== null) return `repeat of ${verdict.baseOffset}`
    const batch = {
      baseSequence,
      lastSequence,
      baseOffset: offset,
      lastOffset: offset + records - 1,
      logAppendTimeMs: -1,
    }
    state = withBatch(state, epoch, batch, 0)
    offset += records
    return batch.baseOffset
  })
  return { verdicts, state }
}

test('a batch that follows is next; a gap and a step back are out of order', () => {
  const { verdicts } = feed([
    [0, 0, 10],
    [0, 10, 5],
    [0, 16, 1],
    [0, 15, 1],
    [0, 3, 2],
  ])
  assert.deepEqual(verdicts, [0, 10, OUT_OF_ORDER_SEQUENCE_NUMBER.name, 15, OUT_OF_ORDER_SEQUENCE_NUMBER.name])
})

test('a repeat of one of the last five batches is answered with its first offset, an older one is out of order', () => {
  const first = Array.from({ length: 6 }, (_, i) => [0, i * 2, 2] as const)
  const { verdicts } = feed([...first, ...first])
  assert.deepEqual(verdicts.slice(6), [
    OUT_OF_ORDER_SEQUENCE_NUMBER.name,
    'repeat of 2',
    'repeat of 4',
    'repeat of 6',
    'repeat of 8',
    'repeat of 10',
  ])
})

test('a batch that overlaps a repeat without being one is out of order', () => {
  const { verdicts } = feed([
    [0, 0, 10],
    [0, 0, 9],
  ])
  assert.deepEqual(verdicts, [0, OUT_OF_ORDER_SEQUENCE_NUMBER.name])
})

test('sequences go on from 0 after 2^31-1, also within a batch', () => {
  assert.equal(lastSequenceOf(LAST - 1, 4), 2)
  const exact = feed([
    [0, LAST - 9, 10],
    [0, 0, 3],
    [0, LAST - 9, 10],
  ])
  assert.deepEqual(exact.verdicts, [0, 10, 'repeat of 0'])
  const within = feed([
    [0, LAST - 1, 5],
    [0, 3, 1],
    [0, LAST - 1, 5],
  ])
  assert.deepEqual(within.verdicts, [0, 5, 'repeat of 0'])
})

test('a new epoch begins with 0 and forgets the old sequences, an old epoch is fenced', () => {
  const { verdicts } = feed([
    [3, 0, 4],
    [4, 4, 1],
    [4, 0, 4],
    [3, 0, 4],
    [4, 0, 4],
  ])
  assert.deepEqual(verdicts, [0, OUT_OF_ORDER_SEQUENCE_NUMBER.name, 4, INVALID_PRODUCER_EPOCH.name, 'repeat of 4'])
})

test('an unknown producer may begin with any sequence', () => {
  assert.deepEqual(
    feed([
      [7, 1234, 1],
      [7, 1235, 1],
    ]).verdicts,
    [0, 1],
  )
})

test('a producer expires by the time of its last append', () => {
  const producer = feed([[0, 0, 1]]).state!
  assert.deepEqual([isExpired(producer, 999, 1_000), isExpired(producer, 1_000, 1_000)], [false, true])
})

test('a row keeps the whole state of a producer', () => {
  const sequence = fc.integer({ min: 0, max: LAST })
  const batch: fc.Arbitrary<ProducerBatch> = fc
    .record({ baseSequence: sequence, records: fc.integer({ min: 1, max: 100_000 }), baseOffset: fc.maxSafeNat() })
    .map(({ baseSequence, records, baseOffset }) => ({
      baseSequence,
      lastSequence: lastSequenceOf(baseSequence, records - 1),
      baseOffset: Math.floor(baseOffset / 2),
      lastOffset: Math.floor(baseOffset / 2) + records - 1,
      logAppendTimeMs: baseOffset % 2 === 0 ? -1 : baseOffset,
    }))
  const producer = fc.record(
    {
      epoch: fc.integer({ min: 0, max: 2 ** 15 - 1 }),
      batches: fc.array(batch, { minLength: 1, maxLength: 5 }),
      lastAppendMs: fc.maxSafeNat(),
    },
    { noNullPrototype: true },
  )
  fc.assert(fc.property(producer, value => assert.deepEqual(decodeProducer(encodeProducer(value)), value)))
  assert.equal(producerIdOf(producerKey(2 ** 40)), 2 ** 40)
  assert.equal(producerIdOf('m100'), null)
})

test('if a producer sends each batch until it is acknowledged, each is in the log once and in order', () => {
  // The model: a window of batches. Some of them are sent again from any point, as a client does after lost answers.
  const sends = fc.array(fc.record({ back: fc.nat(4), count: fc.integer({ min: 1, max: 4 }) }), { maxLength: 60 })
  fc.assert(
    fc.property(sends, fc.integer({ min: 0, max: LAST }), (windows, start) => {
      let state: Producer | undefined
      const log: number[] = []
      let next = 0
      const baseOf = (n: number) => lastSequenceOf(start, n)
      for (const { back, count } of windows) {
        const from = Math.max(0, next - back)
        for (let n = from; n < from + count; n++) {
          const verdict = checkSequence(state, ID, 0, baseOf(n), baseOf(n))
          if (n < next) assert.equal(!isRefusal(verdict) && verdict?.baseOffset, n, 'a repeat has its offset')
          else {
            assert.equal(verdict, null)
            const batch = {
              baseSequence: baseOf(n),
              lastSequence: baseOf(n),
              baseOffset: n,
              lastOffset: n,
              logAppendTimeMs: -1,
            }
            state = withBatch(state, 0, batch, 0)
            log.push(n)
            next++
          }
        }
      }
      assert.deepEqual(
        log,
        Array.from({ length: next }, (_, i) => i),
      )
    }),
  )
})
