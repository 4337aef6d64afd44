// Opens the connections to a Redis as a broker does, from settings. Tests can read the log lines and metrics. The
// connections are closed with the test.

import { type Clock, systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/random.ts'
import { redisTargets } from '../src/settings/redis-target.ts'
import { testSettings, type Values } from '../src/settings/settings.ts'
import { type OpenRedisLinks, openRedisLinks } from '../src/store/redis/client/open-links.ts'
import { createLogger } from '../src/telemetry/logger.ts'
import { createMetrics, type Metrics } from '../src/telemetry/metrics.ts'
import type { CleanUp } from './broker.ts'

export interface TestLinks {
  readonly links: OpenRedisLinks
  readonly metrics: Metrics
  /** Returns everything that was logged so far. */
  log(): string
}

/**
 * Opens the connections of `svc.storage.local.redis`. Rejects as the start of a broker would. The log goes to
 * `lines`.
 */
export async function openTestLinks(
  cleanUp: CleanUp,
  overrides: Partial<Values>,
  clock: Clock = systemClock,
  lines: string[] = [],
): Promise<TestLinks> {
  const settings = testSettings(overrides)
  const metrics = createMetrics()
  const links = await openRedisLinks({
    target: redisTargets(settings).storage,
    carriesStreams: true,
    clientName: `ketch-${settings.get('broker.id')}`,
    writeConnections: settings.get('storage.local.write.connections'),
    readConnections: settings.get('storage.local.read.connections'),
    waitReplicas: settings.get('storage.local.write.wait-replicas'),
    clock,
    random: systemRandom,
    metrics,
    logger: createLogger({ clock: systemClock, write: line => lines.push(line), format: 'plain' }),
  })
  cleanUp.after(() => links.close())
  return { links, metrics, log: () => lines.join('') }
}
