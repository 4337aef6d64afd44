import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { openHandshakeLine } from './handshake-line.ts'

/** Accepts `count` clients into a line whose turns the test runs. */
async function start(t: TestContext, count: number) {
  const clock = new SimulatedClock()
  let turn: (() => void) | null = null
  clock.soon = fn => {
    assert.equal(turn, null, 'one turn at a time is due')
    turn = fn
  }
  const line = openHandshakeLine(clock)
  const begun: Socket[] = []
  const accepted: Socket[] = []
  const server = createServer({ pauseOnConnect: true }, socket => {
    t.after(() => void socket.destroy())
    accepted.push(socket)
    line.add(socket, () => void begun.push(socket))
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clients = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1' }))
  for (const client of clients) t.after(() => void client.destroy())
  await eventually('all are accepted', () => accepted.length === count)
  return {
    line,
    clock,
    begun,
    accepted,
    clients,
    waiting: () => accepted.filter(socket => line.isWaiting(socket)).length,
    /** Runs the turn that is due; false if none is. */
    runTurn() {
      const due = turn
      turn = null
      due?.()
      return due !== null
    },
  }
}

test('a handshake begins when its client has sent something, two in a turn, and the bytes are still there', async t => {
  const { line, begun, accepted, clients, waiting, runTurn } = await start(t, 12)
  for (const client of clients.slice(0, 10)) client.write('hello')
  await eventually('ten wait', () => waiting() === 10)
  line.remove(accepted.find(socket => line.isWaiting(socket))!)
  for (const expected of [2, 4, 6, 8, 9]) {
    assert.equal(runTurn(), true)
    assert.equal(begun.length, expected)
  }
  assert.equal(runTurn(), false)
  clients[10]!.destroy()
  await eventually('a client that has left is readable', () => waiting() === 1)
})

test('with fifty handshakes in progress no other begins until one is over, or until they are old', async t => {
  const { line, clock, begun, clients, waiting, runTurn } = await start(t, 60)
  for (const client of clients) client.write('hello')
  await eventually('all wait', () => waiting() === 60)
  while (runTurn());
  assert.equal(begun.length, 50)
  for (const socket of begun.slice(0, 2)) line.remove(socket)
  await clock.advance(10)
  assert.equal(begun.length, 52)
  await clock.advance(80)
  assert.equal(begun.length, 52)
  await clock.advance(20)
  while (runTurn());
  assert.equal(begun.length, 60)
})
