// Creates and removes topics with the typed raw client, so that a topic does not depend on the client under test.

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { createTopics } from '../src/protocol/messages/create-topics.ts'
import { deleteTopics } from '../src/protocol/messages/delete-topics.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import { eventually } from './eventually.ts'
import { connect, type Wire } from './wire.ts'

/** The broker's answer: a Kafka error code, 0 for success. */
export interface TopicAnswer {
  readonly code: number
  readonly message: string | null
}

/** The milliseconds that brokers need to find each other on the slowest machine. */
const LONGEST_MS = 120_000

type Broker = { readonly port: number }
type Configs = Readonly<Record<string, string>>

/** Creates a topic and asserts that the broker created it. */
export async function createTopic(broker: Broker, name: string, partitions: number, configs?: Configs): Promise<void> {
  assert.deepEqual(await askForTopic(broker, name, partitions, configs), { code: 0, message: null }, `topic ${name}`)
}

/**
 * Creates a topic in which each of these brokers leads at least one partition, according to the metadata of each. The
 * topic's id decides the leaders, so the topic is removed and created again until this is true. A broker may know the
 * removed topic for a moment longer. kafkajs (2.2.4) would then report records as sent that it never sent: after
 * NOT_LEADER_OR_FOLLOWER it does not ask a broker again that has already answered for another partition.
 */
export async function createTopicOfAll(
  broker: Broker,
  name: string,
  partitions: number,
  ids: readonly number[],
  configs?: Configs,
): Promise<void> {
  if (partitions < ids.length) throw new Error(`${partitions} partitions are too few for ${ids.length} brokers`)
  const wire = await connect({ port: broker.port })
  const seesAll = async () => (await wire.send(metadata, 9, { topics: [] })).brokers.length === ids.length
  await eventually('the brokers see each other', seesAll, LONGEST_MS)
  let leaders: readonly number[] = []
  for (;;) {
    await createTopic(broker, name, partitions, configs)
    await eventually('every partition is led', async () => {
      leaders = await leadersOf(wire, name)
      return !leaders.includes(-1)
    })
    if (new Set(leaders).size === ids.length) break
    await removeTopic(broker, name)
  }
  const { brokers } = await wire.send(metadata, 9, { topics: [] })
  await wire.close()
  for (const { host, port } of brokers) {
    const other = await connect({ host, port })
    const agrees = async () => isDeepStrictEqual(await leadersOf(other, name), leaders)
    await eventually(`the broker at ${host}:${port} names the leaders of ${name}`, agrees)
    await other.close()
  }
}

/** Returns the leaders by partition, -1 without one; empty while the broker does not know the topic. */
async function leadersOf(wire: Wire, name: string): Promise<number[]> {
  const { topics } = await wire.send(metadata, 9, { topics: [{ name }] })
  return topics[0]!.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex).map(each => each.leaderId)
}

/** Removes a topic and asserts that it existed. */
export async function removeTopic(broker: Broker, name: string): Promise<void> {
  assert.equal((await askForRemoval(broker, name)).code, 0, `the removal of topic ${name}`)
}

export async function askForTopic(
  broker: Broker,
  name: string,
  partitions: number,
  configs: Configs = {},
): Promise<TopicAnswer> {
  const topic = {
    name,
    numPartitions: partitions,
    replicationFactor: 1,
    assignments: [],
    configs: Object.entries(configs).map(([config, value]) => ({ name: config, value })),
  }
  const wire = await connect({ port: broker.port })
  try {
    const { topics } = await wire.send(createTopics, 7, { topics: [topic], timeoutMs: 30_000, validateOnly: false })
    return { code: topics[0]!.errorCode, message: topics[0]!.errorMessage }
  } finally {
    await wire.close()
  }
}

export async function askForRemoval(broker: Broker, name: string): Promise<TopicAnswer> {
  const wire = await connect({ port: broker.port })
  try {
    const { responses } = await wire.send(deleteTopics, 5, { topicNames: [name], timeoutMs: 30_000 })
    return { code: responses[0]!.errorCode, message: responses[0]!.errorMessage }
  } finally {
    await wire.close()
  }
}
