// One broker: opens the store, the rooms above it and the listener, in that order, and closes them in the other. The only
// file beside main.ts that names a concrete adapter. Several brokers can live in one process.

import { openBuild, readPackage } from './admin/build.ts'
import { createHealth, type HealthRooms } from './admin/health.ts'
import { publishLag } from './admin/lag-gauges.ts'
import { MessageReaders } from './admin/message-readers.ts'
import { type Accounts, openAccounts } from './auth/accounts.ts'
import type { HashParameters } from './auth/password-hash.ts'
import type { SingleSignOn } from './auth/single-sign-on.ts'
import { type Clock, systemClock, within } from './base/clock.ts'
import { type Random, systemRandom } from './base/random.ts'
import { aloneInCluster, type Cluster, joinCluster } from './cluster/cluster.ts'
import { openClientQuotas } from './coordinator/client-quotas.ts'
import { committedBounds } from './coordinator/committed-bounds.ts'
import { type Coordination, openGroups } from './coordinator/groups.ts'
import { openProducerIds } from './coordinator/producer-ids.ts'
import type { AnyRoute, HttpRooms } from './http/route.ts'
import type { HttpLimits, HttpServer } from './http/server.ts'
import { Admission } from './kafka/connection/admission.ts'
import { createDispatch } from './kafka/dispatch.ts'
import { handlers } from './kafka/handlers/all.ts'
import type { Rooms } from './kafka/handlers/handler.ts'
import { listen } from './kafka/listener.ts'
import { openPeers } from './kafka/peers.ts'
import { createThrottle } from './kafka/throttle.ts'
import { type CatalogueKeeper, mayExist, openCatalogue, type Topic } from './log/catalogue.ts'
import { openLogs } from './log/logs.ts'
import { chooseEngine } from './settings/engine.ts'
import { latencyBuckets, redisTargets } from './settings/redis-target.ts'
import { fullKey, type Settings } from './settings/settings.ts'
import { openEmbeddedStore } from './store/embedded/embedded-store.ts'
import type { Store } from './store/store.ts'
import { nameUnreadable } from './store/unreadable.ts'
import { readDescriptors, watchDescriptors } from './telemetry/descriptors.ts'
import { startHistory } from './telemetry/history.ts'
import { createLogger, type Logger, writeToStandardOutput } from './telemetry/logger.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { watchRuntime } from './telemetry/runtime-metrics.ts'

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
  /** False: no HTTP side. */
  readonly hasHttp?: boolean
  /** Routes and limits in place of the broker's own, for tests of what holds for every route. */
  readonly http?: HttpOverrides
}

export interface HttpOverrides {
  readonly routes?: readonly AnyRoute[]
  readonly limits?: Partial<HttpLimits>
  readonly hashParameters?: HashParameters
}

export interface Broker {
  /** The ports that the Kafka listeners are bound to, in the order of the settings. */
  readonly kafkaPorts: readonly number[]
  /** The port that the admin API and the console are bound to; null without them. */
  readonly httpPort: number | null
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
  const unreadable = nameUnreadable(metrics, logger)
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
  // Loaded while the store opens.
  const httpParts = options.hasHttp === false ? null : loadHttp()
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
    const runtime = watchRuntime(metrics, clock)
    open.push({ what: 'the runtime metrics', close: async () => runtime.close() })
    const history = startHistory({
      metrics,
      clock,
      logger,
      enabled: settings.get('admin.metrics-history.enabled'),
      intervalMs: settings.get('admin.metrics-history.interval'),
      retentionMs: settings.get('admin.metrics-history.retention'),
      maxSeries: settings.get('admin.metrics-history.max-series'),
    })
    open.push({ what: 'the history', close: async () => history.close() })
    const nodeId = settings.get('broker.id')
    const rack = settings.get('broker.rack')
    const { version } = await readPackage()
    const isShared = options.isShared ?? engine.engine === 'redis'
    const cluster = isShared
      ? await joinCluster({
          store,
          clock,
          random,
          logger,
          unreadable,
          brokerId: nodeId,
          rack,
          version,
          expiryMs: settings.get('broker.expiry'),
          lost: failure.resolve,
        })
      : aloneInCluster(nodeId, rack, version)
    open.push({ what: 'the cluster', close: () => cluster.close() })
    metrics.sample('svc.cluster.brokers', {}, () => cluster.brokers().length)
    metrics.sample('svc.cluster.confirmed', {}, () => (cluster.isConfirmed ? 1 : 0))
    const isAlone = isShared ? () => isOnlyOne(cluster) : null
    const catalogue = await openCatalogue(store, settings, clock, random, isAlone, unreadable)
    // Before the logs look who leads what.
    followAssignments(catalogue, cluster)
    const logs = await openLogs({
      store,
      catalogue,
      leadership: cluster,
      settings,
      clock,
      random,
      metrics,
      logger,
      unreadable,
      committedUpTo: committedBounds(store),
    })
    open.push({ what: 'the logs', close: () => logs.close() })
    const coordination: Coordination = {
      coordinates: groupId => cluster.coordinatorOf(groupId) === nodeId,
      get isConfirmed() {
        return cluster.isConfirmed
      },
      isShared,
    }
    const rest = { settings, clock, random, metrics, logger, unreadable }
    const groups = await openGroups({ store, catalogue, coordination, ...rest })
    open.push({ what: 'the groups', close: () => groups.close() })
    catalogue.watch({
      replaced({ before, after }, lost) {
        // A server that drops keys may do so again and again.
        log
          .limited('replaced', 10_000)
          .error(
            `the store was emptied or replaced: cluster ${before} is gone with its ${lost.length} topics, their records, groups and offsets, and this ` +
              `broker goes on with what the store is by now, cluster ${after}; if that was a mistake, stop the brokers and restore the store`,
            { topics: lost.slice(0, NAMED_AT_ONCE).map(({ name }) => name) },
          )
      },
      removed(topics) {
        groups.topicsRemoved(new Set(topics.map(({ id }) => id)))
        for (const { id } of topics) cluster.forgetTopic(id)
      },
    })
    groups.keepTopics(mayExist(catalogue.current()))
    const producerIds = openProducerIds(store)
    const clientQuotas = await openClientQuotas(store, { clock, random, unreadable })

    const admission = new Admission({
      maxBytes: settings.get('broker.global-max-pending-bytes'),
      resumeBytes: settings.get('broker.global-resume-pending-bytes'),
    })
    const throttle = createThrottle(clientQuotas, clock)
    const peers = openPeers({ cluster, clock })
    open.push({ what: 'the connections to other brokers', close: async () => peers.close() })
    const descriptors = readDescriptors()
    const watch = watchDescriptors(clock, log)
    open.push({ what: 'the watch of descriptors', close: async () => watch.close() })
    const rooms: Rooms & Omit<HttpRooms, Made> = {
      store,
      unreadable,
      catalogue,
      logs,
      groups,
      producerIds,
      clientQuotas,
      throttle,
      cluster,
      peers,
      nodeId,
      settings,
      descriptors,
      metrics,
      history,
      logger,
      clock,
      random,
    }
    const lagGauges = publishLag(rooms)
    open.push({ what: 'the lag gauges', close: () => lagGauges.close() })
    const draining = new AbortController()
    const dispatch = createDispatch(handlers, rooms, draining.signal)
    const up = metrics.child('svc.broker.up', {})
    const http =
      httpParts === null
        ? null
        : await openHttp(await httpParts, { ...rooms, isUp: () => up.value === 1 }, options.http)
    if (http !== null) {
      const close = () => {
        const drained = http.drain()
        http.destroy()
        return drained
      }
      open.push({ what: 'the HTTP side', close })
    }
    const listeners = await listen({ settings, dispatch, admission, throttle, descriptors, clock, metrics, logger })
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
    up.set(1)
    if (http !== null) log.info(`the admin API answers at ${http.url}`, { bound: `${http.host}:${http.port}` })
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
      // The probes say that this broker drains for as long as Kafka clients are being answered.
      const drained = listeners.drain().then(() => http?.drain())
      // Only now, when nobody's next request is read: who is answered would ask again at once.
      draining.abort()
      logs.releaseWaiters()
      groups.drain()
      if (!(await isDone(leftMs(), drained)))
        log.warn('the drain timeout is over; connections with unanswered requests are closed')
      listeners.destroy()
      http?.destroy()
      // What a shared store has not heard by now the others find out; a store of this broker's own must be closed well.
      if (!isShared) await closeAll()
      else if (!(await isDone(Math.max(leftMs(), CLOSE_MS), closeAll())))
        log.warn(`the store does not answer: ended without closing ${open.map(({ what }) => what).join(', ')}`)
      log.info('closed')
    }
    let closing: Promise<void> | null = null
    return {
      kafkaPorts: listeners.bound.map(({ port }) => port),
      httpPort: http?.port ?? null,
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

/** What openHttp makes for the HTTP side alone. */
type Made = 'accounts' | 'singleSignOn' | 'health' | 'build' | 'messageReaders'

/** What the HTTP side stands on takes longer to load than the rest of a start; tests of the Kafka side go without. */
function loadHttp() {
  const parts = Promise.all([import('./http/server.ts'), import('./http/routes/all.ts')])
  // Whoever waits for it hears of it.
  parts.catch(() => {})
  return parts
}

async function openHttp(
  [{ serveHttp, HTTP_LIMITS }, { allRoutes }]: Awaited<ReturnType<typeof loadHttp>>,
  rooms: Omit<HttpRooms, Made> & Pick<HealthRooms, 'isUp'>,
  { routes = allRoutes, limits = {}, hashParameters }: HttpOverrides = {},
): Promise<HttpServer> {
  const accounts = await openAccounts({ ...rooms, isShared: rooms.catalogue.isShared, hashParameters })
  const own = {
    accounts,
    singleSignOn: await openSso(rooms, accounts),
    messageReaders: new MessageReaders(),
    health: createHealth(rooms),
    build: openBuild(),
  }
  return await serveHttp({ ...rooms, ...own }, routes, { ...HTTP_LIMITS, ...limits })
}

async function openSso(rooms: Omit<HttpRooms, Made>, { isSecured, spend }: Accounts): Promise<SingleSignOn | null> {
  if (!isSecured || !rooms.settings.get('admin.oauth.enabled')) return null
  const { openSingleSignOn } = await import('./auth/single-sign-on.ts')
  return openSingleSignOn({ ...rooms, spend })
}

/** Tells the cluster which brokers were assigned to partitions, from here on and before others hear of the topics. */
function followAssignments(catalogue: CatalogueKeeper, cluster: Cluster): void {
  const tell = (topics: Iterable<Topic>) => {
    for (const { id, placement } of topics) cluster.assign(id, placement.assigned)
  }
  tell(catalogue.current().topics.values())
  catalogue.watch({
    added: async topics => tell(topics),
    changed: async topics => tell(topics),
    removed() {},
  })
}

/** Whether no other broker lives on the store, as of now. */
async function isOnlyOne(cluster: Cluster): Promise<boolean> {
  await cluster.look()
  return cluster.isConfirmed && cluster.brokers().every(({ id }) => id === cluster.brokerId)
}
