import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createWaiters, Waits } from '../../log/waiters.ts'
import { FetchRow } from './row.ts'
import { createStandingFetches, type Left, MOST_KEPT_ROWS } from './standing-fetches.ts'

const peer = { id: 1, listener: { name: 'PLAINTEXT', host: 'h', port: 1 }, principal: 'User:x', address: 'a' }

/** Makes the rows that fetches leave, all at one place that counts them. */
function world() {
  const waiters = createWaiters(new SimulatedClock())
  const waits = new Waits()
  const connection = new AbortController()
  const left = (rowCount: number): Left => {
    const list = waiters.watchlist<FetchRow>()
    const rows = Array.from({ length: rowCount }, (_, partition) => {
      const asked = { partition, fetchOffset: 0, partitionMaxBytes: 1, currentLeaderEpoch: -1 }
      const row = new FetchRow({ topic: 't', topicId: '' } as never, asked as never)
      list.rest(row, waits)
      return row
    })
    return { body: {} as never, rows, standing: { list, responses: [] }, policy: null }
  }
  return { waits, connection, left, standing: createStandingFetches() }
}

test('kept rows are given to one request, and not to the one after it', () => {
  const { waits, connection, left, standing } = world()
  const first = left(3)
  assert.equal(standing.take(peer, first.body, null), null)
  standing.leave(peer, connection.signal, first)
  assert.equal(standing.take({ ...peer }, first.body, null), null)
  assert.equal(standing.take(peer, first.body, null), first)
  assert.equal(standing.take(peer, first.body, null), null)
  assert.equal(waits.size, 3)
})

test('a request with another body gets the rows, which no longer watch their partitions', () => {
  const { waits, connection, left, standing } = world()
  const first = left(3)
  standing.leave(peer, connection.signal, first)
  const taken = standing.take(peer, { ...first.body }, null)
  assert.deepEqual([taken!.rows === first.rows, taken!.standing, waits.size], [true, null, 0])
})

test('if two requests leave rows, those of the first no longer watch their partitions', () => {
  const { waits, connection, left, standing } = world()
  standing.leave(peer, connection.signal, left(3))
  const second = left(2)
  standing.leave(peer, connection.signal, second)
  assert.equal(waits.size, 2)
  assert.equal(standing.take(peer, second.body, null), second)
})

test('no rows are kept for a closed connection, whether they were left before or after it closed', () => {
  const { waits, connection, left, standing } = world()
  standing.leave(peer, connection.signal, left(3))
  connection.abort()
  assert.equal(waits.size, 0)
  standing.leave(peer, connection.signal, left(3))
  assert.equal(waits.size, 0)
  assert.equal(standing.take(peer, null, null), null)
})

test('too many rows are not kept', () => {
  const { waits, connection, left, standing } = world()
  standing.leave(peer, connection.signal, left(MOST_KEPT_ROWS + 1))
  assert.deepEqual([waits.size, standing.take(peer, null, null)], [0, null])
  standing.leave(peer, connection.signal, left(MOST_KEPT_ROWS))
  assert.equal(waits.size, MOST_KEPT_ROWS)
})
