// A storage worker dies at every single change that it makes to the store: in commits, a delete, the expiry of
// snapshots, the sweep and the removal of old metadata. After each crash a new worker goes on. No file that a snapshot
// needs may be missing at any time, every segment must be in the table once, and no orphan may outlive its grace.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import { archive, LOCATION, newTable, PromptClock, testDeps, upload } from '../../../testing/iceberg-table.ts'
import { Crash, crashing, MemoryObjects } from '../../../testing/memory-objects.ts'
import type { Objects } from '../objects/objects.ts'
import { commit } from './commit.ts'
import { expireSnapshots } from './expire-snapshots.ts'
import { fenced, takeFence } from './fence.ts'
import { OffsetIndexer } from './offset-index.ts'
import { removeOldMetadata, VERSION_AGE_MS } from './old-metadata.ts'
import { CommitUnknown } from './put-once.ts'
import { covers, lowest, readArchived } from './ranges.ts'
import { removeBelow } from './retention.ts'
import { ORPHAN_AGE_MS, sweepOrphans } from './sweep-orphans.ts'

const SEGMENTS = 4
const ROWS = 10
const LOG_START = 2 * ROWS

/** The whole life of a table, from whatever state it is in. A worker that is not stopped ends in the same state. */
async function work(objects: Objects, clock: PromptClock, seed: number): Promise<void> {
  const deps = testDeps(seed, clock)
  const taken = await takeFence(await newTable(objects, deps), 0, () => {}, deps)
  const guard = fenced(taken.fence)
  let { table } = taken
  for (let base = 0; base < SEGMENTS * ROWS; base += ROWS) {
    clock.atMs += 60_000
    if (covers(readArchived(table.metadata.properties), 0, [base, base + ROWS])) continue
    const file = await upload(objects, { partition: 0, base, next: base + ROWS }, deps.random)
    table = (await commit(table, archive([file]), guard, deps)).table
  }
  const index = await new OffsetIndexer(clock, objects).index(table)
  table = (await removeBelow(table, index, new Map([[0, LOG_START]]), guard, deps)).table
  clock.atMs += 2 * ORPHAN_AGE_MS
  table = (await commit(table, { properties: () => KEEP_ONE }, guard, deps)).table
  await expireSnapshots(table, guard, deps)
  await sweepOrphans(objects, LOCATION, deps)
}

const KEEP_ONE = { 'history.expire.min-snapshots-to-keep': '1' }

async function assertEnd(memory: MemoryObjects, clock: PromptClock, where: string) {
  const audit = await auditTable(memory, LOCATION, { nowMs: clock.now(), graceMs: ORPHAN_AGE_MS })
  assert.deepEqual(audit.findings, [], where)
  assert.equal(audit.rows, SEGMENTS * ROWS - LOG_START, where)
  assert.equal(audit.files, SEGMENTS - LOG_START / ROWS, where)
}

const UNREACHABLE = Number.MAX_SAFE_INTEGER

test('a worker that dies at any change loses nothing, doubles nothing and leaves no old orphan', async t => {
  const measured = new PromptClock()
  const counted = crashing(new MemoryObjects(measured), UNREACHABLE, 'before')
  await work(counted.objects, measured, 1)
  const { steps } = counted.state
  t.diagnostic(`${steps} changes`)
  assert.ok(steps > 30)

  for (const when of ['before', 'after'] as const)
    for (let step = 0; step < steps; step++) {
      const where = `${when} the effect of change ${step}`
      const clock = new PromptClock()
      const memory = new MemoryObjects(clock)
      const dying = crashing(memory, step, when)
      const died = await work(dying.objects, clock, 1).catch(error => error)
      const cause = died instanceof CommitUnknown ? died.cause : died
      // A lost answer of the hint, of a delete or of a cleanup stops no commit; the process stops at its next call.
      assert.ok(cause instanceof Crash || dying.state.isDead, `${where}: ${died}`)
      const between = await auditTable(memory, LOCATION, { nowMs: clock.now(), graceMs: Number.POSITIVE_INFINITY })
      if (between.versions > 0) assert.deepEqual(between.findings, [], where)

      await work(memory, clock, 2)
      clock.atMs += 2 * ORPHAN_AGE_MS
      await sweepOrphans(memory, LOCATION, testDeps(3, clock))
      await assertEnd(memory, clock, where)
    }
})

test('a worker that dies while it removes old metadata leaves versions without gaps', async () => {
  for (let step = 0; step < 12; step++) {
    const clock = new PromptClock()
    const memory = new MemoryObjects(clock)
    const deps = testDeps(1, clock)
    let table = await newTable(memory, deps)
    for (let i = 0; i < 110; i++) table = (await commit(table, {}, () => {}, deps)).table
    clock.atMs += VERSION_AGE_MS + 1
    const dying = crashing(memory, step, 'after')
    await removeOldMetadata(dying.objects, LOCATION, deps).catch(error => assert.ok(error instanceof Crash))
    // The hint may be as old as a version that still exists.
    const first = [...memory.held.keys()].flatMap(key => /\/v(\d+)\.metadata/.exec(key)?.[1] ?? []).map(Number)
    await memory.replace(`${LOCATION}/metadata/version-hint.text`, Buffer.from(String(Math.min(...first))))
    const { findings } = await auditTable(memory, LOCATION, { nowMs: 0, graceMs: Number.POSITIVE_INFINITY })
    assert.deepEqual(findings, [])
    const found = await newTable(memory, deps)
    assert.equal(found.version, 111)
    await removeOldMetadata(memory, LOCATION, deps)
    const left = [...memory.held.keys()].filter(key => key.endsWith('.metadata.json'))
    assert.equal(left.length, 101)
    assert.equal(lowest(readArchived(found.metadata.properties), 0), null)
  }
})
