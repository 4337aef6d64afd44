// The changes of one topic as the admin API takes them: create and delete it, alter its configs, give it partitions,
// and delete its oldest records. The rules are those of the verbs for many topics, which the Kafka handlers call too.

import type {
  ConfigChange,
  CreatedTopic,
  DeletedRecords,
  GrownTopic,
  NewPartitions,
  NewTopic,
  RecordDeletion,
  TopicConfigs,
} from '../api/topics.ts'
import { isRefusal, type Refusal } from '../protocol/errors.ts'
import { alterConfigs, type ConfigRooms } from './configs.ts'
import { type Declined, declined } from './declined.ts'
import { createPartitions } from './partitions.ts'
import { checkPartition, deleteBelow, findTopic, type ReachRooms } from './reach.ts'
import { showConfig, showTopicConfigs } from './topic-listing.ts'
import { createTopics, deleteTopics, type TopicRooms } from './topics.ts'

/** The time in ms that the store has to make a change; browsers and proxies wait longer. */
const TIMEOUT_MS = 20_000

/** Creates a topic, or only checks whether it could be created. Throws what the store throws. */
export async function createTopic(
  rooms: TopicRooms,
  { name, partitions = -1, replicationFactor = -1, configs = {}, validateOnly = false }: NewTopic,
): Promise<CreatedTopic | Refusal> {
  const overrides = Object.entries(configs).map(([config, value]) => ({ name: config, value }))
  const request = { name, partitions, replicationFactor, assignments: [], configs: overrides }
  const [outcome] = await createTopics(rooms, [request], { validateOnly, timeoutMs: TIMEOUT_MS, auto: false })
  const { result } = outcome!
  if (isRefusal(result)) return result
  return {
    name,
    id: validateOnly ? null : result.topicId,
    partitions: result.partitions,
    replicationFactor: result.replicationFactor,
    configs: result.configs.map(showConfig),
  }
}

/** Deletes a topic with everything in it; resolves to null then. Throws what the store throws. */
export async function deleteTopic(
  rooms: Pick<TopicRooms, 'catalogue' | 'clock'>,
  name: string,
): Promise<Refusal | null> {
  const topic = await findTopic(rooms, name)
  if (isRefusal(topic)) return topic
  const [outcome] = await deleteTopics(rooms, [{ name: topic.name, topicId: null }], { timeoutMs: TIMEOUT_MS })
  return isRefusal(outcome!.result) ? outcome!.result : null
}

/**
 * Sets some configs of a topic and takes others back to their setting or default, all of them or none. Resolves to
 * all configs afterwards; with `validateOnly` they are unchanged.
 */
export async function alterTopicConfigs(
  rooms: ConfigRooms & Pick<ReachRooms, 'catalogue'>,
  name: string,
  { set = {}, delete: gone = [], validateOnly = false }: ConfigChange,
): Promise<TopicConfigs | Refusal> {
  const topic = await findTopic(rooms, name)
  if (isRefusal(topic)) return topic
  const edits = [
    ...Object.entries(set).map(([name, value]) => ({ name, operation: 'set' as const, value })),
    ...gone.map(name => ({ name, operation: 'delete' as const, value: null })),
  ]
  const change = { resource: { type: 'topic' as const, name: topic.name }, isWhole: false, edits }
  const [refusal] = await alterConfigs(rooms, [change], { validateOnly })
  if (isRefusal(refusal)) return refusal
  return await showTopicConfigs(rooms, topic.name)
}

/** Gives a topic more partitions, or only checks that. Throws what the store throws. */
export async function growTopic(
  rooms: TopicRooms,
  name: string,
  { count, validateOnly = false }: NewPartitions,
): Promise<GrownTopic | Refusal> {
  const topic = await findTopic(rooms, name)
  if (isRefusal(topic)) return topic
  const request = { name: topic.name, count, assignments: null }
  const [outcome] = await createPartitions(rooms, [request], { validateOnly, timeoutMs: TIMEOUT_MS })
  const { result } = outcome!
  return isRefusal(result) ? result : { name: topic.name, partitions: result }
}

/**
 * Deletes the oldest records of partitions of a topic. Partitions do not wait for each other: each row has the result
 * of one partition. Resolves to a refusal if every partition refuses.
 */
export async function deleteOldestRecords(
  rooms: ReachRooms,
  name: string,
  { offsets }: RecordDeletion,
): Promise<DeletedRecords | Refusal | Declined> {
  const topic = await findTopic(rooms, name)
  if (isRefusal(topic)) return topic
  if (new Set(offsets.map(({ partition }) => partition)).size < offsets.length)
    return declined('INVALID_REQUEST', 'offsets: a partition is named more than once.')
  const stranger = offsets.map(({ partition }) => checkPartition(topic, partition)).find(isRefusal)
  if (stranger !== undefined) return stranger
  const places = offsets.map(({ partition, before }) => ({ topic, partition, offset: before === 'end' ? -1 : before }))
  const results = await deleteBelow(rooms, places)
  if (results.every(isRefusal)) return results[0]!
  const partitions = places.map(({ partition }, i) => {
    const result = results[i]!
    if (!isRefusal(result)) return { partition, start: result, error: null }
    return { partition, start: null, error: { code: result.name, detail: result.message } }
  })
  return { partitions }
}
