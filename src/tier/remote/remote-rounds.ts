// The part of the worker's rounds that moves sealed segments to their tables and keeps these, as worker.ts sees it.
// The broker that holds the lease has it; holder.ts does it.

import type { Logs } from '../../log/logs.ts'
import type { RemoteNews } from '../../log/remote-news.ts'
import type { Lease } from '../lease.ts'
import type { RemoteTier } from './remote-tier.ts'

export type { RemoteNews }

/** The work of the holder since its last report, and the work that waits. */
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
  /**
   * Begins a term of the lease, or goes on with it. `fence` is the version of the takeover; 0 on the embedded store.
   */
  begin(fence: number): void
  /** Returns the change up to which this broker has heard the news of another one; 0: it wants all of them. */
  since(brokerId: number, incarnation: string): number
  heard(brokerId: number, incarnation: string, news: RemoteNews): void
  /**
   * Begins the holder's part of a round. Resolves when the work that it began has ended.
   * Work of an earlier round goes on; no topic has two at once. Rejects with mistakes of this program.
   */
  run(): Promise<void>
  report(): OffloadReport
  /** Ends the term: the lease is lost. Work that runs ends at its next step. */
  end(): void
  /** Ends the term, and begins no other one. */
  release(): void
  /** Releases, and resolves when all work has ended. */
  close(): Promise<void>
}

/** The log as the holder reads it, without the lead of partitions. */
export type HolderLogs = Pick<Logs, 'sealedSegments' | 'readRange'>

export interface HolderRooms {
  readonly lease: Pick<Lease, 'isHeld' | 'fence' | 'look'>
  readonly logs: HolderLogs
}

/** The remote tier with what only the broker itself calls. */
export interface BrokerTier extends RemoteTier {
  holder(rooms: HolderRooms): RemoteRounds
}
