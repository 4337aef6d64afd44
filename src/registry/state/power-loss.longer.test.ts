// The machine loses its power behind an answer: the embedded store has what was answered, whatever the setting for the
// syncs of records is.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { auditRegistry } from '../../../testing/registry-audit.ts'
import { accepted, openTestRegistry, refusedWith } from '../../../testing/registry-world.ts'
import { createFaultyDisk } from '../../../testing/sim/faulty-disk.ts'
import { newFolder } from '../../../testing/store-folder.ts'
import { toy } from '../../../testing/toy-format.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { openEmbeddedStore } from '../../store/embedded/embedded-store.ts'

const HOUR_MS = 3_600_000

async function start(t: TestContext, path: string, seed: number) {
  const disk = createFaultyDisk(seededRandom(seed))
  const rest = { fsync: 'interval', fsyncIntervalMs: HOUR_MS, clock: systemClock, report: () => {} } as const
  const store = await openEmbeddedStore({ path, disk, ...rest })
  const registry = openTestRegistry(t, store, { isShared: false })
  const losePower = async () => {
    disk.stopAt(disk.calls, 'before')
    await store.close().catch(() => {})
    disk.losePower()
  }
  return { registry, store, losePower }
}

test('all that was answered is there after a loss of power, and no id has two schemas', async t => {
  const path = newFolder(t)
  const texts = new Map<number, string>()
  for (let round = 0; round < 20; round++) {
    const { registry, store, losePower } = await start(t, path, round + 1)
    await auditRegistry(store)
    for (const [id, text] of texts) assert.equal(accepted(await registry.byId(id)).schema, text)
    const asked = Array.from({ length: 4 }, (_, at) => ({
      subject: `s${round}-${at % 3}`,
      text: toy(`R${round}-${at}`),
    }))
    if (round > 0) {
      const before = `s${round - 1}-0`
      assert.deepEqual(await registry.getConfig(before), { compatibilityLevel: 'NONE' })
      accepted(await registry.deleteSubject(before))
      accepted(await registry.deleteSubject(before, { isPermanent: true }))
    }
    if (round > 1)
      assert.match(refusedWith(await registry.versions(`s${round - 2}-0`, { isDeletedToo: true })), /^40401 /)
    accepted(await registry.putConfig(`s${round}-0`, { compatibility: 'NONE' }))
    const answers = await Promise.all(asked.map(({ subject, text }) => registry.register(subject, { schema: text })))
    for (const [at, answer] of answers.entries()) {
      const { id } = accepted(answer)
      assert.equal(texts.get(id), undefined, `id ${id} has two schemas`)
      texts.set(id, asked[at]!.text)
    }
    await losePower()
  }
})
