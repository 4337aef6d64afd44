import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  archivedEndOf,
  archivedFrom,
  epochsFrom,
  joinedEpochs,
  nextSpan,
  type RemoteLog,
  type Span,
  spanWith,
  withSpan,
} from './remote-log.ts'

const REMOTE: RemoteLog = { logStart: 0, ranges: [], lost: [], epochs: [], version: 0, readUnder: 'one' }
const epoch = (number: number, startOffset: number) => ({ epoch: number, startOffset })

test('spans are found by an offset, and joined with their neighbours', () => {
  const spans: Span[] = [
    [0, 10],
    [20, 30],
  ]
  assert.deepEqual(
    [0, 9, 10, 29, 30].map(offset => spanWith(spans, offset)?.[0] ?? null),
    [0, 0, null, 20, null],
  )
  assert.deepEqual(
    [0, 10, 20].map(offset => nextSpan(spans, offset)),
    [20, 20, Number.POSITIVE_INFINITY],
  )
  assert.deepEqual(withSpan(spans, [10, 20]), [[0, 30]])
  assert.deepEqual(withSpan(spans, [12, 12]), spans)
  assert.deepEqual(withSpan(spans, [40, 50]), [...spans, [40, 50]])
})

test('the archived end is above all ranges and the log start, and only what follows without a gap may be trimmed', () => {
  const remote: RemoteLog = {
    ...REMOTE,
    ranges: [
      [10, 20],
      [30, 40],
    ],
    logStart: 10,
  }
  assert.equal(archivedEndOf(remote), 40)
  assert.equal(archivedEndOf({ ...remote, ranges: [], logStart: 50 }), 50)
  assert.deepEqual(
    [5, 10, 15, 20, 30].map(from => archivedFrom(remote, from)),
    [5, 20, 20, 20, 40],
  )
})

test('epochs of two lists are joined, and those below the log start are left out', () => {
  const live = [epoch(1, 0), epoch(2, 10), epoch(4, 20)]
  assert.deepEqual(epochsFrom(live, 10), [epoch(2, 10), epoch(4, 20)])
  assert.deepEqual(epochsFrom(live, 25), [epoch(4, 20)])
  assert.deepEqual(joinedEpochs([epoch(1, 0), epoch(2, 10)], [epoch(2, 15), epoch(4, 20)]), live)
})
