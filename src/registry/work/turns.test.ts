// Whose call has the next turn, without threads.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Line, type Ticket, type TurnOptions, Turns } from './turns.ts'

function open(options: Partial<TurnOptions> = {}) {
  const turns = new Turns({ most: 2, mostOfCaller: 10, mostOfAll: 20, ...options })
  const begun: string[] = []
  const lines: Line[] = []
  const ask = (caller: string, name: string, line: Line = 'checks') =>
    turns.ask({ caller, line }, of => {
      begun.push(`${caller}${name}`)
      lines.push(of)
    })
  return { turns, begun, ask, end: () => turns.end(lines.shift()!) }
}

test('callers take turns: one with many calls does not delay another one', () => {
  const { begun, ask, end } = open({ most: 1 })
  for (const name of '1234') ask('a', name)
  for (const name of '12') ask('b', name)
  ask('c', '1')
  for (let i = 0; i < 7; i++) end()
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
})

test('a caller that comes later waits for one call of each other caller at most', () => {
  const { begun, ask, end } = open({ most: 1 })
  for (const name of '1234') ask('a', name)
  end()
  ask('b', '1')
  end()
  end()
  assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1'])
})

test('checks leave a thread for registrations, and registrations take all', () => {
  const { begun, ask, end } = open()
  for (const name of '123') ask('a', name)
  assert.deepEqual(begun, ['a1'])
  ask('a', 'R1', 'registrations')
  ask('b', 'R1', 'registrations')
  assert.deepEqual(begun, ['a1', 'aR1'])
  end()
  // Both lines waited for the same thread.
  assert.deepEqual(begun, ['a1', 'aR1', 'a2'])
  end()
  assert.deepEqual(begun, ['a1', 'aR1', 'a2', 'bR1'])
  const { begun: all, ask: register } = open()
  for (const name of '123') register('a', name, 'registrations')
  assert.deepEqual(all, ['a1', 'a2'])
})

test('with one thread the two lines take turns', () => {
  const { begun, ask, end } = open({ most: 1 })
  for (const name of '123') ask('a', name)
  for (const name of '123') ask('b', name, 'registrations')
  for (let i = 0; i < 5; i++) end()
  assert.deepEqual(begun, ['a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
})

test('a call of several callers begins once, in the turn that comes first', () => {
  const { turns, begun, ask, end } = open({ most: 1 })
  for (const name of '12') ask('a', name)
  const shared = ask('a', '3') as Ticket
  turns.join(shared, { caller: 'b', line: 'checks' })
  end()
  end()
  assert.deepEqual(begun, ['a1', 'a2', 'a3'])
  // It no longer waits, so no turn is taken for it again.
  turns.join(shared, { caller: 'c', line: 'checks' })
  ask('c', '1')
  end()
  end()
  ask('d', '1')
  assert.deepEqual(begun, ['a1', 'a2', 'a3', 'c1', 'd1'])
})

test('a registration that needs the same call as a waiting check does not wait for the check', () => {
  const { turns, begun, ask } = open()
  ask('a', '1')
  const shared = ask('a', '2') as Ticket
  turns.join(shared, { caller: 'b', line: 'registrations' })
  assert.deepEqual(begun, ['a1', 'a2'])
})

test('beyond the bounds a call is refused, for its caller or for all, and each line has its own', () => {
  const { begun, ask, end } = open({ most: 1, mostOfCaller: 2, mostOfAll: 3 })
  for (const name of '123') assert.equal(typeof ask('a', name), 'object')
  assert.equal(ask('a', '4'), 'caller')
  assert.equal(typeof ask('b', '1'), 'object')
  assert.equal(ask('b', '2'), 'all')
  assert.equal(ask('c', '1'), 'all')
  assert.equal(typeof ask('c', '1', 'registrations'), 'object')
  end()
  end()
  assert.equal(typeof ask('c', '2'), 'object')
  assert.deepEqual(begun, ['a1', 'c1', 'a2'])
})
