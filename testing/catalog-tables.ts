// Tables of topics in a folder, each made by a holder of the lease, and the catalog's view of them. It stands for the
// remote tier of a broker.

import { type Clock, systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/random.ts'
import type { CatalogSource } from '../src/http/route.ts'
import type { TierAway } from '../src/log/archive.ts'
import { EncoderThreads } from '../src/tier/columns/encoder-thread.ts'
import { loadTable } from '../src/tier/iceberg/table.ts'
import { uriOf, versionKey } from '../src/tier/iceberg/table-files.ts'
import { openFolder } from '../src/tier/objects/folder.ts'
import type { Objects } from '../src/tier/objects/objects.ts'
import type { TableName } from '../src/tier/remote/remote-tier.ts'
import type { CleanUp } from './broker.ts'
import { PromptClock } from './iceberg-table.ts'
import { type Holder, newHolder, SEALED_AT } from './offloading.ts'
import { createMemoryStore } from './sim/memory-store.ts'
import { temporaryFolder } from './temporary-folder.ts'

export interface CatalogTables {
  readonly objects: Objects
  /** The folder of all tables. */
  readonly folder: string
  readonly clock: PromptClock
  readonly source: CatalogSource
  /** Creates the table of a topic, which has no snapshot yet. */
  open(topicName: string): Promise<Holder>
  /** Fails the next calls for metadata with this error; null ends that. */
  break(error: TierAway | null): void
}

export async function catalogTables(cleanUp: CleanUp, clock = new PromptClock(SEALED_AT)): Promise<CatalogTables> {
  const folder = await temporaryFolder(cleanUp, 'ketch-tables-')
  const deps = { clock: systemClock as Clock, random: systemRandom, warn: () => {} }
  const objects = await openFolder(folder, deps)
  const encoders = new EncoderThreads(systemClock, 2)
  cleanUp.after(async () => {
    await encoders.close()
    await objects.close()
  })
  const store = createMemoryStore(systemClock)
  const locations = new Map<string, string>()
  const topics: TableName[] = []
  let failure: TierAway | null = null
  return {
    objects,
    folder,
    clock,
    source: {
      namespace: 'default',
      tables: () => topics.toSorted((a, b) => (a.topicName < b.topicName ? -1 : 1)),
      async metadata(topicId) {
        if (failure !== null) throw failure
        const location = locations.get(topicId)
        const table = location === undefined ? null : await loadTable(objects, location)
        if (table === null) return null
        const key = versionKey(table.location, table.version)
        const text = Buffer.from((await objects.read(key))!).toString()
        return { location: uriOf(objects, table.location), metadataLocation: uriOf(objects, key), text }
      },
    },
    async open(topicName) {
      // The first one has the location that testing/iceberg-table.ts knows.
      const id = Buffer.alloc(16)
      id[15] = topics.length + 1
      const topicId = id.toString('base64url')
      const holder = await newHolder({ objects, store, encoders, clock, topic: { topicId, topicName } })
      topics.push({ topicId, topicName })
      locations.set(topicId, holder.table.location)
      return holder
    },
    break(error) {
      failure = error
    },
  }
}
