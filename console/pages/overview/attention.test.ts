import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attention, type Facts, needsAttention } from './attention.ts'

const QUIET: Facts = {
  health: {
    status: 'UP',
    details: { components: { store: { status: 'UP' }, ping: { status: 'UP' } } },
    checks: [],
  },
  brokers: undefined,
  groups: [],
  hasMoreGroups: false,
  lags: [],
  store: undefined,
  jobs: undefined,
  silent: [],
  backpressured: 0,
  failures: 0,
  lossyRecords: 0,
  range: '15m',
  hasShippedPassword: false,
}

const sentences = (facts: Partial<Facts>) =>
  needsAttention({ ...QUIET, ...facts }).map(({ before, name, after }) => `${before}${name ?? ''}${after}`)

type Group = NonNullable<Facts['groups']>[number]
type Lag = NonNullable<Facts['lags']>[number]

const lag = { totalLag: 0, maxLag: 0, partitionsWithUnknownLag: 0, partitions: 1, lastCommitTimestamp: null }

function group(groupId: string, members: number | null, totalLag: number | null): Group {
  return {
    ...{ groupId, type: 'classic', state: 'Empty', protocolType: 'consumer', coordinatorId: 1, members },
    ...{ lag: { ...lag, totalLag }, topics: [], topicCount: 0, topicLag: null },
  }
}

function lags(groupId: string, samples: readonly (number | null)[], unknown = 0): Lag {
  const totalLag = samples.at(-1) ?? null
  return {
    ...{ ...lag, groupId, totalLag, partitionsWithUnknownLag: unknown },
    samples: samples.map((each, at) => ({ timestamp: at, lag: each })),
  }
}

test('the remote tier needs attention if its health warns, or if jobs failed that the worker tries again', () => {
  const counts = { pending: 9, running: 1, done: 70, failed: 3, cancelled: 2, suspended: 1 }
  const health = (details: Readonly<Record<string, unknown>>): Facts['health'] => ({
    status: 'UP',
    details: { components: { remoteStorage: { status: 'UP', details } } },
    checks: [],
  })
  const failed = '2 offload jobs failed: the storage worker tries again.'
  const warning = 'The place has not worked since noon: no space is left.'
  assert.deepEqual(sentences({ health: health({ breaker: 'closed', backlogSegments: 9 }), jobs: counts }), [failed])
  assert.deepEqual(sentences({ health: health({ breaker: 'open', warning }), jobs: counts }), [
    `Remote tier: ${warning}`,
    failed,
  ])
  assert.deepEqual(sentences({ health: health({ breaker: 7, warning: {} }), jobs: { ...counts, failed: 1 } }), [])
  const [found] = needsAttention({ ...QUIET, health: health({ breaker: 'open', warning }) })
  assert.equal(found?.tone, 'danger')
})

test('nothing needs attention while all is well, and while nothing is known', () => {
  assert.deepEqual(sentences({}), [])
  assert.deepEqual(sentences({ health: undefined, groups: undefined, lags: undefined }), [])
})

test('a group with lag and no members is named, and two are one sentence', () => {
  const one = group('billing', 0, 4210)
  assert.deepEqual(sentences({ groups: [one] }), ['Consumer group billing has no members and is 4,210 records behind.'])
  assert.deepEqual(sentences({ groups: [one, group('mail', 0, 1), group('idle', 0, 0), group('busy', 2, 900)] }), [
    '2 consumer groups have lag and no members, first of all billing.',
  ])
  assert.deepEqual(needsAttention({ ...QUIET, groups: [one] })[0]!.target, {
    page: 'group',
    params: { group: 'billing' },
  })
})

test('a group without an answer of its coordinator is not called abandoned', () => {
  assert.deepEqual(sentences({ groups: [group('billing', null, 10)] }), [])
})

test('a lag grows if it never fell over five samples and rose', () => {
  assert.deepEqual(sentences({ lags: [lags('billing', [1, 2, 2, 3, 9])] }), [
    'Consumer group billing falls further behind: its lag has grown to 9 records.',
  ])
  const quiet = [
    lags('a', [1, 2, 3, 2, 9]),
    lags('b', [4, 4, 4, 4, 4]),
    lags('c', [1, 2, 3, 4]),
    lags('d', [null, 1, 2, 3, 4]),
  ]
  assert.deepEqual(sentences({ lags: quiet }), [])
})

test('only the newest five samples decide whether a lag grows', () => {
  assert.equal(sentences({ lags: [lags('a', [9, 1, 2, 3, 4, 5])] }).length, 1)
})

test('a group without members is not also said to fall behind', () => {
  const found = sentences({ groups: [group('billing', 0, 5)], lags: [lags('billing', [1, 2, 3, 4, 5])] })
  assert.deepEqual(found, ['Consumer group billing has no members and is 5 records behind.'])
})

test('if more groups may have no members than are listed, the number is the least', () => {
  const listed = [group('a', 0, 9), group('b', 0, 3)]
  assert.deepEqual(sentences({ groups: listed, hasMoreGroups: true }), [
    'At least 2 consumer groups have lag and no members, first of all a.',
  ])
  const all = [...listed, group('c', 0, 0)]
  assert.deepEqual(sentences({ groups: all, hasMoreGroups: true }), [
    '2 consumer groups have lag and no members, first of all a.',
  ])
})

test('a group whose lag is unknown in some partitions is named', () => {
  assert.deepEqual(sentences({ lags: [lags('billing', [3], 2)] }), [
    'Consumer group billing has an unknown lag in 2 partitions.',
  ])
})

test('a failed check comes first, and names the component', () => {
  const health: Facts['health'] = {
    ...{ status: 'DOWN', checks: [] },
    details: { components: { redis: { status: 'DOWN' }, broker: { status: 'UP' }, ssl: { status: 'OUT_OF_SERVICE' } } },
  }
  assert.deepEqual(sentences({ health, hasShippedPassword: true }), [
    'The health check of Redis and the TLS certificates fails.',
    'You sign in with the password that Ketch ships. Change it.',
  ])
})

test('an open breaker is said, a closed one and a disabled one are not', () => {
  const store = { ...{ description: '', place: null, totalBytes: null, usableBytes: null, pool: null }, trouble: null }
  assert.equal(sentences({ store: { ...store, breaker: 'open' } }).length, 1)
  assert.equal(sentences({ store: { ...store, breaker: 'half-open' } }).length, 1)
  assert.deepEqual(sentences({ store: { ...store, breaker: 'closed' } }), [])
  assert.deepEqual(sentences({ store: { ...store, breaker: 'disabled' } }), [])
})

test('a silent broker is named once, with its reason', () => {
  const silent = { brokerId: 2, reason: 'it did not answer within 2 s' }
  assert.deepEqual(sentences({ silent: [silent, silent] }), [
    'The numbers of broker 2 are missing: it did not answer within 2 s.',
  ])
  assert.deepEqual(sentences({ silent: [silent, { brokerId: 1, reason: 'gone' }] }), [
    'The numbers of the brokers 1, 2 are missing.',
  ])
})

test('leaderless partitions, failures, lossy records and backpressure are counted', () => {
  assert.deepEqual(sentences({ brokers: { brokers: [], partitions: 12, leaderless: 1 } }), [
    'No broker leads 1 partition of 12.',
  ])
  assert.deepEqual(sentences({ failures: 3, lossyRecords: 1, backpressured: 2 }), [
    '1 record was lost or damaged in the last 15 min.',
    '3 failures in the last 15 min: requests that the broker could not serve, and refused sign-ins or connections.',
    '2 connections are held back: the client does not read its answers.',
  ])
})

test('the line of the failures leads to their chart, or nowhere without a history', () => {
  const lineOf = (facts: Partial<Facts>) => {
    const [{ before, target }] = needsAttention({ ...QUIET, failures: 2, ...facts }) as [Attention]
    return [before.split(':')[0], target]
  }
  assert.deepEqual(lineOf({ range: '1h' }), ['2 failures in the last 1 h', { chart: 'failures' }])
  assert.deepEqual(lineOf({ range: null }), ['2 failures since the start of the broker', null])
})
