import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ShownRecord } from '../../../src/api/messages.ts'
import { arrive, EMPTY_RING, type LiveRing, MOST_KEPT, miss, release } from './live-ring.ts'

function records(from: number, count: number): readonly ShownRecord[] {
  return Array.from({ length: count }, (_, at) => ({
    partition: 0,
    offset: from + at,
    timestamp: null,
    timestampType: 'CreateTime',
    key: null,
    value: null,
    headers: [],
    headerCount: 0,
  }))
}

const offsets = ({ shown }: LiveRing) => shown.map(({ offset }) => offset)

test('the newest record is on top, and the oldest leaves', () => {
  const ring = arrive(arrive(EMPTY_RING, records(0, 3), false), records(3, 2), false)
  assert.deepEqual(offsets(ring), [4, 3, 2, 1, 0])
  const full = arrive(ring, records(5, MOST_KEPT + 20), false)
  assert.equal(full.shown.length, MOST_KEPT)
  assert.equal(full.shown[0]!.offset, MOST_KEPT + 24)
})

test('records wait while the list stands still, and are shown together', () => {
  const still = arrive(arrive(EMPTY_RING, records(0, 2), false), records(2, 3), true)
  assert.deepEqual(offsets(still), [1, 0])
  assert.equal(still.waitingCount, 3)
  const shown = release(still)
  assert.deepEqual(offsets(shown), [4, 3, 2, 1, 0])
  assert.equal(shown.waitingCount, 0)
})

test('more records may wait than are kept: all are counted, and the page shows no gap', () => {
  const still = arrive(arrive(EMPTY_RING, records(0, 2), false), records(2, MOST_KEPT + 1), true)
  assert.equal(still.waitingCount, MOST_KEPT + 1)
  assert.equal(still.waiting.length, MOST_KEPT)
  const shown = release(still)
  assert.equal(shown.shown.length, MOST_KEPT)
  assert.equal(shown.shown.at(-1)!.offset, 3)
})

test('skipped records are counted, and unknown numbers are remembered', () => {
  const ring = miss(miss(miss(EMPTY_RING, 3), null), 4)
  assert.equal(ring.dropped, 7)
  assert.equal(ring.isUncounted, true)
})
