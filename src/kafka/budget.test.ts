import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget, type Member } from './budget.ts'

interface Seen extends Member {
  readonly events: string[]
}

function join(budget: Budget, incompleteBytes = 0): Seen {
  const events: string[] = []
  let held = incompleteBytes
  const member: Seen = {
    events,
    suspend: () => events.push('suspend'),
    admit: () => events.push('admit'),
    incompleteBytes: () => held,
    shed() {
      events.push('shed')
      budget.leave(member)
      budget.add(-held)
      held = 0
    },
  }
  budget.join(member)
  if (incompleteBytes > 0) budget.add(incompleteBytes)
  return member
}

test('above the maximum all members are suspended, and below the resume mark all are admitted', () => {
  const budget = new Budget({ maxBytes: 100, resumeBytes: 50 })
  const members = [join(budget), join(budget)]
  budget.add(100)
  assert.deepEqual(members[0]!.events, [])
  budget.add(1)
  budget.add(20)
  budget.add(-71)
  for (const member of members) assert.deepEqual(member.events, ['suspend'])
  budget.add(-1)
  for (const member of members) assert.deepEqual(member.events, ['suspend', 'admit'])
})

test('who joins while everybody is suspended is suspended too, and who left is left alone', () => {
  const budget = new Budget({ maxBytes: 100, resumeBytes: 50 })
  const gone = join(budget)
  budget.leave(gone)
  budget.add(101)
  const late = join(budget)
  assert.deepEqual(late.events, ['suspend'])
  assert.deepEqual(gone.events, [])
})

test('when incomplete frames alone keep everybody suspended, the largest is shed until the rest can finish', () => {
  const budget = new Budget({ maxBytes: 100, resumeBytes: 50 })
  const small = join(budget, 20)
  const middle = join(budget, 25)
  const large = join(budget, 60)
  assert.deepEqual(large.events, ['suspend', 'shed'])
  assert.deepEqual(middle.events, ['suspend', 'admit'])
  assert.deepEqual(small.events, ['suspend', 'admit'])
  assert.equal(budget.pendingBytes, 45)
})

test('while finished work can make room nobody is shed', () => {
  const budget = new Budget({ maxBytes: 100, resumeBytes: 50 })
  const member = join(budget, 40)
  budget.add(61)
  assert.deepEqual(member.events, ['suspend'])
  budget.add(-61)
  assert.deepEqual(member.events, ['suspend', 'admit'])
})
