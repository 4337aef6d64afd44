// The life of a table in a folder, and in a bucket whose store loses every fifth answer.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import { archive, LOCATION, newTable, persistently, upload } from '../../../testing/iceberg-table.ts'
import { everyNth, startS3Stub } from '../../../testing/s3-stub.ts'
import { temporaryFolder } from '../../../testing/temporary-folder.ts'
import { systemClock } from '../../base/clock.ts'
import { ENDLESS } from '../../base/patience.ts'
import { systemRandom } from '../../base/random.ts'
import { openFolder } from '../objects/folder.ts'
import type { Objects } from '../objects/objects.ts'
import { openS3 } from '../objects/s3.ts'
import { commit } from './commit.ts'
import { expireSnapshots } from './expire-snapshots.ts'
import { fenced, takeFence } from './fence.ts'
import { OffsetIndexer } from './offset-index.ts'
import { removeBelow } from './retention.ts'
import { sweepOrphans } from './sweep-orphans.ts'

const deps = { clock: systemClock, random: systemRandom, patience: ENDLESS }

async function folder(t: TestContext): Promise<Objects> {
  const path = await temporaryFolder(t, 'ketch-iceberg-')
  const warn = (text: string) => assert.fail(text)
  return openFolder(path, { clock: systemClock, random: systemRandom, warn })
}

async function bucket(t: TestContext): Promise<Objects> {
  const stub = await startS3Stub(t)
  const objects = await openS3({ bucket: stub.bucket, prefix: 'some/prefix' }, stub.options)
  stub.faultOf = everyNth(5, 'lost')
  return objects
}

for (const [name, openPlace] of [
  ['a folder', folder],
  ['a bucket that loses every fifth answer', bucket],
] as const)
  test(`in ${name} a table is sound after commits of two writers, a delete, an expiry and a sweep`, async t => {
    const objects = await openPlace(t)
    t.after(() => objects.close())
    const open = () => persistently(() => newTable(objects, deps))
    const created = await open()
    const taken = await persistently(() => takeFence(created, 3, () => {}, deps))
    const guard = fenced(taken.fence)
    await Promise.all(
      [0, 1].map(async partition => {
        let { table } = taken
        for (let base = 0; base < 60; base += 10) {
          const file = await persistently(() => upload(objects, { partition, base, next: base + 10 }, systemRandom))
          const from = table
          table = (await persistently(() => commit(from, archive([file]), guard, deps))).table
        }
      }),
    )
    const full = await open()
    assert.equal(full.metadata.properties['kafka.offload.ranges'], '{"0":[[0,60]],"1":[[0,60]]}')
    const index = await persistently(() => new OffsetIndexer(systemClock, objects).index(full))
    const cut = await persistently(() => removeBelow(full, index, new Map([[0, 30]]), guard, deps))
    const expiry = await persistently(() => expireSnapshots(cut.table, guard, deps, 1))
    assert.equal(expiry.table.metadata.snapshots.length, 1)
    const orphan = await persistently(() => upload(objects, { partition: 0, base: 90, next: 99 }, systemRandom))
    // No commit is in progress, so the sweep may take young files too.
    await persistently(() => sweepOrphans(objects, LOCATION, deps, Number.NEGATIVE_INFINITY))
    assert.equal(await persistently(() => objects.stat(orphan.key)), null)
    const options = { nowMs: systemClock.now(), graceMs: Number.NEGATIVE_INFINITY }
    const audit = await persistently(() => auditTable(objects, LOCATION, options))
    assert.deepEqual(audit.findings, [])
    assert.deepEqual([audit.files, audit.rows, audit.snapshots], [9, 90, 1])
  })
