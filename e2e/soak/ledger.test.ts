import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeTrends, riseOf, type Sample } from './gauges.ts'
import { type Ledger, openLedger } from './ledger.ts'

const KEY = 'topic:0'
const NO_START = new Map<string, number>()

function open(): Ledger {
  return openLedger(new Map([['readers', [KEY]]]))
}

function send(ledger: Ledger, ...offsets: number[]): void {
  for (const offset of offsets) {
    const nowNs = Number(process.hrtime.bigint())
    ledger.sent(KEY, { offset, value: 100 + offset, begunNs: nowNs, endedNs: nowNs, idempotent: false })
  }
}

function read(ledger: Ledger, ...offsets: number[]): void {
  ledger.seen(
    'readers',
    KEY,
    offsets.map(offset => [offset, 100 + offset]),
  )
}

/** Judges twice: the first call sets the end up to which the groups must have read at the second. */
function judge(ledger: Ledger, start = NO_START): string {
  return [...ledger.judge(start), ...ledger.judge(start)].join('\n')
}

test('a group that reads everything in order is correct, stretch after stretch', () => {
  const ledger = open()
  send(ledger, 0, 1, 2)
  read(ledger, 0, 1)
  assert.deepEqual(ledger.judge(NO_START), [])
  read(ledger, 2)
  send(ledger, 3, 4)
  assert.deepEqual(ledger.judge(NO_START), [])
  read(ledger, 3, 4)
  assert.deepEqual(ledger.judge(NO_START), [])
  assert.deepEqual([ledger.acknowledged, ledger.read, ledger.retainedAway], [5, 5, 0])
})

test('an acknowledged record that a group skips is named', () => {
  const ledger = open()
  send(ledger, 0, 1, 2)
  read(ledger, 0, 2)
  assert.match(judge(ledger), /value 101/)
})

test('a group that stopped reading is named', () => {
  const ledger = open()
  send(ledger, 0, 1, 2)
  read(ledger, 0, 1)
  assert.match(judge(ledger), /readers has read topic:0 up to 2 only, of 3/)
})

test('a record that retention dropped before the group read it is no error, and is counted', () => {
  const ledger = open()
  send(ledger, 0, 1, 2, 3)
  read(ledger, 2, 3)
  assert.equal(judge(ledger, new Map([[KEY, 2]])), '')
  assert.equal(ledger.retainedAway, 2)
})

test('a record that is read again after its stretch was judged is found', () => {
  const ledger = open()
  send(ledger, 0, 1)
  read(ledger, 0, 1)
  assert.equal(judge(ledger), '')
  send(ledger, 2)
  read(ledger, 0, 2)
  assert.match(judge(ledger), /phantom/)
})

test('a record that was never sent is found', () => {
  const ledger = open()
  send(ledger, 0, 2)
  read(ledger, 0, 1, 2)
  assert.match(judge(ledger), /phantom/)
})

test('a line that rises through the second half is no plateau', () => {
  assert.equal(riseOf([1, 2, 3, 4]), 3)
  assert.equal(riseOf([5, 5, 5]), 0)
  assert.equal(riseOf([7]), 0)
  const flat = { live: 100, disk: 100, sockets: 10, timers: 10, handles: 10, files: 10, journals: 2 }
  const samples = (anonymous: readonly number[]): Sample[] => anonymous.map(value => ({ ...flat, anonymous: value }))
  const risen = (anonymous: readonly number[]) =>
    judgeTrends(samples(anonymous)).flatMap(trend => (trend.isFlat ? [] : [trend.name]))
  assert.deepEqual(risen([50, 90, 100, 110, 100, 110, 100, 110]), [])
  assert.deepEqual(risen([50, 90, 100, 110, 130, 150, 170, 190]), ['anonymous'])
})
