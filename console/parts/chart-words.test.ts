import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOOKS, markedValues } from './chart-look.ts'
import { describeChart, moveCursor, nearest, readValues } from './chart-words.ts'

const NOON = Date.UTC(2026, 10, 26, 12)
const TIMES = [NOON, NOON + 15_000, NOON + 30_000]
const format = (value: number | null) => (value === null ? '—' : `${value} records/s`)

test('a chart is one sentence with the latest, the highest and the lowest value of each series', () => {
  const series = [
    { label: 'in', values: [3, 9, 4] },
    { label: 'out', values: [null, null, null] },
  ]
  assert.equal(
    describeChart(TIMES, series, format, 'UTC'),
    'From 12:00:00 to 12:00:30: in is 4 records/s, at most 9 records/s at 12:00:15, at least 3 records/s; out is not known.',
  )
})

test('a series that ends early says when its latest value was', () => {
  const sentence = describeChart(TIMES, [{ label: 'in', values: [3, 9, null] }], format, 'UTC')
  assert.match(sentence, /in is 9 records\/s at 12:00:15,/)
})

test('the times of a sentence are those of the zone', () => {
  assert.match(describeChart(TIMES, [{ label: 'in', values: [1, 2, 3] }], format, 'Asia/Kolkata'), /^From 17:30:00 to /)
})

test('a chart without times says so', () => {
  assert.equal(describeChart([], [{ label: 'in', values: [] }], format, 'UTC'), 'Nothing is known yet.')
})

test('the values at the cursor name a gap', () => {
  const series = [
    { label: 'in', values: [3, 0, 4] },
    { label: 'out', values: [1, null, 1] },
  ]
  assert.equal(readValues(TIMES, series, 1, format, 'UTC'), '12:00:15: in 0 records/s, out not known')
})

test('the arrow keys, Home and End move the cursor and stop at the ends', () => {
  assert.equal(moveCursor('ArrowLeft', null, 3), 2)
  assert.equal(moveCursor('ArrowLeft', 0, 3), 0)
  assert.equal(moveCursor('ArrowRight', 1, 3), 2)
  assert.equal(moveCursor('ArrowRight', 2, 3), 2)
  assert.equal(moveCursor('Home', 2, 3), 0)
  assert.equal(moveCursor('End', 0, 3), 2)
  assert.equal(moveCursor('a', 1, 3), null)
  assert.equal(moveCursor('End', null, 0), null)
})

test('a shared cursor finds the nearest time of another chart', () => {
  assert.equal(nearest(TIMES, NOON + 16_000), 1)
  assert.equal(nearest(TIMES, NOON - 99_000), 0)
  assert.equal(nearest(TIMES, null), null)
  assert.equal(nearest([], NOON), null)
})

test('each failure has a marker, and so has a value between two gaps', () => {
  assert.deepEqual(markedValues([0, 1, 0, null, 0, null], LOOKS.danger), [1, 4])
  assert.deepEqual(markedValues([0, 1, 0, null, 5, null], LOOKS['series-1']), [4])
  assert.deepEqual(markedValues([undefined, 5], LOOKS['series-1']), [1])
})
