// One broker of a simulated cluster: the rooms that broker.ts builds, without listeners. It runs on a machine that
// can pause or die at any moment, and has its own connection to the simulated server. The storage worker sends its
// requests to the other brokers over the same network, and the cleaner works on the event loop. The broker makes no
// decisions of its own.

import { type Random, seededRandom } from '../../src/base/random.ts'
import { type Cluster, joinCluster } from '../../src/cluster/cluster.ts'
import { type Peers, PeerUnavailable } from '../../src/cluster/peers.ts'
import { type Groups, openGroups } from '../../src/coordinator/groups.ts'
import { openProducerIds, type ProducerIds } from '../../src/coordinator/producer-ids.ts'
import type { Rooms as HandlerRooms, Request } from '../../src/kafka/handler.ts'
import { runStorageRoundHandler } from '../../src/kafka/handlers/run-storage-round.ts'
import { type CatalogueKeeper, openCatalogue } from '../../src/log/catalogue.ts'
import { CleanerWork } from '../../src/log/cleaner/cleaner-work.ts'
import { type Logs, openLogs } from '../../src/log/logs.ts'
import { KAFKA_STORAGE_ERROR } from '../../src/protocol/errors.ts'
import { testSettings } from '../../src/settings/settings.ts'
import { isStoreFailure, type Store } from '../../src/store/store.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { type Claim, type Lease, openLease } from '../../src/tier/lease.ts'
import { openStorageWorker, type StorageWorker } from '../../src/tier/worker.ts'
import type { ReplicatedServer } from './replicated-server.ts'
import { connectReplicatedStore, type Fate, type Safeguards } from './replicated-store.ts'
import { Machine, type Scheduler } from './scheduler.ts'

export const EXPIRY_MS = 1_000
const WAIT_TIMEOUT_MS = 200
const LOOK_EVERY_MS = 300
const PEER_TIMEOUT_MS = 600
/** The true time at which a simulation begins, in ms since 1970. */
export const START_WALL_MS = 1_700_000_000_000

/** The rooms of a running broker that clients can reach. */
export interface Rooms {
  readonly store: Store
  readonly cluster: Cluster
  readonly catalogue: CatalogueKeeper
  readonly logs: Logs
  readonly groups: Groups
  readonly producerIds: ProducerIds
  readonly lease: Lease
  readonly worker: StorageWorker
}

export interface BrokerOptions {
  readonly id: number
  readonly scheduler: Scheduler
  readonly server: ReplicatedServer
  readonly safeguards: Safeguards
  readonly waitReplicas: number
  /** The current state of the network: the fate and latency of the broker's calls. */
  readonly network: { fate(verb: keyof Store | 'ask', broker: ClusterBroker): Fate; latencyMs(): number }
  /** All brokers of the cluster as they are now. */
  readonly others: readonly ClusterBroker[]
  /** Called if the process ends by itself: the store did not answer at the start, or another broker has its id. */
  readonly ended: (why: unknown) => void
  /** Another server for the documents, if `server` has only the streams. */
  readonly documents?: ReplicatedServer
  readonly settings?: Parameters<typeof testSettings>[0]
  /** How far the clock of the machine is ahead of the true time. */
  readonly aheadMs?: number
  /** The most bytes of one read, so that a pass of the cleaner has several pieces although the logs are small. */
  readonly readBytes?: number
  readonly cleanerWork?: CleanerWork
  /** Called when the storage worker sends a request of a round, to this broker or to another one. */
  readonly claims?: (claim: Claim, broker: ClusterBroker) => void
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
    this.machine = new Machine(scheduler, START_WALL_MS + (options.aheadMs ?? 0))
    this.#start(options, seededRandom(1 + scheduler.random.below(2 ** 31))).catch(error => options.ended(error))
  }

  async #start(options: BrokerOptions, random: Random): Promise<void> {
    const { id, scheduler, ended } = options
    const { clock } = this.machine
    const settings = testSettings({ ...SETTINGS, ...options.settings })
    const metrics = createMetrics()
    const write = (line: string) => scheduler.tell(`broker ${id}: ${line.slice(0, -1)}`)
    const logger = createLogger({ clock, write, format: 'plain' })
    const store = this.#store(options)

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
    const { cleanerWork = new CleanerWork() } = options
    const given = { store, catalogue, settings, clock, random, metrics, logger }
    const logs = await openLogs({ ...given, leadership: cluster, cleanerWork })
    const coordination = {
      coordinates: (groupId: string) => cluster.coordinatorOf(groupId) === id,
      get isConfirmed() {
        return cluster.isConfirmed
      },
      isShared: true,
    }
    const groups = await openGroups({ ...given, coordination })
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
    const lease = await openLease({
      ...given,
      logger: logger.named('storage.worker'),
      brokerId: id,
      incarnation: cluster.incarnation,
      isCandidate: settings.get('storage.worker.enabled'),
      durationMs: settings.get('storage.worker.lease-duration'),
      tickMs: settings.get('storage.worker.tick-interval'),
      lost: ended,
    })
    const worker = openStorageWorker({
      ...given,
      lease: this.#observed(lease, options),
      cluster,
      peers: this.#peers(options),
      runRound: logs.runRound,
      remoteNews: logs.remoteNews,
      remote: null,
      lost: ended,
    })
    const producerIds = openProducerIds(store, { clock, random })
    this.rooms = { store, cluster, catalogue, logs, groups, producerIds, lease, worker }
    this.#handOver = async () => {
      void worker.release().catch(ended)
      cluster.withdraw()
      await reassign()
      await cluster.leave()
      this.rooms = null
      await worker.close()
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

  /** Reports the claims of this broker on itself. */
  #observed(lease: Lease, { id, claims }: BrokerOptions): Lease {
    return Object.assign(Object.create(lease) as Lease, {
      refute: (claim: Claim) => {
        if (claim.holderId === id) claims?.(claim, this)
        return lease.refute(claim)
      },
    })
  }

  #peers({ scheduler, network, others, claims }: BrokerOptions): Peers {
    return {
      ask: (id, _, __, asked) => {
        const body = asked as unknown as Claim
        claims?.(body, this)
        return new Promise((resolve, reject) => {
          const { clock } = this.machine
          const failed = () => reject(new PeerUnavailable(id, 'does not answer in time', false))
          const timeout = clock.timer(PEER_TIMEOUT_MS, failed)
          const fate = network.fate('ask', this)
          const answer = (answered: object) => {
            if (fate !== 'answered') return
            scheduler.after(network.latencyMs(), () =>
              this.machine.reach(() => {
                timeout.cancel()
                resolve(answered as Awaited<ReturnType<Peers['ask']>> as never)
              }),
            )
          }
          if (fate === 'lost' || fate === 'refused') return
          const delayMs = fate === 'late' ? scheduler.within(PEER_TIMEOUT_MS) : network.latencyMs()
          scheduler.after(delayMs, () => {
            const broker = others.find(other => other.id === id)
            broker?.machine.reach(() => {
              if (broker.rooms !== null) void answerRound(broker.rooms, body).then(answer)
            })
          })
        })
      },
    }
  }

  #store(options: BrokerOptions): Store {
    const { server, documents, readBytes } = options
    const streams = this.#connect(options, server)
    if (readBytes !== undefined) {
      const { read } = streams
      streams.read = (id, from, limits) => read(id, from, { ...limits, maxBytes: Math.min(limits.maxBytes, readBytes) })
    }
    if (documents === undefined) return streams
    const { load, version, list, names, commit, close } = this.#connect({ ...options, waitReplicas: 0 }, documents)
    return {
      ...streams,
      ...{ load, version, list, names, commit },
      async close() {
        await Promise.all([streams.close(), close()])
      },
    }
  }

  #connect({ scheduler, safeguards, waitReplicas, network }: BrokerOptions, server: ReplicatedServer): Store {
    let lastToServerMs = 0
    let lastToBrokerMs = 0
    return connectReplicatedStore({
      server,
      safeguards,
      waitReplicas,
      waitTimeoutMs: WAIT_TIMEOUT_MS,
      lookEveryMs: LOOK_EVERY_MS,
      wire: {
        fate: verb => network.fate(verb, this),
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

/** Answers a request of the holder as the Kafka listener of the broker does. */
async function answerRound({ worker }: Rooms, body: Claim): Promise<object> {
  const answering = runStorageRoundHandler.open({ storageWorker: worker } as unknown as HandlerRooms)
  const request = { body, connection: {} } as unknown as Request<never>
  try {
    return (await answering.answer(request)) as object
  } catch (error) {
    if (!isStoreFailure(error)) throw error
    return answering.refused(request, KAFKA_STORAGE_ERROR) as object
  }
}

const SETTINGS: Parameters<typeof testSettings>[0] = {
  'broker.rebalance-delay': 50,
  'broker.group-min-session-timeout': 100,
  // Small, so that reads come partly from the store and partly from memory.
  'storage.local.tail-cache-bytes': 4_000,
}
