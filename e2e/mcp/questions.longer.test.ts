// Twelve questions of an operator. Each is answered by a script with the agent tools in at most three calls, and the
// answer equals the one that the admin API gives.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fetch as fetchRecords } from '../../src/protocol/messages/fetch.ts'
import { type AgentWorld, startAgentWorld } from '../../testing/agent-reads.ts'
import type { AskHttp } from '../../testing/ask-http.ts'
import { eventually } from '../../testing/eventually.ts'
import { append, commit, enter } from '../../testing/group-calls.ts'
import { fetchFrom } from '../../testing/kafka.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { createTopic } from '../../testing/topic.ts'

const MOST_CALLS = 3
const REMOTE = { 'remote.storage.enable': 'true', 'segment.ms': '1', 'retention.ms': '-1' }
const USER = JSON.stringify({ type: 'record', name: 'User', fields: [{ name: 'name', type: 'string' }] })
const STRICTER = USER.replace(']', ',{"name":"age","type":"int"}]')
const NEEDLE = 'order-4711'
const LONG = `${'x'.repeat(20_000)} ${NEEDLE} ${'y'.repeat(20_000)}`

// biome-ignore lint/suspicious/noExplicitAny: a row is that of the tool or of the API
type Row = any

interface Question {
  readonly question: string
  /** Finds the answer with the tools. */
  script(call: (name: string, args?: object) => Promise<Row>): Promise<unknown>
  /** Finds the answer with the admin API. */
  admin(api: AskHttp): Promise<unknown>
}

const find = (rows: readonly Row[], name: string, value: unknown): Row => rows.find(row => row[name] === value)

const questions: readonly Question[] = [
  {
    question: 'Which group lags most, since when, and will it catch up?',
    async script(call) {
      const { groups } = await call('list_groups', { sort: 'lag.totalLag', order: 'desc', limit: 1 })
      const [{ groupId, lag }] = groups
      const { history, catchUp } = await call('explain_lag', { group: groupId, lookSeconds: 0.2 })
      return [groupId, lag.totalLag, history.lagsSince.timestamp, catchUp.verdict, catchUp.reason]
    },
    async admin(api) {
      const { groups } = await api<Row>('/api/v1/metrics/consumer-lag?samples=true')
      const [most] = groups.toSorted((one: Row, other: Row) => (other.totalLag ?? -1) - (one.totalLag ?? -1))
      const since = most.samples.findLastIndex(({ lag }: Row) => lag === 0) + 1
      const { positions } = await api<Row>(`/api/v1/groups/${most.groupId}/lag`)
      const isUnowned = positions.some(({ lag, memberId }: Row) => lag > 0 && memberId === null)
      const verdict = isUnowned ? ['never', 'no-owner'] : []
      return [most.groupId, most.totalLag, most.samples[since].timestamp, ...verdict]
    },
  },
  {
    question: 'Who reads partition 0 of orders in the group shipping, from which address, and how far behind is it?',
    async script(call) {
      const { partitions } = await call('explain_lag', { group: 'shipping', lookSeconds: 0.1 })
      const { clientId, host, lag, deliveredOffset, endOffset } = find(partitions, 'partition', 0)
      return { clientId, host, lag, deliveredOffset, endOffset }
    },
    async admin(api) {
      const { positions, members } = await api<Row>('/api/v1/groups/shipping')
      const { memberId, lag, deliveredOffset, endOffset } = find(positions, 'partition', 0)
      const { clientId, host } = find(members, 'memberId', memberId)
      return { clientId, host, lag, deliveredOffset, endOffset }
    },
  },
  {
    question: 'Is the cluster healthy, which brokers live, and has a partition no leader?',
    async script(call) {
      const { status, brokers, leaderless, partitions } = await call('cluster_health')
      return [status, brokers.map(({ id, leads }: Row) => [id, leads]), leaderless, partitions]
    },
    async admin(api) {
      const { status } = await api<Row>('/api/v1/health')
      const { brokers, leaderless, partitions } = await api<Row>('/api/v1/brokers')
      return [status, brokers.map(({ id, leads }: Row) => [id, leads]), leaderless, partitions]
    },
  },
  {
    question: 'Which topic takes the most room, and which of its partitions is the largest?',
    async script(call) {
      const { topics } = await call('list_topics', { sort: 'sizeBytes', order: 'desc', limit: 1 })
      const { leaders } = await call('describe_topic', { topic: topics[0].name })
      const [largest] = leaders.toSorted((one: Row, other: Row) => other.sizeBytes - one.sizeBytes)
      return [topics[0].name, topics[0].sizeBytes, largest.partition, largest.sizeBytes]
    },
    async admin(api) {
      const { topics } = await api<Row>('/api/v1/topics?sort=sizeBytes&order=desc&limit=1')
      const { streams } = await api<Row>('/api/v1/storage?sort=sizeBytes&order=desc&limit=1')
      return [topics[0].name, topics[0].sizeBytes, streams[0].partition, streams[0].sizeBytes]
    },
  },
  {
    question: 'For how long does orders keep its records, and who has set that?',
    async script(call) {
      const { configs } = await call('describe_topic', { topic: 'orders', configs: 'all' })
      const { value, source, origin } = find(configs, 'name', 'retention.ms')
      return { value, source, origin }
    },
    async admin(api) {
      const { configs } = await api<Row>('/api/v1/topics/orders/configs')
      const { value, source, origin } = find(configs, 'name', 'retention.ms')
      return { value, source, origin }
    },
  },
  {
    question: `Which record of orders has the text ${NEEDLE}, and what is its whole value?`,
    async script(call) {
      const { messages } = await call('read_messages', { topic: 'orders', contains: NEEDLE, previewBytes: 0 })
      const [{ partition, offset }] = messages
      const place = { topic: 'orders', partition, offset, part: 'value', maxBytes: 65_536 }
      const { text, next } = await call('get_message', place)
      return [messages.length, partition, offset, text, next]
    },
    async admin(api) {
      const { messages } = await api<Row>(`/api/v1/topics/orders/messages?contains=${NEEDLE}&previewBytes=0`)
      const [{ partition, offset }] = messages
      const { value } = await api<Row>(`/api/v1/topics/orders/messages/${partition}/${offset}`)
      return [messages.length, partition, offset, value.text, null]
    },
  },
  {
    question: 'Which groups read orders, and which of them have no members?',
    async script(call) {
      const { groups } = await call('list_groups', { topic: 'orders' })
      return groups.map(({ groupId, members }: Row) => [groupId, members === 0])
    },
    async admin(api) {
      const { groups } = await api<Row>('/api/v1/groups?topic=orders')
      return groups.map(({ groupId, members }: Row) => [groupId, members === 0])
    },
  },
  {
    question: 'When were the most records written, and how many a second?',
    async script(call) {
      const { samples } = await call('metrics_history', { scope: 'broker', points: 120, step: 1, maxBytes: 65_536 })
      return peakOf(samples)
    },
    async admin(api) {
      return peakOf((await api<Row>('/api/v1/metrics/history')).samples)
    },
  },
  {
    question: 'May the field age be added to the schema of people, and if not, why, and which topic has it?',
    async script(call) {
      const { compatible, failing } = await call('check_schema', { subject: 'people-value', schema: STRICTER })
      const { topics, level } = await call('list_schemas', { subject: 'people-value' })
      return [compatible, failing, level, topics.map(({ topic, part }: Row) => [topic, part])]
    },
    async admin(api) {
      const body = { schema: STRICTER, type: 'AVRO' }
      const subject = '/api/v1/schemas/subjects/people-value'
      const { compatible, failing } = await api<Row>(`${subject}/check`, 200, { body })
      const { topics, level } = await api<Row>(subject)
      return [compatible, failing, level, topics.map(({ topic, part }: Row) => [topic, part])]
    },
  },
  {
    question: 'Which text has the newest record of people, and with which schema was it written?',
    async script(call) {
      const asked = { topic: 'people', order: 'newest', limit: 1, decode: 'registry' }
      const { messages } = await call('read_messages', asked)
      const { text, schema } = messages[0].value
      const { schema: written, usedBy } = await call('get_schema', { id: schema.id })
      return [text, schema, written, usedBy]
    },
    async admin(api) {
      const page = await api<Row>('/api/v1/topics/people/messages?order=newest&limit=1&decode=registry')
      const { text, schema } = page.messages[0].value
      const { schema: written, usedBy } = await api<Row>(`/api/v1/schemas/ids/${schema.id}`)
      return [text, schema, written, usedBy]
    },
  },
  {
    question: 'Which settings of the agent tools are set, and where?',
    async script(call) {
      const { settings } = await call('list_settings', { q: 'svc.mcp', set: true })
      return settings.map(({ key, value, source, isSecret }: Row) => ({ key, value, source, isSecret }))
    },
    async admin(api) {
      const { settings } = await api<Row>('/api/v1/settings?q=svc.mcp&set=true')
      return settings.map(({ key, value, source, isSecret }: Row) => ({ key, value, source, isSecret }))
    },
  },
  {
    question: 'Which segments of archived are in the remote tier, and has an offload failed?',
    async script(call) {
      const { segments } = await call('storage', { show: 'segments', topic: 'archived', partition: 0 })
      const { counts } = await call('storage', { show: 'jobs', topic: 'archived' })
      return [segments.map(({ baseOffset, tier }: Row) => [baseOffset, tier]), counts]
    },
    async admin(api) {
      const { segments } = await api<Row>('/api/v1/topics/archived/partitions/0/segments')
      const { counts } = await api<Row>('/api/v1/storage/offload-jobs?topic=archived')
      return [segments.map(({ baseOffset, tier }: Row) => [baseOffset, tier]), counts]
    },
  },
]

function peakOf(samples: readonly Row[]) {
  const [best] = samples.toSorted((one, other) => other.messagesInPerSecond - one.messagesInPerSecond)
  return [best.timestamp, best.messagesInPerSecond]
}

async function start(t: TestContext): Promise<AgentWorld> {
  const tables = await temporaryFolder(t, 'ketch-tables-')
  const world = await startAgentWorld(t, {
    'storage.remote.path': tables,
    'storage.worker.tick-interval': 100,
    'storage.worker.lease-duration': 1_000,
    'storage.remote.iceberg.max-file-wait': 0,
    'storage.remote.iceberg.offload.threads': 1,
  })
  const { wire, api } = world
  const produce = async (topic: string, messages: readonly object[]) => {
    await eventually(`${topic} takes records`, async () => {
      const { messages: rows } = await api<Row>(`/api/v1/topics/${topic}/messages`, 200, { body: { messages } })
      return rows.every(({ error }: Row) => error === null)
    })
  }
  await createTopic(world, 'orders', 3, { 'retention.ms': '86400000' })
  await createTopic(world, 'people', 1)
  await createTopic(world, 'archived', 1, REMOTE)
  await produce('archived', [{ value: { text: 'old' } }])
  for (const partition of [0, 1, 2]) await append(wire, partition, ['a', 'b', 'c', 'd', 'e'])
  await produce('orders', [{ partition: 1, value: { text: LONG } }])
  const body = { type: 'AVRO', schema: USER }
  await api('/api/v1/schemas/subjects/people-value/versions', 200, { body })
  await produce('people', [{ value: { text: '{"name":"Ada"}', schema: { subject: 'people-value' } } }])
  await commit(wire, 'billing', { 0: 1, 1: 4 })
  await commit(wire, 'audit', { 0: 4 })
  await enter(wire, 'shipping')
  const topics = [{ topic: 'orders', partitions: [{ partition: 0, fetchOffset: 2, partitionMaxBytes: 1_000 }] }]
  await wire.send(fetchRecords, 12, fetchFrom(0, { topics }))
  await eventually('the history has the lag', async () => {
    const { groups } = await api<Row>('/api/v1/metrics/consumer-lag?samples=true&groups=billing')
    return groups[0].samples.length > 5
  })
  await eventually(
    'a segment is offloaded',
    async () => {
      const { counts } = await api<Row>('/api/v1/storage/offload-jobs')
      return counts.done > 0 && counts.pending + counts.running === 0
    },
    60_000,
  )
  return world
}

test('twelve questions of an operator are answered in at most three calls, as the admin API answers them', async t => {
  const { call, calls, api } = await start(t)
  assert.equal(questions.length, 12)
  for (const { question, script, admin } of questions)
    await t.test(question, async () => {
      const before = calls()
      const answer = await script(async (name, args = {}) => {
        const { data, error, leftOut } = await call(name, { ...args })
        assert.equal(error, undefined, JSON.stringify(data))
        assert.ok(leftOut === undefined || /^Rows are missing/.test(leftOut), leftOut)
        return data
      })
      assert.ok(calls() - before <= MOST_CALLS)
      assert.deepEqual(answer, await admin(api))
    })
})
