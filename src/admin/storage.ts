// Measures the space that partitions take in the store: the bytes of their batches, as their leaders count them, and
// the store's own numbers of their streams.

import type { StreamUsage } from '../api/storage.ts'
import { isRefusal } from '../protocol/errors.ts'
import { type Store, streamId } from '../store/store.ts'
import { boundsOf, type Place, placesOf, type ReachRooms, sizesOf } from './reach.ts'

export interface StorageRooms extends ReachRooms {
  readonly store: Store
}

/** Returns every partition of the topics for which `isWanted` returns true. */
export function partitionsOf({ catalogue }: Pick<StorageRooms, 'catalogue'>, isWanted: (topic: string) => boolean) {
  return [...catalogue.current().topics.values()].filter(({ name }) => isWanted(name)).flatMap(placesOf)
}

/** Resolves to the bytes of the batches of each partition, in order; null if its leader does not answer. */
export async function measureSizes(rooms: StorageRooms, places: readonly Place[]): Promise<readonly (number | null)[]> {
  return (await sizesOf(rooms, places)).map(size => (isRefusal(size) ? null : size))
}

/** Resolves to the usage of each partition, in order. Throws what the store throws. */
export async function measureStreams(rooms: StorageRooms, places: readonly Place[]): Promise<readonly StreamUsage[]> {
  const [sizes, bounds, usages] = await Promise.all([
    measureSizes(rooms, places),
    boundsOf(rooms, places),
    rooms.store.usage(places.map(({ topic, partition }) => streamId(topic.id, partition))),
  ])
  return places.map(({ topic, partition }, at) => {
    const ends = bounds[at]!
    return {
      topic: topic.name,
      partition,
      leaderId: rooms.cluster.leaderOf(topic.id, partition),
      sizeBytes: sizes[at]!,
      startOffset: isRefusal(ends) ? null : ends.start,
      endOffset: isRefusal(ends) ? null : ends.end,
      entries: usages[at]?.entries ?? null,
      memoryBytes: usages[at]?.memoryBytes ?? null,
    }
  })
}
