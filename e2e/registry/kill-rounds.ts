// Rounds of kills of brokers that register schemas: one on each kind of store. kill.all.test.ts does a few kills of
// each, and `npm run chaos -- registry` twenty.

import { systemClock } from '../../src/base/clock.ts'
import { seededRandom } from '../../src/base/random.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { startBrokerProcess } from '../../testing/process.ts'
import { startRedis } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { newFolder } from '../../testing/store-folder.ts'
import { killUnderRegistrations } from './kill.ts'

/** Each call of a client asks a broker of its own accord, without a password. */
const OPEN = { 'svc.schema-registry.authentication': 'none', 'svc.ui.enabled': 'false' }

export interface KillOptions {
  readonly kills: number
  readonly seed: number
}

export interface KillRound {
  readonly name: string
  /** True if it needs a redis-server. */
  readonly onRedis: boolean
  /** Resolves with a sentence about what was done. Rejects if something is lost, or if an id has two schemas. */
  run(cleanUp: CleanUp, options: KillOptions): Promise<string>
}

/** Starts three brokers on one Redis. */
export async function threeOn(cleanUp: CleanUp, uri: string, more: Readonly<Record<string, string>> = {}) {
  const start = (id: number) =>
    startBrokerProcess(cleanUp, {
      settings: { ...OPEN, ...more, 'svc.redis.uri': uri, 'svc.broker.id': String(id), 'svc.broker.expiry': '2s' },
    })
  return await Promise.all([1, 2, 3].map(start))
}

export const KILL_ROUNDS: readonly KillRound[] = [
  {
    name: 'three brokers on Redis',
    onRedis: true,
    async run(cleanUp, { kills, seed }) {
      const { uri } = await startRedis(cleanUp, { appendfsync: 'always' })
      const brokers = await threeOn(cleanUp, uri)
      const openStore = async () => (await openTestStore(cleanUp, { 'redis.uri': uri })).store
      return await killUnderRegistrations(brokers, { kills, random: seededRandom(seed), openStore })
    },
  },
  embedded('always'),
  embedded('interval'),
]

function embedded(fsync: 'always' | 'interval'): KillRound {
  return {
    name: `an embedded broker with fsync ${fsync}`,
    onRedis: false,
    async run(cleanUp, { kills, seed }) {
      const path = newFolder(cleanUp)
      const settings = { ...OPEN, 'svc.storage.local.embedded.fsync': fsync }
      const broker = await startBrokerProcess(cleanUp, { folder: path, settings })
      const openStore = async () => {
        const options = { fsync: 'interval', fsyncIntervalMs: 50, journalFileBytes: 1 << 24 } as const
        const store = await openEmbeddedStore({ path, ...options, clock: systemClock, report: () => {} })
        cleanUp.after(() => store.close())
        return store
      }
      return await killUnderRegistrations([broker], { kills, random: seededRandom(seed), openStore })
    },
  }
}
