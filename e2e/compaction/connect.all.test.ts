import { suite, test } from 'node:test'
import { seed } from '../../testing/seed.ts'
import { STORES, startCleaningBroker } from './cleaning-broker.ts'
import { CONNECT_SETTINGS, connectAbsence, restartConnect } from './connect.ts'

const skip = connectAbsence() ?? false

suite('a cleaner beside Kafka Connect', { concurrency: true }, () => {
  for (const store of STORES) {
    test(`a worker of Connect that is killed finds its connectors, offsets and status in cleaned topics on the ${store} store`, {
      skip,
      timeout: 600_000,
    }, async t => {
      const broker = await startCleaningBroker(t, store, CONNECT_SETTINGS)
      t.diagnostic(JSON.stringify(await restartConnect(t, broker, { restarts: 2, seed })))
    })
  }
})
