// Opens the Redis store as a broker does, on connections of its own. Tests can read its reports. The store is closed
// with the test.

import { systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/random.ts'
import { testSettings, type Values } from '../src/settings/settings.ts'
import type { RedisLinks } from '../src/store/redis/client/links.ts'
import { openRedisStore } from '../src/store/redis/redis-store.ts'
import type { Store } from '../src/store/store.ts'
import type { CleanUp } from './broker.ts'
import { openTestLinks } from './redis-links.ts'

export interface TestStore {
  readonly store: Store
  /** The messages that the store reported for people. */
  readonly reports: readonly string[]
  /** Returns how often the end of a stream was lost. */
  readonly lostEnds: () => number
  readonly lostOffsets: () => number
}

/** Few connections, so that tests start fast. */
const FEW: Partial<Values> = { 'storage.local.write.connections': 2, 'storage.local.read.connections': 2 }

/** Opens connections that many stores of a test file share, one after the other. They are closed with `cleanUp`. */
export async function openSharedLinks(cleanUp: CleanUp, overrides: Partial<Values>): Promise<RedisLinks> {
  const { links } = await openTestLinks(cleanUp, { ...FEW, ...overrides })
  return {
    description: links.description,
    isCluster: links.isCluster,
    get breaker() {
      return links.breaker
    },
    write: key => links.write(key),
    read: key => links.read(key),
    asked: (key, refusal) => links.asked(key, refusal),
    borrow: (key, work) => links.borrow(key, work),
    durability: () => links.durability(),
    primaries: () => links.primaries(),
    onIncarnation: listener => links.onIncarnation(listener),
    close: async () => {},
  }
}

/** Opens the store with these settings, on connections of its own unless `shared` is given. */
export async function openTestStore(
  cleanUp: CleanUp,
  overrides: Partial<Values>,
  shared?: RedisLinks,
  { vouchMs = 0 } = {},
): Promise<TestStore> {
  const settings = testSettings(overrides)
  const links = shared ?? (await openTestLinks(cleanUp, { ...FEW, ...overrides })).links
  const reports: string[] = []
  let lostEnds = 0
  let lostOffsets = 0
  const store = await openRedisStore({
    links: { storage: links, broker: links },
    namespace: settings.get('namespace'),
    waitReplicas: settings.get('storage.local.write.wait-replicas'),
    waitTimeoutMs: settings.get('storage.local.write.wait-timeout'),
    vouchMs,
    clock: systemClock,
    random: systemRandom,
    report: message => reports.push(message),
    onLostEnd(offsets) {
      lostEnds++
      lostOffsets += offsets
    },
  })
  cleanUp.after(() => store.close())
  return { store, reports, lostEnds: () => lostEnds, lostOffsets: () => lostOffsets }
}
