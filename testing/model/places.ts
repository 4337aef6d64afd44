// Chooses the partitions of an operation.

import type { Random } from '../../src/base/random.ts'
import type { LogModel } from './log-model.ts'
import type { Peer, Scene, TopicModel } from './scene.ts'

export interface Place {
  readonly topic: TopicModel
  readonly partition: number
  readonly log: LogModel
}

/** Returns a random partition; null if there is no topic. */
export function anyPlace(scene: Scene, random: Random): Place | null {
  const topics = [...scene.topics.values()]
  if (topics.length === 0) return null
  const topic = topics[random.below(topics.length)]!
  const partition = random.below(topic.logs.length)
  return { topic, partition, log: topic.logs[partition]! }
}

/** Returns some different partitions with the same leader, and this leader. */
export function placesOfOne(scene: Scene, random: Random, most: number): { peer: Peer; places: Place[] } | null {
  const first = anyPlace(scene, random)
  if (first === null) return null
  const peer = scene.leader(first.topic, first.partition)
  const others = [...scene.topics.values()].flatMap(topic =>
    topic.logs.map((log, partition): Place => ({ topic, partition, log })),
  )
  const places = others.filter(each => each.log !== first.log && scene.leader(each.topic, each.partition) === peer)
  return { peer, places: [first, ...shuffled(places, random)].slice(0, 1 + random.below(most)) }
}

function shuffled<T>(values: readonly T[], random: Random): T[] {
  return values
    .map(value => ({ value, at: random.below(1 << 30) }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value)
}
