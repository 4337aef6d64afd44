// A run has one of the two stores, which the seed draws; streams.all.test.ts then has the other. KETCH_LONG=1 has both.

import { suite, test } from 'node:test'
import { drawnBy } from '../../testing/at-length.ts'
import { seed } from '../../testing/seed.ts'
import { STORES, startCleaningBroker } from './cleaning-broker.ts'
import { CONNECT_SETTINGS, connectAbsence, restartConnect } from './connect.ts'

const skip = connectAbsence() ?? false

suite('a cleaner beside Kafka Connect', { concurrency: true }, () => {
  for (const store of drawnBy(seed + 1, 2, STORES)) {
    test(`a worker of Connect that is killed finds its connectors, offsets and status in cleaned topics on the ${store} store`, {
      skip,
      timeout: 600_000,
    }, async t => {
      const broker = await startCleaningBroker(t, store, CONNECT_SETTINGS)
      t.diagnostic(JSON.stringify(await restartConnect(t, broker, { restarts: 2, seed })))
    })
  }
})
