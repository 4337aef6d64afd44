// A table in a test: its dependencies, files with the bounds that a real one has, and changes as another engine makes
// them, by text and without the code under test.

import assert from 'node:assert/strict'
import type { Clock } from '../src/base/clock.ts'
import { ENDLESS } from '../src/base/patience.ts'
import { type Random, seededRandom, uuidText } from '../src/base/random.ts'
import { DAY_MS } from '../src/tier/columns/data-file.ts'
import { FIELD } from '../src/tier/columns/table-schema.ts'
import { type Change, type Committed, commit, type Guard } from '../src/tier/iceberg/commit.ts'
import type { AddedFile } from '../src/tier/iceberg/manifest-writer.ts'
import type { CommitDeps } from '../src/tier/iceberg/put-once.ts'
import { addRange, readArchived, writeArchived } from '../src/tier/iceberg/ranges.ts'
import { createTable, loadTable, type Table } from '../src/tier/iceberg/table.ts'
import { dataFileKey, tableLocation } from '../src/tier/iceberg/table-files.ts'
import { ObjectStoreError, type Objects } from '../src/tier/objects/objects.ts'

export const LOCATION = tableLocation('default', 'orders', 'AAAAAAAAAAAAAAAAAAAAAQ')

/** A clock that stands at a time until the test moves it. Its timers fire at once, so that pauses take no time. */
export class PromptClock implements Clock {
  atMs: number

  constructor(atMs = Date.UTC(2026, 10, 20, 12)) {
    this.atMs = atMs
  }

  now = () => this.atMs
  monotonic = () => this.atMs
  soon = (fn: () => void) => void setImmediate(fn)
  timer(_delayMs: number, fn: () => void) {
    const handle = setImmediate(fn)
    return { cancel: () => clearImmediate(handle) }
  }
}

export function testDeps(seed = 1, clock: Clock = new PromptClock()): CommitDeps {
  return { clock, random: seededRandom(seed), patience: ENDLESS }
}

export const newTable = (objects: Objects, deps: CommitDeps) =>
  createTable(objects, LOCATION, { 'kafka.topic': 'orders' }, deps)

/** Resolves with the newest version of the table of a test. */
export async function newest(objects: Objects): Promise<Table> {
  const table = await loadTable(objects, LOCATION)
  assert.ok(table !== null, 'the table is missing')
  return table
}

export const unguarded: Guard = () => {}

const bound = (bytes: number, value: bigint) => {
  const buffer = Buffer.alloc(bytes)
  if (bytes === 4) buffer.writeInt32LE(Number(value))
  else buffer.writeBigInt64LE(value)
  return buffer
}

/** A segment of a partition, with one record for each offset. */
export interface TestSegment {
  readonly partition: number
  readonly base: number
  readonly next: number
  readonly ingestedAt?: number
}

/** Returns the facts of a file with the segment's records, of which the bytes are made up. */
export function factsOf({ partition, base, next, ingestedAt = Date.UTC(2026, 10, 20) }: TestSegment, key: string) {
  const rows = next - base
  const kafkaBytes = rows * 100
  const minTimestamp = ingestedAt - rows
  const leaves: readonly [id: number, bytes: number, low: number, high: number][] = [
    [FIELD.partition, 4, partition, partition],
    [FIELD.offset, 8, base, next - 1],
    [FIELD.timestamp, 8, minTimestamp * 1000, (ingestedAt - 1) * 1000],
    [FIELD.leaderEpoch, 4, 3, 3],
  ]
  const each = (value: number) => new Map(leaves.map(([id]) => [id, value]))
  const segment = {
    base,
    next,
    bytes: kafkaBytes,
    batches: 1,
    rows,
    rawBytes: 0,
    unreadable: 0,
    ingestedAt,
    minTimestamp,
  }
  const file: AddedFile = {
    key,
    partition,
    base,
    next,
    firstOffset: base,
    lastOffset: next - 1,
    rows,
    kafkaBytes,
    rawBytes: 0,
    ingestedAt,
    ingestedDay: Math.floor(ingestedAt / DAY_MS),
    minTimestamp,
    maxTimestamp: ingestedAt - 1,
    epochs: [[3, base]],
    segments: [{ ...segment, maxTimestamp: ingestedAt - 1 }],
    size: 64,
    splitOffsets: [4],
    columnSizes: each(rows),
    valueCounts: each(rows),
    nullValueCounts: each(0),
    lowerBounds: new Map(leaves.map(([id, bytes, low]) => [id, bound(bytes, BigInt(low))])),
    upperBounds: new Map(leaves.map(([id, bytes, , high]) => [id, bound(bytes, BigInt(high))])),
  }
  return file
}

/** Writes the file of a segment under a name that no other file has. */
export async function upload(objects: Objects, segment: TestSegment, random: Random): Promise<AddedFile> {
  const { partition, base, next, ingestedAt = Date.UTC(2026, 10, 20) } = segment
  const name = { partition, ingestedAt, base, next, kafkaBytes: (next - base) * 100 }
  const file = factsOf(segment, dataFileKey(LOCATION, name, uuidText(random)))
  await objects.write(file.key, Buffer.alloc(file.size, 'PAR1'))
  return file
}

/** Returns the change that adds the files and their ranges. Each attempt refuses what the table already has. */
export function archive(files: readonly AddedFile[]): Change {
  return {
    append: files,
    properties: ({ properties }) => {
      let archived = readArchived(properties)
      for (const { partition, base, next } of files) archived = addRange(archived, partition, [base, next])
      return writeArchived(archived)
    },
  }
}

/** Uploads and commits the segments in one snapshot. */
export async function archiveSegments(
  table: Table,
  segments: readonly TestSegment[],
  deps: CommitDeps,
): Promise<Committed> {
  const files: AddedFile[] = []
  for (const segment of segments) files.push(await upload(table.objects, segment, deps.random))
  return commit(table, archive(files), unguarded, deps)
}

/** Tries again while the store is away, as a worker does in its next round. */
export async function persistently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ObjectStoreError) || error.kind !== 'away') throw error
    }
  }
}

/** A snapshot id that a number cannot hold. */
export const FOREIGN_ID = '7397555330850519247'

/**
 * Commits a version as another engine would: it keeps the files, has a snapshot with a 63-bit id, and members that this
 * broker does not know. Its text is put together without a JSON library. The
 * snapshot has the manifest list with this URI; by default that of the snapshot before it.
 */
export async function foreignCommit(objects: Objects, manifestList?: string): Promise<void> {
  for (;;) {
    const { version, metadata } = await newest(objects)
    const key = (of: number) => `${LOCATION}/metadata/v${of}.metadata.json`
    const text = Buffer.from((await objects.read(key(version)))!).toString()
    const current = metadata.snapshots.at(-1)
    assert.ok(current !== undefined, 'a foreign commit needs a snapshot to begin with')
    const sequence = metadata['last-sequence-number'] + 1
    const atMs = metadata['last-updated-ms'] + 1
    const snapshot =
      `{"snapshot-id":${FOREIGN_ID},"parent-snapshot-id":${current['snapshot-id']},"sequence-number":${sequence},` +
      `"timestamp-ms":${atMs},"manifest-list":"${manifestList ?? current['manifest-list']}","schema-id":0,` +
      `"summary":{"operation":"replace","engine-name":"other"},"added-by":{"ratio":1.0,"id":${FOREIGN_ID}}}`
    const changed = text
      .replace(/"current-snapshot-id":\d+/, `"current-snapshot-id":${FOREIGN_ID}`)
      .replace(/"last-sequence-number":\d+/, `"last-sequence-number":${sequence}`)
      .replace(/"last-updated-ms":\d+/, `"last-updated-ms":${atMs}`)
      .replace(/"main":\{"type":"branch","snapshot-id":\d+/, `"main":{"type":"branch","snapshot-id":${FOREIGN_ID}`)
      .replace('"snapshots":[', `"x-vendor":{"exponent":1e3,"big":18446744073709551615},"snapshots":[`)
      .replace(/\],"snapshot-log":\[/, `,${snapshot}],"snapshot-log":[`)
    const outcome = await objects.create(key(version + 1), Buffer.from(changed))
    if (outcome === 'created') return
  }
}
