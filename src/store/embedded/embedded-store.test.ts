import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { storeConformance } from '../conformance.ts'
import { openEmbeddedStore } from './embedded-store.ts'

for (const fsync of ['always', 'interval'] as const) {
  storeConformance(`embedded store, fsync ${fsync}`, async t => {
    const path = mkdtempSync(join(tmpdir(), 'ketch-store-'))
    const open = () =>
      openEmbeddedStore({
        path,
        fsync,
        fsyncIntervalMs: 50,
        journalFileBytes: 1 << 20,
        clock: systemClock,
        report: message => t.diagnostic(message),
      })
    let store = await open()
    t.after(async () => {
      await store.close()
      rmSync(path, { recursive: true })
    })
    return {
      store,
      reopen: async () => {
        await store.close()
        store = await open()
        return store
      },
    }
  })
}
