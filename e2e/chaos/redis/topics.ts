// Creates and deletes topics, and retries: the store may still recover from the fault before.

import { sleep, systemClock } from '../../../src/base/clock.ts'
import { TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_OR_PARTITION } from '../../../src/protocol/errors.ts'
import { metadata } from '../../../src/protocol/messages/metadata.ts'
import { askForRemoval, askForTopic, type TopicAnswer } from '../../../testing/topic.ts'
import { connect } from '../../../testing/wire.ts'
import { isPassing } from '../run.ts'

/** The round fails if the store refuses for this long. */
const PATIENCE_MS = 30_000
const AGAIN_MS = 100

type Broker = { readonly port: number }

/** Resolves when the topic is created. An existing topic of that name is an error. */
export async function makeTopic(
  broker: Broker,
  name: string,
  partitions: number,
  configs: Readonly<Record<string, string>> = {},
): Promise<void> {
  await insist(`topic ${name}`, TOPIC_ALREADY_EXISTS.code, () => askForTopic(broker, name, partitions, configs))
}

/** Resolves when the topic, which existed, is deleted. */
export async function unmakeTopic(broker: Broker, name: string): Promise<void> {
  await insist(`the removal of topic ${name}`, UNKNOWN_TOPIC_OR_PARTITION.code, () => askForRemoval(broker, name))
}

/** Returns the topic's id, as this broker knows it; all zero if it knows no such topic. */
export async function topicIdAt(broker: Broker, name: string): Promise<string> {
  const wire = await connect({ port: broker.port })
  try {
    const { topics } = await wire.send(metadata, 12, { topics: [{ name }], allowAutoTopicCreation: false })
    return topics[0]!.topicId
  } finally {
    await wire.close()
  }
}

/**
 * Repeats a request. `doneBefore` is the error code of a repetition after a first request that was done although it
 * was refused.
 */
async function insist(what: string, doneBefore: number, ask: () => Promise<TopicAnswer>): Promise<void> {
  const startedAt = systemClock.monotonic()
  for (let isFirst = true; ; isFirst = false) {
    const { code, message } = await ask()
    if (code === 0 || (!isFirst && code === doneBefore)) return
    if (code === doneBefore || !isPassing(code) || systemClock.monotonic() - startedAt > PATIENCE_MS)
      throw new Error(`${what}: error code ${code}, ${message}`)
    await sleep(systemClock, AGAIN_MS)
  }
}
