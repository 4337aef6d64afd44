import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readStates, shownState, toggleState, wordsOf } from './group-state.ts'

const lagOf = (totalLag: number | null) => ({
  totalLag,
  maxLag: totalLag,
  partitionsWithUnknownLag: totalLag === null ? 1 : 0,
  partitions: 1,
  lastCommitTimestamp: null,
})

test('an empty group with a lag differs from one that has read everything', () => {
  const behind = shownState({ state: 'Empty', lag: lagOf(12) })
  assert.equal(behind.text, 'Empty with lag')
  assert.equal(behind.tone, 'danger')
  assert.match(behind.title, /12 records wait/)
  const done = shownState({ state: 'Empty', lag: lagOf(0) })
  assert.equal(done.text, 'No members')
  assert.equal(done.tone, 'neutral')
  assert.equal(shownState({ state: 'Empty', lag: lagOf(null) }).text, 'No members')
})

test('a group with members shows the word of Kafka', () => {
  assert.equal(shownState({ state: 'Stable', lag: lagOf(12) }).text, 'Stable')
  assert.equal(shownState({ state: 'PreparingRebalance', lag: lagOf(0) }).text, 'Preparing rebalance')
  assert.equal(wordsOf('CompletingRebalance'), 'Completing rebalance')
})

test('the address holds the chosen states in one order, and a word that is no state is left out', () => {
  assert.deepEqual(readStates('Empty,Nonsense,Stable'), ['Stable', 'Empty'])
  assert.equal(toggleState('', 'Empty'), 'Empty')
  assert.equal(toggleState('Empty', 'Stable'), 'Stable,Empty')
  assert.equal(toggleState('Stable,Empty', 'Stable'), 'Empty')
  assert.equal(toggleState('Empty', 'Empty'), '')
})
