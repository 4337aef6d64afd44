import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogueOf, topicOf } from '../../testing/catalogue-of.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import type { Topic } from '../log/catalogue.ts'
import type { UnreadTable } from '../log/table-reads.ts'
import { testSettings } from '../settings/settings.ts'
import type { RemoteTier, TierBacklog, TierState } from '../tier/remote/remote-tier.ts'
import { remoteDetails } from './remote-health.ts'

const WELL: TierState = {
  ...{ breaker: 'closed', why: null, sinceMs: 0, full: null, createOnly: 'kept', readsWaiting: 0, cacheBytes: 0 },
  ...{ suspended: 0, passed: 0, foreign: [] },
}
const REMOTE = { 'remote.storage.enable': 'true' }

function shown(
  state: Partial<TierState> | null,
  topics: readonly Topic[] = [],
  backlog: TierBacklog | null = null,
  unread: readonly UnreadTable[] = [],
) {
  const clock = new SimulatedClock(10_000)
  const tier: Pick<RemoteTier, 'uri' | 'state' | 'backlog'> = {
    uri: 's3://bucket/tables',
    state: () => ({ ...WELL, ...state }),
    backlog: () => backlog,
  }
  const catalogue = { current: () => catalogueOf(topics) }
  const remoteTier = state === null ? null : tier
  const found = remoteDetails({
    remoteTier,
    catalogue,
    settings: testSettings(),
    clock,
    logs: { unreadTables: () => unread },
  })
  return found as { readonly warning?: string } | null
}

test('health: a remote tier that works shows its place and its backlog, and no warning', () => {
  const backlog: TierBacklog = {
    ...{ segments: 2, bytes: 300, oldestSealedAtMs: 4_000, suspended: 0, passed: 0 },
    ...{ segmentsPerMin: 1, bytesPerMin: 100 },
  }
  const known = { place: 's3://bucket/tables', breaker: 'closed' }
  assert.deepEqual(shown({}), { ...known, backlogSegments: null, backlogBytes: null, backlogAgeSeconds: null })
  assert.deepEqual(shown({}, [], backlog), { ...known, backlogSegments: 2, backlogBytes: 300, backlogAgeSeconds: 6 })
})

test('health: each trouble of the remote tier is a warning, and the broker stays up', () => {
  const warning = (state: Partial<TierState>, topics: readonly Topic[] = []) => shown(state, topics)?.warning
  assert.equal(
    warning({ breaker: 'open', why: 'The store answered 503.', sinceMs: 0 }),
    'The place has not worked since 1970-01-01T00:00:00.000Z: The store answered 503.',
  )
  assert.match(warning({ full: 'no room for a.parquet' }) ?? '', /is full, so segments wait: no room for a\.parquet/)
  assert.match(warning({ createOnly: 'broken' }) ?? '', /two requests create the same object.*nothing is committed/)
  assert.match(warning({ suspended: 1 }) ?? '', /^1 offload job without attempts left/)
  assert.match(warning({ passed: 3 }) ?? '', /dropped 3 segments of the last day before the offload\.$/)
  const orders = topicOf('orders', REMOTE)
  const gone = { topicId: 'x'.repeat(22), why: 'Gone.' }
  assert.equal(
    warning({ foreign: [{ topicId: orders.id, why: 'A file is missing.' }, gone] }, [orders]),
    `The table of orders gets no more commits: A file is missing. The table of ${gone.topicId} gets no more commits: Gone.`,
  )
  const many = Array.from({ length: 12 }, (_, at) => ({ topicId: `t${at}`, why: 'Gone.' }))
  assert.match(warning({ foreign: many }) ?? '', /Neither do the tables of 2 further topics\.$/)
})

test('health: a broker without a place names the topics that need one', () => {
  assert.equal(shown(null, [topicOf('plain')]), null)
  const topics = Array.from({ length: 12 }, (_, at) => topicOf(`t${at}`, REMOTE))
  assert.match(shown(null, topics)?.warning ?? '', /remote\.path is not set on this broker.*: t0, .*, t9 and 2 more\.$/)
})

test('health: topics whose tables cannot be read are named with the reason', () => {
  const unread = [
    { topicName: 'orders', why: 'v3.metadata.json cannot be read as JSON' },
    { topicName: 'plain', why: 'The store answered 503.' },
  ]
  assert.equal(
    shown({}, [], null, unread)?.warning,
    'orders takes no records until its table was read: v3.metadata.json cannot be read as JSON. ' +
      'plain takes no records until its table was read: The store answered 503.',
  )
  assert.match(shown(null, [], null, unread)?.warning ?? '', /^orders takes no records until/)
  const many = Array.from({ length: 11 }, (_, at) => ({ topicName: `t${at}`, why: 'Gone.' }))
  assert.match(shown({}, [], null, many)?.warning ?? '', /Neither do 1 further topic\.$/)
})
