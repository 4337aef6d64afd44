// The connections to a Redis as a broker opens them, for tests: settings in, log lines and metrics at hand, closed with
// the test.

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
  /** Everything that was logged so far. */
  log(): string
}

/** Opens them as `svc.storage.local.redis` would be opened; rejects as a start would. The log goes to `lines`. */
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
