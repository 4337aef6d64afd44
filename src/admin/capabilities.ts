// Describes this broker for a program that meets it for the first time: its build, its store, the capabilities that it
// has, and the addresses for Kafka clients. settings/capabilities.ts has the table of capabilities.

import type { Capabilities, Capability, KafkaListener } from '../api/capabilities.ts'
import type { SecurityProtocol } from '../api/words.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import { usesSasl, usesTls } from '../settings/endpoints.ts'
import { chooseEngine } from '../settings/engine.ts'
import { redisTargets } from '../settings/redis-target.ts'
import type { ListenerSecurity, Settings } from '../settings/settings.ts'
import { capabilityStates } from '../settings/switches.ts'
import type { Store } from '../store/store.ts'
import type { Build } from './build.ts'

export interface CapabilityRooms {
  readonly settings: Settings
  readonly store: Pick<Store, 'description'>
  readonly catalogue: Pick<CatalogueKeeper, 'current'>
  readonly cluster: Pick<Cluster, 'brokers'>
  readonly nodeId: number
  readonly build: () => Promise<Build>
}

export async function describeCapabilities(rooms: CapabilityRooms): Promise<Capabilities> {
  const { settings, store, catalogue, nodeId } = rooms
  const build = await rooms.build()
  const isRedis = chooseEngine(settings).engine === 'redis'
  const capabilities: Capability[] = [...capabilityStates(settings)]
  const engine = isRedis ? (redisTargets(settings).storage.isCluster ? 'redis-cluster' : 'redis') : 'embedded'
  return {
    version: build.version,
    build,
    brokerId: nodeId,
    clusterId: catalogue.current().clusterId,
    namespace: isRedis ? settings.get('namespace') : null,
    store: { engine, description: store.description },
    capabilities,
    listeners: listenersOf(rooms),
    limits: {
      maxPartitionsPerTopic: settings.get('max-partitions-per-topic'),
      maxPartitions: settings.get('max-partitions'),
      sessionMs: settings.get('admin.jwt.expiry'),
      metricsHistory: settings.get('admin.metrics-history.enabled')
        ? {
            intervalMs: settings.get('admin.metrics-history.interval'),
            retentionMs: settings.get('admin.metrics-history.retention'),
          }
        : null,
    },
  }
}

/** Kafka's names of the securities that a listener can have. */
const PROTOCOLS: Readonly<Record<ListenerSecurity, SecurityProtocol>> = Object.freeze({
  plaintext: 'PLAINTEXT',
  tls: 'SSL',
  'sasl-plaintext': 'SASL_PLAINTEXT',
  'sasl-tls': 'SASL_SSL',
})

/** Returns the listeners of all living brokers, first those of this one. */
function listenersOf({ cluster, nodeId, settings }: CapabilityRooms): KafkaListener[] {
  const brokers = cluster.brokers()
  const own = brokers.filter(({ id }) => id === nodeId)
  const others = brokers.filter(({ id }) => id !== nodeId)
  return [...own, ...others].flatMap(({ id, endpoints }) =>
    endpoints.map(({ name, host, port, security }) => ({
      ...{ brokerId: id, name, host, port, security: PROTOCOLS[security] },
      mechanisms: id === nodeId && usesSasl(security) ? [...settings.get('broker.sasl.mechanisms')] : [],
      needsCertificate: !usesTls(security) ? false : id === nodeId ? settings.get('broker.client-auth-required') : null,
    })),
  )
}
