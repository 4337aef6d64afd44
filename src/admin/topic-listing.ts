// Lists and describes topics: their entry in the catalogue, and the start and end of their partitions, whichever
// broker leads them. If a leader does not answer, some numbers are unknown, but the list still has all topics.

import {
  DEFAULT_TOPIC_LIMIT,
  type ShownConfig,
  type TopicConfigs,
  type TopicDescription,
  type TopicList,
  type TopicListQuery,
  type TopicSummary,
} from '../api/topics.ts'
import { RANKED_TOPIC_SORTS, type RankedTopicSort, type TopicSort } from '../api/words.ts'
import { within } from '../base/clock.ts'
import type { Topic } from '../log/catalogue.ts'
import { because, isRefusal, KAFKA_STORAGE_ERROR, type Refusal } from '../protocol/errors.ts'
import { isInternalTopicName } from '../protocol/names.ts'
import { fallbackOf } from '../settings/topic-configs.ts'
import { isStoreFailure, type Store, streamId } from '../store/store.ts'
import { describeTopicConfigs } from './configs.ts'
import type { TopicConfigEntry } from './contract.ts'
import { type Declined, misplaced } from './declined.ts'
import { type Bounds, boundsOf, findTopic, type Place, placesOf, type ReachRooms, sizesOf } from './reach.ts'
import { factorOf, replicasOf } from './replicas.ts'

/** How long a description waits for the store to return which partitions it has lost. */
const LOSSES_MS = 2_000

export interface TopicListRequest {
  /** Only topics whose name contains this text, in any case; '' lets all through. */
  readonly q: string
  /** Only these topics; undefined lets all through. */
  readonly names?: readonly string[] | undefined
  /** False leaves out names that begin with `__`; true by default. */
  readonly hasInternal?: boolean
  readonly sort: TopicSort
  readonly order: 'asc' | 'desc'
  readonly offset: number
  readonly limit: number
}

const RANKED_SORTS = RANKED_TOPIC_SORTS.join(', ')

/**
 * Resolves to one page of topics as a query asks for it: whole rows, or with `fields` only the names, without a limit
 * all of them.
 */
export async function listTopicPage(rooms: ReachRooms, query: TopicListQuery): Promise<TopicList | Declined> {
  const { fields, limit, names, internal, ...rest } = query
  const request = { ...rest, names: names?.split(','), hasInternal: internal === 'true' }
  const { sort, offset } = request
  if (fields === undefined)
    return { ...(await listTopics(rooms, { ...request, limit: limit ?? DEFAULT_TOPIC_LIMIT })), offset }
  if (!isRanked(sort))
    return misplaced('sort', `takes ${RANKED_SORTS} with fields=name; ${sort} has to be asked of every partition`)
  const found = await listTopicNames(rooms, { ...request, sort, limit: limit ?? Number.POSITIVE_INFINITY })
  return { ...found, offset }
}

/** Resolves to one page of topics, and to the number of topics on all pages. */
export async function listTopics(
  rooms: ReachRooms,
  request: TopicListRequest,
): Promise<{ readonly topics: TopicSummary[]; readonly total: number }> {
  const found = searchTopics(rooms, request)
  const { sort, order, offset, limit } = request
  const page = <T>(all: readonly T[]) => all.slice(offset, offset + limit)
  const total = found.length
  if (isRanked(sort)) return { topics: await summarize(rooms, page(inOrder(found, sort, order))), total }
  // To sort by a measure, the measure of every topic must be known.
  const all = await summarize(rooms, found)
  const measure = MEASURES[sort]
  return { topics: page(all.sort((a, b) => compare(a, b, order, measure))), total }
}

/** Returns true if the catalogue alone is enough to sort the topics, without requests to partitions. */
export function isRanked(sort: TopicSort): sort is RankedTopicSort {
  return RANKED_TOPIC_SORTS.some(each => each === sort)
}

/** Resolves to one page of topic names. This costs little, because no partition is asked. */
export async function listTopicNames(
  rooms: ReachRooms,
  request: TopicListRequest & { readonly sort: RankedTopicSort },
): Promise<{ readonly topics: { readonly name: string }[]; readonly total: number }> {
  const { sort, order, offset, limit } = request
  const found = searchTopics(rooms, request)
  const topics = inOrder(found, sort, order)
  return { topics: topics.slice(offset, offset + limit).map(({ name }) => ({ name })), total: found.length }
}

type DescribeRooms = ReachRooms & { readonly store: Pick<Store, 'usage'> }

/** Describes a topic, with the leader, the bounds and the size of each partition. Throws what the store throws. */
export async function describeTopic(rooms: DescribeRooms, name: string): Promise<TopicDescription | Refusal> {
  const topic = await findTopic(rooms, name)
  if (isRefusal(topic)) return topic
  const places = placesOf(topic)
  const [bounds, sizes, losses] = await Promise.all([
    boundsOf(rooms, places),
    sizesOf(rooms, places),
    lossesOf(rooms, topic),
  ])
  const leaders = places.map(({ partition }, i) => {
    const { leaderId, ids: replicas, inSync } = replicasOf(rooms.cluster, topic, partition)
    const bound = bounds[i]!
    const size = sizes[i]!
    const known = isRefusal(bound)
      ? { leaderEpoch: null, start: null, end: null }
      : { leaderEpoch: bound.leaderEpoch, start: bound.start, end: bound.end }
    const trouble = losses[partition] ?? (isRefusal(bound) ? bound : null)
    const error = trouble === null ? null : { code: trouble.name, detail: trouble.message }
    const brokers = { leader: leaderId < 0 ? null : leaderId, replicas: [...replicas], inSync: [...inSync] }
    return { partition, ...brokers, ...known, error, sizeBytes: isRefusal(size) ? null : size }
  })
  return { ...summaryOf(rooms, topic, bounds, sizes), leaders }
}

/**
 * Resolves to the reason why each partition no longer takes records, if the store has lost some of its records. If
 * this broker leads the partition, the reason comes from its log. Otherwise it comes from the store, which knows of a
 * loss before any leader has looked. The reason is null if nothing is lost, or if the store does not answer in time.
 */
async function lossesOf(
  { store, logs, clock }: DescribeRooms,
  { id, name, partitions }: Topic,
): Promise<readonly (Refusal | null)[]> {
  const indexes = Array.from({ length: partitions }, (_, index) => index)
  const asked = store.usage(indexes.map(index => streamId(id, index))).catch(error => {
    if (!isStoreFailure(error)) throw error
    return null
  })
  const usages = await within(clock, LOSSES_MS, asked, () => null)
  return indexes.map(index => {
    const here = logs.partition(id, index)
    const told = here?.state.damage ?? (here?.isDamaged ? here.refusal : null)
    if (told) return told
    const usage = usages?.[index]
    if (usage === undefined || usage?.isEmptied === false) return null
    return because(
      KAFKA_STORAGE_ERROR,
      `The store has lost the records of partition ${index} of '${name}'; it begins again, empty, once all of them are deleted (DeleteRecords to -1).`,
    )
  })
}

/** Resolves to all configs of the topic, sorted by name. */
export async function showTopicConfigs(
  rooms: Pick<ReachRooms, 'catalogue' | 'settings'>,
  name: string,
): Promise<TopicConfigs | Refusal> {
  const topic = await findTopic(rooms, name)
  return isRefusal(topic) ? topic : { configs: describeTopicConfigs(topic, rooms.settings).map(showConfig) }
}

/** Converts a config of a topic to its form in the API. */
export function showConfig({ synonyms: _, choices, ...entry }: TopicConfigEntry): ShownConfig {
  return {
    ...entry,
    choices: choices === null ? null : [...choices],
    default: fallbackOf(entry.name),
    hasEffect: entry.because === null,
  }
}

/** Returns the topics that the request lets through, sorted by name. Every other sort order starts from this order. */
function searchTopics({ catalogue }: ReachRooms, { q, names, hasInternal = true }: TopicListRequest): readonly Topic[] {
  const contained = q.toLowerCase()
  const named = names === undefined ? null : new Set(names)
  const all = byName(catalogue.current().topics)
  if (contained === '' && named === null && hasInternal) return all
  return all.filter(
    ({ name }) =>
      (named?.has(name) ?? true) &&
      name.toLowerCase().includes(contained) &&
      (hasInternal || !isInternalTopicName(name)),
  )
}

/** To sort thousands of topics blocks all clients for milliseconds, so each catalogue is sorted only once. */
const sorted = new WeakMap<ReadonlyMap<string, Topic>, readonly Topic[]>()

function byName(topics: ReadonlyMap<string, Topic>): readonly Topic[] {
  let found = sorted.get(topics)
  if (found === undefined) {
    found = [...topics.values()].sort((a, b) => compare(a, b, 'asc', () => 0))
    sorted.set(topics, found)
  }
  return found
}

/** The measures of a topic that are known without asking its partitions. */
const RANKS: Readonly<Record<RankedTopicSort, (topic: Topic) => number>> = Object.freeze({
  name: () => 0,
  partitions: topic => topic.partitions,
  createdAt: topic => topic.createdAtMs,
})

/** Sorts topics that are already sorted by name. */
function inOrder(topics: readonly Topic[], sort: RankedTopicSort, order: 'asc' | 'desc'): readonly Topic[] {
  if (sort === 'name') return order === 'asc' ? topics : topics.toReversed()
  return topics.toSorted((a, b) => compare(a, b, order, RANKS[sort]))
}

const MEASURES = {
  records: (topic: TopicSummary) => topic.records ?? -1,
  sizeBytes: (topic: TopicSummary) => topic.sizeBytes ?? -1,
  lastWriteAt: (topic: TopicSummary) => (topic.lastWriteAt === null ? -1 : Date.parse(topic.lastWriteAt)),
} as const

/**
 * Compares two rows by rank. Equal rows are in the order of their names, so that no page repeats or skips a topic.
 */
function compare<T extends { readonly name: string }>(a: T, b: T, order: 'asc' | 'desc', rank: (topic: T) => number) {
  const difference = rank(a) - rank(b) || (a.name < b.name ? -1 : 1)
  return order === 'asc' ? difference : -difference
}

async function summarize(rooms: ReachRooms, topics: readonly Topic[]): Promise<TopicSummary[]> {
  const places: Place[] = topics.flatMap(placesOf)
  const [bounds, sizes] = await Promise.all([boundsOf(rooms, places), sizesOf(rooms, places)])
  let at = 0
  return topics.map(topic => {
    const from = at
    at += topic.partitions
    return summaryOf(rooms, topic, bounds.slice(from, at), sizes.slice(from, at))
  })
}

function summaryOf(
  rooms: ReachRooms,
  topic: Topic,
  bounds: readonly (Bounds | Refusal)[],
  sizes: readonly (number | Refusal)[],
): TopicSummary {
  const { name, id, partitions, placement, createdAtMs, configs, resolved } = topic
  // Offsets that follow the clock do not count records.
  let records: number | null = resolved.offsetSequenceBits > 0 ? null : 0
  for (const bound of bounds) records = records === null || isRefusal(bound) ? null : records + bound.end - bound.start
  let sizeBytes: number | null = 0
  for (const size of sizes) sizeBytes = sizeBytes === null || isRefusal(size) ? null : sizeBytes + size
  return {
    name,
    id,
    partitions,
    replicationFactor: factorOf(placement),
    createdAt: new Date(createdAtMs).toISOString(),
    configs,
    cleanupPolicy: resolved.cleanupPolicy.join(','),
    // A value that the topic sets itself stays text, because a Kafka long may exceed a JavaScript number.
    retentionMs: configs['retention.ms'] ?? String(resolved.retentionMs),
    retentionBytes: configs['retention.bytes'] ?? String(resolved.retentionBytes),
    records,
    sizeBytes,
    lastWriteAt: lastWriteOf(rooms, topic),
  }
}

/**
 * Returns the time of the newest record from the time index, without reading the log. Null if the index does not know
 * it, or if another broker leads a partition.
 */
function lastWriteOf({ logs }: ReachRooms, { id, partitions }: Topic): string | null {
  let newestMs = -1
  for (let index = 0; index < partitions; index++) {
    const partition = logs.partition(id, index)
    if (partition === null) return null
    const last = partition.state.timeIndex.chunks.findLast(chunk => chunk.next > chunk.from)
    if (last === undefined) continue
    if (!last.isKnown) return null
    newestMs = Math.max(newestMs, last.newestMs)
  }
  return newestMs < 0 ? null : new Date(newestMs).toISOString()
}
