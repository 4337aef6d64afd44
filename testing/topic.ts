// Creates and removes topics with the typed raw client, so that a topic does not depend on the client under test.

import assert from 'node:assert/strict'
import { createTopics } from '../src/protocol/messages/create-topics.ts'
import { deleteTopics } from '../src/protocol/messages/delete-topics.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import { eventually } from './eventually.ts'
import { connect } from './wire.ts'

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
 * Creates a topic in which each of these brokers leads at least one partition, according to the broker's metadata.
 * The topic's id decides the leaders, so the topic is removed and created again until this is true.
 */
export async function createTopicOfAll(
  broker: Broker,
  name: string,
  partitions: number,
  ids: readonly number[],
  configs?: Configs,
): Promise<void> {
  const wire = await connect({ port: broker.port })
  const seesAll = async () => (await wire.send(metadata, 9, { topics: [] })).brokers.length === ids.length
  await eventually('the brokers see each other', seesAll, LONGEST_MS)
  for (;;) {
    await createTopic(broker, name, partitions, configs)
    let leaders: ReadonlySet<number> = new Set()
    await eventually('every partition is led', async () => {
      const { topics } = await wire.send(metadata, 9, { topics: [{ name }] })
      leaders = new Set(topics[0]!.partitions.map(each => each.leaderId))
      return !leaders.has(-1)
    })
    if (leaders.size === ids.length) break
    await removeTopic(broker, name)
  }
  await wire.close()
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
