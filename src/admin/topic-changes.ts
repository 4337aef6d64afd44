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
  ShownConfig,
  TopicConfigs,
} from '../api/topics.ts'
import type { Topic } from '../log/catalogue.ts'
import { because, isRefusal, OFFSET_OUT_OF_RANGE, type Refusal } from '../protocol/errors.ts'
import { alterConfigs, type ConfigRooms, describeTopicConfigs, editTopic } from './configs.ts'
import type { TopicConfigEntry } from './contract.ts'
import { type Declined, declined } from './declined.ts'
import { checkExpected, type ExpectedTopic, outdatedOr } from './expected-topic.ts'
import { createPartitions } from './partitions.ts'
import { boundsOf, checkPartition, deleteBelow, findTopic, type ReachRooms } from './reach.ts'
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
  { validateOnly = false, ...asked }: ConfigChange,
  expected?: ExpectedTopic,
): Promise<TopicConfigs | Refusal | Declined> {
  const topic = await findTopic(rooms, name)
  if (isRefusal(topic)) return topic
  const [refusal] = await alterConfigs(rooms, [{ ...changeOf(topic, asked), expected }], { validateOnly })
  if (isRefusal(refusal)) return outdatedOr(refusal, expected)
  return await showTopicConfigs(rooms, topic.name)
}

function changeOf({ name: topic }: Topic, { set = {}, delete: gone = [] }: ConfigChange) {
  const edits = [
    ...Object.entries(set).map(([name, value]) => ({ name, operation: 'set' as const, value })),
    ...gone.map(name => ({ name, operation: 'delete' as const, value: null })),
  ]
  return { resource: { type: 'topic' as const, name: topic }, isWhole: false, edits }
}

/** The value of a config, and where it comes from. */
type ValueNow = Pick<ShownConfig, 'value' | 'source'>

export interface AlteredTopic {
  readonly topic: Topic
  /** The configs that the change names, in its order. */
  readonly configs: readonly { readonly name: string; readonly before: ValueNow; readonly after: ValueNow }[]
}

/** Resolves to the values that the configs of a change have now and would have, and changes nothing. */
export async function previewTopicConfigs(
  rooms: ConfigRooms & Pick<ReachRooms, 'catalogue'>,
  name: string,
  asked: ConfigChange,
): Promise<AlteredTopic | Refusal> {
  const topic = await findNewest(rooms, name)
  if (isRefusal(topic)) return topic
  const change = changeOf(topic, asked)
  const [refusal] = await alterConfigs(rooms, [change], { validateOnly: true })
  if (isRefusal(refusal)) return refusal
  const configs = editTopic(rooms, topic, change)
  if (isRefusal(configs)) return configs
  const before = valuesOf(describeTopicConfigs(topic, rooms.settings))
  const after = valuesOf(describeTopicConfigs({ ...topic, configs }, rooms.settings))
  const rows = change.edits.map(edit => ({
    name: edit.name,
    before: before.get(edit.name)!,
    after: after.get(edit.name)!,
  }))
  return { topic, configs: rows }
}

function valuesOf(configs: readonly TopicConfigEntry[]): ReadonlyMap<string, ValueNow> {
  return new Map(configs.map(({ name, value, source }) => [name, { value, source }]))
}

/** Gives a topic more partitions, or only checks that. Throws what the store throws. */
export async function growTopic(
  rooms: TopicRooms,
  name: string,
  { count, validateOnly = false }: NewPartitions,
  expected?: ExpectedTopic,
): Promise<GrownTopic | Refusal | Declined> {
  const topic = await findTopic(rooms, name)
  if (isRefusal(topic)) return topic
  const request = { name: topic.name, count, assignments: null, expected }
  const [outcome] = await createPartitions(rooms, [request], { validateOnly, timeoutMs: TIMEOUT_MS })
  const { result } = outcome!
  return isRefusal(result) ? outdatedOr(result, expected) : { name: topic.name, partitions: result }
}

/** Resolves to the topic that would get more partitions, and changes nothing. */
export async function previewGrowth(
  rooms: TopicRooms,
  name: string,
  { count }: Pick<NewPartitions, 'count'>,
): Promise<Topic | Refusal | Declined> {
  const topic = await findNewest(rooms, name)
  if (isRefusal(topic)) return topic
  const { id, partitions } = topic
  const grown = await growTopic(rooms, name, { count, validateOnly: true }, { id, partitions })
  return 'kind' in grown ? grown : topic
}

/** Resolves to the topic as the store has it, also if another broker has just deleted it and created it again. */
async function findNewest({ catalogue }: Pick<ReachRooms, 'catalogue'>, name: string): Promise<Topic | Refusal> {
  if (catalogue.isShared) await catalogue.catchUp()
  return await findTopic({ catalogue }, name)
}

/**
 * Deletes the oldest records of partitions of a topic. Partitions do not wait for each other: each row has the result
 * of one partition. Resolves to a refusal if every partition refuses. Another broker that leads a partition is told the
 * name of the topic, because the protocol has no id for it there: it must not be another topic by then.
 */
export async function deleteOldestRecords(
  rooms: ReachRooms,
  name: string,
  { offsets }: RecordDeletion,
  expected?: ExpectedTopic,
): Promise<DeletedRecords | Refusal | Declined> {
  const topic = await (expected === undefined ? findTopic : findNewest)(rooms, name)
  if (isRefusal(topic)) return topic
  const refusal = checkExpected(topic, expected) ?? checkDeletion(topic, offsets)
  if (refusal !== null) return isRefusal(refusal) ? outdatedOr(refusal, expected) : refusal
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

export interface ShownDeletion {
  readonly topic: Topic
  readonly partitions: readonly {
    readonly partition: number
    readonly start: number
    readonly end: number
    /** The first offset that would remain. */
    readonly before: number
  }[]
}

/**
 * Resolves to what a deletion of records would delete, with `end` as an offset, and changes nothing. Resolves to a
 * refusal if one of the partitions would refuse.
 */
export async function previewDeletion(
  rooms: ReachRooms,
  name: string,
  { offsets }: RecordDeletion,
): Promise<ShownDeletion | Refusal | Declined> {
  const topic = await findNewest(rooms, name)
  if (isRefusal(topic)) return topic
  const refusal = checkDeletion(topic, offsets)
  if (refusal !== null) return refusal
  const bounds = await boundsOf(
    rooms,
    offsets.map(({ partition }) => ({ topic, partition })),
  )
  const partitions: ShownDeletion['partitions'][number][] = []
  for (const [i, { partition, before }] of offsets.entries()) {
    const found = bounds[i]!
    if (isRefusal(found)) return found
    const { start, end } = found
    if (before !== 'end' && before > end)
      return because(OFFSET_OUT_OF_RANGE, `Partition ${partition} of '${name}' ends at ${end}, before ${before}.`)
    partitions.push({ partition, start, end, before: before === 'end' ? end : Math.max(before, start) })
  }
  return { topic, partitions }
}

function checkDeletion(topic: Topic, offsets: RecordDeletion['offsets']): Refusal | Declined | null {
  if (new Set(offsets.map(({ partition }) => partition)).size < offsets.length)
    return declined('INVALID_REQUEST', 'offsets: a partition is named more than once.')
  return offsets.map(({ partition }) => checkPartition(topic, partition)).find(isRefusal) ?? null
}
