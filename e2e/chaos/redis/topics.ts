// Topics as a patient operator makes and removes them: the store may still be on its way back from the fault before.

import { sleep, systemClock } from '../../../src/base/clock.ts'
import { TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_OR_PARTITION } from '../../../src/protocol/errors.ts'
import { metadata } from '../../../src/protocol/messages/metadata.ts'
import { askForRemoval, askForTopic, type TopicAnswer } from '../../../testing/topic.ts'
import { connect } from '../../../testing/wire.ts'
import { isPassing } from '../run.ts'

/** An operator who was refused for so long gives up: the round has failed. */
const PATIENCE_MS = 30_000
const AGAIN_MS = 100

type Broker = { readonly port: number }

/** Resolves when the topic is there. Somebody else's topic of that name is an error. */
export async function makeTopic(broker: Broker, name: string, partitions: number): Promise<void> {
  await insist(`topic ${name}`, TOPIC_ALREADY_EXISTS.code, () => askForTopic(broker, name, partitions))
}

/** Resolves when the topic, which was there, has gone. */
export async function unmakeTopic(broker: Broker, name: string): Promise<void> {
  await insist(`the removal of topic ${name}`, UNKNOWN_TOPIC_OR_PARTITION.code, () => askForRemoval(broker, name))
}

/** The topic's id, as this broker knows it; all zero where it knows of none. */
export async function topicIdAt(broker: Broker, name: string): Promise<string> {
  const wire = await connect({ port: broker.port })
  try {
    const { topics } = await wire.send(metadata, 12, { topics: [{ name }], allowAutoTopicCreation: false })
    return topics[0]!.topicId
  } finally {
    await wire.close()
  }
}

/** `doneBefore` is what a second attempt is answered if the first was done although it was refused. */
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
