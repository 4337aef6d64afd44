// An audit that has never failed proves nothing. So each test plants a mistake of the cleaner in a history, and the
// audit must find it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkHistory } from './checker.ts'
import { auditCompacted, type Compaction, keyedRecords } from './compaction.ts'
import { type History, recordHistory, type Seen } from './history.ts'

const P = 't:0'

/** The key of a value is its last digit; from 1000 on a value is a tombstone. */
const compaction: Compaction = {
  ...keyedRecords(10, 'x'),
  keyOf: value => String(value % 10),
  isTombstone: value => value >= 1000,
}

/** Sends each value to the next offset. `null` stands for a send without an answer. */
function historyOf(sent: readonly number[], unanswered: readonly number[] = []): History {
  let now = 0
  const history = recordHistory({ nowNs: () => ++now })
  for (const [offset, value] of sent.entries())
    history.begin(history.process(), 'send', [['send', P, value]]).ok([['send', P, [offset, value]]])
  for (const value of unanswered) history.begin(history.process(), 'send', [['send', P, value]]).info('no answer')
  return history
}

function audit(history: History, seen: readonly Seen[], dirtyFrom = 0, mayLack?: () => boolean): readonly string[] {
  const from = history.ops.length
  history.begin(history.process(), 'poll', [['poll']]).ok([['poll', { [P]: seen }]])
  const cleanedTo = new Map([[P, dirtyFrom]])
  return auditCompacted(history, compaction, { from, cleanedTo, ...(mayLack ? { mayLack } : {}) })
}

test('the newest record of each key is enough, and the rest may be there too', () => {
  const kept: readonly Seen[] = [
    [1, 2],
    [2, 11],
  ]
  assert.deepEqual(audit(historyOf([1, 2, 11]), kept, 3), [])
  assert.deepEqual(audit(historyOf([1, 2, 11]), [[0, 1], ...kept], 2), [])
  const history = historyOf([1, 2, 11])
  assert.deepEqual(audit(history, kept, 3), [])
  assert.deepEqual(checkHistory(history, { dense: false, compaction }), [])
})

test('a newest record that is missing is found, by the audit and by the checker', () => {
  const history = historyOf([1, 2, 11, 3])
  const problems = audit(history, [
    [0, 1],
    [1, 2],
    [3, 3],
  ])
  assert.deepEqual(problems, [
    't:0: 1: the newest acknowledged value 11 at 2 is missing; the newest that was read is 1 at 0',
  ])
  const kinds = checkHistory(history, { dense: false, compaction }).map(({ kind }) => kind)
  assert.deepEqual(kinds, ['lost-write', 'unseen', 'int-poll-skip'])
  assert.match(audit(historyOf([1, 2]), [[1, 2]])[0]!, /value 1 at 0 is missing; no record of its key was read/)
})

test('a key that stands twice below the first dirty offset is found', () => {
  const seen: readonly Seen[] = [
    [0, 1],
    [1, 11],
  ]
  assert.deepEqual(audit(historyOf([1, 11]), seen, 2), ['t:0: 1 stands at 0,1, all below 2'])
})

test('a record at another offset, one that was never sent, and offsets that fall are found', () => {
  assert.match(audit(historyOf([1]), [[5, 1]])[0]!, /value 1 was acknowledged at 0 and read at 5/)
  const strange = audit(historyOf([1]), [
    [0, 1],
    [1, 21],
  ])
  assert.match(strange[0]!, /value 21 at 1 was never sent/)
  const falling = audit(historyOf([1, 2]), [
    [1, 2],
    [0, 1],
  ])
  assert.match(falling[0]!, /offset 0 was read after 1/)
})

test('a tombstone may be gone, and then nothing older of its key may be there', () => {
  assert.deepEqual(audit(historyOf([1, 1001]), []), [])
  assert.match(audit(historyOf([1, 1001]), [[0, 1]])[0]!, /value 1001 at 1 is missing; the newest that was read is 1/)
})

test('a send without an answer may have replaced or removed its key', () => {
  assert.deepEqual(audit(historyOf([1], [11]), [[1, 11]]), [])
  assert.deepEqual(audit(historyOf([1], [1001]), []), [])
  assert.equal(audit(historyOf([1], [11]), []).length, 1)
})

test('a record that the store may lose may be missing, and the one before it may not', () => {
  assert.deepEqual(
    audit(historyOf([1]), [], 0, () => true),
    [],
  )
  const history = historyOf([1, 11])
  const [from] = [history.ops[2]!.time]
  const until = (begunAt: number) => begunAt >= from
  history.begin(history.process(), 'poll', [['poll']]).ok([['poll', { [P]: [] }]])
  const reading = { from: history.ops.length - 1, cleanedTo: new Map(), mayLack: until }
  assert.match(auditCompacted(history, compaction, reading)[0]!, /value 1 at 0 is missing/)
})

test('records tell their values, and one that was mixed up is refused', () => {
  const keyed = keyedRecords(100, 'xx')
  const read = (value: number) => {
    const { key, value: text, headers } = keyed.record(value)
    return { key: Buffer.from(String(key)), value: text === null ? null : Buffer.from(String(text)), headers: headers! }
  }
  type Read = Parameters<Compaction['valueOf']>[0]
  for (const value of [1, 12, 13]) assert.equal(keyed.valueOf(read(value) as unknown as Read), value)
  const mixed = { ...read(1), key: read(2).key }
  assert.throws(() => keyed.valueOf(mixed as unknown as Read), /the record of value 1 has key/)
})
