// One broker of a simulated cluster: the rooms that broker.ts builds, without listeners. It runs on a machine that
// can pause or die at any moment, and has its own connection to the simulated server. It makes no decisions of its
// own.

import { type Random, seededRandom } from '../../src/base/random.ts'
import { type Cluster, joinCluster } from '../../src/cluster/cluster.ts'
import { type Groups, openGroups } from '../../src/coordinator/groups.ts'
import { openProducerIds, type ProducerIds } from '../../src/coordinator/producer-ids.ts'
import { type CatalogueKeeper, openCatalogue } from '../../src/log/catalogue.ts'
import { type Logs, openLogs } from '../../src/log/logs.ts'
import { testSettings } from '../../src/settings/settings.ts'
import { isStoreFailure, type Store } from '../../src/store/store.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import type { ReplicatedServer } from './replicated-server.ts'
import { connectReplicatedStore, type Fate, type Safeguards } from './replicated-store.ts'
import { Machine, type Scheduler } from './scheduler.ts'

export const EXPIRY_MS = 1_000
const WAIT_TIMEOUT_MS = 200
const LOOK_EVERY_MS = 300
const START_WALL_MS = 1_700_000_000_000

/** The rooms of a running broker that clients can reach. */
export interface Rooms {
  readonly store: Store
  readonly cluster: Cluster
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  readonly groups: Groups
  readonly producerIds: ProducerIds
}

export interface BrokerOptions {
  readonly id: number
  readonly scheduler: Scheduler
  readonly server: ReplicatedServer
  readonly safeguards: Safeguards
  readonly waitReplicas: number
  /** The current state of the network: the fate and latency of the broker's calls. */
  readonly network: { fate(): Fate; latencyMs(): number }
  /** Called if the process ends by itself: the store did not answer at the start, or another broker has its id. */
  readonly ended: (why: unknown) => void
}

/** One broker process, from its start to its end. */
export class ClusterBroker {
  readonly id: number
  readonly machine: Machine
  /** Null until the broker serves. */
  rooms: Rooms | null = null
  #handOver: (() => Promise<void>) | null = null

  constructor(options: BrokerOptions) {
    const { scheduler } = options
    this.id = options.id
    this.machine = new Machine(scheduler, START_WALL_MS)
    this.#start(options, seededRandom(1 + scheduler.random.below(2 ** 31))).catch(error => options.ended(error))
  }

  async #start(options: BrokerOptions, random: Random): Promise<void> {
    const { id, scheduler, ended } = options
    const { clock } = this.machine
    const settings = testSettings(SETTINGS)
    const metrics = createMetrics()
    const write = (line: string) => scheduler.tell(`broker ${id}: ${line.slice(0, -1)}`)
    const logger = createLogger({ clock, write, format: 'plain' })
    const store = this.#connect(options)

    const cluster = await joinCluster({
      store,
      clock,
      random,
      logger,
      brokerId: id,
      rack: null,
      expiryMs: EXPIRY_MS,
      lost: ended,
    })
    const isOnlyOne = async () => {
      await cluster.look()
      return cluster.isConfirmed && !cluster.hasOthers
    }
    const catalogue = await openCatalogue(store, settings, clock, random, isOnlyOne)
    const logs = await openLogs({ store, catalogue, leadership: cluster, settings, clock, random, metrics, logger })
    const coordination = {
      coordinates: (groupId: string) => cluster.coordinatorOf(groupId) === id,
      get isConfirmed() {
        return cluster.isConfirmed
      },
      isShared: true,
    }
    const groups = await openGroups({ store, catalogue, coordination, settings, clock, random, metrics, logger })
    catalogue.watch({
      removed(topics) {
        groups.topicsRemoved(new Set(topics.map(({ id }) => id)))
      },
    })
    groups.keepTopics(catalogue.current().topicsById)
    const reassign = async () => {
      await Promise.all([logs.reassign(), groups.reassign()])
    }
    cluster.watch({
      changed: () => void reassign().catch(ended),
      looked() {
        catalogue.catchUp().catch(error => {
          if (!isStoreFailure(error)) ended(error)
        })
        logs.regain(cluster.epochOf)
      },
    })
    await cluster.announce([{ name: 'plain', host: `broker-${id}`, port: 9092, security: 'plaintext' }])
    await reassign()
    this.rooms = { store, cluster, catalogue, logs, groups, producerIds: openProducerIds(store, { clock, random }) }
    this.#handOver = async () => {
      cluster.withdraw()
      await reassign()
      await cluster.leave()
      this.rooms = null
      await logs.close()
      await groups.close()
      await cluster.close()
      await store.close()
    }
    scheduler.tell(`broker ${id} serves`)
  }

  /**
   * Hands over its partitions and groups and ends, as on SIGTERM. Resolves when it has ended. Throws the store's
   * errors.
   */
  async drain(): Promise<void> {
    await this.#handOver?.()
  }

  #connect({ scheduler, server, safeguards, waitReplicas, network }: BrokerOptions): Store {
    let lastToServerMs = 0
    let lastToBrokerMs = 0
    return connectReplicatedStore({
      server,
      safeguards,
      waitReplicas,
      waitTimeoutMs: WAIT_TIMEOUT_MS,
      lookEveryMs: LOOK_EVERY_MS,
      wire: {
        fate: () => network.fate(),
        toServer: arrived => {
          lastToServerMs = Math.max(lastToServerMs, scheduler.nowMs + network.latencyMs())
          scheduler.after(lastToServerMs - scheduler.nowMs, arrived)
        },
        toBroker: arrived => {
          lastToBrokerMs = Math.max(lastToBrokerMs, scheduler.nowMs + network.latencyMs())
          scheduler.after(lastToBrokerMs - scheduler.nowMs, () => this.machine.reach(arrived))
        },
        later: (ms, due) => scheduler.after(ms, due).cancel,
        delayMs: () => scheduler.within(500),
      },
    })
  }
}

const SETTINGS: Parameters<typeof testSettings>[0] = {
  'broker.rebalance-delay': 50,
  'broker.group-min-session-timeout': 100,
  // Small, so that reads come partly from the store and partly from memory.
  'storage.local.tail-cache-bytes': 4_000,
}
