// A remote tier in memory, for tests of logs over two tiers: the tables, their archive, and the holder that fills them.
// It keeps the promises of src/log/archive.ts, and its faults occur only when a test asks for them. Unlike the real one
// it has no files: a segment is one piece.

import assert from 'node:assert/strict'
import type {
  ArchivedPiece,
  ArchivePlace,
  ArchiveRead,
  ArchiveTrouble,
  ColdTier,
  SearchTrouble,
  TableFacts,
} from '../src/log/archive.ts'
import { TierAway } from '../src/log/archive.ts'
import { earlier, larger } from '../src/log/cold-reads.ts'
import type { Logs } from '../src/log/logs.ts'
import type { FoundOffset } from '../src/log/time-search.ts'
import { readRecords, viewBatch } from '../src/protocol/records.ts'
import { type Archived, addable, addRange, covers, moveLogStart, RangeOverlap } from '../src/tier/iceberg/ranges.ts'

interface Piece extends ArchivedPiece {
  readonly batches: readonly Uint8Array[]
}

interface TestTable {
  version: number
  archived: Archived
  readonly pieces: Map<number, Piece[]>
}

const LATE: SearchTrouble = { kind: 'late' }

export class MemoryTier implements ColdTier {
  readonly #tables = new Map<string, TestTable>()
  /** The version that the archive uses. It forgets nothing, so this only counts. */
  reads = 0
  /** How often a table was read. */
  tableReads = 0
  /** Set to make everything answer with it. */
  trouble: ArchiveTrouble | null = null
  /** Set to make searches by time end as if the caller's patience was over. */
  late = false
  /** Holds the answers of the archive until the test resolves it. */
  gate: Promise<void> | null = null
  /** Holds the reads of tables until the test resolves it. */
  tableGate: Promise<void> | null = null

  readonly archive = {
    read: (place: ArchivePlace, offset: number, maxBytes: number, minOneBatch: boolean, until: number) => {
      this.reads++
      if (this.trouble?.kind === 'busy') return this.trouble
      const answer = () => this.trouble ?? this.#read(place, offset, maxBytes, minOneBatch, until)
      return this.gate === null ? answer() : this.gate.then(answer)
    },
    firstSince: async (place: ArchivePlace, timestamp: number, from: number, until: number) => {
      const since = (found: FoundOffset) => found.timestamp >= timestamp
      if (this.late) return LATE
      return this.trouble ?? (await this.#records(place, from, until)).find(since) ?? null
    },
    largest: async (place: ArchivePlace, from: number, until: number) => {
      if (this.late) return LATE
      if (this.trouble !== null) return this.trouble
      const timed = (await this.#records(place, from, until)).filter(({ timestamp }) => timestamp >= 0)
      return timed.length === 0 ? null : timed.reduce(larger)
    },
  }

  noticed(topicId: string): number {
    return this.#tables.get(topicId)?.version ?? 0
  }

  async table({ id }: { readonly id: string }): Promise<TableFacts> {
    this.tableReads++
    await this.tableGate
    if (this.trouble !== null) throw new TierAway('away', 'why' in this.trouble ? this.trouble.why : 'it is busy')
    const table = this.#tables.get(id)
    const { version = 0, archived = { ranges: new Map(), logStarts: new Map() } } = table ?? {}
    return {
      version,
      partition: index => ({
        ranges: archived.ranges.get(index) ?? [],
        logStart: archived.logStarts.get(index) ?? 0,
      }),
    }
  }

  async pieces({ topicId, partition }: ArchivePlace): Promise<readonly ArchivedPiece[] | ArchiveTrouble> {
    return this.trouble ?? this.#tables.get(topicId)?.pieces.get(partition) ?? []
  }

  /** The ranges of a partition. */
  ranges(topicId: string, index: number) {
    return this.#tables.get(topicId)?.archived.ranges.get(index) ?? []
  }

  /** Returns a copy of what the archive has, as [first, last] offsets of batches. */
  batches(topicId: string, index: number): readonly Uint8Array[] {
    return (this.#tables.get(topicId)?.pieces.get(index) ?? []).flatMap(({ batches }) => batches)
  }

  /** Archives the sealed segments of a partition, or those that the test chooses, and tells the brokers. */
  async offload(logs: Logs, topicId: string, index = 0, chooses = (_base: number) => true): Promise<number> {
    const table = this.#tables.get(topicId) ?? { version: 0, archived: none(), pieces: new Map() }
    const { segments, remote } = await logs.sealedSegments(topicId, index)
    let { archived } = table
    if (remote !== null) archived = moveLogStart(archived, index, remote.logStart)
    const pieces = [...(table.pieces.get(index) ?? [])]
    let added = 0
    for (const { base, next, maxTimestamp, epochs } of segments) {
      if (!chooses(base) || covers(archived, index, [base, next])) continue
      const range = addable(archived, index, [base, next])
      assert.ok(range !== null)
      const larger = grown(archived, index, range)
      if (larger === null) continue
      const batches: Uint8Array[] = []
      for await (const some of logs.readRange(topicId, index, base, next))
        batches.push(...some.map(each => Uint8Array.from(each)))
      archived = larger
      const bytes = batches.reduce((sum, { length }) => sum + length, 0)
      pieces.push({ base: range[0], next, bytes, maxTimestamp, epochs, batches })
      added++
    }
    if (added === 0 && archived === table.archived) return 0
    const start = archived.logStarts.get(index) ?? 0
    table.pieces.set(
      index,
      pieces.filter(({ next }) => next > start).sort((a, b) => a.base - b.base),
    )
    this.#tables.set(topicId, { ...table, archived, version: table.version + 1 })
    return added
  }

  #read(
    { topicId, partition }: ArchivePlace,
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    until: number,
  ): ArchiveRead {
    const batches: Uint8Array[] = []
    let bytes = 0
    for (const batch of this.batches(topicId, partition)) {
      const { lastOffset } = viewBatch(batch)
      if (lastOffset < offset) continue
      if (lastOffset >= until) break
      if (bytes + batch.length > maxBytes && !(minOneBatch && batches.length === 0)) {
        if (batches.length === 0) return { kind: 'read', batches, bytes, release: null }
        break
      }
      batches.push(batch)
      bytes += batch.length
    }
    return batches.length === 0 ? { kind: 'nothing' } : { kind: 'read', batches, bytes, release: null }
  }

  async #records({ topicId, partition }: ArchivePlace, from: number, until: number): Promise<FoundOffset[]> {
    const found: FoundOffset[] = []
    for (const bytes of this.batches(topicId, partition)) {
      const { leaderEpoch } = viewBatch(bytes)
      for (const { offset, timestamp } of await readRecords(bytes)) {
        if (offset >= from && offset < until) found.push({ offset, timestamp: Number(timestamp), leaderEpoch })
      }
    }
    return found.sort((a, b) => (earlier(a, b) === a ? -1 : 1))
  }
}

const none = (): Archived => ({ ranges: new Map(), logStarts: new Map() })

/**
 * Returns the archive with a range more; null if it has a part of it. A document that went back in time may name a
 * segment that the table has in part. The job of such a segment fails.
 */
function grown(archived: Archived, index: number, range: readonly [number, number]): Archived | null {
  try {
    return addRange(archived, index, range)
  } catch (error) {
    if (error instanceof RangeOverlap) return null
    throw error
  }
}
