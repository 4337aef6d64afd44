// A broker with everything that agents can change: topics with records, a group with offsets, a subject of the
// schema registry, and offload jobs. The storage worker does not run, so that nothing moves by itself.

import assert from 'node:assert/strict'
import { type Clock, systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/random.ts'
import type { McpOverrides } from '../src/mcp/endpoint.ts'
import type { Values } from '../src/settings/settings.ts'
import type { Store } from '../src/store/store.ts'
import { JobDocuments } from '../src/tier/offload/job-documents.ts'
import { jobId, newJob, type OffloadJob } from '../src/tier/offload/jobs.ts'
import { adminClient } from './admin-client.ts'
import { AGENT_SETTINGS, agentAt } from './agent-client.ts'
import { type CleanUp, startBroker } from './broker.ts'
import { eventually } from './eventually.ts'
import { append, commit } from './group-calls.ts'
import { createMemoryStore } from './sim/memory-store.ts'
import { newFolder } from './store-folder.ts'

/** A schema of the subject `orders-value`, with these optional fields. */
export function orderSchema(...fields: readonly string[]): string {
  const optional = fields.map(name => ({ name, type: ['null', 'string'], default: null }))
  return JSON.stringify({ type: 'record', name: 'Order', fields: [{ name: 'id', type: 'long' }, ...optional] })
}

export interface AgentWorldOptions {
  readonly settings?: Partial<Values>
  readonly mcp?: McpOverrides
  readonly clock?: Clock
  /** By default the broker has a memory store. */
  readonly openStore?: () => Promise<Store>
  /** The same contents, for the test; needed with `openStore`. */
  readonly store?: Store
  readonly isShared?: boolean
}

/** No test waits for the rate of calls. */
export const UNLIMITED = { perSecond: 1e6, burst: 1e6 }

export type AgentWorld = Awaited<ReturnType<typeof openAgentWorld>>

export async function openAgentWorld(cleanUp: CleanUp, options: AgentWorldOptions = {}) {
  const memory = createMemoryStore(options.clock ?? systemClock)
  const { settings = {}, mcp = {}, clock, openStore = async () => memory, store = memory.beside(), isShared } = options
  const broker = await startBroker(
    cleanUp,
    {
      ...AGENT_SETTINGS,
      'admin.security-enabled': false,
      'storage.worker.enabled': false,
      'storage.remote.path': newFolder(cleanUp),
      ...settings,
    },
    {
      openStore,
      http: { mcp: { ...mcp, limits: { ...UNLIMITED, ...mcp.limits } } },
      ...(clock && { clock }),
      ...(isShared !== undefined && { isShared }),
    },
  )
  const client = adminClient(broker.url)
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await client.ask(method, `/api/v1${path}`, body)
    assert.ok(answer.status < 300, `${method} ${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const jobs = new JobDocuments({ store, clock: systemClock, random: systemRandom })
  return { ...broker, ask, agent: agentAt(broker.url), store, jobs, wire: await broker.connect() }
}

/** Fills an empty broker. Resolves with the ids of the offload jobs. */
export async function fill({ ask, wire, jobs, store }: AgentWorld) {
  await createOrders({ ask, wire })
  await commit(wire, 'readers', { 0: 5, 1: 2 })
  const value = { type: 'AVRO', schema: orderSchema() }
  await ask('POST', '/schemas/subjects/orders-value/versions', value)
  // The key that signs previews is made at the first one.
  await ask('POST', '/groups/readers/offsets/reset', { to: 'earliest', dryRun: true })
  const remote = { 'remote.storage.enable': 'true' }
  const { id: topicId } = await ask('POST', '/topics', { name: 'archived', partitions: 1, configs: remote })
  await segmentsNoted(store, topicId)
  const put = [
    jobOf(topicId, 0, { status: 'done', attempts: 1, startedAtMs: 3_000, tookMs: 5 }),
    jobOf(topicId, 10, { ...FAILED, isSuspended: true }),
    jobOf(topicId, 20),
  ] as const
  await jobs.change({ topicId, topicName: 'archived' }, () => ({ answer: null, put }))
  const [done, failed, pending] = put.map(jobId)
  return { done: done!, failed: failed!, pending: pending! }
}

/** Resolves when the leader has noted the segments of the topic `archived`: then others may change its jobs. */
export async function segmentsNoted(store: Store, topicId: string): Promise<void> {
  await eventually(
    'the leader has noted its segments',
    async () => (await store.version('segments', `${topicId}:0`)) > 0,
  )
}

/** The changes of an offload job that failed. */
export const FAILED = Object.freeze({
  ...{ status: 'failed', attempts: 2, startedAtMs: 3_000, tookMs: 5 },
  failure: { why: 'The batch is broken.', offset: 12, atMs: 4_000 },
} as const satisfies Partial<OffloadJob>)

/** Returns an offload job of the topic `archived`, for the segment that begins at this offset. */
export function jobOf(topicId: string, base: number, changes: Partial<OffloadJob> = {}): OffloadJob {
  const segment = { partition: 0, base, next: base + 10, bytes: 100, plainBytes: 200, sealedAtMs: 1_000 }
  return { ...newJob({ ...segment, topicId, topicName: 'archived', maxAttempts: 2 }, 2_000), ...changes }
}

/** Creates a topic of two partitions with ten and five records. */
export async function createOrders({ ask, wire }: Pick<AgentWorld, 'ask' | 'wire'>): Promise<void> {
  // Most records of these tests have no schema.
  const configs = { 'retention.ms': '-1', 'confluent.value.schema.validation': 'false' }
  await ask('POST', '/topics', { name: 'orders', partitions: 2, configs })
  for (const [partition, count] of [10, 5].entries())
    for (let n = 0; n < count; n++) await append(wire, partition, [`${n}`], 1_000)
}

/** Deletes the topic `orders`, and creates another one of this name. */
export async function replaceOrders(world: AgentWorld): Promise<void> {
  await world.ask('DELETE', '/topics/orders')
  await createOrders(world)
}

/** Everything that the admin API tells of the things that agents can change. */
export async function viewOf({ ask }: AgentWorld) {
  const { topics } = await ask('GET', '/topics')
  const { groups } = await ask('GET', '/groups')
  const { subjects } = await ask('GET', '/schemas/subjects?deleted=show')
  const each = (rows: readonly Record<string, string>[], name: string, path: (name: string) => string) =>
    Promise.all(rows.map(row => ask('GET', path(encodeURIComponent(row[name]!)))))
  return {
    topics: await each(topics, 'name', name => `/topics/${name}`),
    groups: await each(groups, 'groupId', name => `/groups/${name}`),
    subjects: await each(subjects, 'subject', name => `/schemas/subjects/${name}`),
    level: await ask('GET', '/schemas/level'),
    jobs: await ask('GET', '/storage/offload-jobs'),
    loggers: await ask('GET', '/loggers'),
  }
}
