// Describes the store: its place, its room and how it copes, and the space that partitions take in it: the bytes of
// their batches, as their leaders count them, and the store's own numbers of their streams. A store that does not
// answer is described too, because an operator looks here when it does not.

import type { StorageQuery, StorageView, StoreState, StreamUsage } from '../api/storage.ts'
import { type Clock, within } from '../base/clock.ts'
import { isRefusal } from '../protocol/errors.ts'
import { redisTargets } from '../settings/redis-target.ts'
import type { Settings } from '../settings/settings.ts'
import { isStoreFailure, type Store, streamId } from '../store/store.ts'
import type { History } from '../telemetry/history.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Paging, pageOf, searchFor } from './paging.ts'
import { boundsOf, type Place, type ReachRooms, sizesOf } from './reach.ts'

export interface StorageRooms extends ReachRooms {
  readonly store: Store
  readonly settings: Settings
  readonly metrics: Metrics
  readonly history: History
}

/** The time in ms that the store has to answer. */
const ANSWER_MS = 2_000

/** Resolves to the state of the store and a page of the partitions with their usage. */
export async function showStorage(rooms: StorageRooms, query: StorageQuery): Promise<StorageView> {
  const partitions = partitionsOf(rooms, searchFor(query.q))
  const shown = query.sort === 'sizeBytes' ? await bySize(rooms, partitions, query) : byTopic(partitions, query)
  const [streams, store] = await Promise.all([measureStreams(rooms, shown), describeStore(rooms)])
  return { store, streams: [...streams], total: partitions.total }
}

function byTopic({ slice, total }: Partitions, { order, offset, limit }: Paging): readonly Place[] {
  if (order === 'asc') return slice(offset, offset + limit)
  return slice(Math.max(0, total - offset - limit), Math.max(0, total - offset)).toReversed()
}

async function bySize(rooms: StorageRooms, { slice, total }: Partitions, query: Paging): Promise<readonly Place[]> {
  const places = slice(0, total)
  const sizes = await measureSizes(rooms, places)
  const page = pageOf(
    places.map((place, at) => ({ place, size: sizes[at]! })),
    query,
    ({ size }) => size,
    ({ place: { topic } }) => topic.name,
    ({ place: { partition } }) => partition,
  )
  return page.map(({ place }) => place)
}

/** Resolves to the state of the store, even if the store does not answer. */
async function describeStore(rooms: StorageRooms): Promise<StoreState> {
  const { store } = rooms
  const space = await answerOf(rooms, store.space())
  const known = (bytes: number | undefined) => (bytes === undefined || bytes < 0 ? null : bytes)
  const { place = null, totalBytes, usableBytes } = typeof space === 'string' ? {} : space
  return {
    description: store.description,
    place,
    totalBytes: known(totalBytes),
    usableBytes: known(usableBytes),
    breaker: store.breaker,
    pool: poolOf(rooms),
    trouble: typeof space === 'string' ? space : null,
  }
}

/** Resolves to the answer of the store, or to the reason why it gives none. */
export async function answerOf<T extends object>(
  { clock }: { readonly clock: Clock },
  asked: Promise<T>,
): Promise<T | string> {
  const answered = asked.catch((error: unknown) => {
    if (isStoreFailure(error)) return error.message
    throw error
  })
  return await within(clock, ANSWER_MS, answered, () => `the store gave no answer within ${ANSWER_MS} ms`)
}

function poolOf({ metrics, history, settings }: StorageRooms): StoreState['pool'] {
  const counts = new Map(
    Array.from(metrics.series('svc.storage.local.pool.acquire'), ({ labels, count }) => [labels.result, count]),
  )
  if (counts.size === 0) return null
  const { p50, p95, p99 } = history.poolWaits()
  const known = (ms: number) => (Number.isNaN(ms) ? null : ms)
  return {
    size: redisTargets(settings).storage.pool.size,
    pending: metrics.read('svc.storage.local.pool.pending', {}),
    waitMs: { p50: known(p50), p95: known(p95), p99: known(p99) },
    timeouts: counts.get('timeout') ?? 0,
    errors: counts.get('error') ?? 0,
  }
}

interface Partitions {
  /** Returns the places from one number to another, in the order of the topics' names and the partitions. */
  slice(from: number, to: number): readonly Place[]
  readonly total: number
}

/** Returns the partitions of the topics for which `isWanted` returns true. Only `slice` makes their places. */
function partitionsOf(
  { catalogue }: Pick<StorageRooms, 'catalogue'>,
  isWanted: (topic: string) => boolean,
): Partitions {
  const { topics } = catalogue.current()
  const found = [...topics.keys()]
    .filter(isWanted)
    .sort()
    .map(name => topics.get(name)!)
  return {
    total: found.reduce((sum, { partitions }) => sum + partitions, 0),
    slice(from, to) {
      const places: Place[] = []
      let before = 0
      for (const topic of found) {
        const { partitions } = topic
        if (before + partitions > from)
          for (let partition = Math.max(0, from - before); partition < Math.min(partitions, to - before); partition++)
            places.push({ topic, partition })
        before += partitions
        if (before >= to) break
      }
      return places
    },
  }
}

/** Resolves to the bytes of the batches of each partition, in order; null if its leader does not answer. */
async function measureSizes(rooms: StorageRooms, places: readonly Place[]): Promise<readonly (number | null)[]> {
  return (await sizesOf(rooms, places)).map(size => (isRefusal(size) ? null : size))
}

/**
 * Resolves to the usage of each partition, in order. The store's own numbers are null if the store does not answer.
 */
async function measureStreams(rooms: StorageRooms, places: readonly Place[]): Promise<readonly StreamUsage[]> {
  const [sizes, bounds, usages] = await Promise.all([
    measureSizes(rooms, places),
    boundsOf(rooms, places),
    answerOf(rooms, rooms.store.usage(places.map(({ topic, partition }) => streamId(topic.id, partition)))),
  ])
  return places.map(({ topic, partition }, at) => {
    const ends = bounds[at]!
    const usage = typeof usages === 'string' ? null : usages[at]
    return {
      topic: topic.name,
      partition,
      leaderId: rooms.cluster.leaderOf(topic.id, partition),
      sizeBytes: sizes[at]!,
      startOffset: isRefusal(ends) ? null : ends.start,
      endOffset: isRefusal(ends) ? null : ends.end,
      entries: usage?.entries ?? null,
      memoryBytes: usage?.memoryBytes ?? null,
    }
  })
}
