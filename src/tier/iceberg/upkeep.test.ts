// Expiry of snapshots, the orphan sweep, and the removal of old metadata.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import {
  archiveSegments,
  LOCATION,
  newest,
  newTable,
  PromptClock,
  testDeps,
  unguarded,
  upload,
} from '../../../testing/iceberg-table.ts'
import { MemoryObjects, withHooks } from '../../../testing/memory-objects.ts'
import { commit } from './commit.ts'
import { expireSnapshots } from './expire-snapshots.ts'
import type { TableMetadata } from './metadata.ts'
import { OffsetIndexer } from './offset-index.ts'
import { dropTable, removeOldMetadata, VERSION_AGE_MS } from './old-metadata.ts'
import { removeBelow } from './retention.ts'
import { ORPHAN_AGE_MS, sweepOrphans } from './sweep-orphans.ts'
import type { Table } from './table.ts'
import { versionKey } from './table-files.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** A table with a snapshot an hour for `count` hours. */
async function hourly(count: number) {
  const clock = new PromptClock()
  const deps = testDeps(1, clock)
  const memory = new MemoryObjects(clock)
  let table = await newTable(memory, deps)
  for (let i = 0; i < count; i++) {
    clock.atMs += HOUR_MS
    table = (await archiveSegments(table, [{ partition: 0, base: i * 10, next: i * 10 + 10 }], deps)).table
  }
  return { clock, deps, memory, table }
}

async function assertSound(memory: MemoryObjects, clock: PromptClock, graceMs = -1) {
  const audit = await auditTable(memory, LOCATION, { nowMs: clock.now(), graceMs })
  assert.deepEqual(audit.findings, [])
  return audit
}

const edited = async (table: Table, deps: ReturnType<typeof testDeps>, change: Partial<TableMetadata>) =>
  (await commit(table, { edit: async metadata => ({ ...metadata, ...change }) }, unguarded, deps)).table

test('snapshots older than a day expire, ten stay in any case, and files that none reaches are deleted', async () => {
  const { clock, deps, memory, table } = await hourly(40)
  const index = await new OffsetIndexer(clock, memory).index(table)
  const cut = await removeBelow(table, index, new Map([[0, 200]]), unguarded, deps)
  const first = await expireSnapshots(cut.table, unguarded, deps)
  // The last day has 25 of the forty, and the snapshot of the delete.
  assert.deepEqual([first.expired, first.table.metadata.snapshots.length], [15, 26])
  assert.equal((await assertSound(memory, clock)).files, 20)
  assert.equal(first.table.metadata['snapshot-log'].length, 26)

  clock.atMs += 10 * DAY_MS
  const second = await expireSnapshots(first.table, unguarded, deps)
  assert.equal(second.table.metadata.snapshots.length, 10)
  // Nine snapshots from before the delete still have the files.
  assert.equal([...memory.held.keys()].filter(key => key.endsWith('.parquet')).length, 40)
  const one = await edited(second.table, deps, {
    properties: { ...second.table.metadata.properties, 'history.expire.min-snapshots-to-keep': '1' },
  })
  const third = await expireSnapshots(one, unguarded, deps)
  assert.equal(third.table.metadata.snapshots.length, 1)
  assert.equal([...memory.held.keys()].filter(key => key.endsWith('.parquet')).length, 20)
  await assertSound(memory, clock)
  assert.equal((await expireSnapshots(third.table, unguarded, deps)).expired, 0)
})

test('beyond the hard cap young snapshots expire too, and those of tags and branches stay', async () => {
  const { clock, deps, memory, table } = await hourly(30)
  const ids = table.metadata.snapshots.map(snapshot => snapshot['snapshot-id'])
  const tagged = await edited(table, deps, {
    refs: {
      ...table.metadata.refs,
      audit: { type: 'tag', 'snapshot-id': ids[2]!, 'x-owner': 'them' },
      old: { type: 'tag', 'snapshot-id': ids[3]!, 'max-ref-age-ms': HOUR_MS },
      work: { type: 'branch', 'snapshot-id': ids[9]!, 'min-snapshots-to-keep': 2, 'max-snapshot-age-ms': 1 },
    },
  })
  const { table: after, expired } = await expireSnapshots(tagged, unguarded, deps, 12)
  const left = after.metadata.snapshots.map(snapshot => ids.indexOf(snapshot['snapshot-id']))
  assert.deepEqual(left, [2, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])
  assert.equal(expired, 15)
  assert.deepEqual(Object.keys(after.metadata.refs), ['main', 'audit', 'work'])
  assert.equal(after.metadata.refs.audit!['x-owner'], 'them')
  await assertSound(memory, clock)
})

test('an expiry that another commit overtakes is computed again, and keeps the files of that commit', async () => {
  const { clock, deps, memory, table } = await hourly(30)
  let rivals = 1
  const objects = withHooks(memory, {
    async before({ verb }) {
      if (verb !== 'create' || rivals-- <= 0) return
      await archiveSegments(await newest(memory), [{ partition: 1, base: 0, next: 5 }], testDeps(5, clock))
    },
  })
  const { table: after } = await expireSnapshots({ ...table, objects }, unguarded, deps, 10)
  assert.equal(after.metadata.snapshots.length, 10)
  assert.equal((await assertSound(memory, clock)).files, 31)
})

test('a table whose garbage belongs to others keeps everything', async () => {
  const { clock, deps, memory, table } = await hourly(30)
  const shared = await edited(table, deps, { properties: { ...table.metadata.properties, 'gc.enabled': 'false' } })
  clock.atMs += 30 * DAY_MS
  await upload(memory, { partition: 0, base: 990, next: 999 }, deps.random)
  const before = memory.held.size
  clock.atMs += 30 * DAY_MS
  assert.equal((await expireSnapshots(shared, unguarded, deps)).expired, 0)
  assert.deepEqual(await sweepOrphans(memory, LOCATION, deps), { deleted: [], young: 0 })
  assert.equal(await removeOldMetadata(memory, LOCATION, deps), 0)
  assert.equal(memory.held.size, before)
})

test('the sweep takes what no snapshot reaches after a day by the clock of the store, and nothing else', async () => {
  const { clock, deps, memory } = await hourly(12)
  const lost = await upload(memory, { partition: 0, base: 990, next: 999 }, deps.random)
  await memory.write(`${LOCATION}/metadata/lost-m0.avro`, Buffer.from('x'))
  await memory.write(`${LOCATION}/elsewhere/file`, Buffer.from('x'))
  clock.atMs += ORPHAN_AGE_MS
  const early = await sweepOrphans(memory, LOCATION, deps)
  assert.deepEqual([early.deleted, early.young], [[], 2])
  clock.atMs += 1
  // The clock of this broker is an hour behind; the store's counts.
  const behind = testDeps(1, new PromptClock(clock.now() - HOUR_MS))
  const { deleted } = await sweepOrphans(memory, LOCATION, behind)
  assert.deepEqual([...deleted].sort(), [lost.key, `${LOCATION}/metadata/lost-m0.avro`].sort())
  assert.ok(memory.held.has(`${LOCATION}/elsewhere/file`))
  await memory.delete([`${LOCATION}/elsewhere/file`])
  await assertSound(memory, clock)
})

test('a file that is committed while the sweep lists stays', async () => {
  const { clock, deps, memory } = await hourly(2)
  const file = await upload(memory, { partition: 0, base: 990, next: 999 }, deps.random)
  clock.atMs += ORPHAN_AGE_MS + 1
  const objects = withHooks(memory, {
    async after({ verb, key }) {
      if (verb === 'list' && key.endsWith('/data/'))
        await commit(await newest(memory), { append: [file] }, unguarded, testDeps(4, clock))
    },
  })
  assert.deepEqual((await sweepOrphans(objects, LOCATION, deps)).deleted, [])
  await assertSound(memory, clock, 2 * ORPHAN_AGE_MS)
})

test('the sweep deletes nothing if a manifest cannot be read', async () => {
  const { clock, deps, memory } = await hourly(3)
  await upload(memory, { partition: 0, base: 990, next: 999 }, deps.random)
  clock.atMs += 2 * ORPHAN_AGE_MS
  const manifest = [...memory.held.keys()].find(key => key.endsWith('-m0.avro'))!
  await memory.delete([manifest])
  const before = [...memory.held.keys()].sort()
  await assert.rejects(sweepOrphans(memory, LOCATION, deps), /does not exist, although the metadata of the table names/)
  assert.deepEqual([...memory.held.keys()].sort(), before)
})

test('a hundred versions and seven days of metadata stay', async () => {
  const { clock, deps, memory, table } = await hourly(130)
  assert.equal(await removeOldMetadata(memory, LOCATION, deps), 0)
  clock.atMs = table.metadata['last-updated-ms'] + VERSION_AGE_MS - 110 * HOUR_MS
  assert.equal(await removeOldMetadata(memory, LOCATION, deps), 20)
  assert.equal(memory.held.has(versionKey(LOCATION, 20)), false)
  assert.equal(memory.held.has(versionKey(LOCATION, 21)), true)
  clock.atMs += VERSION_AGE_MS
  assert.equal(await removeOldMetadata(memory, LOCATION, deps), 10)
  assert.equal((await newest(memory)).version, 131)
  const logged = table.metadata['metadata-log'].map(entry => entry['metadata-file'].slice(memory.uri.length + 1))
  assert.equal(logged.length, 100)
  assert.deepEqual(
    logged.filter(key => !memory.held.has(key)),
    [],
  )
})

test('a dropped table leaves nothing, and its place can be used again', async () => {
  const { deps, memory } = await hourly(3)
  await dropTable(memory, LOCATION)
  assert.equal(memory.held.size, 0)
  assert.equal((await newTable(memory, deps)).version, 1)
})
