// Reads and writes partitions, whichever broker leads them: in a log of this broker, or over the Kafka protocol at
// the leader. Every verb on records uses this file and need not know which broker leads. If a partition cannot be
// reached, only its own row is a refusal: a broker that is away does not affect the partitions of other brokers. Only
// a write can have an unknown outcome.

import type { Clock } from '../base/clock.ts'
import type { Patience } from '../base/patience.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type Peers, PeerUnavailable } from '../cluster/peers.ts'
import type { CatalogueKeeper, Topic } from '../log/catalogue.ts'
import type { Appended } from '../log/lane.ts'
import type { Logs } from '../log/logs.ts'
import type { Partition } from '../log/partition.ts'
import {
  because,
  errorOf,
  INVALID_TOPIC_EXCEPTION,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  LEADER_NOT_AVAILABLE,
  NONE,
  NOT_LEADER_OR_FOLLOWER,
  OFFSET_OUT_OF_RANGE,
  REQUEST_TIMED_OUT,
  type RecordError,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { deleteRecords as deleteRecordsApi } from '../protocol/messages/delete-records.ts'
import { describeLogDirs as describeLogDirsApi } from '../protocol/messages/describe-log-dirs.ts'
import { fetch as fetchApi } from '../protocol/messages/fetch.ts'
import { listOffsets as listOffsetsApi } from '../protocol/messages/list-offsets.ts'
import { produce as produceApi } from '../protocol/messages/produce.ts'
import { checkTopicName } from '../protocol/names.ts'
import { type BatchView, checkBatches, InvalidRecords, splitBatches, viewBatch } from '../protocol/records.ts'
import type { Settings } from '../settings/settings.ts'
import { isStoreFailure } from '../store/store.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { deleteRecords } from './records/deletion.ts'

export interface ReachRooms {
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  readonly cluster: Cluster
  readonly peers: Peers
  readonly settings: Settings
  readonly clock: Clock
}

/** One partition of a topic. */
export interface Place {
  readonly topic: Topic
  readonly partition: number
}

export interface Bounds {
  /** The first offset that may be read. */
  readonly start: number
  /** The high watermark. Readers stop here. */
  readonly end: number
  readonly leaderEpoch: number
}

export interface Chunk {
  /**
   * Whole batches in offset order. The first one contains the requested offset, or is the next batch if the offset lies
   * in a gap.
   */
  readonly batches: readonly BatchView[]
  readonly bytes: number
  readonly start: number
  readonly end: number
}

const LIST_OFFSETS_VERSION = 7
const LATEST = -1
const EARLIEST = -2
/**
 * Fetch and Produce name the topic by its id, so that a topic that was created again under the same name does not
 * answer.
 */
const FETCH_VERSION = 13
const PRODUCE_VERSION = 13
const DELETE_RECORDS_VERSION = 2
const DESCRIBE_LOG_DIRS_VERSION = 4

/** How long another broker may wait for memory for its answer. Slow clients may use that memory. */
const READ_WAIT_MS = 500

/** The largest read from another broker, in bytes. */
const LARGEST_READ_BYTES = 1024 * 1024

/** How long another broker may take to write. This broker waits longer than that for the answer. */
const WRITE_MS = 4_000

/**
 * Resolves to the topic with this name, to INVALID_TOPIC_EXCEPTION if the name is invalid, or to
 * UNKNOWN_TOPIC_OR_PARTITION. A topic that another broker has just created is found too. Throws what the store
 * throws.
 */
export async function findTopic({ catalogue }: Pick<ReachRooms, 'catalogue'>, name: string): Promise<Topic | Refusal> {
  const why = checkTopicName(name)
  if (why !== null) return because(INVALID_TOPIC_EXCEPTION, `Topic name is invalid: ${why}.`)
  const known = catalogue.current().topics.get(name)
  if (known !== undefined || !catalogue.isShared) return known ?? unknownTopic(name)
  await catalogue.catchUp()
  return catalogue.current().topics.get(name) ?? unknownTopic(name)
}

function unknownTopic(name: string): Refusal {
  return because(UNKNOWN_TOPIC_OR_PARTITION, `There is no topic '${name}'.`)
}

/** Returns null if the topic has this partition, else a refusal. */
export function checkPartition({ name, partitions }: Topic, partition: number): Refusal | null {
  if (partition >= 0 && partition < partitions) return null
  const which = partitions === 1 ? 'the partition 0' : `the partitions 0 to ${partitions - 1}`
  return because(UNKNOWN_TOPIC_OR_PARTITION, `Topic '${name}' has ${which}, not ${partition}.`)
}

export function placesOf(topic: Topic): Place[] {
  return Array.from({ length: topic.partitions }, (_, partition) => ({ topic, partition }))
}

/**
 * Resolves to the start and end of each partition, in order; a partition may occur twice. Each other broker gets at
 * most two requests: one for the starts and one for the ends.
 */
export async function boundsOf(rooms: ReachRooms, places: readonly Place[]): Promise<readonly (Bounds | Refusal)[]> {
  return await ask(rooms, places, {
    here: boundsIn,
    async there(brokerId, some) {
      const [starts, ends] = await Promise.all([
        offsetsAt(rooms, brokerId, some, EARLIEST),
        offsetsAt(rooms, brokerId, some, LATEST),
      ])
      return some.map((_, i): Bounds | Refusal => {
        const start = starts[i]!
        const end = ends[i]!
        if (isRefusal(start)) return start
        return isRefusal(end) ? end : { start: start.offset, end: end.offset, leaderEpoch: end.leaderEpoch }
      })
    },
  })
}

/** Returns the start and end of one partition synchronously; null if another broker leads it. */
export function boundsHere(rooms: ReachRooms, place: Place): Bounds | Refusal | null {
  const leader = leaderOf(rooms, place)
  if (typeof leader === 'number') return null
  return isRefusal(leader) ? leader : boundsIn(leader)
}

function boundsIn(partition: Partition): Bounds | Refusal {
  const refusal = partition.checkEpoch(-1)
  if (refusal !== null) return refusal
  return { start: partition.logStartOffset, end: partition.highWatermark, leaderEpoch: partition.leaderEpoch }
}

/**
 * Resolves to the offset of the first record at or after this time (ms since 1970) in each partition; null if all
 * records are older; REQUEST_TIMED_OUT if the search takes too long.
 */
export async function offsetsForTime(
  rooms: ReachRooms,
  places: readonly Place[],
  timestamp: number,
  waiting: Patience,
): Promise<readonly (number | null | Refusal)[]> {
  return await ask(rooms, places, {
    async here(partition) {
      const found = await partition.offsetForTimestamp(timestamp, waiting)
      return found === null || isRefusal(found) ? found : found.offset
    },
    async there(brokerId, some) {
      const found = await offsetsAt(rooms, brokerId, some, timestamp)
      return found.map(each => (isRefusal(each) ? each : each.offset < 0 ? null : each.offset))
    },
  })
}

/**
 * Resolves to batches from this offset on, up to maxBytes but at least one batch. OFFSET_OUT_OF_RANGE if the offset
 * is below the start or above the end; REQUEST_TIMED_OUT if another broker had no memory for the answer.
 */
export async function readFrom(
  rooms: ReachRooms,
  place: Place,
  offset: number,
  maxBytes: number,
): Promise<Chunk | Refusal> {
  const [found] = await ask(rooms, [place], {
    async here(partition): Promise<Chunk | Refusal> {
      const read = await partition.read(offset, maxBytes, true)
      if (isRefusal(read)) return read
      const { batches, bytes, logStartOffset, highWatermark } = read
      return { batches: batches.map(viewBatch), bytes, start: logStartOffset, end: highWatermark }
    },
    async there(brokerId, [{ topic, partition }]) {
      const partitionMaxBytes = Math.min(maxBytes, LARGEST_READ_BYTES)
      const askedAtMs = rooms.clock.monotonic()
      const { responses } = await rooms.peers.ask(brokerId, fetchApi, FETCH_VERSION, {
        maxWaitMs: READ_WAIT_MS,
        minBytes: 0,
        maxBytes: partitionMaxBytes,
        topics: [{ topicId: topic.id, partitions: [{ partition, fetchOffset: offset, partitionMaxBytes }] }],
      })
      const row = responses[0]?.partitions[0]
      if (row === undefined) return [because(UNKNOWN_SERVER_ERROR, `Broker ${brokerId} answered no partition.`)]
      if (row.errorCode !== NONE) return [refusalOf(row.errorCode, brokerId, topic, partition)]
      const bytes = row.records ?? new Uint8Array()
      // The fetch waits for memory only. If there are no records, it answers at once.
      const isDeferred = rooms.clock.monotonic() - askedAtMs >= READ_WAIT_MS
      if (bytes.length === 0 && offset < row.highWatermark && isDeferred) {
        const message = `Broker ${brokerId} had no memory for the answer within ${READ_WAIT_MS} ms: slower clients had it.`
        return [because(REQUEST_TIMED_OUT, message)]
      }
      try {
        const batches = splitBatches(bytes)
        return [{ batches, bytes: bytes.length, start: row.logStartOffset, end: row.highWatermark }]
      } catch (error) {
        if (!(error instanceof InvalidRecords)) throw error
        return [
          because(UNKNOWN_SERVER_ERROR, `Broker ${brokerId} answered bytes that are not a batch: ${error.message}.`),
        ]
      }
    },
  })
  return found!
}

/**
 * Appends one batch to each partition, as a producer with acks=all does. Resolves to one result for each partition,
 * in order. The bytes belong to the log afterwards. The leader of a partition counts the batch as produced, as it
 * does for a request over the Kafka protocol.
 */
export async function appendTo(
  rooms: ReachRooms & { readonly metrics: Metrics },
  places: readonly (Place & { readonly batch: Buffer })[],
): Promise<readonly (Pick<Appended, 'baseOffset' | 'logAppendTimeMs'> | Refusal)[]> {
  const stallMs = rooms.settings.get('broker.produce-timeout')
  return await ask(rooms, places, {
    isWrite: true,
    async here(partition, { topic, batch }) {
      const checked = checkBatches(batch)
      if (isRefusal(checked)) return checked
      const appended = await partition.append(checked, 0, stallMs)
      // A topic that was deleted meanwhile no longer has a series.
      if (!isRefusal(appended) && rooms.catalogue.current().topicsById.has(topic.id)) {
        rooms.metrics.count('svc.broker.produce.records', { topic: topic.name }, checked.recordCount)
        rooms.metrics.count('svc.broker.produce.bytes', { topic: topic.name }, batch.length)
      }
      return appended
    },
    async there(brokerId, some) {
      const byTopic = [...Map.groupBy(some, ({ topic }) => topic.id)]
      const { responses } = await rooms.peers.ask(brokerId, produceApi, PRODUCE_VERSION, {
        acks: -1,
        timeoutMs: WRITE_MS,
        topicData: byTopic.map(([topicId, rows]) => ({
          topicId,
          partitionData: rows.map(({ partition, batch }) => ({ index: partition, records: batch })),
        })),
      })
      const found = new Map(
        responses.flatMap(({ topicId, partitionResponses }) =>
          partitionResponses.map(row => [`${topicId}:${row.index}`, row] as const),
        ),
      )
      return some.map(({ topic, partition }) => {
        const row = found.get(`${topic.id}:${partition}`)
        if (row === undefined)
          return because(UNKNOWN_SERVER_ERROR, `Broker ${brokerId} did not answer for a partition.`)
        if (row.errorCode === NONE) return row
        const refusal = refusalOf(row.errorCode, brokerId, topic, partition, row.errorMessage)
        return row.recordErrors.length === 0 ? refusal : { ...refusal, recordErrors: namedIn(row.recordErrors) }
      })
    },
  })
}

/**
 * Deletes the records below an offset (-1: all records that may be read). Resolves to the log start of each
 * partition, in order.
 */
export async function deleteBelow(
  rooms: ReachRooms,
  places: readonly (Place & { readonly offset: number })[],
): Promise<readonly (number | Refusal)[]> {
  return await ask(rooms, places, {
    isWrite: true,
    async here(_, { topic, partition, offset }) {
      const [deleted] = await deleteRecords(rooms, [{ topic: topic.name, partition, offset }], WRITE_MS)
      return deleted!
    },
    async there(brokerId, some) {
      const byTopic = [...Map.groupBy(some, ({ topic }) => topic.name)]
      const { topics } = await rooms.peers.ask(brokerId, deleteRecordsApi, DELETE_RECORDS_VERSION, {
        timeoutMs: WRITE_MS,
        topics: byTopic.map(([name, rows]) => ({
          name,
          partitions: rows.map(({ partition, offset }) => ({ partitionIndex: partition, offset })),
        })),
      })
      const found = new Map(
        topics.flatMap(({ name, partitions }) =>
          partitions.map(row => [`${name}:${row.partitionIndex}`, row] as const),
        ),
      )
      return some.map(({ topic, partition }) => {
        const row = found.get(`${topic.name}:${partition}`)
        if (row === undefined)
          return because(UNKNOWN_SERVER_ERROR, `Broker ${brokerId} did not answer for a partition.`)
        return row.errorCode === NONE ? row.lowWatermark : refusalOf(row.errorCode, brokerId, topic, partition)
      })
    },
  })
}

/** Resolves to the stored bytes of each partition's batches, in order. */
export async function sizesOf(rooms: ReachRooms, places: readonly Place[]): Promise<readonly (number | Refusal)[]> {
  return await ask(rooms, places, {
    here: partition => partition.sizeBytes,
    async there(brokerId, some) {
      const byTopic = [...Map.groupBy(some, ({ topic }) => topic.name)]
      const { results } = await rooms.peers.ask(brokerId, describeLogDirsApi, DESCRIBE_LOG_DIRS_VERSION, {
        topics: byTopic.map(([topic, rows]) => ({ topic, partitions: rows.map(({ partition }) => partition) })),
      })
      const found = new Map<string, number>()
      for (const { topics } of results) {
        for (const { name, partitions } of topics) {
          for (const { partitionIndex, partitionSize } of partitions) {
            found.set(`${name}:${partitionIndex}`, partitionSize)
          }
        }
      }
      return some.map(
        ({ topic, partition }) => found.get(`${topic.name}:${partition}`) ?? ledElsewhere(topic, partition),
      )
    },
  })
}

interface Question<P extends Place, T> {
  /** The other broker may have made the change although it did not answer. */
  readonly isWrite?: boolean
  here(partition: Partition, place: P): T | Refusal | Promise<T | Refusal>
  /** Resolves to one answer for each place. The broker leads all of these places. */
  there(brokerId: number, places: readonly [P, ...P[]]): Promise<readonly (T | Refusal)[]>
}

/** Resolves to one answer for each place, in order. The requests to other brokers run at the same time. */
export async function ask<P extends Place, T>(
  rooms: ReachRooms,
  places: readonly P[],
  { isWrite = false, here, there }: Question<P, T>,
): Promise<readonly (T | Refusal)[]> {
  const answers = new Array<T | Refusal>(places.length)
  const elsewhere = new Map<number, number[]>()
  const asking: Promise<void>[] = []
  const put = (i: number, answer: T | Refusal) => {
    answers[i] = answer
  }
  // A request about groups may concern thousands of partitions at once.
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!
    const leader = leaderOf(rooms, place)
    if (isRefusal(leader)) answers[i] = leader
    else if (typeof leader === 'number') elsewhere.set(leader, [...(elsewhere.get(leader) ?? []), i])
    else {
      const answer = here(leader, place)
      if (answer instanceof Promise) asking.push(answer.catch(refused).then(value => put(i, value)))
      else put(i, answer)
    }
  }
  for (const [brokerId, indexes] of elsewhere) {
    const askOne = async () => {
      const some = indexes.map(i => places[i]!) as [P, ...P[]]
      const found = await there(brokerId, some).catch(error => {
        if (!(error instanceof PeerUnavailable)) throw error
        const refusal = unanswered(error, isWrite)
        return some.map(() => refusal)
      })
      for (const [at, i] of indexes.entries()) answers[i] = found[at]!
    }
    asking.push(askOne())
  }
  await Promise.all(asking)
  return answers
}

/** Returns the partition if this broker leads it, else the id of its leader, or a refusal. */
function leaderOf({ cluster, logs }: ReachRooms, { topic, partition }: Place): Partition | number | Refusal {
  const refusal = checkPartition(topic, partition)
  if (refusal !== null) return refusal
  const here = logs.partition(topic.id, partition)
  if (here !== null) return here
  const leader = cluster.leaderOf(topic.id, partition)
  if (leader >= 0 && leader !== cluster.brokerId) return leader
  return because(LEADER_NOT_AVAILABLE, `No broker leads partition ${partition} of '${topic.name}' at this moment.`)
}

async function offsetsAt({ peers }: ReachRooms, brokerId: number, places: readonly Place[], timestamp: number) {
  const byTopic = [...Map.groupBy(places, ({ topic }) => topic.name)]
  const { topics } = await peers.ask(brokerId, listOffsetsApi, LIST_OFFSETS_VERSION, {
    replicaId: -1,
    topics: byTopic.map(([name, rows]) => ({
      name,
      // A broker rejects a request that names a partition twice.
      partitions: [...new Set(rows.map(({ partition }) => partition))].map(partitionIndex => ({
        partitionIndex,
        timestamp,
      })),
    })),
  })
  const found = new Map(
    topics.flatMap(({ name, partitions }) => partitions.map(row => [`${name}:${row.partitionIndex}`, row] as const)),
  )
  return places.map(({ topic, partition }) => {
    const row = found.get(`${topic.name}:${partition}`)
    if (row === undefined) return ledElsewhere(topic, partition)
    return row.errorCode === NONE ? row : refusalOf(row.errorCode, brokerId, topic, partition)
  })
}

function ledElsewhere({ name }: Topic, partition: number): Refusal {
  return because(NOT_LEADER_OR_FOLLOWER, `Partition ${partition} of '${name}' has just found another leader.`)
}

/** Returns the refusal for an error code in another broker's answer. */
function refusalOf(
  code: number,
  brokerId: number,
  { name }: Topic,
  partition: number,
  message?: string | null,
): Refusal {
  const error = errorOf(code) ?? UNKNOWN_SERVER_ERROR
  // This broker knows the topic. Either the other broker does not know the topic yet, or this broker does not know
  // yet that it was deleted.
  if (error.code === UNKNOWN_TOPIC_OR_PARTITION.code || error.code === UNKNOWN_TOPIC_ID.code)
    return because(
      LEADER_NOT_AVAILABLE,
      `Broker ${brokerId} does not know partition ${partition} of '${name}' at this moment.`,
    )
  if (message) return because(error, message)
  if (error.code === OFFSET_OUT_OF_RANGE.code) return error
  return because(error, `Broker ${brokerId} answers ${error.name} for partition ${partition} of '${name}'.`)
}

type NamedRecords = readonly { readonly batchIndex: number; readonly batchIndexErrorMessage: string | null }[]

function namedIn(recordErrors: NamedRecords): readonly RecordError[] {
  return recordErrors.map(({ batchIndex, batchIndexErrorMessage }) => {
    return { batchIndex, batchIndexErrorMessage: batchIndexErrorMessage ?? '' }
  })
}

function unanswered(error: PeerUnavailable, isWrite: boolean): Refusal {
  if (!isWrite || error.isUnsent) return because(LEADER_NOT_AVAILABLE, `The leader does not answer: ${error.message}.`)
  return because(REQUEST_TIMED_OUT, `The leader does not answer: ${error.message}; it may be done all the same.`)
}

function refused(error: unknown): Refusal {
  if (!isStoreFailure(error)) throw error
  return because(KAFKA_STORAGE_ERROR, `The store does not answer: ${error.message}.`)
}
