import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrokerRound, Round } from '../../../src/api/storage.ts'
import { reportOf } from './round-words.ts'

const NOTHING = { partitions: 3, rolled: 0, droppedBytes: 0, due: 0, cleaned: 0, cleanedBytes: 0, failures: 0 }

function round(tookMs: number | null, brokers: readonly Partial<BrokerRound>[], offload: Round['offload'] = null) {
  const rows = brokers.map((row, id) => ({ id, outcome: 'done' as const, trouble: null, ...NOTHING, ...row }))
  return { number: 7, startedAt: '2026-11-27T08:00:00.000Z', tookMs, brokers: rows, offload }
}

test('a round without work says so', () => {
  assert.equal(reportOf(round(120, [{}, {}])), 'Round 7 took 120 ms: nothing was due.')
})

test('the work of all brokers is summed, with the brokers that have not done their part', () => {
  const busy = { rolled: 1, droppedBytes: 1_024, cleaned: 2, cleanedBytes: 512 }
  assert.equal(
    reportOf(round(1_500, [busy, { ...busy, failures: 1 }, { outcome: 'silent' }, { outcome: 'refused' }])),
    'Round 7 took 1.5 s: 2 segments sealed, 2 KiB dropped, 4 partitions cleaned (1 KiB freed), 1 failure, without broker 2, 3.',
  )
})

test('a round says what is left to clean', () => {
  assert.equal(reportOf(round(120, [{ due: 2 }, { due: 1 }])), 'Round 7 took 120 ms: 3 partitions still to clean.')
})

test('a round says what it has offloaded, and what still waits', () => {
  const none = { segments: 0, bytes: 0, failures: 0, waitingSegments: 0, waitingBytes: 0 }
  assert.equal(reportOf(round(120, [{}], none)), 'Round 7 took 120 ms: nothing was due.')
  assert.equal(
    reportOf(round(120, [{}], { segments: 2, bytes: 2_048, failures: 1, waitingSegments: 3, waitingBytes: 9 })),
    'Round 7 took 120 ms: 2 segments offloaded (2 KiB), 3 segments still to offload, 1 failure of the offload.',
  )
})

test('a round in progress goes on', () => {
  assert.equal(reportOf(round(null, [{ outcome: 'running' }])), 'Round 7 goes on.')
})
