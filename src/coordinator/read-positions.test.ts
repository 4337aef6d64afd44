import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { openReadPositions } from './read-positions.ts'

const ADDRESS = '10.0.0.1'

/** Returns the bytes that this number of clients needs, each with a position in one partition. */
function room(clients: number): number {
  const clock = new SimulatedClock()
  let bytes = 0
  for (let known = 0; known < clients; bytes += 100) {
    const positions = openReadPositions(clock, bytes)
    for (let i = 0; i < clients; i++) positions.reader(`${i}`, ADDRESS).delivered('t', 0, i)
    known = Array.from({ length: clients }, (_, i) => positions.of(`${i}`, ADDRESS, 't', 0)).filter(Boolean).length
  }
  return bytes
}

test('the position of a client is the end of its last answer, by client id, address, topic and partition', async () => {
  const clock = new SimulatedClock()
  const positions = openReadPositions(clock)
  positions.reader('one', ADDRESS).delivered('t', 0, 17)
  await clock.advance(5)
  positions.reader('one', ADDRESS).delivered('t', 1, 4)
  assert.deepEqual(positions.of('one', ADDRESS, 't', 0), { nextOffset: 17, atMs: clock.monotonic() - 5 })
  assert.deepEqual(positions.of('one', ADDRESS, 't', 1), { nextOffset: 4, atMs: clock.monotonic() })
  assert.equal(positions.of('two', ADDRESS, 't', 0), null)
  assert.equal(positions.of('one', '10.0.0.2', 't', 0), null)
  assert.equal(positions.of('one', ADDRESS, 'u', 0), null)
  assert.equal(positions.of('one', ADDRESS, 't', 2), null)
  positions.reader('one', ADDRESS).delivered('t', 0, 3)
  assert.equal(positions.of('one', ADDRESS, 't', 0)?.nextOffset, 3, 'a client that goes back is believed')
})

test('beyond the bound the clients that have not fetched for longest are forgotten', () => {
  const positions = openReadPositions(new SimulatedClock(), room(3))
  const known = () => ['a', 'b', 'c', 'd'].filter(id => positions.of(id, ADDRESS, 't', 0) !== null).join('')
  for (const id of ['a', 'b', 'c']) positions.reader(id, ADDRESS).delivered('t', 0, 1)
  assert.equal(known(), 'abc')
  positions.reader('a', ADDRESS).delivered('t', 0, 2)
  positions.reader('d', ADDRESS).delivered('t', 0, 1)
  assert.equal(known(), 'acd')
  // The characters of a client id count too, and a client with too many positions is forgotten itself.
  positions.reader('x'.repeat(30_000), ADDRESS)
  assert.equal(known(), '')
  const greedy = positions.reader('greedy', ADDRESS)
  for (let partition = 0; partition < 1_000; partition++) greedy.delivered('t', partition, 1)
  assert.equal(positions.of('greedy', ADDRESS, 't', 0), null)
  for (const id of ['a', 'b', 'c']) positions.reader(id, ADDRESS).delivered('t', 0, 1)
  assert.equal(known(), 'abc', 'the others have the room back')
})
