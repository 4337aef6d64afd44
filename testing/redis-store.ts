// The Redis store as a broker opens it, for tests: on links of its own, with what it reports at hand, closed with the
// test.

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
  /** Its reports for people. */
  readonly reports: readonly string[]
  /** How often the end of a stream was lost. */
  readonly lostEnds: () => number
  readonly lostOffsets: () => number
}

/** Few connections, so that tests start fast. */
const FEW: Partial<Values> = { 'storage.local.write.connections': 2, 'storage.local.read.connections': 2 }

/** Connections that many stores of a test file use, one after the other; closed with `cleanUp`. */
export async function openSharedLinks(cleanUp: CleanUp, overrides: Partial<Values>): Promise<RedisLinks> {
  const { links } = await openTestLinks(cleanUp, { ...FEW, ...overrides })
  return {
    description: links.description,
    isCluster: links.isCluster,
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

/** As the settings say, on connections of its own unless some are given. */
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
