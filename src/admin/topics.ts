// Creates and deletes topics. The rules for names, partitions, replicas, configs and duplicates are those of Apache
// Kafka's ControllerApis and ReplicationControlManager. The doors decide who may create and delete topics. The
// catalogue decides how a topic is stored.

import { type Clock, within } from '../base/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import {
  type Catalogue,
  type CatalogueKeeper,
  type NewTopic,
  SINGLE,
  type Topic,
  unreadableTopic,
} from '../log/catalogue.ts'
import {
  because,
  INVALID_CONFIG,
  INVALID_PARTITIONS,
  INVALID_REPLICA_ASSIGNMENT,
  INVALID_REPLICATION_FACTOR,
  INVALID_REQUEST,
  INVALID_TOPIC_EXCEPTION,
  isRefusal,
  REQUEST_TIMED_OUT,
  type Refusal,
  TOPIC_ALREADY_EXISTS,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { checkTopicName } from '../protocol/names.ts'
import { ZERO_UUID } from '../protocol/schema.ts'
import { matchPattern } from '../settings/patterns.ts'
import type { Settings } from '../settings/settings.ts'
import { checkTopicConfigs, storedTopicConfig } from '../settings/topic-configs.ts'
import { describeTopicConfigs } from './configs.ts'
import type {
  CreatedTopic,
  DeletedTopic,
  DeleteOutcome,
  NewTopicRequest,
  TopicOutcome,
  TopicReference,
} from './contract.ts'
import { checkRemoteTopic } from './remote-topics.ts'
import { checkReplicas, checkSize, factorOf, placeByFactor, withAssigned } from './replicas.ts'

export interface TopicRooms {
  readonly catalogue: CatalogueKeeper
  readonly settings: Settings
  readonly clock: Clock
  readonly cluster: Pick<Cluster, 'brokers' | 'leaderOf' | 'orderOf' | 'others'>
}

export interface CreateOptions {
  /** Checks everything and creates nothing. */
  readonly validateOnly: boolean
  /**
   * After this time the answer is REQUEST_TIMED_OUT, although the topics may still be created. 0 or less is no limit.
   */
  readonly timeoutMs: number
  /**
   * True if a client used a topic that does not exist. The topic is created only if a topic pattern allows that.
   * Another broker may have created it meanwhile.
   */
  readonly auto: boolean
}

/** Names of Kafka's internal topics. Here, groups and transactions are not stored in topics. */
const INTERNAL_NAMES: ReadonlySet<string> = new Set([
  '__consumer_offsets',
  '__transaction_state',
  '__share_group_state',
  '__cluster_metadata',
])

/**
 * Resolves to one outcome for each topic, in the order of the request. A name that occurs twice has one outcome, a
 * refusal.
 */
export async function createTopics(
  rooms: TopicRooms,
  requests: readonly NewTopicRequest[],
  options: CreateOptions,
): Promise<readonly TopicOutcome<CreatedTopic>[]> {
  const { catalogue, clock } = rooms
  // The catalogue catches up, so that a topic that another broker has just deleted can be created.
  const areNew = !options.validateOnly && requests.every(({ name }) => !catalogue.current().topics.has(name))
  if (catalogue.isShared && !options.auto && !areNew) await catalogue.catchUp()
  const counts = new Map<string, number>()
  for (const { name } of requests) counts.set(name, (counts.get(name) ?? 0) + 1)
  const outcomes = new Map<string, CreatedTopic | Refusal>()
  const wanted: NewTopic[] = []
  for (const request of requests) {
    const { name } = request
    if (outcomes.has(name)) continue
    const existing = options.auto ? catalogue.current().topics.get(name) : undefined
    if (counts.get(name)! > 1) outcomes.set(name, because(INVALID_REQUEST, 'Duplicate topic name.'))
    else if (existing !== undefined) outcomes.set(name, describe(existing, rooms.settings))
    else {
      const checked = checkNewTopic(rooms, request, wanted, options.auto)
      if (isRefusal(checked)) outcomes.set(name, checked)
      else wanted.push(checked)
    }
  }
  if (wanted.length > 0) {
    const added = await withinTime(clock, options.timeoutMs, catalogue.add(wanted, options))
    for (const [i, { name }] of wanted.entries()) {
      let answer = added === null ? late(options, 'The topic may be created all the same.') : added[i]!
      if (options.auto && isRefusal(answer) && answer.code === TOPIC_ALREADY_EXISTS.code) {
        answer = catalogue.current().topics.get(name) ?? answer
      }
      if (options.validateOnly && !isRefusal(answer)) answer = { ...answer, id: ZERO_UUID }
      outcomes.set(name, isRefusal(answer) ? answer : describe(answer, rooms.settings))
    }
  }
  return [...counts.keys()].map(name => ({ name, result: outcomes.get(name)! }))
}

/** Resolves to one outcome for each reference, in order. */
export async function deleteTopics(
  rooms: Pick<TopicRooms, 'catalogue' | 'clock'>,
  references: readonly TopicReference[],
  { timeoutMs }: Pick<CreateOptions, 'timeoutMs'>,
): Promise<readonly DeleteOutcome[]> {
  // The catalogue catches up, so that a topic that another broker has just created can be deleted.
  if (rooms.catalogue.isShared) await rooms.catalogue.catchUp()
  const known = rooms.catalogue.current()
  const found = references.map(reference => resolve(reference, known))
  const counts = new Map<string, number>()
  for (const topic of found) if (!isRefusal(topic)) counts.set(topic.id, (counts.get(topic.id) ?? 0) + 1)
  const doomed = [...counts].flatMap(([id, count]) => (count === 1 ? [id] : []))
  const removed = doomed.length === 0 ? [] : await withinTime(rooms.clock, timeoutMs, rooms.catalogue.remove(doomed))
  const results = new Map(doomed.map((id, i) => [id, removed?.[i]]))
  const unread = references.flatMap(({ name }) => (name !== null && isUnread(known, name) ? [name] : []))
  const discarded = unread.length === 0 ? NONE_OF_THEM : await rooms.catalogue.discard(unread)

  return references.map((topic, i): DeleteOutcome => {
    const target = found[i]!
    if (topic.name !== null && discarded.has(topic.name))
      return { topic, result: { name: topic.name, topicId: known.unreadable.get(topic.name) ?? ZERO_UUID } }
    if (isRefusal(target)) return { topic, result: target }
    if (counts.get(target.id)! > 1) {
      return { topic, result: because(INVALID_REQUEST, `Topic '${target.name}' is named more than once.`) }
    }
    const removal = results.get(target.id)
    return { topic, result: deletion(topic, target, removal) }
  })
}

const NONE_OF_THEM: ReadonlySet<string> = new Set()

/** Returns true if this broker knows that the topic exists, but cannot read it. */
function isUnread({ topics, unreadable }: Catalogue, name: string): boolean {
  return unreadable.has(name) && !topics.has(name)
}

function deletion(
  reference: TopicReference,
  target: Topic,
  removal: Topic | Refusal | undefined,
): DeletedTopic | Refusal {
  if (removal === undefined) return because(REQUEST_TIMED_OUT, 'The topic may be deleted all the same.')
  // Another request has deleted the topic first, so its name and its id are unknown.
  if (isRefusal(removal)) return reference.name === null ? removal : UNKNOWN_TOPIC_OR_PARTITION
  return { name: target.name, topicId: target.id }
}

function resolve(
  { name, topicId }: TopicReference,
  { topics, topicsById }: Pick<Catalogue, 'topics' | 'topicsById'>,
): Topic | Refusal {
  if (name !== null && topicId !== null) {
    return because(INVALID_REQUEST, 'You may not specify both topic name and topic id.')
  }
  if (topicId !== null) {
    return (
      topicsById.get(topicId) ?? because(UNKNOWN_TOPIC_ID, `There is no topic with the id ${JSON.stringify(topicId)}.`)
    )
  }
  if (name === null) return because(INVALID_REQUEST, 'Neither topic name nor id were specified.')
  return topics.get(name) ?? because(UNKNOWN_TOPIC_OR_PARTITION, `There is no topic ${JSON.stringify(name)}.`)
}

/**
 * Returns the refusal for a request whose time is up. `otherwise` is the message if the request does more than
 * validate.
 */
export function late({ validateOnly }: Pick<CreateOptions, 'validateOnly'>, otherwise: string): Refusal {
  return because(
    REQUEST_TIMED_OUT,
    validateOnly ? 'The topic could not be checked in time; nothing was changed.' : otherwise,
  )
}

/** Resolves to null if the time is up first; the work continues then. A timeout of 0 or less is no limit. */
export function withinTime<T>(clock: Clock, timeoutMs: number, work: Promise<T>): Promise<T | null> {
  return timeoutMs <= 0 ? work : within(clock, timeoutMs, work, () => null)
}

function checkNewTopic(
  rooms: TopicRooms,
  request: NewTopicRequest,
  before: readonly NewTopic[],
  auto: boolean,
): NewTopic | Refusal {
  const { name } = request
  const why = checkTopicName(name)
  if (why !== null) return because(INVALID_TOPIC_EXCEPTION, `Topic name is invalid: ${why}`)
  if (INTERNAL_NAMES.has(name)) {
    return because(INVALID_TOPIC_EXCEPTION, `Creation of internal topic ${name} is prohibited.`)
  }
  const { topics, unreadable } = rooms.catalogue.current()
  if (topics.has(name)) return because(TOPIC_ALREADY_EXISTS, `Topic '${name}' already exists.`)
  if (unreadable.has(name)) return because(TOPIC_ALREADY_EXISTS, unreadableTopic(name).message)
  const pattern = matchPattern(rooms.settings, name)
  if (auto && !pattern.autoCreate) {
    return because(UNKNOWN_TOPIC_OR_PARTITION, `There is no topic '${name}', and no topic pattern lets it be created.`)
  }
  const other =
    findCollision(name, topics.keys()) ??
    findCollision(
      name,
      before.map(topic => topic.name),
    )
  if (other !== null) {
    return because(INVALID_TOPIC_EXCEPTION, `Topic '${name}' collides with existing topic: ${other}`)
  }

  // The names are cut, because a longer text does not fit into a string of the protocol.
  const nulls = request.configs.filter(config => config.value === null).map(config => config.name.slice(0, 100))
  if (nulls.length > 0) {
    return because(INVALID_CONFIG, `Null value not supported for topic configs: ${nulls.slice(0, 10).join(', ')}`)
  }
  const configs = Object.fromEntries(
    request.configs.map(each => [each.name, storedTopicConfig(each.name, each.value as string)]),
  )
  const wrong = checkTopicConfigs(configs, pattern, rooms.settings)
  if (wrong !== null) return because(INVALID_CONFIG, wrong)
  const old = checkRemoteTopic(rooms, name, configs, null)
  if (old !== null) return old

  const placed =
    request.assignments.length > 0 ? assigned(rooms, request) : counted(rooms, request, pattern.partitions ?? 1)
  if (isRefusal(placed)) return placed
  return checkCount(name, placed.partitions, rooms.settings) ?? { name, ...placed, configs }
}

type Placed = Required<Pick<NewTopic, 'partitions' | 'placement'>>

/** Returns null if a topic may have this number of partitions. */
export function checkCount(name: string, partitions: number, settings: Settings): Refusal | null {
  const limit = settings.get('max-partitions-per-topic')
  if (partitions <= limit) return null
  return because(
    INVALID_PARTITIONS,
    `Topic '${name}' would have ${partitions} partitions; svc.max-partitions-per-topic is ${limit}.`,
  )
}

/** Returns a topic name that differs only in '.' and '_'; else null. Both names would be one name in metrics. */
function findCollision(name: string, others: Iterable<string>): string | null {
  if (!/[._]/.test(name)) return null
  const unified = name.replaceAll('.', '_')
  for (const other of others) if (other.length === name.length && other.replaceAll('.', '_') === unified) return other
  return null
}

function counted(
  { cluster }: TopicRooms,
  { partitions, replicationFactor }: NewTopicRequest,
  fallback: number,
): Placed | Refusal {
  if (replicationFactor < -1 || replicationFactor === 0) {
    return because(
      INVALID_REPLICATION_FACTOR,
      'Replication factor must be larger than 0, or -1 to use the default value.',
    )
  }
  if (partitions < -1 || partitions === 0) {
    return because(INVALID_PARTITIONS, 'Number of partitions was set to an invalid non-positive value.')
  }
  const placement = placeByFactor(cluster, replicationFactor)
  if (isRefusal(placement)) return placement
  return { partitions: partitions === -1 ? fallback : partitions, placement }
}

function assigned({ cluster }: TopicRooms, request: NewTopicRequest): Placed | Refusal {
  const { assignments, partitions, replicationFactor } = request
  const manual = 'A manual partition assignment was specified, but'
  if (replicationFactor !== -1) return because(INVALID_REQUEST, `${manual} replication factor was not set to -1.`)
  if (partitions !== -1) return because(INVALID_REQUEST, `${manual} numPartitions was not set to -1.`)
  const lists = new Map<number, readonly number[]>()
  const { length } = assignments[0]!.brokerIds
  for (const { partition, brokerIds } of assignments) {
    const refusal = lists.has(partition)
      ? because(INVALID_REPLICA_ASSIGNMENT, `Found multiple manual partition assignments for partition ${partition}`)
      : (checkReplicas(cluster, brokerIds) ?? checkSize(brokerIds, length))
    if (refusal !== null) return refusal
    lists.set(partition, brokerIds)
  }
  for (let i = 0; i < lists.size; i++) {
    if (!lists.has(i)) {
      return because(INVALID_REPLICA_ASSIGNMENT, 'partitions should be a consecutive 0-based integer sequence')
    }
  }
  return { partitions: lists.size, placement: withAssigned(cluster, lists.size, SINGLE, Object.fromEntries(lists)) }
}

function describe(topic: NewTopic & { readonly id: string }, settings: Settings): CreatedTopic {
  return {
    topicId: topic.id,
    partitions: topic.partitions,
    replicationFactor: factorOf(topic.placement ?? SINGLE),
    configs: describeTopicConfigs(topic, settings),
  }
}
