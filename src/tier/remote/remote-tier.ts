// The remote tier of a broker, as the rooms above see it: the place of the tables, their contents, the offload jobs,
// and how the tier copes. Only shapes: open-remote-tier.ts opens one, and nothing of it is loaded without
// storage.remote.path.

import type { ArchivePlace, ArchiveTrouble, ColdTier } from '../../log/archive.ts'
import type { JobDocuments } from '../offload/job-documents.ts'

export interface RemoteTier extends ColdTier {
  /** The place as Iceberg metadata names it: `s3://bucket/prefix` or `file:///path`. */
  readonly uri: string
  /** The namespace of the tables in the catalog, and the first folder of their locations. */
  readonly namespace: string
  readonly jobs: JobDocuments
  state(): TierState
  /** Returns what the holder of the lease said last; null until it has said it. */
  backlog(): TierBacklog | null
  /**
   * Reads the notices of the holder, one read of a version if nothing has changed, and asks an open breaker's place
   * again. Each broker does so once in each of its rounds. Throws what the store throws.
   */
  follow(): Promise<void>
  /** Resolves with the table of a topic; null if it has none. Rejects with TierAway. Reads the metadata only. */
  describeTable(topicId: string): Promise<TableDescription | null>
  /** Resolves with the archived files of a partition that have offsets in [base, next), ascending. */
  inspect(place: ArchivePlace, base: number, next: number): Promise<readonly InspectedFile[] | ArchiveTrouble>
  /** Returns the topics that have a table, in the order of their names, as the notices say. */
  tables(): readonly TableName[]
  /**
   * Resolves with the newest metadata of a topic's table, for the catalog; null if it has none. Rejects with
   * TierAway.
   */
  metadata(topicId: string): Promise<CatalogMetadata | null>
  close(): Promise<void>
}

export interface TierState {
  /**
   * Open: the place did not answer its last probe. The holder of the lease starts no attempt while its breaker is
   * open.
   */
  readonly breaker: 'closed' | 'open'
  /** Why the breaker is open. */
  readonly why: string | null
  /** The time since when the breaker is as it is, in ms since 1970 by the clock of this broker. */
  readonly sinceMs: number
  /** Why the place took no object, if this broker has written no data file since. */
  readonly full: string | null
  /**
   * Whether the place creates an object only once, as far as this broker has asked. No commit is made if it does not.
   */
  readonly createOnly: 'unknown' | 'kept' | 'broken'
  /** Readers of the archive that wait for their turn. */
  readonly readsWaiting: number
  /** Memory of restored batches. */
  readonly cacheBytes: number
  /**
   * Jobs without attempts left: no broker claims them until an operator retries them. As of the holder's last round.
   */
  readonly suspended: number
  /** Jobs that retention cancelled in the last day, before their segments were offloaded. */
  readonly passed: number
  /** Topics whose tables get no more commits, because files of theirs are missing. */
  readonly foreign: readonly { readonly topicId: string; readonly why: string }[]
}

/** The segments that wait for their offload, and the speed of the offload. */
export interface TierBacklog {
  readonly segments: number
  /** Stored bytes. */
  readonly bytes: number
  /** When the oldest of them was sealed, in ms since 1970; null if none waits. */
  readonly oldestSealedAtMs: number | null
  readonly suspended: number
  readonly passed: number
  /** Offloaded in the last minute. */
  readonly segmentsPerMin: number
  readonly bytesPerMin: number
}

export interface TableName {
  readonly topicId: string
  readonly topicName: string
}

export interface TableDescription {
  /** A URI. */
  readonly location: string
  readonly version: number
  readonly snapshots: number
  /** Data files of the current snapshot, their bytes, and their rows. */
  readonly files: number
  readonly bytes: number
  readonly rows: number
}

export interface InspectedFile {
  /** A URI. */
  readonly path: string
  /** The offsets [base, next) that it covers. */
  readonly base: number
  readonly next: number
  readonly rows: number
  /** The size of the file. */
  readonly bytes: number
  /** Bytes of its batches, as clients see them; null for a file of another writer. */
  readonly kafkaBytes: number | null
  readonly minTimestamp: number | null
  readonly maxTimestamp: number | null
}

export interface CatalogMetadata {
  /** URIs. */
  readonly location: string
  readonly metadataLocation: string
  /** The JSON of Iceberg's table metadata. Integers have up to 63 bits: JSON.parse would change them. */
  readonly text: string
}
