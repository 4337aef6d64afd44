// Runs several brokers in the test's own process on one memory store: one cluster for its clients, on the real clock.
// Each broker has its own view of the store. A test can hold the calls of this view, so that the broker is cut off or
// seems paused.

import { systemClock } from '../src/base/clock.ts'
import type { Judge } from '../src/log/judge.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import type { Values } from '../src/settings/settings.ts'
import { type CleanUp, startBroker, type TestBroker } from './broker.ts'
import { eventually } from './eventually.ts'
import { createMemoryStore, type MemoryStore } from './sim/memory-store.ts'

export interface ClusterBroker extends TestBroker {
  readonly id: number
  readonly store: MemoryStore
  /** Holds all calls of this broker to the store, until the test calls the returned function. */
  cutOff(): () => void
}

export interface TestCluster {
  readonly contents: MemoryStore
  /** Starts one more broker; resolves when it serves. */
  start(id: number, overrides?: Partial<Values>): Promise<ClusterBroker>
  /** Resolves when each of these brokers reports exactly these ids as living. */
  agreed(brokers: readonly ClusterBroker[], ids: readonly number[]): Promise<void>
}

/** Short, so that tests are short; still ten intervals of 100 ms. */
export const EXPIRY_MS = 1_000

export function createCluster(
  cleanUp: CleanUp,
  shared: Partial<Values> = {},
  { hasHttp = false, judge }: { readonly hasHttp?: boolean; readonly judge?: Judge } = {},
): TestCluster {
  const contents = createMemoryStore(systemClock)
  return {
    contents,
    async start(id, overrides = {}) {
      const store = contents.beside()
      const broker = await startBroker(
        cleanUp,
        { 'broker.id': id, 'broker.expiry': EXPIRY_MS, 'broker.drain-timeout': 5_000, ...shared, ...overrides },
        { openStore: async () => store, isShared: true, hasHttp, ...(judge && { judge }) },
      )
      return { ...broker, id, store, cutOff: () => store.faults.hold('all') }
    },
    async agreed(brokers, ids) {
      for (const broker of brokers) {
        const wire = await broker.connect()
        await eventually(
          `broker ${broker.id} sees ${ids}`,
          async () => {
            const { brokers: seen } = await wire.send(metadata, 9, { topics: [] })
            return seen.map(each => each.nodeId).join() === ids.join()
          },
          60_000,
        )
        await wire.close()
      }
    },
  }
}
