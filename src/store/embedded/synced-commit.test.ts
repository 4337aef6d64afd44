// A commit that asks for a sync survives the loss of power, also where other calls are synced later.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFaultyDisk } from '../../../testing/sim/faulty-disk.ts'
import { newFolder } from '../../../testing/store-folder.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { OutcomeUnknown } from '../store.ts'
import { openEmbeddedStore } from './embedded-store.ts'

const HOUR_MS = 3_600_000

const asked = (name: string, isSynced: boolean) => ({
  kind: 'group',
  name,
  expect: 0,
  changes: [{ key: 'a', value: Buffer.alloc(2_000, name) }],
  isSynced,
})

async function open(path: string, disk = createFaultyDisk(seededRandom(1))) {
  const rest = { fsync: 'interval', fsyncIntervalMs: HOUR_MS, clock: systemClock, report: () => {} } as const
  return { disk, store: await openEmbeddedStore({ path, disk, ...rest }) }
}

test('a synced commit is on the disk when it resolves, with all that was written before', async t => {
  const { disk, store } = await open(newFolder(t))
  t.after(() => store.close())
  await store.commit(asked('before', false))
  assert.ok(disk.unsyncedWrites > 0)
  const outcome = await store.commit(asked('synced', true))
  assert.equal(outcome.kind, 'committed')
  assert.equal(disk.unsyncedWrites, 0)
})

test('if the disk fails to sync the commit, its outcome is unknown', async t => {
  const { disk, store } = await open(newFolder(t))
  // Another sync, of a spare file, may come first.
  disk.failUntil('sync', 'EIO')
  await assert.rejects(store.commit(asked('synced', true)), OutcomeUnknown)
  await store.close().catch(() => {})
})

test('a commit that lost the race waits for no sync', async t => {
  const { disk, store } = await open(newFolder(t))
  t.after(() => store.close())
  await store.commit(asked('g', false))
  const before = disk.unsyncedWrites
  assert.equal((await store.commit(asked('g', true))).kind, 'conflict')
  assert.equal(disk.unsyncedWrites, before)
})
