// A topic is deleted under its producers and created again with the same name. A later topic must have no record that
// producers of an earlier one had sent. Each topic has a history of its own.

import assert from 'node:assert/strict'
import { checkHistory, describeAnomalies } from '../../../testing/checker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { recordHistory } from '../../../testing/history.ts'
import { readEverything, runFollower } from '../consumers.ts'
import { runPlainProducer } from '../producers.ts'
import type { Fault, RoundContext } from './round.ts'
import { openSceneRun } from './scene-run.ts'
import { makeTopic, topicIdAt, unmakeTopic } from './topics.ts'

const PARTITIONS = 3
const CREATIONS = 3
/** Topics of different creations never share a value. */
const VALUES = 1_000_000

export const topicAgain: Fault = {
  name: 'a topic that is removed and made again',
  async act(context) {
    const { scene, run, random } = context
    const topic = `again-${run.topic}`
    for (let creation = 1; creation <= CREATIONS; creation++) {
      const [maker, remover, late] = [0, 1, 2].map(() => scene.nodes[random.below(scene.nodes.length)]!)
      await makeTopic(maker!.broker, topic, PARTITIONS)
      const one = openCreation(context, topic, creation)
      const follow = async () => {
        await isKnownToAll(context, topic)
        await runFollower(one.run)
      }
      const clients = Promise.all([runPlainProducer(one.run), runPlainProducer(one.run), follow()])
      await Promise.race([one.run.progress(100), clients])
      if (creation === CREATIONS) {
        one.run.stop()
        await clients
        await readEverything(one.run, `${topic}-group`)
        const anomalies = checkHistory(one.history)
        assert.equal(anomalies.length, 0, `creation ${creation} of ${topic}: ${describeAnomalies(anomalies)}`)
      } else {
        // Appends of this broker that are on their way arrive after the topic is deleted.
        late!.toRedis.delay(random.below(300))
        await unmakeTopic(remover!.broker, topic)
        one.run.stop()
        await clients
        await late!.toRedis.heal()
      }
    }
    await unmakeTopic(scene.nodes[0]!.broker, topic)
    return `${topic} made ${CREATIONS} times`
  },
}

/**
 * Resolves when every broker knows the same topic by this name. As with Kafka, a client that reads by name gets the
 * topic that the broker knows by it, and until the broker's next refresh from the store that may be the earlier
 * topic. Producers are refused there.
 */
async function isKnownToAll({ scene }: RoundContext, topic: string): Promise<void> {
  const isOne = async () =>
    new Set(await Promise.all(scene.nodes.map(({ broker }) => topicIdAt(broker, topic)))).size === 1
  await eventually(`one ${topic} at every broker`, isOne, 60_000)
}

function openCreation({ scene, run: within, random }: RoundContext, topic: string, creation: number) {
  const recorded = recordHistory()
  const history = { ...recorded, value: () => creation * VALUES + recorded.value() }
  const run = openSceneRun(
    scene,
    { history, topic, partitions: PARTITIONS, random, within },
    run => creation < CREATIONS && run.stopping,
  )
  return { run, history }
}
