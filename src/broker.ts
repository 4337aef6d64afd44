// One broker: opens the store, the rooms above it and the listener, in that order, and closes them in the other. The only
// file beside main.ts that names a concrete adapter. Several brokers can live in one process.

import { type Clock, systemClock, within } from './base/clock.ts'
import { type Random, systemRandom } from './base/random.ts'
import { aloneInCluster, type Cluster, joinCluster } from './cluster/cluster.ts'
import { openClientQuotas } from './coordinator/client-quotas.ts'
import { type Coordination, openGroups } from './coordinator/groups.ts'
import { openProducerIds } from './coordinator/producer-ids.ts'
import { Budget } from './kafka/budget.ts'
import { createDispatch } from './kafka/dispatch.ts'
import { handlers } from './kafka/handlers/all.ts'
import type { Rooms } from './kafka/handlers/handler.ts'
import { listen } from './kafka/listener.ts'
import { createThrottle } from './kafka/throttle.ts'
import { openCatalogue } from './log/catalogue.ts'
import type { Leadership } from './log/leadership.ts'
import { openLogs } from './log/logs.ts'
import { chooseEngine } from './settings/engine.ts'
import { latencyBuckets, redisTargets } from './settings/redis-target.ts'
import { fullKey, type Settings } from './settings/settings.ts'
import { openEmbeddedStore } from './store/embedded/embedded-store.ts'
import type { Store } from './store/store.ts'
import { createLogger, type Logger, writeToStandardOutput } from './telemetry/logger.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'

export interface BrokerOptions {
  readonly settings: Settings
  readonly clock?: Clock
  readonly random?: Random
  /** Takes the lines of the log, each with its newline. */
  readonly write?: (line: string) => void
  /** Opens the store in place of the one that the settings choose, for runs without a disk. */
  readonly openStore?: () => Promise<Store>
  /** Whether that store can be used by other brokers at the same time. */
  readonly isShared?: boolean
}

export interface Broker {
  /** The ports that the Kafka listeners are bound to, in the order of the settings. */
  readonly kafkaPorts: readonly number[]
  /** What Kafka clients of the first listener are told, `host:port`. */
  readonly address: string
  readonly metrics: Metrics
  readonly logger: Logger
  /** Settles when the broker cannot go on, with the reason; whoever runs it should end it. */
  readonly failed: Promise<Error>
  /**
   * Drains: at most `broker.drain-timeout` for handing over and for what is in flight, then the rooms, which on a shared store
   * that does not answer are left behind. Idempotent.
   */
  close(): Promise<void>
}

/** Of the drain timeout, for handing over; the rest is for the requests in flight. */
const HAND_OVER_SHARE = 0.5

/** Topics that a line names. */
const NAMED_AT_ONCE = 20

/** For closing the rooms when the drain timeout is over. The process gives up a moment later (main.ts). */
const CLOSE_MS = 500

/**
 * Starts a broker and resolves when clients can connect. Throws ListenFailed, or what the store throws when its folder or its
 * Redis cannot be used; nothing is left open then.
 */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const { settings, clock = systemClock, random = systemRandom, write = writeToStandardOutput } = options
  const logger = createLogger({
    clock,
    write,
    format: settings.get('logging.structured.format.console') ?? 'plain',
    levels: settings.get('logging.level'),
  })
  const log = logger.named('broker')
  const engine = chooseEngine(settings)
  log.info(`the local tier is the ${engine.engine} store, as ${fullKey(engine.key)} says`, {
    key: fullKey(engine.key),
    origin: settings.origin(engine.key),
  })
  for (const override of settings.overrides) log.info(override)
  for (const warning of settings.warnings) log.warn(warning)
  const redis = redisTargets(settings)
  const metrics = createMetrics({
    'svc.redis.command': latencyBuckets(redis.broker),
    'svc.storage.local.redis.command': latencyBuckets(redis.storage),
  })
  const failure = Promise.withResolvers<Error>()
  const openEngine = async (): Promise<Store> => {
    if (engine.engine === 'redis') {
      // Loading the client takes longer than the rest of a start, and nobody else needs it.
      const { connectRedisStore } = await import('./store/redis/connect-store.ts')
      return await connectRedisStore({ settings, clock, random, metrics, logger: logger.named('store') })
    }
    return await openEmbeddedStore({
      path: settings.get('storage.local.embedded.path'),
      fsync: settings.get('storage.local.embedded.fsync'),
      fsyncIntervalMs: settings.get('storage.local.embedded.fsync-interval'),
      journalFileBytes: settings.get('storage.local.embedded.journal-file-bytes'),
      clock,
      random,
      onFatal: failure.resolve,
      report: message => logger.named('store').warn(message),
    })
  }
  const openStore = options.openStore ?? openEngine
  const store = await openStore()
  log.info(store.description)
  /** What is open, newest last. */
  const open: { readonly what: string; close(): Promise<unknown> }[] = [
    { what: 'the store', close: () => store.close() },
  ]
  const closeAll = async () => {
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      await last.close()
      open.pop()
    }
  }
  try {
    const nodeId = settings.get('broker.id')
    const rack = settings.get('broker.rack')
    const isShared = options.isShared ?? engine.engine === 'redis'
    const cluster = isShared
      ? await joinCluster({
          store,
          clock,
          random,
          logger,
          metrics,
          brokerId: nodeId,
          rack,
          expiryMs: settings.get('broker.expiry'),
          lost: failure.resolve,
        })
      : aloneInCluster(nodeId, rack)
    open.push({ what: 'the cluster', close: () => cluster.close() })
    const catalogue = await openCatalogue(store, settings, clock, random, isShared ? () => isOnlyOne(cluster) : null)
    const logs = await openLogs({
      store,
      catalogue,
      leadership: leadershipOf(cluster),
      settings,
      clock,
      random,
      metrics,
      logger,
    })
    open.push({ what: 'the logs', close: () => logs.close() })
    const coordination: Coordination = {
      coordinates: groupId => cluster.coordinatorOf(groupId) === nodeId,
      get isConfirmed() {
        return cluster.isConfirmed
      },
      isShared,
    }
    const groups = await openGroups({ store, catalogue, coordination, settings, clock, random, metrics, logger })
    open.push({ what: 'the groups', close: () => groups.close() })
    catalogue.watch({
      replaced({ before, after }, lost) {
        log.error(
          `the store was emptied or replaced: cluster ${before} is gone with its ${lost.length} topics, their records, groups and offsets, and this ` +
            `broker goes on with what the store is by now, cluster ${after}; if that was a mistake, stop the brokers and restore the store`,
          { topics: lost.slice(0, NAMED_AT_ONCE).map(({ name }) => name) },
        )
      },
      removed(topics) {
        for (const { id } of topics) {
          groups.topicRemoved(id)
          cluster.forgetTopic(id)
        }
      },
    })
    groups.keepTopics(catalogue.current().topicsById)
    const producerIds = openProducerIds(store)
    const clientQuotas = await openClientQuotas(store)

    const budget = new Budget({
      maxBytes: settings.get('broker.global-max-pending-bytes'),
      resumeBytes: settings.get('broker.global-resume-pending-bytes'),
    })
    metrics.sample('svc.broker.pending_bytes', {}, () => budget.pendingBytes)
    const throttle = createThrottle(clientQuotas, clock)
    const rooms: Rooms = {
      catalogue,
      logs,
      groups,
      producerIds,
      clientQuotas,
      throttle,
      cluster,
      nodeId,
      settings,
      metrics,
      logger,
      clock,
      random,
    }
    const draining = new AbortController()
    const dispatch = createDispatch(handlers, rooms, draining.signal)
    const listeners = await listen({ settings, dispatch, budget, throttle, clock, metrics, logger })
    const reassign = async () => {
      await Promise.all([logs.reassign(), groups.reassign()])
    }
    if (isShared) {
      const catchUp = () => Promise.all([catalogue.catchUp(), clientQuotas.catchUp()])
      const complain = (error: unknown) =>
        log.limited('catch-up', 10_000).warn('what other brokers have changed cannot be read', { error })
      cluster.watch({
        changed: () => void reassign().catch(failure.resolve),
        looked() {
          void catchUp().catch(complain)
          logs.regain(cluster.epochOf)
        },
      })
    }
    await cluster.announce(listeners.bound.map(({ advertised }) => advertised))
    if (isShared) await reassign()
    const up = metrics.child('svc.broker.up', {})
    up.set(1)
    const [address] = listeners.bound.map(({ advertised, host, port }) => {
      const told = `${advertised.host}:${advertised.port}`
      log.info(`Kafka clients connect to ${told}`, { listener: advertised.name, bound: `${host}:${port}` })
      return told
    })

    /** Gives up what this broker leads, so that others take it over while clients can still ask who. */
    const handOver = async () => {
      const isHeard = cluster.isConfirmed
      cluster.withdraw()
      await reassign()
      if (isHeard) await cluster.leave()
      else log.warn('the store does not answer: the other brokers are not told that this one leaves, and will notice')
    }

    const isDone = (withinMs: number, work: Promise<unknown>) =>
      within(
        clock,
        withinMs,
        work.then(() => true),
        () => false,
      )

    const drain = async () => {
      up.set(0)
      const timeoutMs = settings.get('broker.drain-timeout')
      const deadlineMs = clock.monotonic() + timeoutMs
      const leftMs = () => Math.max(0, deadlineMs - clock.monotonic())
      if (isShared && !(await isDone(timeoutMs * HAND_OVER_SHARE, handOver())))
        log.warn(
          'handing over takes too long and is not waited for: what this broker led is led again when it has expired',
        )
      log.info('draining: requests in flight are answered, new ones are not read', { timeoutMs: Math.round(leftMs()) })
      const drained = listeners.drain()
      // Only now, when nobody's next request is read: who is answered would ask again at once.
      draining.abort()
      logs.releaseWaiters()
      groups.drain()
      if (!(await isDone(leftMs(), drained)))
        log.warn('the drain timeout is over; connections with unanswered requests are closed')
      listeners.destroy()
      // What a shared store has not heard by now the others find out; a store of this broker's own must be closed well.
      if (!isShared) await closeAll()
      else if (!(await isDone(Math.max(leftMs(), CLOSE_MS), closeAll())))
        log.warn(`the store does not answer: ended without closing ${open.map(({ what }) => what).join(', ')}`)
      log.info('closed')
    }
    let closing: Promise<void> | null = null
    return {
      kafkaPorts: listeners.bound.map(({ port }) => port),
      address: address!,
      metrics,
      logger,
      failed: failure.promise,
      close() {
        closing ??= drain()
        return closing
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** Whether no other broker lives on the store, as of now. */
async function isOnlyOne(cluster: Cluster): Promise<boolean> {
  await cluster.look()
  return cluster.isConfirmed && cluster.brokers().every(({ id }) => id === cluster.brokerId)
}

/** Who leads, as the logs ask it. */
function leadershipOf(cluster: Cluster): Leadership {
  const leads = (topicId: string, index: number) => cluster.leaderOf(topicId, index) === cluster.brokerId
  return {
    leads,
    get isConfirmed() {
      return cluster.isConfirmed
    },
    led: cluster.led,
    async stillLeads(topicId, index) {
      await cluster.look()
      return leads(topicId, index)
    },
  }
}
