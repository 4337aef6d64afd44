// The size of a table's metadata after a thousand commits with upkeep, or after ten thousand with KETCH_LONG=1. It
// counts bytes and files, and measures no time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLong } from '../../../testing/at-length.ts'
import {
  archiveSegments,
  LOCATION,
  newTable,
  PromptClock,
  testDeps,
  unguarded,
} from '../../../testing/iceberg-table.ts'
import { MemoryObjects } from '../../../testing/memory-objects.ts'
import { expireSnapshots, MOST_SNAPSHOTS } from './expire-snapshots.ts'
import { OffsetIndexer } from './offset-index.ts'
import { removeOldMetadata } from './old-metadata.ts'
import { removeBelow } from './retention.ts'
import { MERGE_AT } from './stage-snapshot.ts'
import { sweepOrphans } from './sweep-orphans.ts'
import { manifestsOf } from './table.ts'
import { versionKey } from './table-files.ts'

const COMMITS = isLong ? 10_000 : 1_000
const PARTITIONS = 4
const MB = 1024 * 1024

test(`after ${COMMITS} commits a version of the metadata and what an engine reads of it are small`, async t => {
  const clock = new PromptClock()
  const deps = testDeps(1, clock)
  const memory = new MemoryObjects(clock)
  let table = await newTable(memory, deps)
  let largest = 0
  let mostManifests = 0
  for (let i = 1; i <= COMMITS; i++) {
    clock.atMs += 5 * 60_000
    const segments = Array.from({ length: PARTITIONS }, (_, partition) => ({
      partition,
      base: (i - 1) * 10,
      next: i * 10,
    }))
    table = (await archiveSegments(table, segments, deps)).table
    largest = Math.max(largest, memory.held.get(versionKey(LOCATION, table.version))!.bytes.length)
    mostManifests = Math.max(mostManifests, (await manifestsOf(table)).length)
    // Five minutes a commit: a round of upkeep each eight hours, and a sweep every day.
    if (i % 100 === 0) table = (await expireSnapshots(table, unguarded, deps)).table
    if (i % 300 !== 0) continue
    await sweepOrphans(memory, LOCATION, deps)
    await removeOldMetadata(memory, LOCATION, deps)
  }
  const bytesOf = (keys: Iterable<string>) =>
    [...keys].reduce((sum, key) => sum + memory.held.get(key)!.bytes.length, 0)
  const manifests = await manifestsOf(table)
  const read = bytesOf(manifests.map(({ path }) => path.slice(memory.uri.length + 1)))
  const kept = bytesOf([...memory.held.keys()].filter(key => key.includes('/metadata/')))
  const versions = [...memory.held.keys()].filter(key => key.endsWith('.metadata.json')).length
  t.diagnostic(
    `largest version ${largest} bytes, at most ${mostManifests} manifests; the current ones have ${read} bytes; ` +
      `all metadata ${Math.round(kept / MB)} MB with ${versions} versions`,
  )
  assert.ok(largest < MB, `${largest} bytes`)
  assert.ok(read < 5 * MB, `${read} bytes`)
  assert.ok(mostManifests < MERGE_AT + 10, `${mostManifests} manifests`)
  assert.ok(table.metadata.snapshots.length <= MOST_SNAPSHOTS)
  const index = await new OffsetIndexer(clock, memory).index(table)
  table = (await removeBelow(table, index, new Map([[0, COMMITS * 10]]), unguarded, deps)).table
  const after = await new OffsetIndexer(clock, memory).index(table)
  assert.equal(after.partitions.get(0), undefined)
  assert.equal(after.partitions.get(1)!.files.length, COMMITS)
})
