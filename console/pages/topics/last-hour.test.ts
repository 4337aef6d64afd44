import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastHour, newestOf } from './last-hour.ts'

const MINUTE = 60_000
const END = 100 * MINUTE

const at = (timestamp: number, recordsPerSecond: number) => ({ timestamp, recordsPerSecond })

test('the samples of a minute become their mean, and minutes without samples stay unknown', () => {
  const hour = lastHour([at(END - MINUTE, 8), at(END - 45_000, 1), at(END - 15_000, 2), at(END, 3)], END)
  assert.equal(hour.length, 60)
  assert.deepEqual(hour.slice(-3), [null, 8, 2])
  assert.ok(hour.slice(0, -2).every(value => value === null))
})

test('samples that are older than an hour are left out', () => {
  assert.ok(lastHour([at(END - 60 * MINUTE, 5), at(END - 90 * MINUTE, 5)], END).every(value => value === null))
  assert.equal(lastHour([at(END - 60 * MINUTE + 1, 5)], END)[0], 5)
})

test('the newest time is that of the last sample of any topic', () => {
  assert.equal(newestOf([{ samples: [at(1, 0), at(5, 0)] }, { samples: [] }, { samples: [at(4, 0)] }]), 5)
  assert.equal(newestOf([{ samples: [] }]), 0)
})
