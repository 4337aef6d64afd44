import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'
import { append, commit, enter } from '../../../testing/group-calls.ts'
import { fetchFrom } from '../../../testing/kafka.ts'
import { createTopic } from '../../../testing/topic.ts'
import { fetch as fetchRecords } from '../../protocol/messages/fetch.ts'

interface Positions {
  readonly positions: readonly Readonly<Record<string, unknown>>[]
  readonly lag: Readonly<Record<string, unknown>>
}

interface Preview {
  readonly applied: boolean
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly blockedBy: { readonly code: string } | null
  readonly token: string | null
}

interface Lag {
  readonly totalLag: number | null
  readonly partitions: number
}

interface Listed {
  readonly groups: readonly {
    readonly groupId: string
    readonly lag: Lag
    readonly topics: readonly string[]
    readonly topicCount: number
    readonly topicLag: Lag | null
  }[]
  readonly total: number
  readonly unavailableBrokers: readonly unknown[]
}

async function open(t: TestContext) {
  const broker = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const wire = await broker.connect()
  await createTopic(broker, 'orders', 3)
  for (const partition of [0, 1, 2]) await append(wire, partition, ['a', 'b', 'c', 'd', 'e'])
  const ask = askHttp(broker.url)
  const offsetsOf = async (group: string) => {
    const { positions } = await ask<Positions>(`/api/v1/groups/${group}`)
    return positions.map(({ partition, committedOffset }) => [partition, committedOffset])
  }
  const reset = (group: string, body: unknown, status = 200) =>
    ask<Preview & { code: string; detail: string }>(`/api/v1/groups/${group}/offsets/reset`, status, {
      body,
    })
  return { broker, wire, ask, offsetsOf, reset }
}

test('groups are listed with their lag, searched, sorted and cut into pages', async t => {
  const { wire, ask } = await open(t)
  await commit(wire, 'audit', { 0: 5 })
  await commit(wire, 'billing', { 0: 1, 1: 4 })
  await enter(wire, 'shipping')
  const list = async (query = '') => {
    const { groups, total, unavailableBrokers } = await ask<Listed>(`/api/v1/groups${query}`)
    assert.deepEqual(unavailableBrokers, [])
    return [groups.map(({ groupId, lag }) => `${groupId} ${lag.totalLag}`), total]
  }
  assert.deepEqual(await list(), [['audit 0', 'billing 5', 'shipping null'], 3])
  assert.deepEqual(await list('?sort=lag.totalLag&order=desc'), [['billing 5', 'audit 0', 'shipping null'], 3])
  assert.deepEqual(await list('?q=I&limit=1&offset=1'), [['billing 5'], 3])
  assert.deepEqual(await list('?state=stable'), [['shipping null'], 1])
  const { groups } = await ask<Listed>('/api/v1/groups?q=ship')
  assert.deepEqual(groups[0], {
    groupId: 'shipping',
    type: 'classic',
    state: 'Stable',
    protocolType: 'consumer',
    coordinatorId: 0,
    members: 1,
    lag: { totalLag: null, maxLag: null, partitionsWithUnknownLag: 1, partitions: 1, lastCommitTimestamp: null },
    topics: ['orders'],
    topicCount: 1,
    topicLag: null,
  })
  for (const query of ['?limit=0', '?limit=1000000000', '?limit=abc', '?offset=-1', '?sort=colour'])
    await ask(`/api/v1/groups${query}`, 400)
})

test('the groups of a topic are listed with their lag there, if they committed in it or only read it', async t => {
  const { broker, wire, ask } = await open(t)
  await createTopic(broker, 'bills', 2)
  await ask('/api/v1/topics/bills/messages', 200, { body: { messages: [{ partition: 1, value: { text: 'x' } }] } })
  await commit(wire, 'bills-only', { 0: 0 }, 'bills')
  await commit(wire, 'both', { 0: 1, 1: 3 })
  await commit(wire, 'both', { 1: 0 }, 'bills')
  await commit(wire, 'orders-only', { 2: 4 })
  await enter(wire, 'reader')
  const list = async (query: string) => {
    const { groups, total } = await ask<Listed>(`/api/v1/groups?${query}`)
    return [groups.map(({ groupId, topicLag, lag }) => `${groupId} ${topicLag?.totalLag} of ${lag.totalLag}`), total]
  }
  const ofOrders = ['both 6 of 7', 'orders-only 1 of 1', 'reader null of null']
  assert.deepEqual(await list('topic=orders'), [ofOrders, 3])
  assert.deepEqual(await list('topic=bills'), [['bills-only 0 of 0', 'both 1 of 7'], 2])
  assert.deepEqual(await list('topic=orders&sort=topicLag.totalLag'), [[1, 0, 2].map(at => ofOrders[at]), 3])
  assert.deepEqual(await list('topic=bills&sort=topicLag.totalLag&order=desc&limit=1'), [['both 1 of 7'], 2])
  assert.deepEqual(await list('topic=orders&q=ONLY&state=empty'), [['orders-only 1 of 1'], 1])
  assert.deepEqual(await list('topic=orders&offset=2'), [['reader null of null'], 3])

  const { groups } = await ask<Listed>('/api/v1/groups?topic=bills')
  const [, both] = groups
  assert.deepEqual([both!.topics, both!.topicCount, both!.topicLag!.partitions], [['bills', 'orders'], 2, 1])
  const all = await ask<Listed>('/api/v1/groups')
  assert.deepEqual(
    all.groups.map(({ groupId, topics, topicLag }) => [groupId, topics.join(), topicLag]),
    [
      ['bills-only', 'bills', null],
      ['both', 'bills,orders', null],
      ['orders-only', 'orders', null],
      ['reader', 'orders', null],
    ],
  )

  const unknown = await ask('/api/v1/groups?topic=nothing', 404)
  assert.deepEqual([unknown.code, unknown.detail], ['UNKNOWN_TOPIC_OR_PARTITION', "There is no topic 'nothing'."])
  assert.equal((await ask('/api/v1/groups?topic=a%20b', 400)).code, 'INVALID_TOPIC_EXCEPTION')
  const unsorted = await ask('/api/v1/groups?sort=topicLag.totalLag', 400)
  assert.equal(unsorted.detail, 'sort by topicLag.totalLag needs topic.')
  await ask('/api/v1/topics/bills', 204, { method: 'DELETE' })
  const left = await ask<Listed>('/api/v1/groups?q=bo')
  assert.deepEqual(left.groups[0]!.topics, ['orders'], 'a deleted topic is left out')
})

test('a row of the list names the first 20 topics of its group, and counts all', async t => {
  const { broker, wire, ask } = await open(t)
  const names = Array.from({ length: 25 }, (_, at) => `topic-${at + 10}`)
  for (const name of names.toReversed()) {
    await createTopic(broker, name, 1)
    await commit(wire, 'wide', { 0: 0 }, name)
  }
  const [wide] = (await ask<Listed>('/api/v1/groups?topic=topic-34')).groups
  assert.deepEqual([wide!.topics, wide!.topicCount], [names.slice(0, 20), 25])
})

test('positions and the rows of a reset show the first offset that retention and deletions have left', async t => {
  const { wire, ask, reset } = await open(t)
  await commit(wire, 'g', { 0: 1, 1: 2 })
  const offsets = [{ partition: 0, before: 3 }]
  await ask('/api/v1/topics/orders/records/delete', 200, { body: { offsets } })
  for (const path of ['/api/v1/groups/g', '/api/v1/groups/g/lag']) {
    const { positions } = await ask<Positions>(path)
    assert.deepEqual(
      positions.map(({ startOffset, committedOffset, endOffset, lag }) => [
        startOffset,
        committedOffset,
        endOffset,
        lag,
      ]),
      [
        [3, 1, 5, 2],
        [0, 2, 5, 3],
      ],
    )
  }
  const preview = await reset('g', { dryRun: true, to: 'latest' })
  const applied = await reset('g', { token: preview.token, to: 'latest' })
  for (const { rows } of [preview, applied])
    assert.deepEqual(
      rows.map(({ startOffset }) => startOffset),
      [3, 0],
    )
})

test('a group is described with its members and the offsets that were delivered to them', async t => {
  const { wire, ask } = await open(t)
  const { memberId } = await enter(wire, 'readers')
  const topics = [{ topic: 'orders', partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1_000 }] }]
  await wire.send(fetchRecords, 12, fetchFrom(0, { topics }))
  const { positions, lag, ...group } = await ask<Positions>('/api/v1/groups/readers')
  const { coordinator, ...rest } = group as unknown as Record<string, unknown> & { coordinator: { id: number } }
  assert.equal(coordinator.id, 0)
  assert.deepEqual(rest, {
    groupId: 'readers',
    type: 'classic',
    state: 'Stable',
    protocolType: 'consumer',
    protocolName: 'range',
    coordinatorId: 0,
    members: [
      {
        memberId,
        instanceId: 'here',
        clientId: 'wire',
        host: '127.0.0.1',
        assignment: [{ topic: 'orders', partitions: [0] }],
      },
    ],
  })
  assert.deepEqual(positions, [
    {
      ...{ topic: 'orders', partition: 0, memberId, deliveredOffset: 5, startOffset: 0, endOffset: 5, lag: 0 },
      ...{ committedOffset: null, commitTimestamp: null, metadata: null },
    },
  ])
  assert.deepEqual((await ask<Positions>('/api/v1/groups/readers/lag')).lag, lag)
  assert.equal((await ask('/api/v1/groups/unknown', 404)).code, 'GROUP_ID_NOT_FOUND')
})

test('a group without members is deleted, and one with members is not', async t => {
  const { wire, ask } = await open(t)
  await commit(wire, 'old', { 0: 1 })
  const { leave } = await enter(wire, 'busy')
  const remove = (group: string, status: number) => ask(`/api/v1/groups/${group}`, status, { method: 'DELETE' })
  await remove('old', 204)
  assert.equal((await remove('old', 404)).code, 'GROUP_ID_NOT_FOUND')
  assert.equal((await remove('busy', 409)).code, 'NON_EMPTY_GROUP')
  await leave()
  await remove('busy', 204)
})

test('offsets of topics are deleted, but not of those that members read', async t => {
  const { wire, ask, offsetsOf } = await open(t)
  const remove = (group: string, query: string, status: number) =>
    ask(`/api/v1/groups/${group}/offsets?${query}`, status, { method: 'DELETE' })
  await commit(wire, 'g', { 0: 1, 2: 1 })
  assert.equal((await remove('g', 'topic=nothing', 404)).code, 'UNKNOWN_TOPIC_OR_PARTITION')
  assert.deepEqual(await remove('g', 'topic=orders', 200), {
    topics: [{ topic: 'orders', partitions: 3, error: null }],
  })
  assert.deepEqual(await offsetsOf('g'), [])
  await enter(wire, 'g')
  assert.equal((await remove('g', 'topic=orders', 409)).code, 'GROUP_SUBSCRIBED_TO_TOPIC')
})

test('a reset shows what it would clear, changes nothing, and then clears exactly that', async t => {
  const { wire, offsetsOf, reset } = await open(t)
  await commit(wire, 'g', { 0: 1, 1: 2 })
  const preview = await reset('g', { dryRun: true })
  assert.deepEqual([preview.applied, preview.blockedBy, typeof preview.token], [false, null, 'string'])
  assert.deepEqual(
    preview.rows.map(({ commitTimestamp, ...row }) => row),
    [
      [0, 1],
      [1, 2],
    ].map(([partition, committedOffset]) => ({
      ...{ topic: 'orders', partition, memberId: null, committedOffset, metadata: 'note' },
      ...{ deliveredOffset: null, startOffset: 0, endOffset: 5, newOffset: null },
    })),
  )
  assert.deepEqual(
    await offsetsOf('g'),
    [
      [0, 1],
      [1, 2],
    ],
    'nothing has changed',
  )
  const applied = await reset('g', { token: preview.token })
  assert.deepEqual([applied.applied, applied.rows], [true, preview.rows])
  assert.deepEqual(await offsetsOf('g'), [])
})

test('a reset goes to either end, to an offset or to a time', async t => {
  const { wire, offsetsOf, reset } = await open(t)
  await append(wire, 2, ['late'], 1_700_000_000_009)
  await commit(wire, 'g', { 0: 3 })
  const apply = async (body: object) => {
    const { token } = await reset('g', { ...body, dryRun: true })
    await reset('g', { ...body, token })
    return Object.fromEntries(await offsetsOf('g'))
  }
  assert.deepEqual(await apply({ to: 'latest', scope: { topics: ['orders'] } }), { 0: 5, 1: 5, 2: 6 })
  const one = { partitions: [{ topic: 'orders', partition: 1 }] }
  assert.deepEqual(await apply({ to: 'earliest', scope: one }), { 0: 5, 1: 0, 2: 6 })
  assert.deepEqual(await apply({ to: 'offset', offset: 4, scope: one }), { 0: 5, 1: 4, 2: 6 })
  assert.deepEqual(await apply({ to: 'timestamp', timestamp: 1_700_000_000_001 }), { 0: 5, 1: 5, 2: 5 })
  const refused = await reset('g', { to: 'offset', offset: 7, scope: one, dryRun: true }, 400)
  assert.equal(refused.detail, 'orders-1 has offsets from 0 to 5, not 7.')
  assert.equal((await reset('g', { to: 'offset', dryRun: true }, 400)).code, 'INVALID_REQUEST')
  const scope = { topics: ['nothing'] }
  assert.equal((await reset('g', { scope, dryRun: true }, 404)).code, 'UNKNOWN_TOPIC_OR_PARTITION')
  const unknown = await reset('unknown', { dryRun: true }, 404)
  assert.deepEqual([unknown.code, unknown.detail], ['GROUP_ID_NOT_FOUND', "There is no group 'unknown'."])
})

test('a misspelt reset is refused, and does not become a reset of everything', async t => {
  const { wire, offsetsOf, reset } = await open(t)
  await commit(wire, 'g', { 0: 1 })
  const cases = [
    [{ scope: { topic: 'orders' } }, /topic/],
    [{ scope: { partitions: [{ topic: 'orders', partition: 0, offset: 3 }] } }, /offset/],
    [{ offset: 3 }, /^offset goes with to: offset, not with clear/],
    [{ to: 'earliest', timestamp: 3 }, /^timestamp goes with to: timestamp/],
    [{ to: 'timestamp', offset: 3 }, /^offset goes with to: offset/],
    [{ to: 'offset' }, /^offset is missing/],
    [{ to: 'timestamp', timestamp: -2 }, /timestamp.* cannot ask for a time before 1970/],
  ] as const
  for (const [body, why] of cases) {
    const { code, detail } = await reset('g', { ...body, dryRun: true }, 400)
    assert.equal(code, 'INVALID_REQUEST', JSON.stringify(body))
    assert.match(detail, why)
  }
  assert.deepEqual(await offsetsOf('g'), [[0, 1]])
})

test('a reset without the token of its preview, or with the token of another or outdated preview, changes nothing', async t => {
  const { wire, offsetsOf, reset } = await open(t)
  await commit(wire, 'g', { 0: 1 })
  await commit(wire, 'other', { 0: 1 })
  const codeOf = async (body: object, group = 'g') => (await reset(group, body, 409)).code
  assert.equal(await codeOf({}), 'PREVIEW_REQUIRED')
  const { token } = await reset('g', { dryRun: true })
  assert.ok(token !== null)
  assert.equal(await codeOf({ token }, 'other'), 'PREVIEW_OUTDATED')
  assert.equal(await codeOf({ token, to: 'earliest' }), 'PREVIEW_OUTDATED')
  assert.equal(await codeOf({ token: `${token.slice(0, -4)}AAAA` }), 'PREVIEW_OUTDATED')
  for (const broken of ['', '!', 'AAAA']) assert.equal(await codeOf({ token: broken }), 'PREVIEW_OUTDATED')
  await commit(wire, 'g', { 0: 2 })
  assert.equal(await codeOf({ token }), 'PREVIEW_OUTDATED')
  assert.deepEqual(await offsetsOf('g'), [[0, 2]])

  const fresh = await reset('g', { dryRun: true })
  const { leave } = await enter(wire, 'g')
  assert.equal(await codeOf({ token: fresh.token }), 'NON_EMPTY_GROUP')
  const blocked = await reset('g', { dryRun: true })
  assert.deepEqual([blocked.blockedBy?.code, blocked.token], ['NON_EMPTY_GROUP', null])
  await leave()
  assert.deepEqual(await offsetsOf('g'), [[0, 2]])
  await reset('g', { token: fresh.token })
  assert.equal(await codeOf({ token: fresh.token }), 'PREVIEW_OUTDATED')
})

test('a group with any name is found by its name, and no other group is', async t => {
  const { wire, ask, offsetsOf } = await open(t)
  const names = ['a/b', '../groups', 'a b', '%2e%2e', 'ünï', '<img onerror=x>', 'x'.repeat(2_000), '{a}:b', '?#&']
  for (const name of names) await commit(wire, name, { 0: 1 })
  for (const name of names) assert.deepEqual(await offsetsOf(encodeURIComponent(name)), [[0, 1]], name)
  for (const name of ['\u0000', 'a/b/c', '__proto__']) await ask(`/api/v1/groups/${encodeURIComponent(name)}`, 404)
  for (const name of ['x'.repeat(64 * 1024), 'a\u0000']) await ask(`/api/v1/groups/${encodeURIComponent(name)}`, 404)
  for (const path of ['%', '%zz', '%ff']) await ask(`/api/v1/groups/${path}`, 400)
  for (const name of ['\u0000', '..', 'constructor', 'x'.repeat(250)])
    await ask(`/api/v1/groups/a%2Fb/offsets?topic=${encodeURIComponent(name)}`, name === 'constructor' ? 404 : 400, {
      method: 'DELETE',
    })
})
