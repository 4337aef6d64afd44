import assert from 'node:assert/strict'
import { test } from 'node:test'
import { samplesText, trendOf } from './trend.ts'

test('a lag that only rises grows, and one that only falls falls', () => {
  assert.equal(trendOf([1, 2, 2, 5, 9]), 'growing')
  assert.equal(trendOf([9, 9, 4, 1, 0]), 'falling')
})

test('a lag that goes up and down by the same amount is steady', () => {
  assert.equal(trendOf([0, 5, 0, 5, 0]), 'steady')
  assert.equal(trendOf([0, 5, 0, 5]), 'steady')
  assert.equal(trendOf([7, 7, 7]), 'steady')
})

test('a small step back does not hide a large movement', () => {
  assert.equal(trendOf([100_000, 80_000, 81_000, 50_000, 20_000]), 'falling')
  assert.equal(trendOf([20, 50, 49, 90]), 'growing')
})

test('unknown samples are left out, and fewer than two known samples are no trend', () => {
  assert.equal(trendOf([null, 3, null, 8]), 'growing')
  assert.equal(trendOf([null, 3, null]), null)
  assert.equal(trendOf([]), null)
})

test('the samples are written with a dash for those that are unknown', () => {
  assert.equal(samplesText([1_200, null, 7]), '1,200 → — → 7')
})
