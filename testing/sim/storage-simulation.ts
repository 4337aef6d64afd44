// Simulates the storage worker of a cluster from one seed: three brokers with a lease run rounds, which roll segments,
// drop old data and clean compacted logs, while producers and readers work and faults happen. Then all faults end, the
// worker must come to rest, and everything is read once more. ledger.ts judges each write on the servers,
// keyed-clients.ts the answers to clients, and this file the lease.

import { decodePlace } from '../../src/log/cleaner/place.ts'
import { type StreamId, streamId } from '../../src/store/store.ts'
import type { Claim } from '../../src/tier/lease.ts'
import { BlindWork } from './blind-work.ts'
import { type Scenario, SimulatedCluster, TROUBLE_MS } from './cluster.ts'
import { type BrokerOptions, type ClusterBroker, EXPIRY_MS, START_WALL_MS } from './cluster-broker.ts'
import { load } from './contents.ts'
import { type KeyedLog, type KeyedWorld, logName, produceKeyed, readAgain, readWhole } from './keyed-clients.ts'
import { Ledger, type Rules, sealedOf } from './ledger.ts'
import { Scheduler } from './scheduler.ts'
import { prepare, SAFE } from './simulation.ts'
import type { Column, Complain, Outcome, Violation } from './violations.ts'

export interface StorageScenario extends Scenario {
  /** False if fail-overs may lose acknowledged records. A second server, without faults, then has the documents. */
  readonly keepsAll: boolean
  /** False: the cleaner does not compare the offsets of its map. */
  readonly comparesOffsets: boolean
}

/** All safeguards: no violation is allowed. */
export const SAFE_STORAGE: StorageScenario = Object.freeze({ ...SAFE, keepsAll: true, comparesOffsets: true })

const TICK_MS = 150
const LEASE_MS = 900
const SEGMENT_MS = 300
const RETENTION_MS = 2_500
const DELETE_RETENTION_MS = 1_500
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** The worker must come to rest this long after everything has healed: two expiries, a lease and some dozen rounds. */
const REST_MS = 20_000

/** The clocks of the brokers. Half of the seeds have right ones, by which the ledger can judge what is too early. */
const CLOCKS = ['right', 'right', 'seconds apart', 'an hour apart'] as const
type Clocks = (typeof CLOCKS)[number]

/** The kinds of damage that a server may not do even if it loses acknowledged records. */
const JUDGED_AFTER_LOSS: readonly Column[] = ['sealed', 'segments', 'lease', 'touched', 'stuck', 'other']

/** Blows that meet a broker between the reading and the rewriting of a piece. */
const MOST_BLOWS = 4

export async function simulateStorage(seed: number, scenario: StorageScenario, keepsLines = false): Promise<Outcome> {
  const scheduler = new Scheduler(seed, keepsLines)
  const violations: Violation[] = []
  const complain: Complain = (column, kind, detail) => {
    if (!scenario.keepsAll && !JUDGED_AFTER_LOSS.includes(column)) return
    violations.push({ column, kind, detail })
    scheduler.tell(`${column}: ${kind}: ${detail}`)
  }
  const crash = (error: unknown) =>
    complain('other', 'crash', error instanceof Error ? (error.stack ?? '') : String(error))
  process.on('unhandledRejection', crash)

  const clocks = CLOCKS[scheduler.random.below(CLOCKS.length)]!
  const areClocksRight = clocks === 'right'
  const logs: KeyedLog[] = []
  const rules = new Map<StreamId, Rules>()
  const ledger = new Ledger({
    complain,
    documents: () => documents.contents,
    logs: rules,
    trueNow: () => START_WALL_MS + scheduler.nowMs,
    areClocksRight,
  })
  const variety = varietyOf(scheduler, clocks)
  let blows = 0
  const cluster = new SimulatedCluster({
    scheduler,
    scenario,
    makeServer: (replicas, written) => ledger.server(replicas, written),
    brokerOptions: id => ({
      ...variety(id),
      claims,
      ...(!scenario.keepsAll && { documents }),
      ...(!scenario.comparesOffsets && { cleanerWork: new BlindWork() }),
      network: {
        latencyMs: () => cluster.latencyMs(),
        fate(verb, broker) {
          if (!cluster.isTroubled || (verb !== 'read' && verb !== 'rewrite')) return cluster.fate()
          if (blows < MOST_BLOWS && !broker.machine.isDead && scheduler.oneIn(verb === 'read' ? 60 : 12)) {
            blows++
            if (scheduler.oneIn(2)) cluster.kill(broker)
            else cluster.pause(broker, EXPIRY_MS + scheduler.within(EXPIRY_MS))
          }
          return verb === 'rewrite' && scheduler.oneIn(10) ? 'late' : cluster.fate()
        },
      },
    }),
  })
  const { server, brokers } = cluster
  const documents = scenario.keepsAll ? server : ledger.server(0, () => {})

  /** The broker that has acted under each fence. */
  const fences = new Map<number, string>()
  function claims({ holderId, incarnation, fence }: Claim, broker: ClusterBroker): void {
    const by = `broker ${holderId} (${incarnation})`
    const known = fences.get(fence)
    if (known !== undefined && known !== by) complain('lease', 'fence', `${known} and ${by} act under fence ${fence}`)
    fences.set(fence, by)
    const holder = load(documents.contents, 'worker', 'lease')?.fields.get('holder')
    const now = holder === undefined ? null : JSON.parse(Buffer.from(holder).toString())
    if (broker.id === holderId && now?.id === holderId && now.incarnation === incarnation) return
    complain('lease', 'holder', `${by} acts under fence ${fence}, and the store names ${holder && JSON.stringify(now)}`)
  }

  const topics = topicsOf(scheduler)
  const made = await prepare(
    scheduler,
    server,
    topics.map(({ name, partitions, configs }) => ({ name, partitions, configs })),
    documents,
  )
  for (const [i, { id, partitions }] of made.entries()) {
    for (let partition = 0; partition < partitions; partition++) {
      logs.push({ topicId: id, partition, rules: topics[i]!.rules, sent: new Map(), at: new Map() })
      rules.set(streamId(id, partition), topics[i]!.rules)
    }
  }
  cluster.start([
    () => {
      const { id, machine, rooms } = cluster.someBroker()
      // A broker that starts after the jump cannot know of it.
      if (rooms === null) return
      const ms = clocks !== 'an hour apart' || scheduler.oneIn(2) ? DAY_MS : -scheduler.within(20 * MINUTE_MS)
      scheduler.tell(`the clock of broker ${id} jumps by ${Math.round(ms)} ms`)
      machine.moveClock(ms)
    },
  ])

  const world: KeyedWorld = {
    scheduler,
    brokers,
    latencyMs: () => cluster.latencyMs(),
    complain,
    keepsAll: scenario.keepsAll,
  }
  let isOver = false
  const until = async (isSo: () => boolean, untilMs = Number.POSITIVE_INFINITY) => {
    while (!isSo() && scheduler.nowMs < untilMs) await new Promise<void>(resolve => scheduler.after(100, resolve))
  }
  const work = (async () => {
    const producers = logs.flatMap(log =>
      [true, false].map(isIdempotent => produceKeyed(world, log, { sends: 9, isIdempotent, pauseMs: 800 })),
    )
    const readers = logs.map(log => readAgain(world, log, () => isOver))
    await Promise.all(producers)
    await until(() => !cluster.isTroubled)
    await until(() => logs.every(isAtRest), scheduler.nowMs + REST_MS)
    isOver = true
    await Promise.all(readers)
    for (const log of logs) await (isAtRest(log) ? readLast(log) : readWhole(world, log))
    // By clocks an hour apart, data that one broker has written is too young for another one for an hour.
    const late = clocks === 'an hour apart' ? [] : logs.filter(log => !isAtRest(log))
    for (const log of late) complain('stuck', 'worker', `${stateOf(log)} is not the end`)
    const holders = brokers.filter(({ rooms }) => rooms?.lease.isHeld).map(({ id }) => id)
    if (holders.length !== 1)
      complain('lease', 'up', `the brokers ${JSON.stringify(holders)} hold the lease in the end`)
  })()

  const streamOf = ({ topicId, partition }: KeyedLog) => server.contents.streams.get(streamId(topicId, partition))!

  /** Returns whether the worker has nothing left to do for a log: all is sealed, cleaned and dropped. */
  function isAtRest(log: KeyedLog): boolean {
    const { batches, rows } = streamOf(log)
    if (log.rules.retentionMs !== null) return batches.length === 0
    const end = batches.at(-1)?.nextOffset ?? 0
    const { cleanedTo, passTo } = decodePlace(rows)
    return sealedEnd(log) >= end && cleanedTo >= end && passTo < 0
  }

  const sealedEnd = (log: KeyedLog) =>
    sealedOf(load(documents.contents, 'segments', streamId(log.topicId, log.partition))).end

  function stateOf(log: KeyedLog): string {
    const { batches, rows, start, end } = streamOf(log)
    const last = `${batches.length} batches up to ${batches.at(-1)?.nextOffset}`
    return `${logName(log)} ${start} to ${end} with ${last}, sealed to ${sealedEnd(log)}, ${JSON.stringify(decodePlace(rows))}`
  }

  async function readLast(log: KeyedLog): Promise<void> {
    for (const [key, offsets] of (await readWhole(world, log)) ?? []) {
      if (log.rules.isCompacted && offsets.length > 1) {
        complain('revived', 'key', `${logName(log)}: ${key} stands at ${offsets.join()} in the end`)
      }
    }
  }

  let isDone = false
  const end = () => {
    isDone = true
  }
  void work.catch(crash).then(end)
  try {
    if (!(await scheduler.run(TROUBLE_MS + 3 * REST_MS, () => isDone))) complain('stuck', 'clients', 'are not done')
  } catch (error) {
    crash(error)
  }
  process.off('unhandledRejection', crash)
  const acknowledged = logs.reduce(
    (sum, { sent }) => sum + [...sent.values()].filter(({ offset }) => offset >= 0).length,
    0,
  )
  const done = { acknowledged, ...ledger.done, takeovers: fences.size, failOvers: cluster.failOvers, blows }
  return { seed, violations, hash: scheduler.hash, lines: scheduler.lines, done }
}

interface StorageTopic {
  readonly name: string
  readonly partitions: number
  readonly configs: Readonly<Record<string, string>>
  readonly rules: Rules
}

function topicsOf(scheduler: Scheduler): readonly StorageTopic[] {
  const rolling = { 'segment.ms': String(SEGMENT_MS) }
  const cleaning = {
    ...rolling,
    'delete.retention.ms': String(DELETE_RETENTION_MS),
    // A log below its ratio is cleaned in the end all the same.
    ...(scheduler.oneIn(2)
      ? { 'min.cleanable.dirty.ratio': '0' }
      : { 'min.cleanable.dirty.ratio': '0.4', 'max.compaction.lag.ms': '1000' }),
    ...(scheduler.oneIn(3) && { 'min.compaction.lag.ms': '200' }),
  }
  const dropping = { 'retention.ms': String(RETENTION_MS) }
  const rules = (isCompacted: boolean, retentionMs: number | null): Rules => ({
    ...{ isCompacted, retentionMs, deleteRetentionMs: DELETE_RETENTION_MS },
  })
  return [
    {
      name: 'compact',
      partitions: 2,
      configs: { ...cleaning, 'cleanup.policy': 'compact' },
      rules: rules(true, null),
    },
    {
      name: 'both',
      partitions: 1,
      configs: { ...cleaning, ...dropping, 'cleanup.policy': 'compact,delete' },
      rules: rules(true, RETENTION_MS),
    },
    {
      name: 'delete',
      partitions: 1,
      configs: { ...rolling, ...dropping, 'cleanup.policy': 'delete' },
      rules: rules(false, RETENTION_MS),
    },
  ]
}

/** Returns the differences between the brokers of this seed. */
function varietyOf(scheduler: Scheduler, clocks: Clocks): (id: number) => Partial<BrokerOptions> {
  const apartMs = { right: 0, 'seconds apart': 2_000, 'an hour apart': 50 * MINUTE_MS }[clocks]
  const aheadMs = [0, 0, 0].map(() => (apartMs === 0 ? 0 : scheduler.within(apartMs) - apartMs / 2))
  const idle = scheduler.oneIn(3) ? 1 + scheduler.random.below(3) : 0
  // A small map takes several passes.
  const dedupeBytes = scheduler.oneIn(2) ? 24 * 4 : 24 * 1024
  return id => ({
    aheadMs: aheadMs[id - 1]!,
    readBytes: 300,
    settings: {
      'storage.worker.tick-interval': TICK_MS,
      'storage.worker.lease-duration': LEASE_MS,
      'storage.worker.dedupe-buffer': dedupeBytes,
      'storage.worker.enabled': id !== idle,
    },
  })
}
