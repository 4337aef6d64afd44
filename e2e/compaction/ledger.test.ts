import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ledger, type Written } from './ledger.ts'

const write = (offset: number, key: string, number: number | null): Written => ({
  ...{ partition: 0, offset, key, number },
  length: number === null ? -1 : 5,
})

function ledgerOf(...writes: readonly Written[]): Ledger {
  const ledger = new Ledger(1)
  ledger.add(writes)
  return ledger
}

const [a0, b1, a2, c3] = [write(0, 'a', 0), write(1, 'b', 1), write(2, 'a', 2), write(3, 'c', null)]

test('a reading that has the newest record of each key is right, with and without older records', () => {
  const ledger = ledgerOf(a0, b1, a2, c3)
  for (const reads of [
    [a0, b1, a2, c3],
    [b1, a2, c3],
    [b1, a2],
  ])
    assert.deepEqual(ledger.judge(reads, ledger.snapshot(), false), { defects: [], overtaken: 0 })
})

test('a reading is wrong if an offset repeats, a value differs, or the newest record of a key is missing', () => {
  const ledger = ledgerOf(a0, b1, a2, c3)
  const snapshot = ledger.snapshot()
  const defectsOf = (...reads: Written[]) => ledger.judge(reads, snapshot, false).defects
  assert.match(defectsOf(b1, a2, a2).join(), /offset 2 follows 2/)
  assert.match(defectsOf(b1, { ...a2, number: 0 }).join(), /write 0 .* was written as .*write 2/)
  assert.match(defectsOf(a0, b1, c3).join(), /a must be at least .*0:2.* is a at 0:0/)
  assert.match(defectsOf(a2).join(), /b must be at least .* is not there/)
})

test('a tombstone may be missing, but not after an older value, unless the reading took longer than its time', () => {
  const ledger = ledgerOf(write(0, 'c', 0), b1, write(2, 'c', null), write(3, 'd', 1))
  const snapshot = ledger.snapshot()
  const reads = [write(0, 'c', 0), b1, write(3, 'd', 1)]
  assert.match(ledger.judge(reads, snapshot, false).defects.join(), /c must be at least .*a tombstone/)
  assert.deepEqual(ledger.judge(reads, snapshot, true).defects, [])
  assert.deepEqual(ledger.judge(reads.slice(1), snapshot, false).defects, [])
})

test('a tombstone that was written during the reading may be missing only if the reading took longer than its time', () => {
  const ledger = ledgerOf(a0, b1)
  const snapshot = ledger.snapshot()
  ledger.add([write(2, 'a', null), write(3, 'd', 3)])
  const reads = [b1, write(3, 'd', 3)]
  assert.match(ledger.judge(reads, snapshot, false).defects.join(), /a must be at least .* is not there; .*a tombstone/)
  assert.deepEqual(ledger.judge(reads, snapshot, true).defects, [])
})

test('a record may be missing if its key was written again behind the end of the reading', () => {
  const ledger = ledgerOf(a0, b1)
  const snapshot = ledger.snapshot()
  ledger.add([write(2, 'a', 2)])
  assert.deepEqual(ledger.judge([b1], snapshot, false), { defects: [], overtaken: 1 })
  assert.match(ledger.judge([b1, write(2, 'a', 2)], snapshot, false).defects.join(), /^$/)
})
