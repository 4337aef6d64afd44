import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  changesBetween,
  changesSentence,
  effectOf,
  lagOf,
  pendingOf,
  type Row,
  totalsSentence,
} from './reset-effects.ts'

function row(partition: number, values: Partial<Row> = {}): Row {
  return {
    topic: 'orders',
    partition,
    memberId: null,
    committedOffset: 40,
    commitTimestamp: 1,
    metadata: '',
    deliveredOffset: null,
    startOffset: 10,
    endOffset: 100,
    newOffset: null,
    ...values,
  }
}

test('clearing says how many records may be read again or skipped, and which deliveries are forgotten', () => {
  assert.equal(
    totalsSentence([row(0, { deliveredOffset: 47 }), row(1)]),
    'Clears 2 offsets and 7 pending deliveries. Up to 60 records may be read again, or 120 skipped, depending on the consumer.',
  )
  assert.equal(
    totalsSentence([row(0)]),
    'Clears 1 offset. Up to 30 records may be read again, or 60 skipped, depending on the consumer.',
  )
})

test('ends that are not known make the numbers lower bounds', () => {
  assert.match(totalsSentence([row(0), row(1, { endOffset: null })]), /At least 30 records may be read again/)
  assert.match(totalsSentence([row(0, { newOffset: 10 }), row(1, { newOffset: 50, startOffset: null })]), /at least 30/)
})

test('setting offsets counts both directions, and the partitions that stay', () => {
  const rows = [row(0, { newOffset: 10 }), row(1, { newOffset: 41 }), row(2, { newOffset: 40 })]
  assert.equal(
    totalsSentence(rows),
    'Sets 2 offsets: 30 records are read again, and 1 is skipped. 1 partition stays as it is.',
  )
  assert.equal(
    totalsSentence([row(0, { newOffset: 40 })]),
    'Sets 0 offsets: 0 records are read again, and 0 are skipped. 1 partition stays as it is.',
  )
})

test('an offset outside of the log counts from the nearest end of the log', () => {
  assert.match(totalsSentence([row(0, { committedOffset: 4, newOffset: 10 })]), /: 0 records are read again, and 0 are/)
  assert.match(totalsSentence([row(0, { committedOffset: 150, newOffset: 90 })]), /: 10 records are read again/)
})

test('each partition says what happens in it', () => {
  assert.equal(effectOf(row(0)), 'the consumer decides')
  assert.equal(effectOf(row(0, { newOffset: 39 })), 'reads 1 record again')
  assert.equal(effectOf(row(0, { newOffset: 100 })), 'skips 60 records')
  assert.equal(effectOf(row(0, { newOffset: 40 })), 'stays')
  assert.equal(effectOf(row(0, { committedOffset: null, newOffset: 40 })), 'the first offset of the group here')
  assert.equal(effectOf(row(0, { committedOffset: 3, newOffset: 10 })), 'no record is skipped or read again')
  assert.equal(effectOf(row(0, { endOffset: null, newOffset: 3 })), 'the ends of the log are not known')
})

test('lag counts from the delivered record on, and pending deliveries from the committed one', () => {
  assert.equal(lagOf(row(0, { deliveredOffset: 47 })), 53)
  assert.equal(lagOf(row(0)), 60)
  assert.equal(lagOf(row(0, { endOffset: null })), null)
  assert.equal(pendingOf(row(0, { deliveredOffset: 47 })), 7)
  assert.equal(pendingOf(row(0)), null)
  assert.equal(pendingOf(row(0, { committedOffset: null, deliveredOffset: 12 })), 2)
})

test('a second preview marks the partitions that moved, came or went, and no others', () => {
  const before = [row(0), row(1), row(2), row(3), row(4, { newOffset: 5 })]
  const after = [
    row(0, { endOffset: 120, deliveredOffset: 60 }),
    row(1, { committedOffset: 50 }),
    row(2, { commitTimestamp: 2 }),
    row(4, { newOffset: 6 }),
    row(5),
  ]
  const { marked, gone } = changesBetween(before, after)
  assert.deepEqual(
    [...marked],
    [
      ['orders-1', 'committed was 40'],
      ['orders-2', 'the same offset was committed again'],
      ['orders-4', 'the new offset was 5'],
      ['orders-5', 'was not in the preview before'],
    ],
  )
  assert.deepEqual(
    gone.map(({ partition }) => partition),
    [3],
  )
  assert.deepEqual(
    [...changesBetween([row(0, { committedOffset: null })], [row(0)]).marked],
    [['orders-0', 'committed was none']],
  )
  assert.deepEqual(
    [...changesBetween([row(0)], [row(0, { metadata: 'x' })]).marked],
    [['orders-0', 'the metadata of the commit changed']],
  )
})

test('after a refusal the sentence says that nothing was written, and why', () => {
  const none = changesBetween([], [])
  const changes = changesBetween([row(0)], [row(0, { committedOffset: 50 })])
  assert.match(changesSentence(changes, true, false), /^Nothing was written: the group has moved in 1 partition /)
  assert.match(
    changesSentence(changes, false, false),
    /^The group has moved in 1 partition .* The changes are marked\.$/,
  )
  assert.match(changesSentence(none, true, false), /^Nothing was written: .* 15 minutes\.$/)
  assert.match(changesSentence(none, true, true), /^Nothing was written: a member has joined the group /)
  assert.equal(changesSentence(none, false, false), 'No offset has changed since the preview before.')
})

test('the sentence names the partitions that the new preview no longer has', () => {
  const before = [row(0), row(1), row(2, { topic: 'payments' })]
  assert.equal(
    changesSentence(changesBetween(before, []), true, false),
    'Nothing was written: the group has moved in 3 partitions since the preview before. The group no longer has a position in orders (0–1), payments (2).',
  )
  const many = Array.from({ length: 13 }, (_, at) => row(0, { topic: `topic-${at}` }))
  assert.match(changesSentence(changesBetween(many, []), true, false), / topic-9 \(0\), and 3 topics more\.$/)
})
