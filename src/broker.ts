// One broker: opens the store, the rooms above it and the listener, in that order, and closes them in the other. The only
// file beside main.ts that names a concrete adapter. Several brokers can live in one process.

import { type Clock, systemClock } from './base/clock.ts'
import { type Random, systemRandom } from './base/random.ts'
import { openClientQuotas } from './coordinator/client-quotas.ts'
import { type Groups, openGroups } from './coordinator/groups.ts'
import { openProducerIds } from './coordinator/producer-ids.ts'
import { Budget } from './kafka/budget.ts'
import { createDispatch } from './kafka/dispatch.ts'
import { handlers } from './kafka/handlers/all.ts'
import type { BrokerNode, Listener, Rooms } from './kafka/handlers/handler.ts'
import { listen } from './kafka/listener.ts'
import { createThrottle } from './kafka/throttle.ts'
import { type CatalogueKeeper, openCatalogue } from './log/catalogue.ts'
import { openLogs } from './log/logs.ts'
import { isRefusal } from './protocol/errors.ts'
import { chooseEngine } from './settings/engine.ts'
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
  /** Drains: at most `broker.drain-timeout` for what is in flight, then the rooms. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts a broker and resolves when clients can connect. Throws ListenFailed, or what the store throws when its folder cannot
 * be used; nothing is left open then.
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
  const metrics = createMetrics()
  const failure = Promise.withResolvers<Error>()
  const openStore =
    options.openStore ??
    (() =>
      openEmbeddedStore({
        path: settings.get('storage.local.embedded.path'),
        fsync: settings.get('storage.local.embedded.fsync'),
        fsyncIntervalMs: settings.get('storage.local.embedded.fsync-interval'),
        journalFileBytes: settings.get('storage.local.embedded.journal-file-bytes'),
        clock,
        random,
        onFatal: failure.resolve,
        report: message => logger.named('store').warn(message),
      }))
  const store = await openStore()
  log.info(store.description)
  /** What is open, newest last. */
  const open: (() => Promise<unknown>)[] = [() => store.close()]
  const closeAll = async () => {
    for (const close of open.splice(0).reverse()) await close()
  }
  try {
    const keeper = await openCatalogue(store, settings, clock, random)
    const logs = await openLogs({ store, catalogue: keeper, settings, clock, random, metrics, logger })
    open.push(() => logs.close())
    const groups = await openGroups({ store, catalogue: keeper, settings, clock, random, metrics, logger })
    open.push(() => groups.close())
    const catalogue = withOffsets(keeper, groups)
    const producerIds = openProducerIds(store)
    const clientQuotas = await openClientQuotas(store)

    const nodeId = settings.get('broker.id')
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
      brokers: ({ host, port }: Listener): readonly BrokerNode[] => [{ id: nodeId, host, port, rack: null }],
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
    const up = metrics.child('svc.broker.up', {})
    up.set(1)
    const [address] = listeners.bound.map(({ advertised, host, port }) => {
      const told = `${advertised.host}:${advertised.port}`
      log.info(`Kafka clients connect to ${told}`, { listener: advertised.name, bound: `${host}:${port}` })
      return told
    })

    const drain = async () => {
      up.set(0)
      const timeoutMs = settings.get('broker.drain-timeout')
      log.info('draining: requests in flight are answered, new ones are not read', { timeoutMs })
      const drained = listeners.drain()
      // Only now, when nobody's next request is read: who is answered would ask again at once.
      draining.abort()
      logs.releaseWaiters()
      groups.drain()
      let isLate = false
      const late = new Promise<void>(resolve => {
        const timer = clock.timer(timeoutMs, () => {
          isLate = true
          resolve()
        })
        void drained.then(() => timer.cancel())
      })
      await Promise.race([drained, late])
      if (isLate) log.warn('the drain timeout is over; connections with unanswered requests are closed')
      listeners.destroy()
      await closeAll()
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

/** The catalogue, whose removed topics take their committed offsets with them. */
function withOffsets(keeper: CatalogueKeeper, groups: Groups): CatalogueKeeper {
  groups.keepTopics(keeper.current().topicsById)
  return {
    ...keeper,
    async remove(topicIds) {
      const removed = await keeper.remove(topicIds)
      for (const topic of removed) if (!isRefusal(topic)) groups.topicRemoved(topic.id)
      return removed
    },
  }
}
