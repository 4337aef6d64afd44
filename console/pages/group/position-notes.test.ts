import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rangesOf } from './partition-ranges.ts'
import {
  hasRecordAtCommit,
  isBeyondEnd,
  isUnassigned,
  lossSentence,
  lostRecords,
  type Position,
} from './position-notes.ts'

const at = (committedOffset: number | null, startOffset: number | null, endOffset: number | null): Position => ({
  topic: 'orders',
  partition: 0,
  memberId: null,
  committedOffset,
  commitTimestamp: null,
  metadata: null,
  deliveredOffset: null,
  startOffset,
  endOffset,
  lag: null,
})

test('records that retention took before the group read them are counted', () => {
  assert.equal(lostRecords(at(5, 20, 50)), 15)
  assert.equal(
    lossSentence(at(5, 20, 50)),
    'The log begins at offset 20: 15 records after the committed offset are gone.',
  )
  assert.equal(
    lossSentence(at(19, 20, 50)),
    'The log begins at offset 20: 1 record after the committed offset is gone.',
  )
  assert.equal(lossSentence(at(20, 20, 50)), null)
  assert.equal(lossSentence(at(null, 20, 50)), null)
  assert.equal(lossSentence(at(5, null, null)), null)
})

test('the committed offset leads to a record only if the log has one there', () => {
  assert.equal(hasRecordAtCommit(at(20, 20, 50)), true)
  assert.equal(hasRecordAtCommit(at(49, 20, 50)), true)
  assert.equal(hasRecordAtCommit(at(50, 20, 50)), false)
  assert.equal(hasRecordAtCommit(at(5, 20, 50)), false)
  assert.equal(hasRecordAtCommit(at(null, 20, 50)), false)
  assert.equal(isBeyondEnd(at(50, 20, 50)), false)
  assert.equal(isBeyondEnd(at(51, 20, 50)), true)
})

test('a partition without a member is remarkable only in a group that has shared out its partitions', () => {
  assert.equal(isUnassigned({ memberId: null }, { state: 'Stable' }), true)
  assert.equal(isUnassigned({ memberId: 'a' }, { state: 'Stable' }), false)
  assert.equal(isUnassigned({ memberId: null }, { state: 'Empty' }), false)
  assert.equal(isUnassigned({ memberId: null }, { state: 'CompletingRebalance' }), false)
})

test('partitions that follow one another are written as a range', () => {
  assert.equal(rangesOf([7, 0, 2, 1, 3, 3]), '0–3, 7')
  assert.equal(rangesOf([5]), '5')
  assert.equal(rangesOf([]), '')
})
