// Describes the remote tier, from any broker: the place of its tables, how this broker copes with it, and the segments
// that wait for their offload. The holder of the storage worker's lease tells all brokers how much waits. This file
// changes nothing.

import type { RemoteStorage, RemoteStorageQuery, RemoteTable, StorageStats } from '../api/storage.ts'
import { aFewAtATime } from '../base/a-few.ts'
import { type Clock, within } from '../base/clock.ts'
import { TierAway } from '../log/archive.ts'
import type { Settings } from '../settings/settings.ts'
import { capabilityStates } from '../settings/switches.ts'
import { isStoreFailure } from '../store/store.ts'
import type { RemoteTier, TableName } from '../tier/remote/remote-tier.ts'
import { type Declined, declined, isDeclined } from './declined.ts'
import { searchFor } from './paging.ts'
import { sentences } from './sentences.ts'

export interface RemoteRooms {
  /** Null on a broker without storage.remote.path. */
  readonly remoteTier: RemoteTier | null
  readonly settings: Settings
  readonly clock: Clock
}

/** The time in ms that the object store has to answer for each table. */
const ANSWER_MS = 2_000

/** Returns a sentence for people about a broker without a remote tier. */
export function whyNoTier(settings: Settings): string {
  const state = capabilityStates(settings).find(({ id }) => id === 'remote-tier')
  return state?.because ?? 'The remote tier is off.'
}

/** Returns the rooms with their remote tier, or declines on a broker without one. */
export function withTier<R extends Pick<RemoteRooms, 'remoteTier' | 'settings'>>(
  rooms: R,
): (R & { readonly remoteTier: RemoteTier }) | Declined {
  const { remoteTier } = rooms
  return remoteTier === null ? declined('REMOTE_TIER_OFF', whyNoTier(rooms.settings)) : { ...rooms, remoteTier }
}

export interface StatsRooms {
  readonly remoteTier: Pick<RemoteTier, 'backlog'> | null
  readonly clock: Clock
}

/**
 * Resolves when this broker knows what the holder of the lease said last, or when it cannot hear it now. A broker that
 * leads no partition hears it at no other time.
 */
export async function hearHolder({ remoteTier, clock }: Pick<RemoteRooms, 'clock' | 'remoteTier'>): Promise<void> {
  const heard = remoteTier?.follow().catch((error: unknown) => {
    // The answer then shows the state as it was known last.
    if (!isStoreFailure(error)) throw error
  })
  await within(clock, ANSWER_MS, Promise.resolve(heard), () => undefined)
}

/** Returns what the holder of the lease said last; rates of 0 and nulls before that, and without a remote tier. */
export function storageStats({ remoteTier, clock }: StatsRooms): StorageStats {
  const backlog = remoteTier?.backlog() ?? null
  if (backlog === null)
    return { segmentsPerMin: 0, bytesPerMin: 0, backlogSegments: null, backlogBytes: null, backlogAgeSeconds: null }
  const { segmentsPerMin, bytesPerMin, segments, bytes, oldestSealedAtMs } = backlog
  // The clock of the leader that sealed the segment may be ahead.
  const ageMs = oldestSealedAtMs === null ? 0 : Math.max(0, clock.now() - oldestSealedAtMs)
  return {
    ...{ segmentsPerMin, bytesPerMin },
    ...{ backlogSegments: segments, backlogBytes: bytes, backlogAgeSeconds: Math.round(ageMs) / 1_000 },
  }
}

/** Resolves to the remote tier and a page of its tables. */
export async function showRemote(
  rooms: RemoteRooms,
  { q, order, offset, limit }: RemoteStorageQuery,
): Promise<RemoteStorage | Declined> {
  const tiered = withTier(rooms)
  return isDeclined(tiered) ? tiered : await describeRemote(tiered, { isWanted: searchFor(q), order, offset, limit })
}

/** A page of the tables, in the order of the topics' names, that have a wanted name. */
export interface TablePage {
  readonly isWanted: (topic: string) => boolean
  readonly order: 'asc' | 'desc'
  readonly offset: number
  readonly limit: number
}

export async function describeRemote(
  rooms: RemoteRooms & { readonly remoteTier: RemoteTier },
  { isWanted, order, offset, limit }: TablePage,
): Promise<RemoteStorage> {
  const { remoteTier: tier, settings, clock } = rooms
  await hearHolder(rooms)
  const { breaker, why, sinceMs, createOnly, readsWaiting, cacheBytes, suspended, passed, foreign } = tier.state()
  const reasons = new Map(foreign.map(each => [each.topicId, each.why]))
  const ascending = tier.tables().filter(({ topicName }) => isWanted(topicName))
  const wanted = order === 'asc' ? ascending : ascending.toReversed()
  const shown = wanted.slice(offset, offset + limit)
  const tables = await aFewAtATime(clock, shown, table =>
    describeTable(rooms, table, reasons.get(table.topicId) ?? null),
  )
  return {
    ...{ place: tier.uri, namespace: tier.namespace },
    ...{ breaker, breakerChangedAt: new Date(sinceMs).toISOString(), trouble: why, createOnly },
    reads: {
      threads: settings.get('storage.remote.iceberg.read.threads'),
      waiting: readsWaiting,
      queueCapacity: settings.get('storage.remote.iceberg.read.queue-capacity'),
      cacheBytes,
      cacheCapacityBytes: settings.get('storage.remote.iceberg.read.cache-bytes'),
    },
    ...{ suspended, passed, tables: [...tables], total: wanted.length },
  }
}

async function describeTable(
  { remoteTier: tier, clock }: RemoteRooms & { readonly remoteTier: RemoteTier },
  { topicId, topicName: topic }: TableName,
  foreign: string | null,
): Promise<RemoteTable> {
  const unknown = (trouble: string): RemoteTable => {
    const numbers = { version: null, snapshots: null, files: null, bytes: null, rows: null }
    return {
      topic,
      topicId,
      location: null,
      ...numbers,
      trouble: sentences(foreign === null ? [trouble] : [foreign, trouble]),
    }
  }
  // A place that is known to be away gets no further questions.
  const { breaker, why } = tier.state()
  if (breaker === 'open') return unknown(why ?? 'The object store does not answer.')
  const asked = tier.describeTable(topicId).catch((error: unknown) => {
    if (error instanceof TierAway) return error.message
    throw error
  })
  const found = await within(clock, ANSWER_MS, asked, () => `The object store gave no answer within ${ANSWER_MS} ms.`)
  if (typeof found === 'string') return unknown(found)
  return found === null ? unknown('The table does not exist any more.') : { topic, topicId, ...found, trouble: foreign }
}
