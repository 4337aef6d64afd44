// Several writers commit to one table through a store that loses answers. Each writer plays a storage worker: after an
// outcome that it does not know, it looks into the ranges of the table and goes on from there.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import {
  archive,
  FOREIGN_ID,
  foreignCommit,
  LOCATION,
  newest,
  newTable,
  persistently,
  testDeps,
  unguarded,
  upload,
} from '../../../testing/iceberg-table.ts'
import { type Faults, MemoryObjects, withFaults } from '../../../testing/memory-objects.ts'
import { seed } from '../../../testing/seed.ts'
import { seededRandom } from '../../base/random.ts'
import { ObjectStoreError, type Objects } from '../objects/objects.ts'
import { commit } from './commit.ts'
import { CommitUnknown } from './put-once.ts'
import { covers, RangeOverlap, readArchived } from './ranges.ts'
import { refreshTable, type Table } from './table.ts'
import { versionKey } from './table-files.ts'

const WRITERS = 4
const COMMITS = 50
const ROWS = 10

const PARTITIONS = Array.from({ length: WRITERS }, (_, partition) => partition)
const FAULTS: Faults = { lost: 0.2, away: 0.05, conflict: 0.05, late: 0.1 }

/** Counts of all writers of a test. */
interface Counts {
  commits: number
  /** Outcomes that a writer had to look for in its next round. */
  unknown: number
  /** Segments that another writer had archived. */
  met: number
  rounds: number
  isStopped: boolean
}

const noCounts = (): Counts => ({ commits: 0, unknown: 0, met: 0, rounds: 0, isStopped: false })

/** More than this many rounds mean that the writers no longer get on. */
const MOST_ROUNDS = WRITERS * COMMITS * 10

/** Archives COMMITS segments of the partition, one after the other. Several writers may have the same partition. */
async function write(objects: Objects, writer: number, partition: number, counts: Counts): Promise<void> {
  const deps = testDeps(seed * 100 + writer)
  let table: Table = await persistently(() => newest(objects))
  for (let base = 0; base < COMMITS * ROWS && !counts.isStopped; ) {
    assert.ok(counts.rounds++ < MOST_ROUNDS, `writer ${writer} is at ${base} after ${MOST_ROUNDS} rounds of all`)
    const segment = { partition, base, next: base + ROWS }
    if (covers(readArchived(table.metadata.properties), partition, [segment.base, segment.next])) {
      base += ROWS
      continue
    }
    // A short patience makes unknown outcomes that the next look has to settle.
    let looks = deps.random.below(3)
    const patience = {
      untilMs: Number.POSITIVE_INFINITY,
      ended: null,
      get isOver() {
        return looks-- <= 0
      },
    }
    try {
      const file = await persistently(() => upload(objects, segment, deps.random))
      table = (await commit(table, archive([file]), unguarded, { ...deps, patience })).table
      counts.commits++
    } catch (error) {
      if (error instanceof CommitUnknown) counts.unknown++
      else if (error instanceof RangeOverlap) counts.met++
      else if (!(error instanceof ObjectStoreError && error.kind === 'away')) throw error
      const stale = table
      table = await persistently(() => refreshTable(stale))
    }
  }
}

/** Runs a writer for each partition. If one of them fails, the others stop. */
function writeAll(memory: MemoryObjects, partitions: readonly number[], counts: Counts): Promise<unknown> {
  return Promise.all(
    partitions.map((partition, writer) =>
      write(withFaults(memory, FAULTS, seededRandom(seed + writer)), writer, partition, counts).catch(error => {
        counts.isStopped = true
        throw error
      }),
    ),
  )
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
}

test('four writers make fifty commits each while answers are lost, and a foreign snapshot stays to the digit', async () => {
  const deps = testDeps(seed)
  const memory = new MemoryObjects(deps.clock)
  const { metadata } = await newTable(memory, deps)
  const counts = noCounts()
  const writers = writeAll(memory, PARTITIONS, counts)
  const foreign = (async () => {
    while (counts.commits < (WRITERS * COMMITS) / 2 && !counts.isStopped) await settle()
    await foreignCommit(memory)
  })()
  await Promise.all([writers, foreign])
  await settle()

  const table = await newest(memory)
  assert.equal(table.metadata['table-uuid'], metadata['table-uuid'])
  const audit = await auditTable(memory, LOCATION, { nowMs: 0, graceMs: Number.POSITIVE_INFINITY })
  assert.deepEqual(audit.findings, [])
  assert.equal(audit.files, WRITERS * COMMITS)
  assert.equal(audit.rows, WRITERS * COMMITS * ROWS)
  assert.equal(audit.snapshots, WRITERS * COMMITS + 1)
  const { ranges } = readArchived(table.metadata.properties)
  for (let partition = 0; partition < WRITERS; partition++)
    assert.deepEqual(ranges.get(partition), [[0, COMMITS * ROWS]])
  const ids = table.metadata.snapshots.map(snapshot => snapshot.summary?.['kafka.commit-id'])
  assert.equal(new Set(ids).size, WRITERS * COMMITS + 1)
  const text = Buffer.from((await memory.read(versionKey(LOCATION, table.version)))!).toString()
  assert.match(text, new RegExp(`"snapshot-id":${FOREIGN_ID},"parent-snapshot-id"`))
  assert.match(text, new RegExp(`"parent-snapshot-id":${FOREIGN_ID},"sequence-number"`))
  assert.ok(counts.unknown > 0, 'no writer met an unknown outcome')
})

test('four writers that archive the same segments put each of them into the table once', async () => {
  const deps = testDeps(seed)
  const memory = new MemoryObjects(deps.clock)
  await newTable(memory, deps)
  const counts = noCounts()
  await writeAll(memory, [0, 0, 0, 0], counts)
  await settle()
  const audit = await auditTable(memory, LOCATION, { nowMs: 0, graceMs: Number.POSITIVE_INFINITY })
  assert.deepEqual(audit.findings, [])
  assert.deepEqual([audit.files, audit.rows], [COMMITS, COMMITS * ROWS])
  assert.ok(counts.met > 0, 'no writer met a segment of another')
})
