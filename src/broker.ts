// Starts one broker: a table of steps opens the store, the rooms above it and the doors (the HTTP side and the Kafka
// listeners). The end undoes the steps in reverse order. No other file of a running broker names a concrete store.
// Several brokers can live in one process.

import { openBuild, readPackage } from './admin/build.ts'
import { publishLag } from './admin/groups/lag-gauges.ts'
import { createHealth, type HealthRooms } from './admin/health.ts'
import { PeerMetrics } from './admin/peer-metrics.ts'
import { RecordReaders } from './admin/records/readers.ts'
import { SegmentInspections } from './admin/segment-inspections.ts'
import { AGENTS_PATH } from './api/words.ts'
import { type AclKeeper, openAclKeeper } from './auth/clients/acl-keeper.ts'
import { openPolicies, type Policies } from './auth/clients/policies.ts'
import { watchRules } from './auth/clients/rule-watch.ts'
import { type Accounts, openAccounts } from './auth/console/accounts.ts'
import type { HashParameters } from './auth/console/password-hash.ts'
import type { SingleSignOn } from './auth/console/single-sign-on.ts'
import { createBrokerMechanism } from './auth/sasl/broker-mechanism.ts'
import type { SaslMechanism } from './auth/sasl/mechanism.ts'
import { openMechanisms } from './auth/sasl/mechanisms.ts'
import { type Clock, systemClock, within } from './base/clock.ts'
import { type Random, systemRandom } from './base/random.ts'
import { startOrder } from './base/start-order.ts'
import { aloneInCluster, type Cluster, joinCluster } from './cluster/cluster.ts'
import type { Peers } from './cluster/peers.ts'
import { acceptsPeer, isMember, presentCertificate } from './cluster/trust.ts'
import { type ClientQuotas, openClientQuotas } from './coordinator/client-quotas.ts'
import { type Coordination, type Groups, openGroups } from './coordinator/groups.ts'
import { committedBounds } from './coordinator/offsets/committed-bounds.ts'
import { openProducerIds } from './coordinator/producer-ids.ts'
import { openReadPositions } from './coordinator/read-positions.ts'
import type { Face } from './http/faces/face.ts'
import type { HttpLimits } from './http/listener.ts'
import type { Agents, AnyRoute, CatalogSource, HttpRooms } from './http/route.ts'
import type { HttpServer } from './http/server.ts'
import { type Authentication, openAuthentication } from './kafka/authentication.ts'
import { Admission } from './kafka/connection/admission.ts'
import { createDispatch } from './kafka/dispatch.ts'
import type { Rooms } from './kafka/handler.ts'
import { handlers } from './kafka/handlers/all.ts'
import { type KafkaListeners, listen } from './kafka/listener.ts'
import { openPeers, type PeersRooms } from './kafka/peers.ts'
import { createThrottle } from './kafka/throttle.ts'
import { type CatalogueKeeper, mayExist, openCatalogue, type Topic } from './log/catalogue.ts'
import type { Judge } from './log/judge.ts'
import { type Logs, openLogs, type RoundShare } from './log/logs.ts'
import type { RoundReport } from './log/round.ts'
import type { McpOverrides } from './mcp/endpoint.ts'
import type { McpRooms } from './mcp/tool.ts'
import { openJudge, type RegistryJudge } from './registry/judge/judge.ts'
import { openRegistry, type Registry, type RegistryRooms } from './registry/registry.ts'
import { hasSaslListener, hasTlsListener, kafkaEndpoints, usesSasl } from './settings/endpoints.ts'
import { type ChosenEngine, chooseEngine } from './settings/engine.ts'
import { latencyBuckets, redisTargets } from './settings/redis-target.ts'
import { fullKey, type Settings } from './settings/settings.ts'
import { openEmbeddedStore } from './store/embedded/embedded-store.ts'
import { isStoreFailure, type Store } from './store/store.ts'
import { type NameUnreadable, nameUnreadable } from './store/unreadable.ts'
import { readDescriptors, watchDescriptors } from './telemetry/descriptors.ts'
import { startHistory } from './telemetry/history.ts'
import { createLogger, type Logger, writeToStandardOutput } from './telemetry/logger.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { watchRuntime } from './telemetry/runtime-metrics.ts'
import { leaseAlone, openLease } from './tier/lease.ts'
import { openRemoteTier } from './tier/remote/open-remote-tier.ts'
import type { BrokerTier } from './tier/remote/remote-rounds.ts'
import { openStorageWorker, type StorageWorker } from './tier/worker.ts'
import type { ServerCertificate } from './tls/server-certificate.ts'

export interface BrokerOptions {
  readonly settings: Settings
  readonly clock?: Clock
  readonly random?: Random
  /** Takes the lines of the log, each with its newline. */
  readonly write?: (line: string) => void
  /** Opens the store in place of the one that the settings choose, for runs without a disk. */
  readonly openStore?: () => Promise<Store>
  /** Opens the SASL mechanisms in place of those that the settings choose, for tests of what holds for each of them. */
  readonly openMechanisms?: OpenMechanisms
  /** True if other brokers can use the store at the same time; by default true for Redis only. */
  readonly isShared?: boolean
  /** False switches the HTTP side off. */
  readonly hasHttp?: boolean
  /** Gives clients their policies in place of the stored rules, for tests of what a policy allows. */
  readonly policies?: Policies
  /** Judges the records that are produced in place of the schema registry, for tests. */
  readonly judge?: Judge
  /** Routes and limits that replace the broker's own, for tests of rules that every route must follow. */
  readonly http?: HttpOverrides
}

type OpenMechanisms = typeof openMechanisms

export interface HttpOverrides {
  readonly routes?: readonly AnyRoute[]
  /** Faces that the broker serves beside its own. */
  readonly faces?: readonly Face[]
  /** Routes of the schema registry in place of its own. */
  readonly registryRoutes?: readonly AnyRoute[]
  /** The tables that the catalog shows, in place of those of the remote tier. */
  readonly catalogSource?: CatalogSource | null
  readonly limits?: Partial<HttpLimits>
  readonly hashParameters?: HashParameters
  /** Tools and limits of the agent tools in place of their own. */
  readonly mcp?: McpOverrides
  /** The folder of a built console, in place of console/dist. */
  readonly consoleFolder?: string
}

export interface Broker {
  /** The ports of the Kafka listeners, in the order of the settings; empty with `broker.enabled=false`. */
  readonly kafkaPorts: readonly number[]
  /** The port that the admin API and the console are bound to; null without them. */
  readonly httpPort: number | null
  /** The port that only the schema registry has; null without one. */
  readonly registryPort: number | null
  /** The advertised `host:port` of the first Kafka listener; null without a Kafka listener. */
  readonly address: string | null
  readonly metrics: Metrics
  readonly logger: Logger
  /** Resolves with the reason if the broker cannot go on. Then the caller should close the broker. */
  readonly failed: Promise<Error>
  /**
   * Drains and closes the broker. The handover and the requests in flight take at most `broker.drain-timeout`. Then
   * the rooms close. If a shared store does not answer, the broker ends without closing them. Idempotent.
   */
  close(): Promise<void>
}

/** The share of the drain timeout for the handover; the rest is for the requests in flight. */
const HAND_OVER_SHARE = 0.5

/** The largest number of topics that one log line names. */
const NAMED_AT_ONCE = 20

/** The time in ms to close the rooms after the drain timeout. The process gives up a moment later (start.ts). */
const CLOSE_MS = 500

const CANNOT_FOLLOW = 'the notices of the remote tier cannot be read; the next tick reads them'

/** The start order. A drain hands over, lets the doors finish, and ends the steps in reverse. */
const ORDER = startOrder<Given>()
  .step('the store', openStore, ({ store }) => store.close())
  .step('the runtime metrics', watchProcess, ({ runtime }) => runtime.close())
  .step('the history', openHistory, ({ history }) => history.close())
  .step('the cluster', openCluster, ({ cluster }) => cluster.close())
  .step('the catalogue', openTopics)
  .step('the remote tier', openTier, ({ remoteTier }) => remoteTier?.close())
  .step('the schema registry', openSchemas, closeSchemas)
  .step('the logs', openPartitions, ({ logs }) => logs.close())
  .step('the groups', openCoordinator, ({ groups }) => groups.close())
  .step('the producer ids', made => ({ producerIds: openProducerIds(made.store, made) }))
  .step('the quotas', openQuotas)
  .step('the rules of clients', openRules, ({ ruleWatch }) => ruleWatch?.close())
  .step('the certificate of the Kafka listeners', openKafkaCertificate, ({ kafkaCertificate }) =>
    kafkaCertificate?.close(),
  )
  .step('the authentication', openSasl)
  .step('the connections to other brokers', openOthers, ({ peers }) => peers.close())
  .step('the storage worker', openWorker, ({ storageWorker }) => storageWorker.close())
  .step('the watch of descriptors', openDescriptors, ({ watch }) => watch.close())
  .step(
    'the lag gauges',
    made => ({ lagGauges: publishLag(made) }),
    ({ lagGauges }) => lagGauges.close(),
  )
  .step('the HTTP side', openHttpSide, ({ http }) => http === null || closeDoor(http))
  .step('the Kafka listeners', openListeners, ({ listeners }) => closeDoor(listeners))
  .step('the lead', takeLead)

/** All values that the steps of ORDER return. */
type Made = Awaited<ReturnType<typeof ORDER.start>>['made']

/** The values that a start begins with. */
interface Given {
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
  readonly unreadable: NameUnreadable
  readonly engine: ChosenEngine
  readonly nodeId: number
  /** Other brokers may use the store at the same time. */
  readonly isShared: boolean
  /** Aborts when the drain begins. */
  readonly draining: AbortController
  /** Called when the broker cannot go on. */
  readonly fail: (error: Error) => void
  readonly openStoreInstead: (() => Promise<Store>) | undefined
  readonly openMechanisms: OpenMechanisms
  readonly policiesInstead: Policies | undefined
  readonly judgeInstead: Judge | undefined
  /** Null if the HTTP side is off. */
  readonly httpParts: ReturnType<typeof loadHttp> | null
  readonly httpOverrides: HttpOverrides | undefined
}

/**
 * Starts a broker and resolves when clients can connect. Throws ListenFailed, or what the store throws when its folder
 * or its Redis cannot be used; nothing is left open then.
 */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const { settings, clock = systemClock, random = systemRandom, write = writeToStandardOutput } = options
  const logger = createLogger({
    clock,
    write,
    format: settings.get('logging.structured.format.console') ?? 'plain',
    levels: settings.get('logging.level'),
  })
  const engine = chooseEngine(settings)
  tellOfSettings(settings, engine, logger.named('broker'))
  const redis = redisTargets(settings)
  const buckets = {
    'svc.redis.command': latencyBuckets(redis.broker),
    'svc.storage.local.redis.command': latencyBuckets(redis.storage),
  }
  const metrics = createMetrics(buckets, {
    isScraped: settings.get('storage.remote.path') !== null && settings.get('storage.remote.metrics.enabled'),
    tags: settings.get('storage.remote.metrics.common-tags'),
  })
  const failure = Promise.withResolvers<Error>()
  const started = await ORDER.start({
    settings,
    clock,
    random,
    logger,
    metrics,
    unreadable: nameUnreadable(metrics, logger),
    engine,
    nodeId: settings.get('broker.id'),
    isShared: options.isShared ?? engine.engine === 'redis',
    draining: new AbortController(),
    fail: failure.resolve,
    openStoreInstead: options.openStore,
    openMechanisms: options.openMechanisms ?? openMechanisms,
    policiesInstead: options.policies,
    judgeInstead: options.judge,
    // The parts load while the store opens.
    httpParts: options.hasHttp === false ? null : loadHttp(),
    httpOverrides: options.http,
  })
  const { made } = started
  made.up.set(1)
  let closing: Promise<void> | null = null
  return {
    kafkaPorts: made.listeners.bound.map(({ port }) => port),
    httpPort: made.http?.port ?? null,
    registryPort: made.http?.registry?.port ?? null,
    address: tellOfDoors(made),
    metrics,
    logger,
    failed: failure.promise,
    close() {
      closing ??= drain(made, started)
      return closing
    },
  }
}

function tellOfSettings(settings: Settings, engine: ChosenEngine, log: Logger): void {
  log.info(`the local tier is the ${engine.engine} store, as ${fullKey(engine.key)} says`, {
    key: fullKey(engine.key),
    origin: settings.origin(engine.key),
  })
  log.info(
    settings.file === null
      ? 'no settings file is read: this folder has no svc.yaml, and neither --config nor SVC_CONFIG names a file'
      : `the settings file is ${settings.file}`,
  )
  for (const override of settings.overrides) log.info(override)
  for (const warning of settings.warnings) log.warn(warning)
}

/** Logs where people and clients connect. Returns the address of the first Kafka listener; null without one. */
function tellOfDoors({ http, listeners, isShared, settings, ...made }: Made): string | null {
  const log = made.logger.named('broker')
  if (http !== null) log.info(`the admin API answers at ${http.url}`, { bound: `${http.host}:${http.port}` })
  if (http !== null && made.registry !== null) log.info(`the schema registry answers at ${http.url}/schema-registry`)
  if (http !== null && settings.get('mcp.enabled')) log.info(`agents call tools at ${http.url}${AGENTS_PATH}`)
  if (http?.registry) {
    const { url, host, port } = http.registry
    log.info(`the schema registry has a port of its own, ${url}`, { bound: `${host}:${port}` })
  }
  const [address = null] = listeners.bound.map(({ advertised, host, port }) => {
    const told = `${advertised.host}:${advertised.port}`
    log.info(`Kafka clients connect to ${told}`, {
      listener: advertised.name,
      security: advertised.security,
      bound: `${host}:${port}`,
    })
    return told
  })
  if (!settings.get('broker.enabled')) {
    const key = fullKey('broker.enabled')
    const leads = isShared
      ? 'it leads and coordinates nothing, and the brokers on this store do both'
      : 'it still leads the partitions of its store, so that retention goes on'
    log.info(`Kafka clients cannot connect to this process, because ${key} is false: ${leads}`, {
      key,
      origin: settings.origin('broker.enabled'),
    })
  }
  return address
}

// ---- the steps

async function openStore({
  settings,
  clock,
  random,
  metrics,
  logger,
  engine,
  fail,
  openStoreInstead,
}: Given): Promise<{ readonly store: Store }> {
  const openEngine = async (): Promise<Store> => {
    if (engine.engine === 'redis') {
      // Loading the Redis client takes longer than the rest of a start, and only this store needs it.
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
      onFatal: fail,
      report: message => logger.named('store').warn(message),
    })
  }
  const store = await (openStoreInstead ?? openEngine)()
  logger.named('broker').info(store.description)
  return { store }
}

function watchProcess({ metrics, clock }: Given) {
  return { runtime: watchRuntime(metrics, clock), up: metrics.child('svc.broker.up', {}) }
}

function openHistory({ settings, metrics, clock, logger }: Given) {
  const history = startHistory({
    metrics,
    clock,
    logger,
    enabled: settings.get('admin.metrics-history.enabled'),
    intervalMs: settings.get('admin.metrics-history.interval'),
    retentionMs: settings.get('admin.metrics-history.retention'),
    maxSeries: settings.get('admin.metrics-history.max-series'),
  })
  return { history }
}

async function openCluster(made: Given & { readonly store: Store }): Promise<{ readonly cluster: Cluster }> {
  const { settings, metrics, isShared, nodeId: brokerId } = made
  const rack = settings.get('broker.rack')
  const { version } = await readPackage()
  const expiryMs = settings.get('broker.expiry')
  const cluster = isShared
    ? await joinCluster({ ...made, brokerId, rack, version, expiryMs, lost: made.fail })
    : aloneInCluster(brokerId, rack, version)
  metrics.sample('svc.cluster.brokers', {}, () => cluster.brokers().length)
  metrics.sample('svc.cluster.confirmed', {}, () => (cluster.isConfirmed ? 1 : 0))
  return { cluster }
}

async function openTopics(made: Given & { readonly store: Store; readonly cluster: Cluster }) {
  const { store, settings, clock, random, isShared, unreadable, cluster } = made
  const isAlone = isShared ? () => isOnlyOne(cluster) : null
  const catalogue = await openCatalogue(store, settings, clock, random, isAlone, unreadable)
  // The cluster must know the assignments before the logs ask which partitions they lead.
  followAssignments(catalogue, cluster)
  return { catalogue }
}

async function openTier(made: Given & { readonly store: Store; readonly catalogue: CatalogueKeeper }) {
  return { remoteTier: await openRemoteTier(made) }
}

/** Both are null if the registry is switched off. */
function openSchemas(made: Given & { readonly store: Store }): Schemas {
  const { settings, clock, metrics, isShared } = made
  if (!settings.get('schema-registry.enabled')) return { registry: null, judge: null }
  const defaultLevel = settings
    .get('schema-registry.default-compatibility')
    .toUpperCase() as RegistryRooms['defaultLevel']
  const registry = openRegistry({ ...made, defaultLevel })
  const judge = openJudge({
    judged: registry.judged,
    clock,
    metrics,
    isAlone: !isShared,
    isOnByDefault: settings.get('schema-registry.validate-produce'),
    recordCpuMs: settings.get('schema-registry.validate-timeout'),
  })
  return { registry, judge }
}

interface Schemas {
  readonly registry: Registry | null
  readonly judge: RegistryJudge | null
}

async function closeSchemas({ registry, judge }: Schemas): Promise<void> {
  await Promise.all([registry?.close(), judge?.close()])
}

async function openPartitions(
  made: Given & {
    readonly store: Store
    readonly cluster: Cluster
    readonly catalogue: CatalogueKeeper
    readonly remoteTier: BrokerTier | null
    readonly judge: RegistryJudge | null
  },
) {
  const { store, cluster, remoteTier } = made
  return {
    logs: await openLogs({
      ...made,
      leadership: cluster,
      committedUpTo: committedBounds(store),
      coldTier: remoteTier,
      judge: made.judgeInstead ?? made.judge,
    }),
    readPositions: openReadPositions(made.clock),
  }
}

async function openCoordinator(
  made: Given & { readonly store: Store; readonly cluster: Cluster; readonly catalogue: CatalogueKeeper },
) {
  const { cluster, catalogue, nodeId, isShared } = made
  const coordination: Coordination = {
    coordinates: groupId => cluster.coordinatorOf(groupId) === nodeId,
    get isConfirmed() {
      return cluster.isConfirmed
    },
    isShared,
  }
  const groups = await openGroups({ ...made, coordination })
  const log = made.logger.named('broker')
  catalogue.watch({
    replaced({ before, after }, lost) {
      // A Redis server that evicts keys may cause this again and again.
      log
        .limited('replaced', 10_000)
        .error(
          `the store was emptied or replaced: cluster ${before} is gone with its ${lost.length} topics, their records, groups, offsets and schemas, and this ` +
            `broker continues with the present content of the store, cluster ${after}; if that was a mistake, stop the brokers and restore the store`,
          { topics: lost.slice(0, NAMED_AT_ONCE).map(({ name }) => name) },
        )
    },
    removed(topics) {
      groups.topicsRemoved(new Set(topics.map(({ id }) => id)))
      for (const { id } of topics) cluster.forgetTopic(id)
    },
  })
  groups.keepTopics(mayExist(catalogue.current()))
  return { groups }
}

async function openQuotas({ store, clock, random, unreadable }: Given & { readonly store: Store }) {
  const clientQuotas = await openClientQuotas(store, { clock, random, unreadable })
  return { clientQuotas, throttle: createThrottle(clientQuotas, clock) }
}

async function openRules(made: Given & { readonly store: Store }) {
  const { settings, clock } = made
  const acls = await openAclKeeper(made)
  const isWatched =
    made.isShared &&
    settings.get('broker.acl.enabled') &&
    kafkaEndpoints(settings).some(({ security }) => !usesSasl(security))
  return {
    acls,
    policies: made.policiesInstead ?? openPolicies({ ...made, acls }),
    ruleWatch: isWatched ? watchRules(acls, clock) : null,
  }
}

async function openSasl(
  made: Given & { readonly store: Store; readonly cluster: Cluster; readonly policies: Policies },
): Promise<{ readonly authentication: Authentication }> {
  const { settings, cluster } = made
  const isUsed = settings.get('broker.enabled') && hasSaslListener(settings)
  const mechanisms: readonly SaslMechanism[] = isUsed ? await made.openMechanisms(made) : []
  const own = createBrokerMechanism({
    ...made,
    self: { id: cluster.brokerId, incarnation: cluster.incarnation },
    isMember: broker => isMember(cluster, broker),
  })
  const hidden = made.isShared ? [own] : []
  const { resolve } = made.policies
  return { authentication: openAuthentication({ ...made, mechanisms, hidden, resolve }) }
}

interface Certified {
  /** Null if no listener uses TLS. */
  readonly kafkaCertificate: ServerCertificate | null
}

async function openKafkaCertificate(made: Given & { readonly cluster: Cluster }): Promise<Certified> {
  if (!hasTlsListener(made.settings)) return { kafkaCertificate: null }
  const { openServerCertificate } = await import('./tls/server-certificate.ts')
  const kafkaCertificate = await openServerCertificate('broker', made)
  if (kafkaCertificate !== null) presentCertificate(made.cluster, kafkaCertificate, made.clock)
  return { kafkaCertificate }
}

function openOthers(made: Omit<PeersRooms, 'certificate'> & Certified) {
  return { peers: openPeers({ ...made, certificate: made.kafkaCertificate }) }
}

async function openWorker(
  made: Given & {
    readonly store: Store
    readonly cluster: Cluster
    readonly catalogue: CatalogueKeeper
    readonly remoteTier: BrokerTier | null
    readonly logs: Logs
    readonly peers: Peers
  },
): Promise<{ readonly storageWorker: StorageWorker }> {
  const { settings, logger, isShared, fail, nodeId: brokerId, logs, remoteTier } = made
  const isCandidate = settings.get('storage.worker.enabled')
  const lease = isShared
    ? await openLease({
        ...made,
        logger: logger.named('storage.worker'),
        brokerId,
        incarnation: made.cluster.incarnation,
        isCandidate,
        durationMs: settings.get('storage.worker.lease-duration'),
        tickMs: settings.get('storage.worker.tick-interval'),
        lost: fail,
      })
    : leaseAlone(brokerId, isCandidate)
  const remote = remoteTier?.holder({ lease, logs }) ?? null
  const { remoteNews } = logs
  async function runRound(share: RoundShare): Promise<RoundReport> {
    // Segments that the holder has offloaded since the last round may be dropped in this one.
    await remoteTier?.follow()
    return await logs.runRound(share)
  }
  const follow = async () => {
    await remoteTier?.follow().catch((error: unknown) => {
      if (!isStoreFailure(error)) throw error
      logger.named('storage.worker').limited('follow', 60_000).warn(CANNOT_FOLLOW, { error })
    })
  }
  return { storageWorker: openStorageWorker({ ...made, lease, follow, runRound, remoteNews, remote, lost: fail }) }
}

function openDescriptors({ clock, logger }: Given) {
  return { descriptors: readDescriptors(), watch: watchDescriptors(clock, logger.named('broker')) }
}

/** The lower rooms, in the form that both doors use. */
type LowerRooms = Rooms & Omit<HttpRooms, OfHttp>

async function openHttpSide(
  made: Given & LowerRooms & ReturnType<typeof watchProcess> & Certified,
): Promise<{ readonly http: HttpSide | null }> {
  const { httpParts, httpOverrides, up } = made
  if (httpParts === null) return { http: null }
  return { http: await openHttp(await httpParts, { ...made, isUp: () => up.value === 1 }, httpOverrides) }
}

async function openListeners(made: Given & LowerRooms & Certified): Promise<{ readonly listeners: KafkaListeners }> {
  const { settings } = made
  if (!settings.get('broker.enabled')) return { listeners: NO_LISTENERS }
  const dispatch = createDispatch(handlers, made, made.draining.signal)
  const admission = new Admission({
    maxBytes: settings.get('broker.global-max-pending-bytes'),
    resumeBytes: settings.get('broker.global-resume-pending-bytes'),
  })
  return {
    listeners: await listen({
      ...made,
      dispatch,
      admission,
      certificate: made.kafkaCertificate,
      acceptsPeer: fingerprint => acceptsPeer(made.cluster, fingerprint),
    }),
  }
}

const NO_LISTENERS: KafkaListeners = Object.freeze({ bound: [], drain: async () => {}, destroy() {} })

/**
 * Makes this broker follow the changes of the others. With a Kafka listener, it also leads and coordinates its share.
 */
async function takeLead(
  made: Pick<Given, 'settings' | 'logger' | 'isShared' | 'fail'> & {
    readonly cluster: Cluster
    readonly catalogue: CatalogueKeeper
    readonly logs: Logs
    readonly groups: Groups
    readonly clientQuotas: ClientQuotas
    readonly acls: AclKeeper
    readonly listeners: KafkaListeners
  },
) {
  const { settings, isShared, fail, cluster, catalogue, logs, groups, clientQuotas, acls, listeners } = made
  const log = made.logger.named('broker')
  const reassign = async () => {
    await Promise.all([logs.reassign(), groups.reassign()])
  }
  if (isShared) {
    const catchUp = () => Promise.all([catalogue.catchUp(), clientQuotas.catchUp(), acls.catchUp()])
    const complain = (error: unknown) =>
      log.limited('catch-up', 10_000).warn('the changes of other brokers cannot be read', { error })
    cluster.watch({
      changed: () => void reassign().catch(fail),
      looked() {
        void catchUp().catch(complain)
        logs.regain(cluster.epochOf)
      },
    })
  }
  // A broker without a Kafka listener announces nothing, so no broker counts it as alive, not even itself.
  if (settings.get('broker.enabled')) await cluster.announce(listeners.bound.map(({ advertised }) => advertised))
  else await cluster.look()
  if (isShared) await reassign()
  return { reassign }
}

// ---- the end

interface Door {
  drain(): Promise<void>
  destroy(): void
}

function closeDoor(door: Door): Promise<void> {
  const drained = door.drain()
  door.destroy()
  return drained
}

async function drain(made: Made, started: { open(): readonly string[]; end(): Promise<void> }): Promise<void> {
  const { settings, clock, isShared, up, draining, listeners, http, logs, groups, storageWorker } = made
  const log = made.logger.named('broker')
  up.set(0)
  const timeoutMs = settings.get('broker.drain-timeout')
  const deadlineMs = clock.monotonic() + timeoutMs
  const leftMs = () => Math.max(0, deadlineMs - clock.monotonic())
  const isDone = (withinMs: number, work: Promise<unknown>) =>
    within(
      clock,
      withinMs,
      work.then(() => true),
      () => false,
    )
  // Another broker takes the lease at its next look. The end of the worker's step waits for the store.
  void storageWorker.release().catch(made.fail)
  const leads = isShared && settings.get('broker.enabled')
  if (leads && !(await isDone(timeoutMs * HAND_OVER_SHARE, handOver(made))))
    log.warn(
      'the handover takes too long and the broker ends without it: other brokers lead its partitions after svc.broker.expiry',
    )
  log.info('draining: requests in flight are answered, new ones are not read', { timeoutMs: Math.round(leftMs()) })
  // The probes report draining for as long as Kafka clients are being answered.
  const drained = listeners.drain().then(() => http?.drain())
  // This must come after the listeners have stopped reading. Otherwise a client that gets its answer would send its
  // next request at once.
  draining.abort()
  logs.releaseWaiters()
  groups.drain()
  if (!(await isDone(leftMs(), drained)))
    log.warn('the drain timeout is over; connections with unanswered requests are closed')
  listeners.destroy()
  http?.destroy()
  // On a shared store the other brokers notice by themselves that this broker is gone, even if the store did not take
  // its last commit. A store that only this broker uses must be closed properly.
  if (!isShared) await started.end()
  else if (!(await isDone(Math.max(leftMs(), CLOSE_MS), started.end())))
    log.warn(`the store does not answer: ended without closing ${started.open().join(', ')}`)
  log.info('closed')
}

/**
 * Gives up the partitions and groups of this broker, so that others take them over while clients can still ask for the
 * leader.
 */
async function handOver({ cluster, reassign, logger }: Made): Promise<void> {
  const isHeard = cluster.isConfirmed
  cluster.withdraw()
  await reassign()
  if (isHeard) return await cluster.leave()
  const message = 'the store does not answer: the other brokers are not told that this one leaves, and will notice'
  logger.named('broker').warn(message)
}

// ---- the HTTP side

/** The rooms that exist only for HTTP; openHttp makes them. */
type OfHttp =
  | 'accounts'
  | 'singleSignOn'
  | 'health'
  | 'build'
  | 'recordReaders'
  | 'segmentInspections'
  | 'peerMetrics'
  | 'consoleFiles'
  | 'catalogSource'
  | 'agents'

/**
 * Loads the packages of the HTTP side. They take longer to load than the rest of a start, so tests of the Kafka side
 * do not load them.
 */
function loadHttp() {
  const parts = Promise.all([
    import('./http/server.ts'),
    import('./http/listener.ts'),
    import('./http/faces/all.ts'),
    import('./http/faces/schema-registry.ts'),
    import('./http/console-files.ts'),
    import('./tls/server-certificate.ts'),
  ])
  // The step that awaits it gets the error.
  parts.catch(() => {})
  return parts
}

/** The ports of the HTTP side. */
interface HttpSide extends HttpServer {
  /** The port that only the schema registry has; null without one. */
  readonly registry: HttpServer | null
}

async function openHttp(
  [
    { serveHttp },
    { HTTP_LIMITS },
    { openFaces },
    { openRegistryFaces },
    { openConsoleFiles },
    { openServerCertificate },
  ]: Awaited<ReturnType<typeof loadHttp>>,
  rooms: Omit<HttpRooms, OfHttp> & Pick<HealthRooms, 'isUp'> & Certified,
  {
    routes,
    registryRoutes,
    faces = [],
    limits = {},
    hashParameters,
    consoleFolder,
    catalogSource = null,
    mcp,
  }: HttpOverrides = {},
): Promise<HttpSide> {
  const certificate = await openServerCertificate('server', rooms)
  const accounts = await openAccounts({ ...rooms, isShared: rooms.catalogue.isShared, hashParameters })
  const own = {
    accounts,
    singleSignOn: await openSso(rooms, accounts),
    recordReaders: new RecordReaders(),
    segmentInspections: new SegmentInspections(rooms),
    peerMetrics: new PeerMetrics(rooms),
    health: createHealth({
      ...rooms,
      certificates: () => [rooms.kafkaCertificate, certificate].flatMap(found => found?.state ?? []),
    }),
    build: openBuild(),
    consoleFiles: openConsoleFiles(rooms.logger, consoleFolder),
    catalogSource: catalogSource ?? rooms.remoteTier,
  }
  const all = { ...rooms, ...own, agents: await openAgents({ ...rooms, ...own }, mcp) }
  const registryFaces = openRegistryFaces(all, registryRoutes)
  const served = [...openFaces(all, routes), registryFaces.below, ...faces]
  const options = { limits: { ...HTTP_LIMITS, ...limits }, certificate }
  const opened: HttpServer[] = []
  try {
    const first = await serveHttp(all, served, options)
    opened.push(first)
    const { alone } = registryFaces
    const hasOwnPort = alone !== null && rooms.settings.get('schema-registry.port') !== null
    const registry = hasOwnPort ? await serveHttp(all, [alone], { ...options, portKey: 'schema-registry.port' }) : null
    if (registry !== null) opened.push(registry)
    return {
      ...first,
      registry,
      async drain() {
        await Promise.all(opened.map(server => server.drain()))
      },
      destroy() {
        for (const server of opened) server.destroy()
        certificate?.close()
      },
    }
  } catch (error) {
    for (const server of opened) await closeDoor(server)
    certificate?.close()
    throw error
  }
}

/** Opens the agent tools; without them nothing of them is loaded. */
async function openAgents(rooms: McpRooms, overrides: McpOverrides | undefined): Promise<Agents | null> {
  if (!rooms.settings.get('mcp.enabled')) return null
  const { openAgentEndpoint } = await import('./mcp/endpoint.ts')
  return await openAgentEndpoint(rooms, overrides)
}

async function openSso(rooms: Omit<HttpRooms, OfHttp>, { isSecured, spend }: Accounts): Promise<SingleSignOn | null> {
  if (!isSecured || !rooms.settings.get('admin.oauth.enabled')) return null
  const { openSingleSignOn } = await import('./auth/console/single-sign-on.ts')
  return openSingleSignOn({ ...rooms, spend })
}

/**
 * Tells the cluster which brokers are assigned to partitions, now and after each change. The cluster learns this
 * before the other watchers of the catalogue.
 */
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

/** Resolves with true if no other process uses the store at this moment. */
async function isOnlyOne(cluster: Cluster): Promise<boolean> {
  await cluster.look()
  return cluster.isConfirmed && !cluster.hasOthers
}
