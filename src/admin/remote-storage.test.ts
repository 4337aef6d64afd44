import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { TierAway } from '../log/archive.ts'
import { testSettings } from '../settings/settings.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { RemoteTier, TableDescription, TierBacklog, TierState } from '../tier/remote/remote-tier.ts'
import { describeRemote, storageStats, whyNoTier } from './remote-storage.ts'

const BACKLOG: TierBacklog = {
  ...{ segments: 3, bytes: 900, oldestSealedAtMs: 4_000, suspended: 0, passed: 0 },
  ...{ segmentsPerMin: 2, bytesPerMin: 600 },
}
const WELL: TierState = {
  ...{ breaker: 'closed', why: null, sinceMs: 0, full: null, createOnly: 'kept', readsWaiting: 1, cacheBytes: 5 },
  ...{ suspended: 1, passed: 2, foreign: [] },
}
const TABLE: TableDescription = { location: 's3://b/t', version: 4, snapshots: 2, files: 3, bytes: 30, rows: 300 }
const PAGE = { isWanted: () => true, order: 'asc', offset: 0, limit: 20 } as const

function statsOf(backlog: TierBacklog | null, nowMs = 10_000) {
  const remoteTier = { backlog: () => backlog }
  return storageStats({ remoteTier, clock: new SimulatedClock(nowMs) })
}

test('the backlog has an age of null until it is known, and of 0 seconds if nothing waits', () => {
  const unknown = {
    segmentsPerMin: 0,
    bytesPerMin: 0,
    backlogSegments: null,
    backlogBytes: null,
    backlogAgeSeconds: null,
  }
  assert.deepEqual(statsOf(null), unknown)
  assert.deepEqual(storageStats({ remoteTier: null, clock: new SimulatedClock() }), unknown)
  assert.deepEqual(statsOf(BACKLOG), {
    ...{ segmentsPerMin: 2, bytesPerMin: 600, backlogSegments: 3, backlogBytes: 900, backlogAgeSeconds: 6 },
  })
  assert.equal(statsOf({ ...BACKLOG, segments: 0, bytes: 0, oldestSealedAtMs: null }).backlogAgeSeconds, 0)
  // The clock of the leader that sealed the segment is ahead of this one.
  assert.equal(statsOf(BACKLOG, 1_000).backlogAgeSeconds, 0)
})

test('a broker without a remote tier says which setting switches it on', () => {
  assert.equal(whyNoTier(testSettings()), 'svc.storage.remote.path is unset (default).')
})

function world(
  describe: (topicId: string) => Promise<TableDescription | null>,
  state: Partial<TierState> = {},
  follow = async () => {},
) {
  const clock = new SimulatedClock()
  const asked: string[] = []
  const remoteTier = {
    ...{ uri: 's3://bucket', namespace: 'default', backlog: () => null, state: () => ({ ...WELL, ...state }) },
    follow,
    tables: () => ['a', 'b', 'c'].map(name => ({ topicId: `id of ${name}`, topicName: name })),
    describeTable(topicId: string) {
      asked.push(topicId)
      return describe(topicId)
    },
  } as unknown as RemoteTier
  return { clock, asked, rooms: { remoteTier, settings: testSettings(), clock } }
}

test('the remote tier is described with a page of its tables', async () => {
  const { rooms, asked } = world(async () => TABLE)
  const { tables, ...rest } = await describeRemote(rooms, { ...PAGE, order: 'desc', offset: 1, limit: 1 })
  assert.deepEqual(rest, {
    ...{ place: 's3://bucket', namespace: 'default', breaker: 'closed', breakerChangedAt: '1970-01-01T00:00:00.000Z' },
    ...{ trouble: null, createOnly: 'kept', suspended: 1, passed: 2, total: 3 },
    reads: { threads: 4, waiting: 1, queueCapacity: 64, cacheBytes: 5, cacheCapacityBytes: 64 * 2 ** 20 },
  })
  assert.deepEqual(tables, [{ topic: 'b', topicId: 'id of b', ...TABLE, trouble: null }])
  assert.deepEqual(asked, ['id of b'])
  const filtered = await describeRemote(rooms, { ...PAGE, isWanted: name => name === 'c' })
  assert.deepEqual([filtered.total, filtered.tables[0]!.topic], [1, 'c'])
})

test('a table that cannot be read has its reason and no numbers, and the others are shown', async () => {
  const foreign = [
    { topicId: 'id of b', why: 'another program wrote it' },
    { topicId: 'id of c', why: 'A file is missing.' },
  ]
  const answers: Record<string, () => Promise<TableDescription | null>> = {
    'id of a': () => Promise.reject(new TierAway('away', 'The store answered 503.')),
    'id of b': async () => null,
    'id of c': async () => TABLE,
  }
  const { rooms } = world(topicId => answers[topicId]!(), { foreign })
  const { tables } = await describeRemote(rooms, PAGE)
  assert.deepEqual(
    tables.map(({ version, trouble }) => [version, trouble]),
    [
      [null, 'The store answered 503.'],
      [null, 'another program wrote it. The table does not exist any more.'],
      [4, 'A file is missing.'],
    ],
  )
})

test('a store that does not answer is waited for two seconds, and not asked while the breaker is open', async () => {
  const silent = world(() => new Promise(() => {}))
  const shown = await silent.clock.passing(describeRemote(silent.rooms, PAGE))
  assert.match(shown.tables[2]!.trouble ?? '', /no answer within 2000 ms/)
  const open = world(async () => TABLE, { breaker: 'open', why: 'The store answered 503.' })
  const { tables, breaker, trouble } = await describeRemote(open.rooms, PAGE)
  assert.deepEqual([breaker, trouble, tables[0]!.trouble, open.asked], ['open', 'The store answered 503.', trouble, []])
})

test('what the holder said last is heard first, and a store that cannot tell it does not prevent the answer', async () => {
  const steps: string[] = []
  const heard = world(
    async () => {
      steps.push('described')
      return TABLE
    },
    {},
    async () => {
      steps.push('heard')
    },
  )
  await describeRemote(heard.rooms, { ...PAGE, limit: 1 })
  assert.deepEqual(steps, ['heard', 'described'])
  const away = world(
    async () => TABLE,
    {},
    () => Promise.reject(new StoreUnavailable('away')),
  )
  assert.equal((await describeRemote(away.rooms, PAGE)).total, 3)
  const silent = world(
    async () => TABLE,
    {},
    () => new Promise(() => {}),
  )
  assert.equal((await silent.clock.passing(describeRemote(silent.rooms, PAGE))).total, 3)
})

test('a defect is not taken for a store that is away', async () => {
  const { rooms } = world(() => Promise.reject(new TypeError('defect')))
  await assert.rejects(describeRemote(rooms, PAGE), TypeError)
})
