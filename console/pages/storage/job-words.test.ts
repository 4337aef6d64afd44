import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JOB_STATUSES } from '../../../src/api/words.ts'
import { backlogNote, mayCancel, mayRetry, nameOf, retriedText } from './job-words.ts'

const speed = { segmentsPerMin: 0, bytesPerMin: 0 }

test('the backlog says how much waits and for how long', () => {
  const note = (segments: number | null, bytes: number | null, age: number | null) =>
    backlogNote({ ...speed, backlogSegments: segments, backlogBytes: bytes, backlogAgeSeconds: age })
  assert.equal(note(3, 12 * 2 ** 20, 245.6), '12 MiB, the oldest was sealed 4 min 5 s ago')
  assert.equal(note(0, 0, 0), 'nothing waits')
  assert.equal(note(null, null, null), 'The storage worker has not reported it yet.')
})

test('a job has the offsets of its segment, without the first one of the next segment', () => {
  assert.equal(nameOf({ topic: 'orders', partition: 2, base: 1200, next: 2400 }), 'orders 2, offsets 1,200 – 2,399')
})

test('a failed or cancelled job may be retried, and a pending or failed one cancelled', () => {
  const of = (may: typeof mayRetry) => JOB_STATUSES.filter(status => may({ status }))
  assert.deepEqual(of(mayRetry), ['failed', 'cancelled'])
  assert.deepEqual(of(mayCancel), ['pending', 'failed'])
})

test('a retry of all failed jobs says how many there were', () => {
  assert.equal(retriedText(1), '1 failed job is pending again.')
  assert.equal(retriedText(3), '3 failed jobs are pending again.')
})
