import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import {
  archive,
  archiveSegments,
  FOREIGN_ID,
  foreignCommit,
  LOCATION,
  newest,
  newTable,
  testDeps,
  unguarded,
  upload,
} from '../../../testing/iceberg-table.ts'
import { MemoryObjects, withHooks } from '../../../testing/memory-objects.ts'
import { ObjectStoreError, type Objects } from '../objects/objects.ts'
import { COMMIT_ID, commit } from './commit.ts'
import { FENCE, Fenced, fenced, fenceOf, takeFence } from './fence.ts'
import { currentSnapshot } from './metadata.ts'
import { CommitUnknown } from './put-once.ts'
import { RANGES, RangeOverlap } from './ranges.ts'
import { hintKey, uriOf, versionKey } from './table-files.ts'

async function world() {
  const deps = testDeps()
  const memory = new MemoryObjects(deps.clock)
  return { deps, memory, table: await newTable(memory, deps) }
}

/** Inspects the table; all objects must be reached, unless the caller expects some that are not. */
async function assertSound(objects: Objects, { unreached = 0 } = {}) {
  const audit = await auditTable(objects, LOCATION, { nowMs: 0, graceMs: Number.POSITIVE_INFINITY })
  assert.deepEqual(audit.findings, [])
  assert.equal(audit.unreached.length, unreached, audit.unreached.join('\n'))
  return audit
}

test('a commit adds its files, ranges and a snapshot, and moves the hint', async () => {
  const { deps, memory, table } = await world()
  const segments = [
    { partition: 0, base: 0, next: 10 },
    { partition: 1, base: 100, next: 150 },
  ]
  const { table: after, conflicts, leftovers } = await archiveSegments(table, segments, deps)
  assert.equal(after.version, 2)
  assert.deepEqual([conflicts, leftovers], [0, []])
  assert.equal(after.metadata.properties[RANGES], '{"0":[[0,10]],"1":[[100,150]]}')
  assert.equal(Buffer.from((await memory.read(hintKey(LOCATION)))!).toString(), '2')
  const { summary } = currentSnapshot(after.metadata)!
  assert.equal(summary.operation, 'append')
  assert.equal(summary['added-records'], '60')
  assert.equal(summary['total-data-files'], '2')
  assert.equal(summary['changed-partition-count'], '2')
  assert.deepEqual(await newest(memory), { ...after, manifests: null })
  const audit = await assertSound(memory)
  assert.deepEqual([audit.files, audit.rows], [2, 60])
})

test('files that are removed leave the table in one delete snapshot, and others stay', async () => {
  const { deps, memory, table } = await world()
  let at = table
  for (const base of [0, 10, 20])
    at = (
      await archiveSegments(
        at,
        [0, 1].map(partition => ({ partition, base, next: base + 10 })),
        deps,
      )
    ).table
  const remove = [...memory.held.keys()].filter(key => /partition=0\/.*\/0+(0|10)-/.test(key))
  assert.equal(remove.length, 2)
  const paths = remove.map(key => uriOf(memory, key))
  const { table: after } = await commit(at, { remove: [...paths, 's3://bucket/tier/unknown'] }, unguarded, deps)
  const { summary } = currentSnapshot(after.metadata)!
  assert.equal(summary.operation, 'delete')
  assert.equal(summary['deleted-records'], '20')
  const audit = await assertSound(memory)
  assert.deepEqual([audit.files, audit.rows], [4, 40])
  const none = await commit(after, { remove: paths }, unguarded, deps)
  assert.equal(none.table.metadata.snapshots.length, after.metadata.snapshots.length)
})

test('a rewrite whose files are no longer all there is refused', async () => {
  const { deps, table } = await world()
  const { table: at } = await archiveSegments(table, [{ partition: 0, base: 0, next: 10 }], deps)
  const rewrite = { remove: ['s3://bucket/tier/gone'], operation: 'replace' } as const
  await assert.rejects(commit(at, rewrite, unguarded, deps), /lacks some of the files that a rewrite would replace/)
})

test('a commit onto an old version is staged again onto what others committed, and loses none of it', async () => {
  const { deps, memory, table } = await world()
  const first = await archiveSegments(table, [{ partition: 0, base: 0, next: 10 }], deps)
  await foreignCommit(memory)
  await archiveSegments(await newest(memory), [{ partition: 0, base: 10, next: 20 }], testDeps(2))
  const rebased = await archiveSegments(first.table, [{ partition: 1, base: 0, next: 5 }], testDeps(3))
  assert.equal(rebased.conflicts, 1)
  const text = Buffer.from((await memory.read(versionKey(LOCATION, rebased.table.version)))!).toString()
  assert.match(text, new RegExp(`"snapshot-id":${FOREIGN_ID},`))
  assert.match(text, new RegExp(`"added-by":\\{"ratio":1.0,"id":${FOREIGN_ID}\\}`))
  assert.match(text, /"x-vendor":\{"exponent":1e3,"big":18446744073709551615\}/)
  assert.match(text, new RegExp(`"parent-snapshot-id":${FOREIGN_ID},`))
  // The foreign snapshot has no totals. They were counted again.
  assert.equal(currentSnapshot(rebased.table.metadata)!.summary['total-files-size'], '192')
  assert.equal(rebased.table.metadata.properties[RANGES], '{"0":[[0,20]],"1":[[0,5]]}')
  const audit = await assertSound(memory)
  assert.deepEqual([audit.files, audit.rows, audit.snapshots], [3, 25, 4])
})

test('an unknown outcome at the end of the patience leaves all staged files, and a later look finds the commit', async () => {
  const { deps, memory, table } = await world()
  let isDown = false
  const objects = withHooks(memory, {
    after({ verb }) {
      isDown ||= verb === 'create'
      if (isDown) throw new ObjectStoreError(verb === 'create' ? 'unknown' : 'away', `${verb}: no answer`)
    },
  })
  const patience = {
    untilMs: Number.POSITIVE_INFINITY,
    ended: null,
    get isOver() {
      return isDown
    },
  }
  const change = archive([await upload(memory, { partition: 0, base: 0, next: 10 }, deps.random)])
  await assert.rejects(commit({ ...table, objects }, change, unguarded, { ...deps, patience }), CommitUnknown)
  await assertSound(memory)
  // The ranges in the table keep the segment from being archived again.
  await assert.rejects(archiveSegments(await newest(memory), [{ partition: 0, base: 0, next: 10 }], deps), RangeOverlap)
})

test('the files of an attempt are deleted only after another writer has its version', async () => {
  const { deps, memory, table } = await world()
  const seen: string[] = []
  let rivals = 2
  const objects = withHooks(memory, {
    async before({ verb, key }) {
      if (verb === 'delete') seen.push(key)
      if (verb === 'create' && rivals-- > 0) await commit(await newest(memory), {}, unguarded, testDeps(7 + rivals))
    },
  })
  const { conflicts } = await archiveSegments({ ...table, objects }, [{ partition: 0, base: 0, next: 10 }], deps)
  assert.equal(conflicts, 2)
  assert.equal(seen.length, 2)
  assert.ok(seen.every(key => key.includes('/metadata/snap-')))
  await assertSound(memory)
})

test('a hint that cannot be written and files that cannot be deleted are reported, and the commit stands', async () => {
  const { deps, memory, table } = await world()
  let rivals = 1
  const objects = withHooks(memory, {
    async before({ verb }) {
      if (verb === 'create' && rivals-- > 0) await commit(await newest(memory), {}, unguarded, testDeps(7))
      if (verb === 'replace' || verb === 'delete') throw new ObjectStoreError('away', verb)
    },
  })
  const committed = await archiveSegments({ ...table, objects }, [{ partition: 0, base: 0, next: 10 }], deps)
  assert.deepEqual(
    committed.leftovers.map(error => error.message),
    ['delete', 'replace'],
  )
  await assertSound(memory, { unreached: 1 })
})

test('a new holder takes the larger of its version and the fence + 1, and a former holder is refused', async () => {
  const { deps, memory, table } = await world()
  const first = await takeFence(table, 0, unguarded, deps)
  assert.equal(first.fence, 0)
  const restored = await takeFence(first.table, 7, unguarded, deps)
  assert.equal(restored.fence, 7)
  const lower = await takeFence(restored.table, 3, unguarded, deps)
  assert.equal(lower.fence, 8)
  assert.equal(lower.table.metadata.snapshots.length, 0)

  const staged = archive([await upload(memory, { partition: 0, base: 0, next: 10 }, deps.random)])
  // The former holder has a version of the table in which its fence is still there.
  await assert.rejects(commit(restored.table, staged, fenced(7), deps), Fenced)
  const { table: after } = await commit(lower.table, staged, fenced(8), deps)
  assert.equal(fenceOf(after.metadata), 8)
  await assertSound(memory, { unreached: 1 })
})

test('a holder that is stopped between upload and commit is refused, and its files become orphans', async () => {
  const { deps, memory, table } = await world()
  const held = await takeFence(table, 0, unguarded, deps)
  let isStopped = false
  const objects = withHooks(memory, {
    async before({ verb }) {
      if (verb !== 'create' || isStopped) return
      isStopped = true
      await takeFence(await newest(memory), 1, unguarded, testDeps(2))
    },
  })
  const staged = archive([await upload(memory, { partition: 0, base: 0, next: 10 }, deps.random)])
  await assert.rejects(commit({ ...held.table, objects }, staged, fenced(held.fence), deps), Fenced)
  // The data file and its manifest; the manifest list was deleted after the proven loss.
  const audit = await assertSound(memory, { unreached: 2 })
  assert.equal(audit.snapshots, 0)
})

test('a fence that is no number is refused, and so is a commit to a dropped table', async () => {
  const { deps, memory, table } = await world()
  const broken = await commit(table, { properties: () => ({ [FENCE]: '1e3' }) }, unguarded, deps)
  await assert.rejects(takeFence(broken.table, 0, unguarded, deps), /property kafka\.offload\.fence of .* is '1e3'/)
  await memory.delete([...memory.held.keys()])
  await assert.rejects(commit(broken.table, {}, unguarded, deps), /does not exist any more/)
})

test('two holders that take the fence at once get different ones', async () => {
  const { memory, table } = await world()
  const taken = await Promise.all([1, 2, 3].map(seed => takeFence(table, 5, unguarded, testDeps(seed))))
  assert.deepEqual(taken.map(({ fence }) => fence).sort(), [5, 6, 7])
  assert.equal(fenceOf((await newest(memory)).metadata), 7)
})

test('a commit without a snapshot names itself in the properties', async () => {
  const { deps, table } = await world()
  const first = await commit(table, { properties: () => ({ a: '1', 'kafka.topic': null }) }, unguarded, deps)
  const second = await commit(first.table, {}, unguarded, deps)
  assert.equal(second.table.metadata.properties.a, '1')
  assert.equal(second.table.metadata.properties['kafka.topic'], undefined)
  assert.notEqual(first.table.metadata.properties[COMMIT_ID], second.table.metadata.properties[COMMIT_ID])
  assert.deepEqual(
    second.table.metadata['metadata-log'].map(entry => entry['metadata-file']),
    [1, 2].map(version => uriOf(table.objects, versionKey(LOCATION, version))),
  )
})
