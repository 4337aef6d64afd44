// A broker whose clients have the policies that a test gives them, with what tests of permissions do to it: make the
// resources of the examples (permission-examples.ts), send an example, find the error of each resource in an answer.

import type { Policy } from '../src/auth/clients/policy.ts'
import { systemClock } from '../src/base/clock.ts'
import { handlers } from '../src/kafka/handlers/all.ts'
import { createTopics } from '../src/protocol/messages/create-topics.ts'
import { deleteTopics } from '../src/protocol/messages/delete-topics.ts'
import { listOffsets } from '../src/protocol/messages/list-offsets.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import { offsetCommit } from '../src/protocol/messages/offset-commit.ts'
import { type CleanUp, pattern, startBroker, type TestBroker } from './broker.ts'
import { bodyOf, type Example, ID_OF_A, NEW_TOPIC } from './permission-examples.ts'
import { createMemoryStore } from './sim/memory-store.ts'
import type { Wire } from './wire.ts'

/** The code of a missing permission, by the type of the resource. */
export const CODES = { TOPIC: 29, GROUP: 30, CLUSTER: 31, TRANSACTIONAL_ID: 53 } as const
export type Type = keyof typeof CODES
export const AUTHORIZATION: ReadonlySet<number> = new Set(Object.values(CODES))

export interface World extends TestBroker {
  /** Connects a client that has this policy. */
  connectAs(policy: Policy | null): Promise<Wire>
  /** A client that may do everything. */
  readonly admin: Wire
}

/** Starts a broker that creates the topics `auto-*` when a client asks for them. */
export async function startWorld(t: CleanUp): Promise<World> {
  const store = createMemoryStore(systemClock)
  let next: Policy | null = null
  const broker = await startBroker(
    t,
    { 'broker.id': 1, topics: [pattern('auto-*')] },
    {
      openStore: async () => store,
      policies: { current: () => next, resolve: async () => next },
    },
  )
  const connectAs = async (policy: Policy | null) => {
    next = policy
    const wire = await broker.connect()
    // The connection has its policy when it has an answer.
    await wire.send(listOffsets, 7, { replicaId: -1, topics: [] } as never)
    return wire
  }
  return { ...broker, connectAs, admin: await connectAs(null) }
}

/**
 * Makes the topics `a` and `b` and the groups `g` and `h` if they are missing, and deletes NEW_TOPIC. Returns the id of
 * `a`.
 */
export async function restore(admin: Wire): Promise<string> {
  const topics = ['a', 'b'].map(name => ({
    name,
    numPartitions: 1,
    replicationFactor: 1,
    assignments: [],
    configs: [],
  }))
  await admin.send(createTopics, 7, { topics, timeoutMs: 10_000, validateOnly: false })
  await admin.send(deleteTopics, 5, { topicNames: [NEW_TOPIC], timeoutMs: 10_000 })
  for (const groupId of ['g', 'h']) {
    const partitions = [{ partitionIndex: 0, committedOffset: 0, committedLeaderEpoch: -1, committedMetadata: null }]
    await admin.send(offsetCommit, 8, {
      ...{ groupId, generationIdOrMemberEpoch: -1, memberId: '', groupInstanceId: null },
      topics: [{ name: 'a', partitions }],
    } as never)
  }
  const described = await admin.send(metadata, 12, { topics: [{ name: 'a' }] } as never)
  return described.topics[0]!.topicId
}

const NAMES = ['name', 'topic', 'topicName', 'groupId', 'key', 'resourceName', 'topicId'] as const

export interface Seen {
  /** By the name of the resource, '' for the answer itself: the error codes of its rows. */
  readonly codes: Map<string, Set<number>>
  readonly names: Set<string>
}

/** Collects the error codes of an answer by the resource that the nearest row names. */
export function look(answer: unknown, idOfA: string): Seen {
  const seen: Seen = { codes: new Map(), names: new Set() }
  const visit = (value: unknown, above: string) => {
    if (Array.isArray(value)) for (const each of value) visit(each, above)
    if (typeof value !== 'object' || value === null || Array.isArray(value) || Buffer.isBuffer(value)) return
    const struct = value as Record<string, unknown>
    const own = NAMES.map(name => struct[name]).find(name => typeof name === 'string' && name !== '') as
      | string
      | undefined
    const name = own === undefined ? above : own === idOfA ? 'a' : own
    seen.names.add(name)
    if (typeof struct.errorCode === 'number') {
      const codes = seen.codes.get(name) ?? new Set()
      seen.codes.set(name, codes.add(struct.errorCode))
    }
    for (const each of Object.values(struct)) visit(each, name)
  }
  visit(answer, '')
  return seen
}

/** Sends an example about the real topic `a`, and returns the answer. */
export async function send(wire: Wire, [name, version, said]: Example, idOfA: string): Promise<unknown> {
  const { api } = handlers.find(each => each.api.name === name)!
  const body = bodyOf(api, said)
  const withId = JSON.parse(JSON.stringify(body, keepBytes).replaceAll(ID_OF_A, idOfA), (_, value) =>
    typeof value?.bytes === 'string' ? Buffer.from(value.bytes, 'base64') : value,
  )
  return await wire.send(api, version, withId as never)
}

export function keepBytes(_: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer'
    ? { bytes: Buffer.from((value as unknown as { data: number[] }).data).toString('base64') }
    : value
}
