import assert from 'node:assert/strict'
import { test } from 'node:test'
import { highest, NO_PERCENTILES, StepHistogram } from './step-histogram.ts'

test('a percentile is within 3.2 % of what was observed, or 8 µs below half a millisecond', () => {
  for (let exponent = -3; exponent <= 5.7; exponent += 0.013) {
    const ms = 10 ** exponent
    const histogram = new StepHistogram()
    histogram.record(ms)
    const off = Math.abs(histogram.percentiles().p50 - ms)
    assert.ok(off <= Math.max(0.0079, ms * 0.032), `${ms} ms is off by ${off}`)
  }
})

test('percentiles cover everything that was recorded, and are NaN if nothing was recorded', () => {
  const histogram = new StepHistogram()
  assert.deepEqual(histogram.percentiles(), { p50: Number.NaN, p95: Number.NaN, p99: Number.NaN })
  for (let ms = 1; ms <= 1000; ms++) histogram.record(ms)
  const other = new StepHistogram()
  other.add(histogram)
  for (const { p50, p95, p99 } of [histogram.percentiles(), other.percentiles()]) {
    for (const [got, expected] of [
      [p50, 500],
      [p95, 950],
      [p99, 990],
    ] as const)
      assert.ok(Math.abs(got - expected) <= expected * 0.032, `${got} for ${expected}`)
  }
  histogram.clear()
  assert.equal(histogram.total, 0)
  histogram.record(0)
  assert.ok(histogram.percentiles().p99 < 0.016)
})

test('impossible durations do no harm', () => {
  const histogram = new StepHistogram()
  for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) histogram.record(ms)
  assert.equal(histogram.total, 4)
  assert.ok(histogram.percentiles().p99 > 500_000)
})

test('the highest percentiles are at least those of all observations together, and NaN counts for nothing', () => {
  const [one, other, both] = [new StepHistogram(), new StepHistogram(), new StepHistogram()]
  for (let i = 1; i <= 100; i++) {
    one.record(i % 7)
    other.record(i % 50)
  }
  both.add(one)
  both.add(other)
  const most = highest([NO_PERCENTILES, one.percentiles(), other.percentiles()])
  assert.deepEqual(most, other.percentiles())
  assert.ok(most.p50 >= both.percentiles().p50 && most.p99 >= both.percentiles().p99)
  assert.deepEqual(highest([one.percentiles(), NO_PERCENTILES]), one.percentiles())
  assert.deepEqual(highest([]), NO_PERCENTILES)
})
