import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ListedSegment } from '../log/partition.ts'
import { type ArchivedPart, withTiers } from './segment-tiers.ts'

const segment = (base: number, next: number, isActive = false): ListedSegment => ({
  ...{ base, next, isActive, sealedAtMs: 1, bytes: 1, plainBytes: 1, batches: 1, records: 1, minTimestamp: 1 },
  ...{ maxTimestamp: 1, firstAppendMs: 1, lastAppendMs: 1, epochs: [], cleanedAtMs: null },
})

const archived = (ranges: ArchivedPart['ranges'], more: Partial<ArchivedPart> = {}): ArchivedPart => ({
  ...{ logStart: 0, ranges, lost: [], epochs: [] },
  ...more,
})

const rows = (...given: Parameters<typeof withTiers>) =>
  withTiers(...given).map(({ base, next, tier }) => `${base}-${next} ${tier}`)

const LOCAL = [segment(10, 20), segment(20, 30), segment(30, 35, true)]

test('without the remote tier every segment is local', () => {
  assert.deepEqual(rows(LOCAL, null, 10), ['10-20 local', '20-30 local', '30-35 local'])
})

test('a segment is in both tiers if the remote one has all of it', () => {
  assert.deepEqual(rows(LOCAL, archived([[10, 25]]), 10), ['10-20 both', '20-30 local', '30-35 local'])
  assert.deepEqual(rows(LOCAL, archived([[10, 30]]), 10), ['10-20 both', '20-30 both', '30-35 local'])
  // An active segment that is empty covers no offset.
  assert.deepEqual(rows([segment(10, 10, true)], archived([[0, 10]]), 10), ['0-10 remote', '10-10 local'])
})

test('the ranges below the local start are rows of their own, from the log start on', () => {
  const ranges = [
    [0, 4],
    [6, 20],
  ] as const
  assert.deepEqual(rows(LOCAL, archived(ranges), 10), [
    ...['0-4 remote', '6-10 remote', '10-20 both', '20-30 local', '30-35 local'],
  ])
  assert.deepEqual(rows(LOCAL, archived(ranges, { logStart: 7 }), 10)[0], '7-10 remote')
  assert.deepEqual(rows([], archived(ranges, { logStart: 20 }), 20), [])
})

test('a cold row has the epochs of its offsets and no numbers', () => {
  const epochs = [
    { epoch: 1, startOffset: 0 },
    { epoch: 3, startOffset: 4 },
    { epoch: 4, startOffset: 9 },
  ]
  const [row] = withTiers([], archived([[5, 9]], { epochs }), 10)
  assert.deepEqual(row!.epochs, [{ epoch: 3, startOffset: 4 }])
  assert.deepEqual([row!.bytes, row!.records, row!.sealedAtMs, row!.isActive], [null, null, null, false])
})

test('a segment that the store has lost is only in the remote tier', () => {
  assert.deepEqual(rows(LOCAL, archived([[0, 30]], { lost: [[18, 30]] }), 10).slice(1, 3), [
    '10-20 both',
    '20-30 remote',
  ])
})
