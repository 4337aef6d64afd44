// A broker with security on and every agent tool, and calls of all of them that succeed. Each client changes things of
// its own name, so that all of them can use the same broker.

import assert from 'node:assert/strict'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { isChanging } from '../../src/mcp/tool.ts'
import { allTools } from '../../src/mcp/tools/all.ts'
import { JobDocuments } from '../../src/tier/offload/job-documents.ts'
import { jobId } from '../../src/tier/offload/jobs.ts'
import { AGENT_SETTINGS, agentAt } from '../../testing/agent-client.ts'
import { FAILED, jobOf, orderSchema, segmentsNoted, UNLIMITED } from '../../testing/agent-world.ts'
import { type CleanUp, startBroker } from '../../testing/broker.ts'
import { append, commit } from '../../testing/group-calls.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { newFolder } from '../../testing/store-folder.ts'
import { createTopic } from '../../testing/topic.ts'

/** The answer of a tool, as each client gives it. */
export interface Called {
  readonly isError?: boolean | undefined
  // biome-ignore lint/suspicious/noExplicitAny: the body is that of the tool
  readonly structuredContent?: any
  readonly content: unknown
}

type Args = Readonly<Record<string, unknown>>
export type CallTool = (name: string, args: Args) => Promise<Called>
type Calls = readonly (readonly [tool: string, args: Args])[]

const CLIENTS = ['v2', 'v1', 'inspector'] as const
export type ClientName = (typeof CLIENTS)[number]

/** The names of the tools, in the order of the list. */
export const TOOL_NAMES = allTools.map(({ name }) => name)

/** One call of each tool that reads. */
export const READS: Calls = [
  ['cluster_health', {}],
  ['list_topics', { sort: 'records', order: 'desc' }],
  ['describe_topic', { topic: 'orders' }],
  ['read_messages', { topic: 'orders', order: 'newest', limit: 3 }],
  ['get_message', { topic: 'orders', partition: 0, offset: 1 }],
  ['list_groups', {}],
  ['describe_group', { group: 'readers' }],
  ['explain_lag', { group: 'readers', lookSeconds: 0.1 }],
  ['metrics_history', { points: 10 }],
  ['storage', { show: 'jobs' }],
  ['list_schemas', {}],
  ['get_schema', { subject: 'orders-value' }],
  ['check_schema', { subject: 'orders-value', schema: orderSchema('note') }],
  ['list_settings', { q: 'mcp' }],
]

/** One call of each tool that changes something, in an order in which they succeed. */
export function changesOf(client: ClientName, jobs: Jobs): Calls {
  const [topic, group, subject] = [`${client}-topic`, `${client}-group`, `${client}-value`]
  const configs = { 'retention.ms': '60000', 'confluent.value.schema.validation': 'false' }
  return [
    ['create_topic', { topic, partitions: 1, configs }],
    ['alter_topic', { topic, set: { 'max.message.bytes': '5000' }, delete: ['retention.ms'] }],
    ['add_partitions', { topic, count: 3 }],
    ['produce', { topic, messages: [{ partition: 0, key: { text: 'k' }, value: { text: 'of an agent' } }] }],
    ['delete_records', { topic, offsets: [{ partition: 0, before: 'end' }] }],
    ['delete_topic', { topic }],
    ['reset_offsets', { group, to: 'earliest' }],
    ['delete_group', { group }],
    ['register_schema', { subject, schema: orderSchema() }],
    ['set_compatibility', { subject, level: 'FULL' }],
    ['retry_offload_job', { id: jobs.failed }],
    ['cancel_offload_job', { id: jobs.pending }],
  ]
}

interface Jobs {
  readonly failed: string
  readonly pending: string
}

/** Starts the broker, and makes the things that the calls need. */
export async function startWorld(cleanUp: CleanUp) {
  const memory = createMemoryStore(systemClock)
  const broker = await startBroker(
    cleanUp,
    { ...AGENT_SETTINGS, 'storage.worker.enabled': false, 'storage.remote.path': newFolder(cleanUp) },
    { openStore: async () => memory, http: { mcp: { limits: UNLIMITED } } },
  )
  const wire = await broker.connect()
  await createTopic(broker, 'orders', 2, { 'confluent.value.schema.validation': 'false' })
  for (const partition of [0, 1]) await append(wire, partition, ['a', 'b', 'c'])
  for (const group of ['readers', ...CLIENTS.map(name => `${name}-group`)]) await commit(wire, group, { 0: 1, 1: 2 })
  const { call } = agentAt(broker.url)
  await applyWith(call, 'register_schema', { subject: 'orders-value', schema: orderSchema() })
  await createTopic(broker, 'archived', 1, { 'remote.storage.enable': 'true' })
  const { structured } = await call('describe_topic', { topic: 'archived' })
  const store = memory.beside()
  const topicId: string = structured.untrusted_data.id
  await segmentsNoted(store, topicId)
  const documents = new JobDocuments({ store, clock: systemClock, random: systemRandom })
  const jobs = {} as Record<ClientName, Jobs>
  for (const [at, name] of CLIENTS.entries()) {
    const put = [jobOf(topicId, at * 20, FAILED), jobOf(topicId, at * 20 + 10)]
    await documents.change({ topicId, topicName: 'archived' }, () => ({ answer: null, put }))
    const [failed, pending] = put.map(jobId)
    jobs[name] = { failed: failed!, pending: pending! }
  }
  return { ...broker, jobs }
}

async function applyWith(call: ReturnType<typeof agentAt>['call'], name: string, args: Args): Promise<void> {
  const { confirm } = (await call(name, args)).structured
  const applied = await call(name, { ...args, confirm })
  assert.equal(applied.isError, false, JSON.stringify(applied))
}

/** Checks that the answer is one that has found something. */
export function checkRead(name: string, answer: Called): void {
  assert.notEqual(answer.isError, true, `${name}: ${JSON.stringify(answer)}`)
  assert.ok(Object.keys(answer.structuredContent.untrusted_data).length > 0, name)
  assert.deepEqual(answer.content, [{ type: 'text', text: JSON.stringify(answer.structuredContent) }])
}

/** Calls a changing tool twice, the second time with the value of the first answer. */
export async function change(call: CallTool, name: string, args: Args): Promise<void> {
  const shown = await call(name, args)
  checkRead(name, shown)
  const { confirm, untrusted_data: preview } = shown.structuredContent
  assert.ok(typeof preview.change === 'string', `${name}: ${JSON.stringify(preview)}`)
  const applied = await call(name, { ...args, confirm })
  checkRead(name, applied)
  assert.equal(applied.structuredContent.confirm, undefined)
  const again = await call(name, { ...args, confirm })
  assert.deepEqual([again.isError, again.structuredContent.error], [true, 'CONFIRM_INVALID'], name)
}

/** The calls above have every tool once. */
export function checkComplete(jobs: Jobs): void {
  const named = (calls: Calls) => calls.map(([name]) => name).sort()
  const those = (changes: boolean) => allTools.filter(tool => isChanging(tool) === changes).map(({ name }) => name)
  assert.deepEqual(named(READS), those(false).sort())
  assert.deepEqual(named(changesOf('v2', jobs)), those(true).sort())
}
