import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GroupPosition } from '../contract.ts'
import {
  consumedBetween,
  describeLagHistory,
  type JudgedPartition,
  judgeCatchUp,
  judgeGroup,
  producedBetween,
  type Rate,
  type Rates,
  rateOf,
} from './catch-up.ts'

const over = (recordsPerSecond: number, overSeconds = 60): Rate =>
  rateOf(recordsPerSecond * overSeconds, 'history', overSeconds)

function judge(lag: number | null, consume: Rate | null, produce: Rate | null, hasOwner = true) {
  const { verdict, reason, seconds } = judgeCatchUp({ lag, hasOwner, produce, consume })
  return [verdict, reason, seconds]
}

test('a group catches up in the time that its surplus takes for the lag', () => {
  assert.deepEqual(judge(1_000, over(60), over(10)), ['catches-up', null, 20])
  assert.deepEqual(judge(1_000, over(3), over(0)), ['catches-up', null, 333.333])
  assert.deepEqual(judge(0, null, null, false), ['caught-up', null, 0])
})

test('a group never catches up without an owner, if it is slower, or if it does not move', () => {
  assert.deepEqual(judge(5, over(0), over(10), false), ['never', 'no-owner', null])
  assert.deepEqual(judge(5, null, null, false), ['never', 'no-owner', null])
  assert.deepEqual(judge(1_000, over(10), over(60)), ['never', 'slower', null])
  assert.deepEqual(judge(1_000, over(10), over(10)), ['never', 'slower', null])
  assert.deepEqual(judge(5, over(0), over(10)), ['never', 'not-moving', null])
  assert.deepEqual(judge(5, over(0), over(0)), ['never', 'not-moving', null])
})

test('a partition without an owner is judged when the group has rebalanced', () => {
  const { verdict, reason } = judgeCatchUp({
    ...{ lag: 5, hasOwner: false, isRebalancing: true, produce: over(1), consume: over(0) },
  })
  assert.deepEqual([verdict, reason], ['unknown', 'rebalancing'])
})

test('a client without a group moves its position, so that it needs no owner', () => {
  assert.deepEqual(judge(1_000, over(60), over(10), false), ['catches-up', null, 20])
})

test('a group that stays seconds behind the end keeps up, and one that falls back does not', () => {
  assert.deepEqual(judge(50, over(100), over(100)), ['keeps-up', null, 0.5])
  assert.deepEqual(judge(50, over(97), over(100)), ['keeps-up', null, 0.515])
  assert.deepEqual(judge(50, over(90), over(100)), ['never', 'slower', null])
  assert.deepEqual(judge(1_001, over(100), over(100)), ['never', 'slower', null])
})

test('without a lag or a rate, and after a short silence, it is unknown', () => {
  assert.deepEqual(judge(null, over(1), over(1)), ['unknown', 'unknown-lag', null])
  assert.deepEqual(judge(5, null, over(1)), ['unknown', 'unknown-rates', null])
  assert.deepEqual(judge(5, over(1), null), ['unknown', 'unknown-rates', null])
  assert.deepEqual(judge(5, over(0, 9), over(1)), ['unknown', 'just-moved', null])
})

interface Place {
  readonly end?: number | null
  readonly delivered?: number | null
  /** The offset, and the time of the commit. */
  readonly committed?: readonly [number, number] | null
}

function position({ end = 100, delivered = null, committed = null }: Place): GroupPosition {
  return {
    ...{ topic: 't', topicId: 'i', partition: 0, memberId: null, deliveredOffset: delivered },
    committed: committed && { offset: committed[0], metadata: null, commitTimestampMs: committed[1], leaderEpoch: -1 },
    ...{ startOffset: 0, endOffset: end, lag: null },
  } as GroupPosition
}

const NOW_MS = 1_000_000
const looks = (before: Place, after: Place) => ({
  ...{ before: position(before), after: position(after), seconds: 2, nowMs: NOW_MS },
})

test('the produced records are those between two ends', () => {
  assert.deepEqual(producedBetween(looks({ end: 100 }, { end: 150 })), rateOf(50, 'positions', 2))
  assert.deepEqual(producedBetween(looks({ end: 100 }, { end: 100 })), rateOf(0, 'positions', 2))
  assert.equal(producedBetween(looks({ end: null }, { end: 100 })), null)
  assert.equal(producedBetween(looks({ end: 100 }, { end: 5 })), null, 'another topic has the name')
})

test('delivered records count before committed ones, and a commit counts since the one before', () => {
  const ten = [10, NOW_MS - 6_000] as const
  const forty = [40, NOW_MS - 1_000] as const
  assert.deepEqual(
    consumedBetween(looks({ delivered: 20, committed: ten }, { delivered: 50, committed: forty })),
    rateOf(30, 'positions', 2),
  )
  assert.deepEqual(consumedBetween(looks({ committed: ten }, { committed: forty })), rateOf(30, 'commits', 5))
  assert.deepEqual(
    consumedBetween(looks({ committed: [10, NOW_MS] }, { committed: [40, NOW_MS] })),
    rateOf(30, 'positions', 2),
  )
  assert.deepEqual(
    consumedBetween(looks({ delivered: 50, committed: ten }, { delivered: 50, committed: forty })),
    rateOf(30, 'commits', 5),
    'a consumer works off what it has fetched',
  )
})

test('a position that does not move was still since its last commit', () => {
  const old = [10, NOW_MS - 47_000] as const
  assert.deepEqual(consumedBetween(looks({ committed: old }, { committed: old })), rateOf(0, 'commits', 47))
  assert.deepEqual(consumedBetween(looks({ delivered: 10 }, { delivered: 10 })), rateOf(0, 'positions', 2))
  const fresh = [10, NOW_MS - 1_000] as const
  assert.deepEqual(consumedBetween(looks({ committed: fresh }, { committed: fresh })), rateOf(0, 'positions', 2))
})

test('the rate is unknown at a first commit, without positions, and when a group was moved back', () => {
  const at = [10, NOW_MS - 1_000] as const
  assert.equal(consumedBetween(looks({}, { committed: at })), null)
  assert.equal(consumedBetween(looks({}, {})), null)
  assert.equal(consumedBetween(looks({ committed: at }, { committed: [0, NOW_MS] })), null)
  assert.equal(consumedBetween(looks({ delivered: 9 }, { delivered: 3 })), null)
})

/** Samples of one second each, from the time 100 s on. */
function history(lags: readonly number[], { startedAtMs = 0, isFull = false } = {}) {
  const samples = lags.map((lag, i) => ({ timestamp: 100_000 + i * 1_000, lag }))
  return describeLagHistory(samples, { intervalMs: 1_000, refreshMs: 1_000, startedAtMs, isFull })
}

test('a group lags since the first step after the last one without lag', () => {
  const { lagsSince, lowest, highest, samples, from, to } = history([3, 0, 5, 2, 9])
  assert.deepEqual(lagsSince, { timestamp: 102_000, isAtLeast: false })
  assert.deepEqual(lowest, { timestamp: 103_000, lag: 2 })
  assert.deepEqual(highest, { timestamp: 104_000, lag: 9 })
  assert.deepEqual([samples, from, to], [5, 100_000, 104_000])
  assert.equal(history([3, 0]).lagsSince, null)
  assert.equal(history([]).lagsSince, null)
})

test('a lag that begins with the history, or after a gap, may be older', () => {
  assert.deepEqual(history([3, 4]).lagsSince, { timestamp: 100_000, isAtLeast: false })
  assert.equal(history([3, 4], { isFull: true }).lagsSince!.isAtLeast, true)
  assert.equal(history([3, 4], { startedAtMs: 97_000 }).lagsSince!.isAtLeast, true)
  assert.equal(history([3, 4], { startedAtMs: 96_999 }).lagsSince!.isAtLeast, false)
  assert.deepEqual(history([1, Number.NaN, 4]).lagsSince, { timestamp: 102_000, isAtLeast: true })
  assert.deepEqual(history([0, 1, Number.NaN]).lagsSince, { timestamp: 101_000, isAtLeast: false })
})

test('the trend is that of the last steps', () => {
  assert.deepEqual(history([100, 90, 80, 70, 60]).trend, {
    first: { timestamp: 100_000, lag: 100 },
    last: { timestamp: 104_000, lag: 60 },
    overSeconds: 4,
    lagPerSecond: -10,
  })
  assert.equal(history([100, 90, 80, 70]).trend, null, 'two steps may have seen the same measurement')
  const { trend } = history([...Array.from({ length: 100 }, () => 1_000), 900, 800, 700, 600, 500, 400])
  assert.deepEqual([trend!.overSeconds, trend!.lagPerSecond], [6, -100])
})

test('a group is judged by its worst partition, and by the history where a partition is only slow', () => {
  const fast = partition(100, over(20), over(10))
  const slower = partition(200, over(5), over(10))
  const still = partition(300, over(0), over(10))
  const unowned = partition(400, over(0), over(10), false)
  const done = partition(0, null, null)
  const judged = (partitions: readonly JudgedPartition[], rates: Rates = { produce: null, consume: null }) => {
    const total = partitions.reduce((sum, { lag }) => sum + (lag ?? 0), 0)
    const { verdict, reason, seconds } = judgeGroup(total, partitions, rates)
    return [verdict, reason, seconds]
  }
  assert.deepEqual(judged([]), ['unknown', 'no-positions', null])
  assert.deepEqual(judged([done, done]), ['caught-up', null, 0])
  assert.deepEqual(judged([fast, done, partition(50, over(20), over(10))]), ['catches-up', null, 10])
  assert.deepEqual(judged([fast, slower]), ['never', 'slower', null])
  assert.deepEqual(judged([fast, slower, still]), ['never', 'not-moving', null])
  assert.deepEqual(judged([fast, slower, still, unowned]), ['never', 'no-owner', null])
  assert.deepEqual(judged([fast, partition(null, null, null)]), ['unknown', 'unknown-lag', null])
  assert.deepEqual(judged([fast, partition(5, null, over(1))]), ['unknown', 'unknown-rates', null])
  const past = { produce: over(10), consume: over(40) }
  assert.deepEqual(judged([fast, slower], past), ['catches-up', null, 10])
  assert.deepEqual(judged([fast, still], past), ['never', 'not-moving', null])
  assert.equal(
    judgeGroup(800, [still, unowned, unowned], past).why,
    '800 records wait in 2 partitions that no member owns.',
  )
})

function partition(lag: number | null, consume: Rate | null, produce: Rate | null, hasOwner = true): JudgedPartition {
  return { lag, catchUp: judgeCatchUp({ lag, hasOwner, produce, consume }) }
}
