// A run has one of the two stores, which the seed draws; connect.all.test.ts then has the other. KETCH_LONG=1 has both.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { drawnBy } from '../../testing/at-length.ts'
import { seed } from '../../testing/seed.ts'
import { STORES, startCleaningBroker } from './cleaning-broker.ts'
import { killStreams, STREAMS_SETTINGS, streamsAbsence } from './streams.ts'

const skip = streamsAbsence() ?? false

suite('a cleaner beside Kafka Streams', { concurrency: true }, () => {
  for (const store of drawnBy(seed, 2, STORES)) {
    test(`a Kafka Streams application that loses its state folder restores its stores from cleaned changelogs on the ${store} store`, {
      skip,
      timeout: 600_000,
    }, async t => {
      const broker = await startCleaningBroker(t, store, STREAMS_SETTINGS)
      const report = await killStreams(t, broker, { kills: 2, seed, spareMs: 600_000 })
      t.diagnostic(JSON.stringify(report))
      assert.ok(report.liveWindows > 0, 'some windows are live at the end')
      const { restored, table, windows } = report
      assert.ok(restored < table.appended + windows.appended, 'the last start has read less than was appended')
    })
  }
})
