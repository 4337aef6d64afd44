// Makes topics through the typed raw client, so that a topic does not depend on the client under test.

import assert from 'node:assert/strict'
import { createTopics } from '../src/protocol/messages/create-topics.ts'
import { deleteTopics } from '../src/protocol/messages/delete-topics.ts'
import { connect } from './wire.ts'

/** Creates a topic and asserts that it was made. */
export async function createTopic(
  broker: { readonly port: number },
  name: string,
  partitions: number,
  configs: Readonly<Record<string, string>> = {},
): Promise<void> {
  const wire = await connect({ port: broker.port })
  try {
    const { topics } = await wire.send(createTopics, 7, {
      topics: [
        {
          name,
          numPartitions: partitions,
          replicationFactor: 1,
          assignments: [],
          configs: Object.entries(configs).map(([config, value]) => ({ name: config, value })),
        },
      ],
      timeoutMs: 30_000,
      validateOnly: false,
    })
    assert.deepEqual(
      topics.map(topic => [topic.name, topic.errorCode, topic.errorMessage]),
      [[name, 0, null]],
    )
  } finally {
    await wire.close()
  }
}

/** Removes a topic and asserts that it was there. */
export async function removeTopic(broker: { readonly port: number }, name: string): Promise<void> {
  const wire = await connect({ port: broker.port })
  try {
    const { responses } = await wire.send(deleteTopics, 5, { topicNames: [name], timeoutMs: 30_000 })
    assert.deepEqual(
      responses.map(topic => [topic.name, topic.errorCode]),
      [[name, 0]],
    )
  } finally {
    await wire.close()
  }
}
