// Opens the Redis store from the settings: the connections for streams and for documents, and the store on them. Both
// use the same connections unless svc.storage.local.redis names another Redis for streams.

import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { redisTargets } from '../../settings/redis-target.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Store } from '../store.ts'
import { openRedisLinks } from './client/open-links.ts'
import { openRedisStore } from './redis-store.ts'

export interface ConnectOptions {
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  readonly logger: Logger
}

/**
 * Connects and opens the store. Throws StoreOpenError or StoreUnavailable, and leaves nothing open, if a Redis cannot
 * be used.
 */
export async function connectRedisStore({ settings, logger, ...rooms }: ConnectOptions): Promise<Store> {
  const targets = redisTargets(settings)
  const waitReplicas = settings.get('storage.local.write.wait-replicas')
  const common = {
    ...rooms,
    logger,
    clientName: `ketch-${settings.get('broker.id')}`,
    waitReplicas,
    writeConnections: settings.get('storage.local.write.connections'),
    readConnections: settings.get('storage.local.read.connections'),
  }
  const storage = await openRedisLinks({ ...common, target: targets.storage, carriesStreams: true })
  let broker = storage
  if (targets.broker !== targets.storage) {
    try {
      const own = { target: targets.broker, carriesStreams: false, waitReplicas: 0 }
      broker = await openRedisLinks({ ...common, ...own })
    } catch (error) {
      await storage.close()
      throw error
    }
  }
  const lost = rooms.metrics.child('svc.broker.lossy_records', { reason: 'lost' })
  return await openRedisStore({
    links: { storage, broker },
    namespace: settings.get('namespace'),
    waitReplicas,
    waitTimeoutMs: settings.get('storage.local.write.wait-timeout'),
    clock: rooms.clock,
    random: rooms.random,
    report: message => logger.warn(message),
    onLostEnd(offsets) {
      rooms.metrics.count('svc.storage.log_end_regressions', {})
      lost.inc(offsets)
    },
  })
}
