// The shape of the archive that a log reads from when local segments are gone. log/ declares it; tier/archive/
// implements it.

import type { Patience } from '../base/patience.ts'
import type { EpochStart } from '../store/store.ts'
import type { FoundOffset } from './time-search.ts'

/** A partition, with the names by which its table is found. */
export interface ArchivePlace {
  readonly topicId: string
  readonly topicName: string
  readonly partition: number
}

export type ArchiveRead =
  | {
      readonly kind: 'read'
      /** Whole batches in the order of their offsets, as clients see them. Views: batches may share their memory. */
      readonly batches: readonly Uint8Array[]
      /** The sum of their lengths. */
      readonly bytes: number
    }
  /** The table has no batch at or above the offset that ends below the limit. */
  | { readonly kind: 'nothing' }
  | ArchiveTrouble

export type ArchiveTrouble =
  /** The queue of reads is full. Nothing was read. */
  | { readonly kind: 'busy' }
  /** The object store or the archive cannot answer now. A later read may succeed. */
  | { readonly kind: 'away'; readonly why: string }
  /** The table, or a file of it, is missing or cannot be read. It does not mend itself. */
  | { readonly kind: 'damaged'; readonly why: string }

export interface Archive {
  /**
   * Returns batches from the one that has the offset on, or from the next one if the offset is in a gap; only batches
   * whose offsets are all below `until`. Returns at least one batch even if it is larger than maxBytes, unless
   * minOneBatch is false: then `batches` is empty. It may return fewer bytes than maxBytes although there are more.
   * Returns at once what is in memory, and a promise of the rest. It never rejects for a fault of the store or a file.
   */
  read(
    place: ArchivePlace,
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    until: number,
  ): ArchiveRead | Promise<ArchiveRead>
  /**
   * Resolves with the first record of the offsets [from, until) whose timestamp (ms) is at or after this one; null if
   * the table has none. 'away' if the patience ends first.
   */
  firstSince(
    place: ArchivePlace,
    timestamp: number,
    from: number,
    until: number,
    patience: Patience,
  ): Promise<FoundOffset | null | ArchiveTrouble>
  /**
   * Resolves with the record of the offsets [from, until) that has the largest timestamp, the first one if several have
   * it (KIP-734); null if no record has a timestamp. 'away' if the patience ends first.
   */
  largest(
    place: ArchivePlace,
    from: number,
    until: number,
    patience: Patience,
  ): Promise<FoundOffset | null | ArchiveTrouble>
}

/** A table as the log uses it. */
export interface TableFacts {
  /** 0: the topic has no table. */
  readonly version: number
  /** The archived ranges [base, next), ascending and disjoint, and what retention has passed. */
  partition(index: number): { readonly ranges: readonly (readonly [number, number])[]; readonly logStart: number }
}

/** A file of the archive: the offsets [base, next) of a partition. */
export interface ArchivedPiece {
  readonly base: number
  readonly next: number
  /** Bytes of its batches, as clients see them. */
  readonly bytes: number
  /** The time by which it ages, in ms: its largest record timestamp, but not later than the day of its offload. */
  readonly maxTimestamp: number
  /** The leader epochs of its offsets; null if only the file itself knows them. */
  readonly epochs: readonly EpochStart[] | null
}

/** The remote tier as the log uses it; null on a broker without storage.remote.path. */
export interface ColdTier {
  readonly archive: Archive
  /** Returns the version of the newest table that the holder of the lease has named in its notices; 0: none. */
  noticed(topicId: string): number
  /**
   * Resolves with the table as it is at the call or later, and makes the archive use that version. Rejects with
   * TierAway.
   */
  table(topic: { readonly id: string; readonly name: string }): Promise<TableFacts>
  /** Resolves with the archived files of a partition, ascending, from the loaded index (loads it if needed). */
  pieces(place: ArchivePlace): Promise<readonly ArchivedPiece[] | ArchiveTrouble>
}

/** The remote tier cannot tell what a table has. */
export class TierAway extends Error {
  override readonly name = 'TierAway'
  readonly kind: 'away' | 'damaged'

  constructor(kind: 'away' | 'damaged', message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}
