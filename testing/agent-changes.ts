// A case for each agent tool that changes something, and three tests of a case: its preview changes nothing, and its
// second call does exactly what was shown, once, and only while that is still true.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONFIRM_MS } from '../src/mcp/confirmations.ts'
import type { ChangingTool, Preview, Refused, Tool } from '../src/mcp/tool.ts'
import { allTools } from '../src/mcp/tools/all.ts'
import { connectAgent } from './agent-client.ts'
import {
  type AgentWorld,
  type AgentWorldOptions,
  fill,
  openAgentWorld,
  orderSchema,
  replaceOrders,
  viewOf,
} from './agent-world.ts'
import { commit } from './group-calls.ts'
import { ShiftedClock } from './shifted-clock.ts'
import { contentsOf } from './store-contents.ts'

type World = AgentWorld & { readonly ids: Awaited<ReturnType<typeof fill>> }
// biome-ignore lint/suspicious/noExplicitAny: the JSON of an answer
type Json = any

interface Case {
  readonly tool: string
  args(world: World): Record<string, unknown>
  /** Arguments for which the confirmation is not good. */
  other(world: World): Record<string, unknown>
  /** The preview, all of it. */
  shown(world: World): Promise<object>
  /** Changes the state, so that the preview is no longer true. */
  disturb(world: World): Promise<unknown>
  /** The error after that; then no new preview is shown. By default CONFIRM_OUTDATED with one. */
  readonly disturbed?: string
  /** Makes the change possible again. */
  restore?(world: World): Promise<unknown>
  /** The answer of the second call, all of it. */
  applied(world: World): Promise<object>
  /** Checks the effect in the admin API. */
  effect(world: World): Promise<void>
  /** The error of a second call whose state changed in the moment before; null if the verb cannot know it. */
  readonly raced: string | null
}

const idOf = async ({ ask }: World, topic: string): Promise<string> => (await ask('GET', `/topics/${topic}`)).id
const valueFrom = (value: string, source: string) => ({ value, source })
const SECRET = 'the-contents-of-a-record'

export const cases: readonly Case[] = [
  {
    tool: 'create_topic',
    args: () => ({ topic: 'new', partitions: 3, configs: { 'retention.ms': '60000' } }),
    other: () => ({ topic: 'new', partitions: 3, configs: { 'retention.ms': '60001' } }),
    shown: async () => ({
      change: 'create topic',
      topic: { name: 'new', partitions: 3, replicationFactor: 1 },
      configs: [{ name: 'retention.ms', value: '60000', source: 'topic' }],
      otherConfigs: 'the defaults',
    }),
    disturb: ({ ask }) => ask('POST', '/topics', { name: 'new' }),
    disturbed: 'TOPIC_ALREADY_EXISTS',
    restore: ({ ask }) => ask('DELETE', '/topics/new'),
    applied: async world => ({
      created: { name: 'new', id: await idOf(world, 'new'), partitions: 3, replicationFactor: 1 },
    }),
    async effect({ ask }) {
      const topic = await ask('GET', '/topics/new')
      assert.deepEqual([topic.partitions, topic.configs], [3, { 'retention.ms': '60000' }])
    },
    raced: 'TOPIC_ALREADY_EXISTS',
  },
  {
    tool: 'alter_topic',
    args: () => ({ topic: 'orders', set: { 'max.message.bytes': '5000' }, delete: ['retention.ms'] }),
    other: () => ({ topic: 'orders', set: { 'max.message.bytes': '5000' } }),
    shown: async world => ({
      change: 'alter configs of topic',
      topic: { name: 'orders', id: await idOf(world, 'orders') },
      configs: [
        { name: 'max.message.bytes', before: valueFrom('1048588', 'default'), after: valueFrom('5000', 'topic') },
        { name: 'retention.ms', before: valueFrom('-1', 'topic'), after: valueFrom('604800000', 'default') },
      ],
    }),
    disturb: ({ ask }) => ask('PUT', '/topics/orders/configs', { set: { 'cleanup.policy': 'compact' } }),
    applied: async world => ({
      altered: { name: 'orders', id: await idOf(world, 'orders') },
      configs: [
        { name: 'max.message.bytes', ...valueFrom('5000', 'topic') },
        { name: 'retention.ms', ...valueFrom('604800000', 'default') },
      ],
    }),
    async effect({ ask }) {
      const { configs } = await ask('GET', '/topics/orders')
      assert.deepEqual(configs, {
        'cleanup.policy': 'compact',
        'confluent.value.schema.validation': 'false',
        'max.message.bytes': '5000',
      })
    },
    raced: 'PREVIEW_OUTDATED',
  },
  {
    tool: 'add_partitions',
    args: () => ({ topic: 'orders', count: 6 }),
    other: () => ({ topic: 'orders', count: 7 }),
    shown: async world => ({
      change: 'add partitions',
      topic: { name: 'orders', id: await idOf(world, 'orders') },
      partitions: { before: (await world.ask('GET', '/topics/orders')).partitions, after: 6 },
    }),
    disturb: ({ ask }) => ask('POST', '/topics/orders/partitions', { count: 4 }),
    applied: async world => ({ grown: { name: 'orders', id: await idOf(world, 'orders'), partitions: 6 } }),
    effect: async ({ ask }) => assert.equal((await ask('GET', '/topics/orders')).partitions, 6),
    raced: 'PREVIEW_OUTDATED',
  },
  {
    tool: 'delete_topic',
    args: () => ({ topic: 'orders' }),
    other: () => ({ topic: 'archived' }),
    async shown(world) {
      const { name, id, partitions, records, sizeBytes, lastWriteAt } = await world.ask('GET', '/topics/orders')
      const { groups } = await world.ask('GET', '/groups?topic=orders')
      const readers = groups.map(({ groupId, state, members, topicLag }: Json) => ({
        ...{ groupId, state, members, lag: topicLag.totalLag },
      }))
      assert.deepEqual([partitions, records], [2, 15])
      return {
        change: 'delete topic',
        topic: { name, id, partitions, records, sizeBytes, lastWriteAt },
        readBy: { total: readers.length, groups: readers, unavailableBrokers: [] },
      }
    },
    disturb: replaceOrders,
    applied: async () => ({ deleted: { name: 'orders' } }),
    async effect({ ask }) {
      const { topics } = await ask('GET', '/topics')
      assert.deepEqual(
        topics.map(({ name }: Json) => name),
        ['archived'],
      )
    },
    raced: 'UNKNOWN_TOPIC_ID',
  },
  {
    tool: 'delete_records',
    args: () => ({
      topic: 'orders',
      offsets: [
        { partition: 0, before: 4 },
        { partition: 1, before: 'end' },
      ],
    }),
    other: () => ({ topic: 'orders', offsets: [{ partition: 0, before: 5 }] }),
    shown: async world => ({
      change: 'delete records',
      topic: { name: 'orders', id: await idOf(world, 'orders') },
      records: 9,
      partitions: {
        total: 2,
        rows: [
          { partition: 0, start: 0, end: 10, before: 4, records: 4 },
          { partition: 1, start: 0, end: 5, before: 5, records: 5 },
        ],
      },
    }),
    disturb: replaceOrders,
    applied: async world => ({
      deletedFrom: { name: 'orders', id: await idOf(world, 'orders') },
      partitions: {
        total: 2,
        rows: [
          { partition: 0, start: 4 },
          { partition: 1, start: 5 },
        ],
      },
    }),
    async effect({ ask }) {
      const { leaders } = await ask('GET', '/topics/orders')
      assert.deepEqual(
        leaders.map(({ start, end }: Json) => [start, end]),
        [
          [4, 10],
          [5, 5],
        ],
      )
    },
    raced: 'PREVIEW_OUTDATED',
  },
  {
    tool: 'produce',
    args: () => ({
      topic: 'orders',
      messages: [
        { partition: 0, key: { text: 'k' }, value: { text: SECRET }, headers: [{ key: 'h', value: { text: SECRET } }] },
        { partition: 1, value: { text: '{"id": 7}', schema: { subject: 'orders-value' } } },
        { partition: 0, key: { text: SECRET }, value: null, timestamp: 5 },
      ],
    }),
    other: () => ({ topic: 'orders', messages: [{ partition: 0, value: { text: 'another' } }] }),
    async shown(world) {
      const { id, partitions } = await world.ask('GET', '/topics/orders')
      const record = { keyBytes: null, valueBytes: null, headers: 0, keySchemaId: null, valueSchemaId: null }
      const bytes = SECRET.length
      return {
        change: 'produce records',
        topic: { name: 'orders', id, partitions },
        records: {
          total: 3,
          rows: [
            { ...record, partition: 0, keyBytes: 1, valueBytes: bytes, headers: 1 },
            { ...record, partition: 1, valueBytes: 6, valueSchemaId: 1 },
            { ...record, partition: 0, keyBytes: bytes },
          ],
        },
        batches: {
          total: 2,
          rows: [
            { partition: 0, bytes: 156, end: 10 },
            { partition: 1, bytes: 74, end: 5 },
          ],
        },
      }
    },
    disturb: ({ ask }) => ask('POST', '/topics/orders/partitions', { count: 3 }),
    async applied(world) {
      const { messages } = await world.ask('GET', '/topics/orders/messages?order=newest&limit=100')
      const at = (partition: number, offset: number) => {
        const found = messages.find((each: Json) => each.partition === partition && each.offset === offset)
        return { partition, offset, timestamp: found.timestamp }
      }
      return {
        producedTo: { name: 'orders', id: await idOf(world, 'orders') },
        records: { total: 3, rows: [at(0, 10), at(1, 5), at(0, 11)] },
      }
    },
    async effect({ ask }) {
      const { leaders } = await ask('GET', '/topics/orders')
      assert.deepEqual(
        leaders.map(({ end }: Json) => end),
        [12, 6, 0],
      )
      const { value } = await ask('GET', '/topics/orders/messages/1/5?decode=registry')
      assert.deepEqual([value.text, value.schema.id], ['{"id":7}', 1])
      const first = await ask('GET', '/topics/orders/messages/0/10')
      assert.deepEqual([first.key.text, first.value.text], ['k', SECRET])
    },
    raced: 'PREVIEW_OUTDATED',
  },
  {
    tool: 'reset_offsets',
    args: () => ({ group: 'readers', to: 'latest' }),
    other: () => ({ group: 'readers', to: 'earliest' }),
    async shown({ ask }) {
      const { positions } = await ask('GET', '/groups/readers')
      const row = (partition: number, endOffset: number) => ({
        ...{ topic: 'orders', partition, committedOffset: positions[partition].committedOffset },
        ...{ newOffset: endOffset, startOffset: 0, endOffset },
      })
      return {
        change: 'reset offsets',
        group: 'readers',
        to: 'latest',
        offsets: { total: 2, rows: [row(0, 10), row(1, 5)] },
      }
    },
    disturb: ({ wire }) => commit(wire, 'readers', { 0: 6 }),
    applied: async () => ({
      reset: { group: 'readers' },
      offsets: {
        total: 2,
        rows: [
          { topic: 'orders', partition: 0, before: 6, after: 10 },
          { topic: 'orders', partition: 1, before: 2, after: 5 },
        ],
      },
    }),
    async effect({ ask }) {
      const { positions } = await ask('GET', '/groups/readers')
      assert.deepEqual(
        positions.map(({ committedOffset }: Json) => committedOffset),
        [10, 5],
      )
    },
    raced: 'PREVIEW_OUTDATED',
  },
  {
    tool: 'delete_group',
    args: () => ({ group: 'readers' }),
    other: () => ({ group: 'others' }),
    async shown({ ask }) {
      const { lag, positions } = await ask('GET', '/groups/readers')
      const rows = positions.map(({ topic, partition, committedOffset, commitTimestamp }: Json) => ({
        ...{ topic, partition, committedOffset, commitTimestamp },
      }))
      assert.equal(rows.length, 2)
      return {
        change: 'delete group',
        group: { groupId: 'readers', state: 'Empty', lag: lag.totalLag },
        offsets: { total: 2, rows },
      }
    },
    disturb: ({ wire }) => commit(wire, 'readers', { 0: 6 }),
    applied: async () => ({ deleted: { group: 'readers' } }),
    effect: async ({ ask }) => assert.deepEqual((await ask('GET', '/groups')).groups, []),
    // A group has no version. The coordinator itself refuses to delete a group with members.
    raced: null,
  },
  {
    tool: 'register_schema',
    args: () => ({ subject: 'orders-value', schema: orderSchema(SECRET.replaceAll('-', '_')) }),
    other: () => ({ subject: 'orders-value', schema: orderSchema('another') }),
    async shown({ ask }) {
      const { latestVersion } = await ask('GET', '/schemas/subjects/orders-value')
      return {
        ...{ change: 'register schema', subject: 'orders-value', type: 'AVRO', level: 'BACKWARD' },
        comparedWithVersions: { total: 1, rows: [latestVersion] },
        ...{ version: latestVersion + 1, id: null },
      }
    },
    disturb: ({ ask }) =>
      ask('POST', '/schemas/subjects/orders-value/versions', { type: 'AVRO', schema: orderSchema('note') }),
    async applied({ ask }) {
      const { version, id, guid } = await ask('GET', '/schemas/subjects/orders-value/versions/latest')
      return { registered: { subject: 'orders-value', version, id, guid } }
    },
    async effect({ ask }) {
      const { versionCount, latestVersion } = await ask('GET', '/schemas/subjects/orders-value')
      assert.deepEqual([versionCount, latestVersion], [3, 3])
    },
    raced: 'PREVIEW_OUTDATED',
  },
  {
    tool: 'set_compatibility',
    args: () => ({ subject: null, level: 'FULL' }),
    other: () => ({ subject: 'orders-value', level: 'FULL' }),
    async shown({ ask }) {
      const { level, origin } = await ask('GET', '/schemas/level')
      return {
        ...{ change: 'set global compatibility level', subject: null },
        ...{ before: { level, origin }, after: { level: 'FULL', origin: 'global' } },
        otherLevelFor: { total: 1, rows: ['orders-value'] },
      }
    },
    disturb: ({ ask }) => ask('PUT', '/schemas/level', { level: 'FORWARD' }),
    applied: async () => ({ changed: { subject: null, level: 'FULL', origin: 'global', fallback: 'BACKWARD' } }),
    effect: async ({ ask }) => assert.equal((await ask('GET', '/schemas/level')).level, 'FULL'),
    raced: 'PREVIEW_OUTDATED',
  },
  {
    tool: 'retry_offload_job',
    args: ({ ids }) => ({ id: ids.failed }),
    other: ({ ids }) => ({ id: ids.pending }),
    shown: async world => ({ change: 'retry offload job', ...(await jobShown(world, world.ids.failed)), after: FRESH }),
    disturb: world => putJob(world, world.ids.failed, { attempts: 1, isSuspended: false }),
    applied: async ({ ids }) => ({ job: { id: ids.failed, ...FRESH } }),
    async effect({ ask, ids }) {
      const { status, suspended, attempts } = await ask('GET', `/storage/offload-jobs/${ids.failed}`)
      assert.deepEqual({ status, suspended, attempts }, FRESH)
    },
    raced: 'PREVIEW_OUTDATED',
  },
  {
    tool: 'cancel_offload_job',
    args: ({ ids }) => ({ id: ids.pending }),
    other: ({ ids }) => ({ id: ids.failed }),
    shown: async world => {
      const shown = await jobShown(world, world.ids.pending)
      return { change: 'cancel offload job', ...shown, after: { ...shown.before, status: 'cancelled' } }
    },
    disturb: world => putJob(world, world.ids.pending, { attempts: 1 }),
    applied: async ({ ids }) => ({ job: { id: ids.pending, status: 'cancelled', suspended: false, attempts: 1 } }),
    async effect({ ask, ids }) {
      assert.equal((await ask('GET', `/storage/offload-jobs/${ids.pending}`)).status, 'cancelled')
    },
    raced: 'PREVIEW_OUTDATED',
  },
]

const FRESH = { status: 'pending', suspended: false, attempts: 0 }

async function jobShown({ ask }: World, jobId: string) {
  const job = await ask('GET', `/storage/offload-jobs/${jobId}`)
  const { id, topic, topicId, partition, base, next, bytes, failure, status, suspended, attempts } = job
  return {
    job: { id, topic, topicId, partition, base, next, bytes, failure },
    before: { status, suspended, attempts },
  }
}

/** Changes a job as the storage worker does. */
async function putJob(world: World, id: string, changes: object) {
  const topicId = id.slice(0, 22)
  await world.jobs.change({ topicId, topicName: 'archived' }, jobs => ({
    answer: null,
    put: [{ ...jobs.get(id)!, ...changes }],
  }))
}

/** Opens a world that is full. */
export async function openFull(
  t: Parameters<typeof openAgentWorld>[0],
  options: AgentWorldOptions = {},
): Promise<World> {
  const world = await openAgentWorld(t, options)
  return { ...world, ids: await fill(world) }
}

/** Everything but the confirmations. */
export const stateOf = async (world: World) => ({
  view: await viewOf(world),
  store: await contentsOf(world.store, ['agent-confirmations']),
})

/** The three tests of a case. */
export function testCase(each: Case): void {
  test(`${each.tool} shows the change, makes it once, and only what was shown`, async t => {
    const clock = new ShiftedClock()
    const world = await openFull(t, { clock })
    const { agent } = world
    const args = each.args(world)
    const call = (more: object = {}) => agent.call(each.tool, { ...args, ...more })
    /** Expects that the call is refused and changes nothing. */
    const refuses = async (code: string, given: Record<string, unknown>) => {
      const before = await stateOf(world)
      const { structured, isError } = await agent.call(each.tool, given)
      assert.deepEqual([structured.error, isError], [code, true], JSON.stringify(structured))
      assert.deepEqual(await stateOf(world), before)
      return structured
    }
    const before = await stateOf(world)
    const first = await call()
    assert.equal(first.isError, false, JSON.stringify(first))
    assert.deepEqual(await stateOf(world), before, 'a preview changes nothing')
    assert.deepEqual(first.structured.untrusted_data, await each.shown(world))
    const { confirm } = first.structured

    await refuses('CONFIRM_INVALID', { ...args, confirm: `${confirm[0] === 'A' ? 'B' : 'A'}${confirm.slice(1)}` })
    await refuses('CONFIRM_INVALID', { ...each.other(world), confirm })
    const late = (await call()).structured.confirm
    clock.shiftMs = CONFIRM_MS
    await refuses('CONFIRM_INVALID', { ...args, confirm: late })
    clock.shiftMs = 0

    await each.disturb(world)
    const outdated = await refuses(each.disturbed ?? 'CONFIRM_OUTDATED', { ...args, confirm })
    if (each.disturbed === undefined) assert.deepEqual(outdated.untrusted_data, await each.shown(world))
    else assert.equal(outdated.confirm, undefined)
    await refuses('CONFIRM_INVALID', { ...args, confirm })
    await each.restore?.(world)

    const good = outdated.confirm ?? (await call()).structured.confirm
    const applied = await call({ confirm: good })
    assert.equal(applied.isError, false, JSON.stringify(applied))
    const expected: Json = await each.applied(world)
    // The topic is gone, so the test cannot ask for its id.
    if (each.tool === 'delete_topic') expected.deleted.id = outdated.untrusted_data.topic.id
    assert.deepEqual(applied.structured, { untrusted_data: expected })
    await each.effect(world)
    await refuses('CONFIRM_INVALID', { ...args, confirm: good })
    assert.ok(!world.log().includes(SECRET) && !world.log().includes(SECRET.replaceAll('-', '_')))
    const kept = JSON.stringify(
      [...(await world.store.load('agent-confirmations', 'pending'))!.fields.values()].map(String),
    )
    assert.ok(!kept.includes(SECRET) && !kept.includes(confirm), 'the store has no contents and no value')
  })

  test(`${each.tool} is made by the v2 client when a person accepts what was shown`, async t => {
    const world = await openFull(t)
    await each.disturb(world)
    await each.restore?.(world)
    const asked: string[] = []
    let action: 'accept' | 'decline' = 'decline'
    const client = await connectAgent(t, world.url, {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    })
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message)
      return action === 'accept' ? { action, content: { apply: true } } : { action }
    })
    const call = async (): Promise<Json> =>
      (await client.callTool({ name: each.tool, arguments: each.args(world) })).structuredContent
    const shown = await each.shown(world)
    const before = await stateOf(world)
    assert.equal((await call()).error, 'DECLINED')
    assert.deepEqual(await stateOf(world), before)
    action = 'accept'
    const applied = await call()
    assert.equal(applied.error, undefined, JSON.stringify(applied))
    const expected: Json = await each.applied(world)
    if (each.tool === 'delete_topic') expected.deleted.id = (shown as Json).topic.id
    assert.deepEqual(applied, { untrusted_data: expected })
    await each.effect(world)
    assert.equal(asked.length, 2)
    assert.deepEqual(JSON.parse(asked[0]!.slice(asked[0]!.indexOf('{'))), shown)
    assert.ok(!asked[0]!.includes(SECRET))
  })

  if (each.raced !== null)
    test(`${each.tool} changes nothing if the state changes in the last moment`, async t => {
      const world = await openFull(t, { mcp: { tools: [withOldPreview(each.tool)] } })
      const args = each.args(world)
      const { confirm } = (await world.agent.call(each.tool, args)).structured
      await each.disturb(world)
      const before = await stateOf(world)
      const { structured } = await world.agent.call(each.tool, { ...args, confirm })
      assert.equal(structured.error, each.raced, JSON.stringify(structured))
      assert.deepEqual(await stateOf(world), before)
    })
}

/** Returns the tool with a preview that sees no change of the state after its first call, as if it came too early. */
function withOldPreview(name: string): Tool {
  const tool = allTools.find(each => each.name === name) as ChangingTool
  let seen: Preview | Refused | null = null
  const preview: ChangingTool['changes']['preview'] = async (...args) => (seen ??= await tool.changes.preview(...args))
  return { ...tool, changes: { ...tool.changes, preview } }
}
