// A checker that has never failed proves nothing. So each test plants an anomaly in a clean history, and the checker
// must find exactly this kind of anomaly.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { seededRandom } from '../src/base/random.ts'
import { type AnomalyKind, checkHistory, describeAnomalies, type Expectations } from './checker.ts'
import { type Begun, type History, type Micro, type Op, recordHistory, type Seen } from './history.ts'
import { temporaryFolder } from './temporary-folder.ts'

type Editable = { -readonly [K in keyof Op]: Op[K] }

const KEYS = ['t:0', 't:1']

/**
 * Returns the history of a correct broker: two producers, an assigned consumer that follows, a group member that
 * commits, and at the end a new consumer that reads everything. Operations overlap.
 */
function cleanHistory(seed: number, rounds = 60): Editable[] {
  const random = seededRandom(seed)
  let now = 1000
  const history = recordHistory({ nowNs: () => now++ })
  const logs = new Map(KEYS.map(key => [key, [] as number[]]))
  const producers = [history.process(), history.process()]
  const follower = history.process()
  const member = history.process()
  const positions = new Map(KEYS.map(key => [key, 0]))
  const groupPositions = new Map(KEYS.map(key => [key, 0]))

  assign(history, follower, 'assign')
  assign(history, member, 'subscribe', { group: 'g', generation: 1 })
  for (let round = 0; round < rounds; round++) {
    const sending = producers.map(process => {
      const key = KEYS[random.below(2)]!
      const values = Array.from({ length: 1 + random.below(3) }, () => history.value())
      const begun = history.begin(
        process,
        'send',
        values.map(value => ['send', key, value]),
      )
      return { key, values, begun }
    })
    const polling = history.begin(follower, 'poll', [['poll']])
    for (const { key, values, begun } of sending) {
      const log = logs.get(key)!
      const first = log.length
      log.push(...values)
      begun.ok(values.map((value, i) => ['send', key, [first + i, value]]))
    }
    polling.ok([take(logs, positions, 4)])
    history.begin(member, 'poll', [['poll']]).ok([take(logs, groupPositions, 3)])
    if (round % 5 === 4) {
      const value: Micro[] = [['commit', Object.fromEntries(groupPositions)]]
      history.begin(member, 'commit', value, { group: 'g', generation: 1 }).ok(value)
      readCommitted(history, member, Object.fromEntries(groupPositions))
    }
  }
  const reader = history.process()
  assign(history, reader, 'assign')
  const everything = new Map(KEYS.map(key => [key, 0]))
  for (let poll = 0; poll < rounds; poll++) history.begin(reader, 'poll', [['poll']]).ok([take(logs, everything, 50)])
  return history.ops.map(op => structuredClone(op))
}

function assign(history: History, process: number, f: 'assign' | 'subscribe', more = {}): void {
  history.begin(process, f, [['keys', KEYS]], more).ok([['keys', KEYS]])
}

function readCommitted(history: History, process: number, offsets: Record<string, number | null>): void {
  const reading: Begun = history.begin(process, 'committed', [['committed']], { group: 'g' })
  reading.ok([['committed', offsets]])
}

function take(logs: Map<string, number[]>, positions: Map<string, number>, most: number): Micro {
  const seen: Record<string, Seen[]> = {}
  for (const key of KEYS) {
    const from = positions.get(key)!
    const values = logs.get(key)!.slice(from, from + most)
    if (values.length > 0) seen[key] = values.map((value, i) => [from + i, value])
    positions.set(key, from + values.length)
  }
  return ['poll', seen]
}

function assertKinds(
  ops: readonly Op[],
  kinds: readonly AnomalyKind[],
  expectations: Partial<Expectations> = {},
): void {
  const anomalies = checkHistory(ops, expectations)
  const found = [...new Set(anomalies.map(anomaly => anomaly.kind))].sort()
  assert.deepEqual(found, [...kinds].sort(), describeAnomalies(anomalies))
}

/** Rewrites every polled record: null drops the record, a list replaces it. */
function mapPolls(ops: Editable[], rewrite: (op: Op, key: string, seen: Seen) => readonly Seen[] | null): void {
  for (const op of ops) {
    op.value = op.value.map(micro => {
      if (micro[0] !== 'poll' || micro[1] === undefined) return micro
      const polled = Object.entries(micro[1]).map(
        ([key, seen]) => [key, seen.flatMap(one => rewrite(op, key, one) ?? [])] as const,
      )
      return ['poll', Object.fromEntries(polled.filter(([, seen]) => seen.length > 0))]
    })
  }
}

function sendOf(ops: readonly Editable[], key: string, nth: number, count = 1): Editable {
  const sends = ops.filter(
    op => op.type === 'ok' && op.f === 'send' && op.value[0]![1] === key && op.value.length >= count,
  )
  return sends[nth]!
}

/** Returns the offset and value of the first record of an acknowledged send. */
function acknowledged(op: Op): { key: string; offset: number; value: number } {
  const [verb, key, what] = op.value[0]!
  assert(verb === 'send' && typeof what === 'object')
  return { key: key as string, offset: what[0] as number, value: what[1] as number }
}

function polledBy(ops: readonly Editable[], least: number): { op: Editable; key: string; seen: Seen[] } {
  for (const op of ops) {
    if (op.type !== 'ok' || op.f !== 'poll') continue
    for (const [key, seen] of Object.entries(op.value[0]![1] as Record<string, Seen[]>)) {
      if (seen.length >= least && seen[0]![0] > 5) return { op, key, seen }
    }
  }
  throw new Error(`no poll of ${least} records`)
}

test('a clean history has no anomaly, whatever the seed', () => {
  for (let seed = 1; seed <= 20; seed++) assertKinds(cleanHistory(seed), [])
})

test('an acknowledged value that was never read, though later ones were, is lost and unseen', () => {
  const ops = cleanHistory(1)
  const { key, value } = acknowledged(sendOf(ops, 't:0', 5))
  mapPolls(ops, (_, k, seen) => (k === key && seen[1] === value ? null : [seen]))
  assertKinds(ops, ['lost-write', 'unseen', 'poll-skip', 'int-poll-skip'])
})

test('an acknowledged value at the end of the log that was never read is unseen, unless the history is incomplete', () => {
  const ops = cleanHistory(2)
  const last = ops.filter(op => op.f === 'send' && op.type === 'ok').at(-1)!
  const { key, offset } = acknowledged(last)
  mapPolls(ops, (_, k, seen) => (k === key && seen[0] >= offset ? null : [seen]))
  assertKinds(ops, ['unseen'])
  assertKinds(ops, [], { complete: false })
})

test('a value at two offsets is a duplicate; duplicates of plain producers can be allowed, of idempotent ones never', () => {
  const ops = cleanHistory(3)
  const send = sendOf(ops, 't:1', 3)
  const { key, value } = acknowledged(send)
  const end = Math.max(...ops.flatMap(op => seenOf(op, key)).map(seen => seen[0]))
  const reader = ops.filter(op => op.f === 'poll' && op.type === 'ok' && seenOf(op, key).length > 0).at(-1)!
  reader.value = [['poll', { ...(reader.value[0]![1] as object), [key]: [...seenOf(reader, key), [end + 1, value]] }]]
  assertKinds(ops, ['duplicate'])
  assertKinds(ops, [], { duplicates: 'plain-producers' })
  send.idempotent = true
  assertKinds(ops, ['duplicate'], { duplicates: 'plain-producers' })
})

function seenOf(op: Op, key: string): readonly Seen[] {
  return op.value.flatMap(micro => (micro[0] === 'poll' && micro[1] !== undefined ? (micro[1][key] ?? []) : []))
}

test('an offset that is used again after a lost tail held two values; the first is lost if it was never read', () => {
  const run = (readEarly: boolean) => {
    const history = recordHistory()
    const [one, other, early, late] = [history.process(), history.process(), history.process(), history.process()]
    history.begin(one, 'send', [['send', 't:0', 0]]).ok([['send', 't:0', [0, 0]]])
    history.begin(one, 'send', [['send', 't:0', 1]]).ok([['send', 't:0', [1, 1]]])
    if (readEarly)
      history.begin(early, 'poll', [['poll']]).ok([
        [
          'poll',
          {
            't:0': [
              [0, 0],
              [1, 1],
            ],
          },
        ],
      ])
    history.begin(other, 'send', [['send', 't:0', 2]]).ok([['send', 't:0', [1, 2]]])
    history.begin(late, 'poll', [['poll']]).ok([
      [
        'poll',
        {
          't:0': [
            [0, 0],
            [1, 2],
          ],
        },
      ],
    ])
    return history.ops
  }
  assertKinds(run(true), ['inconsistent-offsets', 'realtime-order'])
  assertKinds(run(false), ['inconsistent-offsets', 'realtime-order', 'lost-write', 'unseen'])
})

test('a value whose send failed must not be read', () => {
  const ops = cleanHistory(5)
  const send = sendOf(ops, 't:0', 6)
  send.type = 'fail'
  assertKinds(ops, ['aborted-read'])
})

test('a send of unknown outcome may be read or not', () => {
  const ops = cleanHistory(5)
  sendOf(ops, 't:0', 6).type = 'info'
  assertKinds(ops, [])
  const unread = cleanHistory(5)
  const last = unread.filter(op => op.f === 'send' && op.type === 'ok').at(-1)!
  const { key, offset } = acknowledged(last)
  last.type = 'info'
  mapPolls(unread, (_, k, seen) => (k === key && seen[0] >= offset ? null : [seen]))
  assertKinds(unread, [])
})

test('an operation that never ended counts as unknown', () => {
  const ops = cleanHistory(5)
  const last = ops.filter(op => op.f === 'send' && op.type === 'ok').at(-1)!
  assertKinds(
    ops.filter(op => op !== last),
    [],
  )
})

test('a value that was never sent is a phantom', () => {
  const ops = cleanHistory(6)
  const { key, value } = acknowledged(sendOf(ops, 't:1', 5))
  for (const op of ops) {
    if (op.f === 'send') {
      op.value = op.value.filter(micro => {
        const what = micro[2] as number | readonly [number, number]
        return micro[1] !== key || (typeof what === 'number' ? what : what[1]) !== value
      })
    }
  }
  assertKinds(ops, ['phantom'])
})

test('a poll that ended before the send began cannot have read its value', () => {
  const ops = cleanHistory(7)
  const { key, value } = acknowledged(sendOf(ops, 't:0', 3))
  const begun = ops.find(
    op => op.type === 'invoke' && op.value.some(m => m[0] === 'send' && m[1] === key && m[2] === value),
  )!
  const reader = ops.find(op => op.type === 'ok' && seenOf(op, key).some(seen => seen[1] === value))!
  const end = ops.find(op => op.type === 'ok' && op.process === begun.process && op.index > begun.index)!
  // Both ends of the send move after the poll. The later sends of the run do not begin before the poll, so nothing
  // else is wrong.
  begun.time = reader.time + 0.25
  end.time = reader.time + 0.5
  assertKinds(ops, ['read-from-future'])
})

test('a poll that skips a record or goes back is found, inside the poll or against the poll before', () => {
  const skipping = cleanHistory(8)
  const inside = polledBy(skipping, 3)
  mapPolls(skipping, (op, k, seen) => (op === inside.op && k === inside.key && seen === inside.seen[1] ? null : [seen]))
  assertKinds(skipping, ['int-poll-skip'])

  const backwards = cleanHistory(8)
  const turned = polledBy(backwards, 3)
  const [a, b, ...rest] = turned.seen
  turned.op.value = [['poll', { ...(turned.op.value[0]![1] as object), [turned.key]: [a!, b!, b!, ...rest] }]]
  assertKinds(backwards, ['int-nonmonotonic-poll'])

  const late = cleanHistory(8)
  const start = polledBy(late, 3)
  mapPolls(late, (op, k, seen) => (op === start.op && k === start.key && seen === start.seen[0] ? null : [seen]))
  assertKinds(late, ['poll-skip'])

  const again = cleanHistory(8)
  const repeated = polledBy(again, 3)
  const firstSeen = repeated.seen[0]!
  const reached = again.find(op => op.process === repeated.op.process && seenOf(op, repeated.key).includes(firstSeen))
  assert(reached !== undefined)
  const value = again.flatMap(op => seenOf(op, repeated.key)).find(seen => seen[0] === firstSeen[0] - 1)!
  repeated.op.value = [['poll', { ...(repeated.op.value[0]![1] as object), [repeated.key]: [value, ...repeated.seen] }]]
  assertKinds(again, ['nonmonotonic-poll'])
})

test('a consumer that joins its group again may start at an earlier offset', () => {
  const history = recordHistory()
  const [producer, consumer] = [history.process(), history.process()]
  const values = [history.value(), history.value()]
  history
    .begin(
      producer,
      'send',
      values.map(v => ['send', 't:0', v] as const),
    )
    .ok(values.map((v, i) => ['send', 't:0', [i, v]] as const))
  for (let turn = 0; turn < 2; turn++) {
    history.begin(consumer, 'subscribe', [['keys', ['t:0']]]).ok([['keys', ['t:0']]])
    history.begin(consumer, 'poll', [['poll']]).ok([
      [
        'poll',
        {
          't:0': [
            [0, values[0]!],
            [1, values[1]!],
          ],
        },
      ],
    ])
  }
  assertKinds(history.ops, [])
})

test('the values of one send in the wrong order, and two sends in the wrong order, are different anomalies', () => {
  const run = (offsets: readonly number[], together: boolean) => {
    const history = recordHistory()
    const [producer, reader] = [history.process(), history.process()]
    const values = offsets.map(() => history.value())
    const micros = values.map(value => ['send', 't:0', value] as const)
    const results = values.map((value, i) => ['send', 't:0', [offsets[i]!, value]] as const)
    if (together) history.begin(producer, 'send', micros).ok(results)
    else micros.forEach((micro, i) => void history.begin(producer, 'send', [micro]).ok([results[i]!]))
    const log = values.map((value, i) => [offsets[i]!, value] as const).sort((a, b) => a[0] - b[0])
    history.begin(reader, 'poll', [['poll']]).ok([['poll', { 't:0': log }]])
    return history.ops
  }
  assertKinds(run([0, 1, 2], true), [])
  assertKinds(run([1, 0, 2], true), ['int-nonmonotonic-send'])
  assertKinds(run([0, 1, 2], false), [])
  assertKinds(run([1, 0, 2], false), ['nonmonotonic-send', 'realtime-order'])
})

test('a send that began after another was acknowledged must get a higher offset', () => {
  const history = recordHistory()
  const [one, other, reader] = [history.process(), history.process(), history.process()]
  const [first, second] = [history.value(), history.value()]
  history.begin(one, 'send', [['send', 't:0', first]]).ok([['send', 't:0', [1, first]]])
  history.begin(other, 'send', [['send', 't:0', second]]).ok([['send', 't:0', [0, second]]])
  history.begin(reader, 'poll', [['poll']]).ok([
    [
      'poll',
      {
        't:0': [
          [0, second],
          [1, first],
        ],
      },
    ],
  ])
  assertKinds(history.ops, ['realtime-order'])
})

test('the same offset read with another checksum is unstable', () => {
  const ops = cleanHistory(9)
  mapPolls(ops, (_, __, seen) => [[seen[0], seen[1], seen[1] * 7]])
  assertKinds(ops, [])
  const { op, key, seen } = polledBy(ops, 2)
  mapPolls(ops, (o, k, s) => (o === op && k === key && s === seen[1] ? [[s[0], s[1], 1]] : [s]))
  assertKinds(ops, ['unstable-bytes'])
})

test('an offset that was never seen is a hole, unless gaps are expected', () => {
  const ops = cleanHistory(10)
  const shift = (key: string, offset: number) => (key === 't:0' && offset >= 10 ? offset + 1 : offset)
  mapPolls(ops, (_, key, seen) => [[shift(key, seen[0]), seen[1]]])
  for (const op of ops) {
    op.value = op.value.map(micro =>
      micro[0] === 'send' && typeof micro[2] === 'object'
        ? ['send', micro[1], [shift(micro[1], micro[2][0]!), micro[2][1]]]
        : micro,
    )
  }
  assertKinds(ops, ['hole'])
  assertKinds(ops, [], { dense: false })
})

test('a transaction that reads its own write, or a cycle of transactions, is found', () => {
  const own = recordHistory()
  const p = own.process()
  own.begin(p, 'txn', [['send', 't:0', 0], ['poll']]).ok([
    ['send', 't:0', [0, 0]],
    ['poll', { 't:0': [[0, 0]] }],
  ])
  assertKinds(own.ops, ['precommitted-read'])

  const circle = recordHistory()
  const [a, b] = [circle.process(), circle.process()]
  const first = circle.begin(a, 'txn', [['send', 't:0', 0], ['poll']])
  const second = circle.begin(b, 'txn', [['send', 't:1', 1], ['poll']])
  first.ok([
    ['send', 't:0', [0, 0]],
    ['poll', { 't:1': [[0, 1]] }],
  ])
  second.ok([
    ['send', 't:1', [0, 1]],
    ['poll', { 't:0': [[0, 0]] }],
  ])
  assertKinds(circle.ops, ['write-read-cycle'])
})

function groupHistory(): {
  history: History
  commit: (process: number, generation: number, offset: number) => void
  read: (offset: number | null, generation?: number) => void
} {
  const history = recordHistory()
  const reader = history.process()
  history.process()
  history.process()
  return {
    history,
    commit(process, generation, offset) {
      const value: Micro[] = [['commit', { 't:0': offset }]]
      history.begin(process, 'commit', value, { group: 'g', generation }).ok(value)
    },
    read(offset, generation) {
      const more = generation === undefined ? { group: 'g' } : { group: 'g', generation }
      history.begin(reader, 'committed', [['committed']], more).ok([['committed', { 't:0': offset }]])
    },
  }
}

test('committed offsets that rise and are read back are right', () => {
  const { history, commit, read } = groupHistory()
  read(null)
  commit(1, 1, 5)
  read(5)
  commit(1, 1, 9)
  commit(2, 2, 7)
  read(7, 2)
  assertKinds(history.ops, [])
})

test('a committed offset that is forgotten or taken back is stale, and within a generation backwards as well', () => {
  const forgotten = groupHistory()
  forgotten.commit(1, 1, 5)
  forgotten.read(null)
  assertKinds(forgotten.history.ops, ['committed-stale'])

  const back = groupHistory()
  back.commit(1, 1, 5)
  back.commit(1, 1, 9)
  back.read(5)
  assertKinds(back.history.ops, ['committed-stale'])

  const within = groupHistory()
  within.commit(1, 1, 5)
  within.commit(1, 1, 9)
  within.read(5, 1)
  assertKinds(within.history.ops, ['committed-backwards', 'committed-stale'])
})

test('a commit of unknown outcome may show at any later time', () => {
  const { history, commit, read } = groupHistory()
  commit(1, 1, 5)
  history.begin(2, 'commit', [['commit', { 't:0': 7 }]], { group: 'g', generation: 1 }).info('connection closed')
  commit(1, 1, 6)
  read(6)
  read(7)
  assertKinds(history.ops, [])
})

test('a committed offset that was never committed is a phantom, and so is one whose commit failed', () => {
  const { history, commit, read } = groupHistory()
  commit(1, 1, 5)
  history.begin(2, 'commit', [['commit', { 't:0': 6 }]], { group: 'g', generation: 1 }).fail('ILLEGAL_GENERATION')
  read(6)
  assertKinds(history.ops, ['committed-phantom'])
})

test('a commit of an old generation that is accepted after a newer one began is a zombie', () => {
  const { history, commit } = groupHistory()
  commit(1, 1, 5)
  commit(2, 2, 8)
  commit(1, 1, 9)
  assertKinds(history.ops, ['zombie-commit'])
})

test('values that are sent twice and processes that begin twice are mistakes of the test, not of the broker', () => {
  const twice = recordHistory()
  for (const process of [twice.process(), twice.process()]) twice.begin(process, 'send', [['send', 't:0', 7]])
  assert.throws(() => checkHistory(twice), /value 7 was sent before/)
  const open = recordHistory()
  open.begin(3, 'poll', [['poll']])
  open.begin(3, 'poll', [['poll']])
  assert.throws(() => checkHistory(open), /process 3 began twice/)
})

test('a history is written as one operation per line, as it happened', async t => {
  const folder = await temporaryFolder(t, 'ketch-history-')
  const path = join(folder, 'history.ndjson')
  const history = recordHistory({ path, node: 'n7' })
  const value = history.value()
  history.begin(history.process(), 'send', [['send', 't:0', value]]).ok([['send', 't:0', [0, value]]])
  history.fault('kill -9')
  await history.close()
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  assert.deepEqual(
    lines.map(line => JSON.parse(line)),
    history.ops,
  )
  assert.deepEqual(
    history.ops.map(op => [op.index, op.type, op.f, op.node]),
    [
      [0, 'invoke', 'send', 'n7'],
      [1, 'ok', 'send', 'n7'],
      [2, 'info', 'fault', 'n7'],
    ],
  )
  assert(history.ops[0]!.time <= history.ops[1]!.time)
})
