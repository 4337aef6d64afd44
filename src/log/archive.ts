// The shapes of the remote tier as a log uses it: the archive from which it reads when local segments are gone, and the
// facts of the tables. log/ declares them; tier/archive/ and tier/remote/ implement them.

import type { Patience } from '../base/patience.ts'
import type { EpochStart } from '../store/store.ts'
import type { Span } from './remote-log.ts'
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
      /**
       * Like Read.release of the store: the caller may call it once, when it no longer needs the batches, whose bytes
       * may be gone then. Null if others have the same answer.
       */
      readonly release: (() => void) | null
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

/** The trouble of a search. `late`: its caller's patience has ended, whatever the caller's clock says yet. */
export type SearchTrouble = ArchiveTrouble | { readonly kind: 'late' }

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
   * the table has none. 'late' if the patience ends first.
   */
  firstSince(
    place: ArchivePlace,
    timestamp: number,
    from: number,
    until: number,
    patience: Patience,
  ): Promise<FoundOffset | null | SearchTrouble>
  /**
   * Resolves with the record of the offsets [from, until) that has the largest timestamp, the first one if several have
   * it (KIP-734); null if no record has a timestamp. 'late' if the patience ends first.
   */
  largest(
    place: ArchivePlace,
    from: number,
    until: number,
    patience: Patience,
  ): Promise<FoundOffset | null | SearchTrouble>
}

/** A topic's table at one version, as far as logs need it. */
export interface TableFacts {
  /** 0: there is no table. */
  readonly version: number
  /** `ranges` are sorted, disjoint, with neighbours joined. Offsets below `logStart` are not archived any more. */
  partition(index: number): { readonly ranges: readonly Span[]; readonly logStart: number }
}

/** A data file of a partition. */
export interface ArchivedPiece {
  /** The offsets [base, next) that it covers. */
  readonly base: number
  readonly next: number
  /** Bytes of its batches, as clients see them. */
  readonly bytes: number
  /** The largest record timestamp; -1 if no record has one. Null: unknown, so its records have no known age. */
  readonly maxTimestamp: number | null
  /** No record of it was appended later than this (ms). Null or absent: unknown. */
  readonly appendedByMs?: number | null
  /** The leader epochs that own its offsets; null if only the file itself says where they begin. */
  readonly epochs: readonly EpochStart[] | null
}

/** The remote tier as the log uses it; null on a broker without storage.remote.path. */
export interface ColdTier {
  readonly archive: Archive
  /** Returns the version of the newest table that the holder has named in its notices; 0 if it has named none. */
  noticed(topicId: string): number
  /**
   * Reads the table of a topic, at least as new as the call, and makes the archive use that version. Rejects with
   * TierAway.
   */
  table(topic: { readonly id: string; readonly name: string }): Promise<TableFacts>
  /** Resolves with the files of a partition in the order of their offsets. Loads the index if it is not loaded yet. */
  pieces(place: ArchivePlace): Promise<readonly ArchivedPiece[] | ArchiveTrouble>
}

/** The table of a topic cannot be read. `away`: a later call may succeed. `damaged`: it does not mend itself. */
export class TierAway extends Error {
  override readonly name = 'TierAway'
  readonly kind: 'away' | 'damaged'

  constructor(kind: 'away' | 'damaged', why: string, options?: ErrorOptions) {
    super(why, options)
    this.kind = kind
  }
}
