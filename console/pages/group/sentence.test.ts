import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DescribedGroup } from '../../../src/api/groups.ts'
import { groupSentence } from './sentence.ts'

type Described = Parameters<typeof groupSentence>[0]
type Assignment = DescribedGroup['members'][number]['assignment']

const member = (memberId: string, assignment: Assignment) => {
  return { memberId, instanceId: null, clientId: memberId, host: 'here', assignment }
}

const position = (topic: string, partition: number, committedOffset: number | null) => ({
  topic,
  partition,
  memberId: null,
  committedOffset,
  commitTimestamp: null,
  metadata: null,
  deliveredOffset: null,
  startOffset: 0,
  endOffset: 100,
  lag: null,
})

const lagOf = (totalLag: number | null, partitionsWithUnknownLag = 0, partitions = 12) => {
  return { totalLag, maxLag: totalLag, partitionsWithUnknownLag, partitions, lastCommitTimestamp: null }
}

const THREE: Described = {
  state: 'Stable',
  members: [
    member('a', [{ topic: 'orders', partitions: [0, 1, 2, 3] }]),
    member('b', [{ topic: 'orders', partitions: [4, 5] }]),
    member('c', [{ topic: 'payments', partitions: [0, 1, 2, 3, 4, 5] }]),
  ],
  lag: lagOf(4_210),
  positions: [],
}

test('a stable group says who reads what, how far behind, and the direction', () => {
  const expected = '3 members share 12 partitions of 2 topics; 4,210 records behind, falling'
  assert.equal(groupSentence(THREE, 'falling'), expected)
  const one = { ...THREE, members: [member('a', [{ topic: 'orders', partitions: [0] }])], lag: lagOf(1) }
  assert.equal(groupSentence(one, null), '1 member reads 1 partition of 1 topic; 1 record behind')
})

test('a lower bound says so, and a lag that is not known is not 0', () => {
  assert.match(groupSentence({ ...THREE, lag: lagOf(5, 2) }, 'growing'), /; at least 5 records behind, growing$/)
  assert.match(groupSentence({ ...THREE, lag: lagOf(null, 12) }, 'growing'), /; the lag is not known$/)
  assert.match(groupSentence({ ...THREE, lag: lagOf(0) }, 'steady'), /; nothing is behind$/)
})

test('a group without members says which offsets are kept', () => {
  const empty = { ...THREE, state: 'Empty', members: [] }
  const positions = [position('orders', 0, 5), position('orders', 1, 7), position('payments', 0, null)]
  assert.equal(
    groupSentence({ ...empty, positions }, null),
    'No members; offsets are kept for 2 partitions of 1 topic; 4,210 records behind',
  )
  assert.equal(
    groupSentence({ ...empty, lag: lagOf(null, 0, 0) }, null),
    'No members, and no committed offset; nothing is read yet',
  )
})

test('members that wait, or that have nothing to read, are not said to share partitions', () => {
  const waiting = { ...THREE, state: 'PreparingRebalance' }
  assert.match(groupSentence(waiting, null), /^3 members wait for the partitions to be shared out;/)
  const idle = { ...THREE, members: [member('a', [])] }
  assert.match(groupSentence(idle, null), /^1 member reads no partition;/)
})
