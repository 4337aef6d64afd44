// The part of the worker's rounds that moves sealed segments to their tables and keeps these, as worker.ts sees it. The
// broker that holds the lease has it; holder.ts does it.

import type { SealedSegments } from '../../log/segments.ts'
import type { Lease } from '../lease.ts'
import type { RemoteTier } from './remote-tier.ts'

/** The partitions of topics with a remote tier that a broker leads and whose documents of segments have changed. */
export interface RemoteNews {
  /** The broker counts its changes. The holder asks for those after this one the next time. */
  readonly to: number
  readonly topics: readonly { readonly topicId: string; readonly partitions: readonly number[] }[]
}

/** What the holder has done since its last report, and what waits. */
export interface OffloadReport {
  /** Segments that were offloaded, and their stored bytes. */
  readonly segments: number
  readonly bytes: number
  /** Attempts of jobs, and steps for tables, that failed. */
  readonly failures: number
  /** Segments that wait for their offload, and their stored bytes. */
  readonly waitingSegments: number
  readonly waitingBytes: number
}

export interface RemoteRounds {
  /** Returns the change up to which this broker has heard the news of another one; 0: it wants all of them. */
  since(brokerId: number, incarnation: string): number
  heard(brokerId: number, incarnation: string, news: RemoteNews): void
  /**
   * Begins the holder's part of a round, under the fence of the lease. Resolves when the work that it began has ended.
   * Work of an earlier round goes on; no topic has two at once. Rejects with mistakes of this program.
   */
  run(fence: number): Promise<void>
  report(): OffloadReport
  /** Begins nothing more, and ends what runs at its next step. */
  release(): void
  /** Releases, and resolves when all work has ended. */
  close(): Promise<void>
}

/** The log as the holder reads it, without the lead of partitions. */
export interface HolderLogs {
  sealedSegments(topicId: string, index: number): Promise<SealedSegments>
  /** Yields whole batches as clients see them. Throws UnreadableBatch for one that fails its checksum. */
  readRange(topicId: string, index: number, base: number, next: number): AsyncIterable<readonly Uint8Array[]>
}

export interface HolderRooms {
  readonly lease: Pick<Lease, 'isHeld' | 'fence' | 'look'>
  readonly logs: HolderLogs
}

/** The remote tier with what only the broker itself calls. */
export interface BrokerTier extends RemoteTier {
  holder(rooms: HolderRooms): RemoteRounds
}
