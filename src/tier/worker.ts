// The storage worker of the cluster. Each broker has one, and the worker that holds the lease starts the rounds. In a
// round it asks each living broker that leads partitions to roll, drop and clean them, with a share of
// svc.storage.worker.tick-concurrency, and collects the reports. Rounds do not overlap. A broker that needs longer
// than the worker waits goes on, and joins the next round. own-rounds.ts has the part of one broker, log/ decides what
// happens to a partition.

import type { BrokerRound, Round } from '../api/storage.ts'
import { type Clock, sleep, type Timer, within } from '../base/clock.ts'
import { FEATURES, hasFeature } from '../cluster/broker-record.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type Peers, PeerUnavailable } from '../cluster/peers.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { RoundShare } from '../log/logs.ts'
import type { RemoteNews } from '../log/remote-news.ts'
import type { RoundReport } from '../log/round.ts'
import {
  because,
  errorOf,
  INVALID_REQUEST,
  isRefusal,
  NONE,
  NOT_CONTROLLER,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
} from '../protocol/errors.ts'
import { runStorageRound } from '../protocol/messages/run-storage-round.ts'
import type { Settings } from '../settings/settings.ts'
import { isStoreFailure } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Holder, Lease } from './lease.ts'
import { NO_NEWS, type OwnPart, openOwnRounds, type RoundAnswer, type RoundRequest } from './own-rounds.ts'
import type { RemoteRounds } from './remote/remote-rounds.ts'

export interface StorageWorker {
  /** True if this broker holds the lease and starts the rounds. */
  readonly isHolder: boolean
  /** Returns the broker that holds the lease as of the last look; null without one. */
  holder(): Holder | null
  /** Starts a round, or joins the one in progress. NOT_CONTROLLER if this broker does not hold the lease. */
  start(): Round | Refusal
  /**
   * Returns the round of this broker with the number, as it is now; the newest one if the broker does not remember the
   * number. Null if it has started none.
   */
  round(number?: number): Round | null
  /** Returns the living brokers that could not read a cleaned log. While there are some, no partition is cleaned. */
  withoutFeature(): readonly number[]
  /** The part of this broker in the round of another holder; see OwnRounds. Throws what the store throws. */
  answer(request: RoundRequest): Promise<RoundAnswer>
  /** Starts no more rounds, and gives the lease back so that another broker takes it at its next look. */
  release(): Promise<void>
  /** Releases the lease and ends. A round of this broker goes on until the logs are closed. */
  close(): Promise<void>
}

export interface StorageWorkerRooms {
  readonly lease: Lease
  readonly cluster: Pick<Cluster, 'brokerId' | 'incarnation' | 'brokers' | 'others' | 'leaderOf'>
  readonly catalogue: Pick<CatalogueKeeper, 'current'>
  readonly peers: Peers
  readonly settings: Settings
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
  /** Reads the notices of the remote tier. */
  follow?(): Promise<void>
  /** Runs a round over the partitions of this broker. */
  runRound(share: RoundShare): Promise<RoundReport>
  /** See Logs.remoteNews. */
  remoteNews(since: number): RemoteNews
  /** The holder's part in the remote tier; null without one. */
  readonly remote: RemoteRounds | null
  /** Called with an error that is not a failure of the store or of a broker: a mistake of this program. */
  lost(error: Error): void
}

/** The feature that every living broker must have before a partition is cleaned. */
const REWRITE = FEATURES[0]!

/** The version with the news of the remote tier; brokers without the feature know 0. */
const VERSION_WITH_TIER = 1

/**
 * The worker asks a broker again whether its round is over after this share of the time that the round has taken, so
 * that the time which it reports is true.
 */
const WAIT_SHARE = 1 / 32
const SHORTEST_WAIT_MS = 10
const LONGEST_WAIT_MS = 1_000

/** Of the tick-interval, the longest wait for the holder's part in the remote tier, which then goes on. */
const REMOTE_SHARE = 0.5

/** The worker waits for a broker for one tick-interval, but at least for this time. */
const LEAST_PATIENCE_MS = 10_000

/** A caller that waits for the end of a round still finds it when as many have followed. */
const REMEMBERED = 32

const NOTHING: RoundReport = Object.freeze({
  ...{ partitions: 0, rolled: 0, droppedBytes: 0, due: 0, cleaned: 0, cleanedBytes: 0, failures: 0 },
})

export function openStorageWorker(rooms: StorageWorkerRooms): StorageWorker {
  const { lease, cluster, peers, settings, clock, metrics, remote } = rooms
  const logger = rooms.logger.named('storage.worker')
  const intervalMs = settings.get('storage.worker.tick-interval')
  const concurrency = settings.get('storage.worker.tick-concurrency')
  const own = openOwnRounds({ ...rooms, logger })
  let isEnded = false
  let timer: Timer | null = null
  /** The newest rounds, the newest one last. */
  const remembered: RoundInProgress[] = []
  let running: Promise<void> | null = null
  let rounds = 0
  let prevented = ''
  /** The shares of the brokers that had not ended their part when the worker stopped waiting. */
  const late = new Map<number, number>()

  metrics.sample('svc.storage.worker.up', {}, () => (lease.isHeld ? 1 : 0))

  function schedule(delayMs: number): void {
    timer = clock.timer(delayMs, () => {
      const beganAtMs = clock.monotonic()
      const again = () => schedule(Math.max(1, intervalMs - (clock.monotonic() - beganAtMs)))
      void tick().finally(() => isEnded || again())
    })
  }

  async function tick(): Promise<void> {
    if (!lease.isHeld) {
      remote?.end()
      // A broker that leads nothing is asked for no round.
      await rooms.follow?.()
    }
    if (lease.isHeld) await begin()
    // Another broker may have taken the lease: this one was paused, or the store did not answer.
    else if (lease.fence > 0) refuse()
  }

  function refuse(): void {
    metrics.count('svc.storage.worker.refusals', { reason: 'unconfirmed' })
    logger
      .limited('unconfirmed', 10_000)
      .warn('this broker starts no round: the store has not confirmed its lease for half of its duration')
  }

  /** Starts a round, or joins the one in progress. */
  function begin(): Promise<void> {
    running ??= run()
      .catch(rooms.lost)
      .finally(() => {
        running = null
      })
    return running
  }

  async function run(): Promise<void> {
    const beganAtMs = clock.monotonic()
    const missing = withoutFeature()
    tellPrevented(missing)
    const leaders = leadersOf(rooms)
    const round: RoundInProgress = {
      number: ++rounds,
      fence: lease.fence,
      startedAtMs: Math.floor(clock.now()),
      tookMs: null,
      rows: new Map(leaders.map(id => [id, rowOf(id, 'waiting')])),
      offload: null,
    }
    remote?.begin(round.fence)
    remembered.push(round)
    if (remembered.length > REMEMBERED) remembered.shift()
    const isCleaningAllowed = missing.length === 0
    // A broker that has not ended an earlier round joins this one and keeps its share. The others share the rest, but
    // at least one permit, so that a slow broker does not hold them up.
    for (const id of late.keys()) if (!leaders.includes(id)) late.delete(id)
    const joining = [...late].map(([id, share]) => follow(round, id, { concurrency: share, isCleaningAllowed }))
    const others = leaders.filter(id => !late.has(id))
    const permits = Math.max(1, concurrency - [...late.values()].reduce((sum, share) => sum + share, 0))
    // With fewer permits than brokers, the brokers take turns, so that the sum of the shares is the concurrency.
    let turns = Math.min(others.length, permits)
    const shares = Array.from({ length: turns }, (_, turn) => Math.floor((permits + turns - 1 - turn) / turns))
    const waiting = others[Symbol.iterator]()
    const takeTurns = async (share: number) => {
      for (const id of waiting) {
        await follow(round, id, { concurrency: share, isCleaningAllowed })
        // The broker goes on with the permits of this turn. The last turn goes on too.
        if (late.has(id) && turns > 1) {
          turns--
          return
        }
      }
    }
    await Promise.all([...joining, ...shares.map(takeTurns)])
    if (remote !== null && !isEnded) {
      // An offload may take hours. The next rounds begin meanwhile, and one of them reports it.
      await within(clock, intervalMs * REMOTE_SHARE, remote.run().catch(rooms.lost), () => undefined)
      round.offload = remote.report()
    }
    const tookMs = clock.monotonic() - beganAtMs
    round.tookMs = Math.round(tookMs)
    metrics.observe('svc.storage.worker.round', {}, tookMs)
  }

  /** Asks a broker to run the round until it is over, and notes the result. */
  async function follow(round: RoundInProgress, id: number, share: RoundShare): Promise<void> {
    const row = await askUntilDone(round, id, share)
    round.rows.set(id, row)
    if (row.outcome === 'running') late.set(id, share.concurrency)
    else late.delete(id)
  }

  async function askUntilDone(round: RoundInProgress, id: number, share: RoundShare): Promise<BrokerRound> {
    const { brokerId: holderId, incarnation } = cluster
    const newsSince = remote?.since(id, incarnationOf(id)) ?? -1
    const request = { holderId, incarnation, fence: round.fence, round: round.number, newsSince, ...share }
    const patienceMs = Math.max(intervalMs, LEAST_PATIENCE_MS)
    const beganAtMs = clock.monotonic()
    for (;;) {
      if (isEnded) return rowOf(id, 'abandoned', 'The holder of the lease closes.')
      if (!lease.isHeld || lease.fence !== round.fence) {
        refuse()
        return rowOf(id, 'abandoned', 'This broker no longer holds the lease.')
      }
      const answer = await ask(id, request)
      if (answer instanceof Failed) return fail(id, answer)
      if (answer !== null) {
        if (newsSince >= 0) remote?.heard(id, incarnationOf(id), answer.news)
        return { ...rowOf(id, 'done'), ...answer.report }
      }
      round.rows.set(id, rowOf(id, 'running'))
      const tookMs = clock.monotonic() - beganAtMs
      if (tookMs >= patienceMs)
        return rowOf(id, 'running', `The broker has not ended its part within ${patienceMs} ms and goes on.`)
      await sleep(clock, Math.min(Math.max(SHORTEST_WAIT_MS, tookMs * WAIT_SHARE), LONGEST_WAIT_MS))
    }
  }

  function fail(id: number, { outcome, type, message }: Failed): BrokerRound {
    metrics.count('svc.storage.worker.failures', { phase: 'round', error_type: type })
    logger
      .limited(`failed ${id}`, 60_000)
      .warn(`broker ${id} has not run the round of the storage worker; the next round asks it again`, {
        reason: message,
      })
    return rowOf(id, outcome, message)
  }

  /** Resolves to the report of the broker; null while its round goes on. */
  async function ask(id: number, request: RoundRequest): Promise<OwnPart | null | Failed> {
    try {
      const answer = id === cluster.brokerId ? await own.ask(request) : await askPeer(id, request)
      return isRefusal(answer) ? new Failed('refused', answer.name, answer.message) : answer
    } catch (error) {
      if (error instanceof PeerUnavailable) return new Failed('silent', error.name, `It ${error.what}.`)
      if (isStoreFailure(error))
        return new Failed('refused', error.name, `The store does not answer: ${error.message}.`)
      throw error
    }
  }

  async function askPeer(id: number, request: RoundRequest): Promise<RoundAnswer> {
    const version = hasFeature(cluster.brokers(), id, 'remote-tier') ? VERSION_WITH_TIER : 0
    const answer = await peers.ask(id, runStorageRound, version, request)
    const { errorCode, errorMessage, isRunning, report, news } = answer
    if (errorCode !== NONE) {
      const error = errorOf(errorCode) ?? UNKNOWN_SERVER_ERROR
      return because(error, errorMessage ?? error.message)
    }
    if (isRunning) return null
    const wrong = Object.entries(report).find(([, value]) => !(value >= 0))
    if (wrong === undefined) return { report, news: version === 0 ? NO_NEWS : news }
    throw new PeerUnavailable(id, `has answered with an impossible number (${wrong[0]} ${wrong[1]})`, false)
  }

  const incarnationOf = (id: number) => cluster.brokers().find(each => each.id === id)?.incarnation ?? ''

  function whyNotHeld(): string {
    const heldMs = settings.get('storage.worker.lease-duration')
    const holder = lease.holder()
    return holder?.id === cluster.brokerId && holder.incarnation !== cluster.incarnation
      ? `An earlier start of this broker did not give back the lease of the storage worker. A broker takes it over within ${heldMs} ms (svc.storage.worker.lease-duration).`
      : 'This broker does not hold the lease of the storage worker.'
  }

  function withoutFeature(): readonly number[] {
    const missing = [...cluster.brokers(), ...cluster.others()].filter(({ features }) => !features.includes(REWRITE))
    return [...new Set(missing.map(({ id }) => id))].sort((one, other) => one - other)
  }

  function tellPrevented(missing: readonly number[]): void {
    const now = missing.join(', ')
    if (now !== prevented && missing.length > 0)
      logger.warn(`no partition is cleaned until these brokers run a version that can read a cleaned log: ${now}`)
    prevented = now
  }

  schedule(intervalMs)
  return {
    get isHolder() {
      return lease.isHeld
    },
    holder: lease.holder,
    start() {
      if (!lease.isHeld) return because(NOT_CONTROLLER, whyNotHeld())
      void begin()
      return shown(remembered.at(-1)!)
    },
    round(number) {
      const round = remembered.find(each => each.number === number) ?? remembered.at(-1)
      return round === undefined ? null : shown(round)
    },
    withoutFeature,
    async answer(request) {
      // This broker does not ask itself over the network.
      if (request.holderId !== cluster.brokerId) return await own.ask(request)
      return because(INVALID_REQUEST, `holderId: got ${request.holderId}, which is the broker that was asked.`)
    },
    release() {
      isEnded = true
      timer?.cancel()
      remote?.release()
      return lease.release()
    },
    async close() {
      isEnded = true
      timer?.cancel()
      // The lease goes when nothing commits any more.
      await remote?.close()
      await lease.close()
    },
  }
}

interface RoundInProgress {
  readonly number: number
  readonly fence: number
  readonly startedAtMs: number
  tookMs: number | null
  readonly rows: Map<number, BrokerRound>
  offload: Round['offload']
}

class Failed {
  readonly outcome: 'refused' | 'silent'
  readonly type: string
  readonly message: string

  constructor(outcome: 'refused' | 'silent', type: string, message: string) {
    this.outcome = outcome
    this.type = type
    this.message = message
  }
}

function rowOf(id: number, outcome: BrokerRound['outcome'], trouble: string | null = null): BrokerRound {
  return { id, outcome, ...NOTHING, trouble }
}

function shown({ number, startedAtMs, tookMs, rows, offload }: RoundInProgress): Round {
  const brokers = [...rows.values()].sort((one, other) => one.id - other.id)
  return { number, startedAt: new Date(startedAtMs).toISOString(), tookMs, brokers, offload }
}

/** Returns the brokers that lead at least one partition, ascending. */
function leadersOf({ cluster, catalogue }: Pick<StorageWorkerRooms, 'cluster' | 'catalogue'>): readonly number[] {
  const most = cluster.brokers().length
  const found = new Set<number>()
  for (const { id, partitions } of catalogue.current().topics.values()) {
    for (let partition = 0; partition < partitions; partition++) {
      const leader = cluster.leaderOf(id, partition)
      if (leader >= 0) found.add(leader)
      if (found.size === most) return [...found].sort((one, other) => one - other)
    }
  }
  return [...found].sort((one, other) => one - other)
}
