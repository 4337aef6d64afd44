// Opens the log room on any store, as one of several brokers or after a restart. Its owner runs the rounds of the
// storage worker. testing/sim/logs.ts opens it on the memory store, with a storage worker.

import type { Clock } from '../src/base/clock.ts'
import { seededRandom } from '../src/base/random.ts'
import type { ColdTier } from '../src/log/archive.ts'
import { type CatalogueKeeper, openCatalogue } from '../src/log/catalogue.ts'
import { CleanerWork } from '../src/log/cleaner/cleaner-work.ts'
import { type Leadership, SOLE_LEADERSHIP } from '../src/log/leadership.ts'
import { type Logs, openLogs } from '../src/log/logs.ts'
import { testSettings, type Values } from '../src/settings/settings.ts'
import type { Store } from '../src/store/store.ts'
import { createLogger } from '../src/telemetry/logger.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import type { CleanUp } from './broker.ts'

export interface OpenedLogs {
  readonly store: Store
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  /** The lines of the broker's log. */
  readonly lines: readonly string[]
}

export interface OpenLogsOptions {
  readonly clock: Clock
  readonly leadership?: Leadership
  readonly overrides?: Partial<Values>
  readonly coldTier?: ColdTier | null
}

/** The logs are closed with the test, or before by their owner. The cleaner works on the event loop. */
export async function openLogsOn(
  cleanUp: CleanUp,
  store: Store,
  { clock, leadership = SOLE_LEADERSHIP, overrides, coldTier = null }: OpenLogsOptions,
): Promise<OpenedLogs> {
  const settings = testSettings(overrides)
  const random = seededRandom(7)
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain' })
  const catalogue = await openCatalogue(store, settings, clock, random)
  const logs = await openLogs({
    store,
    catalogue,
    leadership,
    settings,
    clock,
    random,
    metrics: createMetrics(),
    logger,
    cleanerWork: new CleanerWork(),
    coldTier,
  })
  cleanUp.after(() => logs.close())
  return { store, catalogue, logs, lines }
}
