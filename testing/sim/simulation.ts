// Simulates a whole cluster from one seed: three brokers on one simulated server, clients that write, read and
// commit, and faults. Then all faults end, everything is read again, and the oracles judge the observations of the
// clients and the data on the server. The scenario says what may happen; the seed decides what happens.

import { assert } from '../../src/base/assert.ts'
import { openCatalogue } from '../../src/log/catalogue.ts'
import { isRefusal } from '../../src/protocol/errors.ts'
import { viewBatch } from '../../src/protocol/records.ts'
import { testSettings } from '../../src/settings/settings.ts'
import { type StreamId, streamId } from '../../src/store/store.ts'
import { type AnomalyKind, checkHistory } from '../checker.ts'
import { recordHistory } from '../history.ts'
import { type ClientWorld, consume, produce, takePart } from './clients.ts'
import { ClusterBroker, EXPIRY_MS } from './cluster-broker.ts'
import { ReplicatedServer } from './replicated-server.ts'
import { ALL_SAFEGUARDS, connectReplicatedStore, type Fate, type Safeguards, type Wire } from './replicated-store.ts'
import { Machine, Scheduler } from './scheduler.ts'

export interface Scenario {
  readonly replicas: number
  /** The number of replicas that must have the acknowledged data. */
  readonly waitReplicas: number
  /** `best`: the most advanced replica is promoted. `any`: a random one. */
  readonly promotes: 'best' | 'any'
  /** The largest number of fail-overs. */
  readonly failOvers: number
  /** True if some fail-overs break no connection, so that brokers learn of them only at their next check. */
  readonly silently: boolean
  /**
   * The largest number of other faults: paused or dead brokers, replicas cut off, a slow network, a server that is
   * down.
   */
  readonly faults: number
  /** One of this many calls meets a broken connection; 0 for none. */
  readonly oneCallIn: number
  /** True if the server may be killed during a write and started twice. */
  readonly tears: boolean
  readonly safeguards: Safeguards
}

/** All safeguards, and enough replicas to wait for: no violation is allowed. */
export const SAFE: Scenario = Object.freeze({
  replicas: 1,
  waitReplicas: 1,
  promotes: 'best',
  failOvers: 2,
  silently: true,
  faults: 3,
  oneCallIn: 60,
  tears: false,
  safeguards: ALL_SAFEGUARDS,
})

/** The columns of the table in the study's model, and `other` for everything else. */
export type Column = 'divergence' | 'overlap' | 'duplicate' | 'lost' | 'skipped' | 'other'

export interface Violation {
  readonly column: Column
  readonly kind: string
  readonly detail: string
}

export interface Outcome {
  readonly seed: number
  readonly violations: readonly Violation[]
  /** The hash of all events in order; the same for the same seed and code. */
  readonly hash: number
  /** The lines of the trace, if the caller wants them; else null. */
  readonly lines: readonly string[] | null
  readonly acknowledged: number
  readonly commits: number
  readonly failOvers: number
}

const BROKERS = [1, 2, 3]
const PARTITIONS = 2
const PRODUCERS = 4
const SENDS = 10
const TROUBLE_MS = 4_000
const HEALED_MS = 60_000
const DRAIN_MS = 1_500

const COLUMNS: Partial<Record<AnomalyKind, Column>> = {
  'inconsistent-offsets': 'divergence',
  'unstable-bytes': 'divergence',
  duplicate: 'duplicate',
  'lost-write': 'lost',
  unseen: 'lost',
  'int-poll-skip': 'skipped',
  'poll-skip': 'skipped',
}

export async function simulate(seed: number, scenario: Scenario, keepsLines = false): Promise<Outcome> {
  const scheduler = new Scheduler(seed, keepsLines)
  let isReplicating = false
  const server = new ReplicatedServer(scenario.replicas, replicateSoon)
  const violations: Violation[] = []
  const complain = (column: Column, kind: string, detail: string) => void violations.push({ column, kind, detail })
  let lastNs = 0
  const history = recordHistory({
    nowNs() {
      lastNs = Math.max(lastNs + 1, Math.round(scheduler.nowMs * 1_000_000))
      return lastNs
    },
  })
  const crash = (error: unknown) =>
    complain('other', 'crash', error instanceof Error ? (error.stack ?? '') : String(error))
  process.on('unhandledRejection', crash)

  let isTroubled = true
  let isSlow = false
  const frozen = new Set<number>()
  let failOvers = 0

  const latencyMs = () => (isSlow ? scheduler.within(150) : scheduler.within(scheduler.oneIn(20) ? 15 : 0.6))
  const network = {
    latencyMs,
    fate(): Fate {
      if (!isTroubled || scenario.oneCallIn === 0 || !scheduler.oneIn(scenario.oneCallIn)) return 'answered'
      return FATES[scheduler.random.below(FATES.length)]!
    },
  }

  const brokers: ClusterBroker[] = []
  function start(id: number): void {
    const broker = new ClusterBroker({
      id,
      scheduler,
      server,
      safeguards: scenario.safeguards,
      waitReplicas: scenario.waitReplicas,
      network,
      ended(why) {
        if (broker.machine.isDead) return
        scheduler.tell(`broker ${id} ends: ${why}`)
        restart(broker, 200 + scheduler.within(300))
      },
    })
    brokers[BROKERS.indexOf(id)] = broker
  }
  function restart(broker: ClusterBroker, afterMs: number): void {
    broker.machine.kill()
    scheduler.after(afterMs, () => start(broker.id))
  }

  function replicateSoon(): void {
    if (isReplicating) return
    isReplicating = true
    scheduler.after(scheduler.within(3), () => {
      isReplicating = false
      for (let replica = 0; replica < scenario.replicas; replica++) {
        if (!server.isDown && !frozen.has(replica)) server.replicate(replica, 1 + scheduler.random.below(4))
      }
      if (!server.isReplicated) replicateSoon()
    })
  }

  function failOver(): void {
    const { promotable } = server
    if (server.isDown || promotable.length === 0) return
    const best = promotable.reduce((one, other) => (server.lag(other) < server.lag(one) ? other : one))
    const chosen = scenario.promotes === 'best' ? best : promotable[scheduler.random.below(promotable.length)]!
    const breaks = !(scheduler.oneIn(4) && scenario.silently)
    failOvers++
    scheduler.tell(
      `replica ${chosen} is promoted without ${server.lag(chosen)} writes${breaks ? '' : ', and no broker is told'}`,
    )
    server.failOver(chosen, breaks)
  }

  const someBroker = () => brokers[scheduler.random.below(brokers.length)]!
  const faults: readonly (() => void)[] = [
    function pause() {
      const { id, machine } = someBroker()
      const ms = scheduler.oneIn(2) ? scheduler.within(EXPIRY_MS / 2) : EXPIRY_MS + scheduler.within(EXPIRY_MS)
      scheduler.tell(`broker ${id} stands still for ${Math.round(ms)} ms`)
      machine.pause()
      scheduler.after(ms, () => {
        scheduler.tell(`broker ${id} goes on`)
        machine.resume()
      })
    },
    function kill() {
      const broker = someBroker()
      if (broker.machine.isDead) return
      scheduler.tell(`broker ${broker.id} is killed`)
      restart(broker, scheduler.within(1.5 * EXPIRY_MS))
    },
    function drain() {
      const broker = someBroker()
      if (broker.rooms === null || broker.machine.isDead || broker.machine.isPaused) return
      scheduler.tell(`broker ${broker.id} is drained`)
      const end = () => {
        if (brokers.includes(broker) && !broker.machine.isDead) restart(broker, scheduler.within(500))
      }
      // In the end the operator kills the broker. A broker whose drain fails ends too.
      scheduler.after(DRAIN_MS, end)
      broker.drain().then(end, end)
    },
    function freeze() {
      const replica = scheduler.random.below(scenario.replicas)
      scheduler.tell(`replica ${replica} is cut off`)
      frozen.add(replica)
      scheduler.after(scheduler.within(800), () => frozen.delete(replica))
    },
    function slowDown() {
      scheduler.tell('the network is slow')
      isSlow = true
      scheduler.after(scheduler.within(600), () => {
        isSlow = false
      })
    },
    function stop() {
      if (server.isDown) return
      scheduler.tell('the server is away')
      server.stop()
      scheduler.after(scheduler.within(700), () => {
        if (!server.isDown) return
        scheduler.tell('the server is back with all it had')
        server.restart(server.position)
      })
    },
  ]

  const topicId = await prepare(scheduler, server)
  for (const id of BROKERS) start(id)
  for (let i = 0; i < scenario.failOvers; i++) {
    if (scheduler.oneIn(4)) continue
    const atMs = 500 + scheduler.within(TROUBLE_MS - 500)
    // A fail-over loses data only if a replica lags.
    if (scheduler.oneIn(2)) scheduler.after(atMs - 50, () => frozen.add(scheduler.random.below(scenario.replicas)))
    scheduler.after(atMs, () => {
      failOver()
      scheduler.after(scheduler.within(300), () => frozen.clear())
    })
  }
  for (let i = scheduler.random.below(scenario.faults + 1); i > 0; i--) {
    scheduler.after(500 + scheduler.within(TROUBLE_MS - 500), faults[scheduler.random.below(faults.length)]!)
  }
  function tear(): void {
    if (server.isDown) return
    scheduler.tell('the server is killed in the midst of a write')
    server.tear()
    scheduler.after(scheduler.within(600), () => {
      if (server.isDown) return
      scheduler.tell('the server is started once more')
      server.restartTorn()
    })
  }
  for (let i = scenario.tears ? 4 : 0; i > 0; i--) scheduler.after(500 + scheduler.within(TROUBLE_MS - 500), tear)

  scheduler.after(TROUBLE_MS, function heal() {
    scheduler.tell('everything heals')
    isTroubled = false
    isSlow = false
    frozen.clear()
    if (server.isDown) server.restart(server.position)
    for (const { machine } of brokers) machine.resume()
  })

  const world: ClientWorld = {
    scheduler,
    history,
    brokers,
    topicId,
    readsVisible: scenario.safeguards.visibility,
    latencyMs,
    complain: (kind, detail) => complain('other', kind, detail),
  }
  let isRead = false
  const work = (async () => {
    const producers = Array.from({ length: PRODUCERS }, (_, i) =>
      produce(world, { partition: i % PARTITIONS, sends: SENDS, idempotent: i < 2, pauseMs: 600 }),
    )
    const consumers = Array.from({ length: PARTITIONS + 1 }, (_, i) =>
      consume(world, { partition: i % PARTITIONS, pauseMs: 120 }, () => isRead),
    )
    const members = Array.from({ length: 2 }, () => takePart(world, PARTITIONS, () => isRead))
    await Promise.all(producers)
    while (isTroubled) await new Promise<void>(resolve => scheduler.after(100, resolve))
    const readers = Array.from({ length: PARTITIONS }, (_, partition) =>
      consume(world, { partition, pauseMs: 20 }, position => position >= lastOf(server, streamId(topicId, partition))),
    )
    await Promise.all(readers)
    isRead = true
    await Promise.all([...consumers, ...members])
  })()
  let isDone = false
  work.then(
    () => {
      isDone = true
    },
    error => {
      crash(error)
      isDone = true
    },
  )
  if (!(await scheduler.run(TROUBLE_MS + HEALED_MS, () => isDone))) {
    complain('other', 'stuck', `clients were not done ${HEALED_MS} ms after everything had healed`)
  }
  process.off('unhandledRejection', crash)

  for (const { kind, detail } of checkHistory(history, { complete: isDone, dense: false })) {
    complain(COLUMNS[kind] ?? 'other', kind, detail)
  }
  for (let partition = 0; partition < PARTITIONS; partition++) audit(server, streamId(topicId, partition), complain)
  for (const { column, kind, detail } of violations) scheduler.tell(`${column}: ${kind}: ${detail}`)
  const oks = history.ops.filter(op => op.type === 'ok')
  return {
    seed,
    violations,
    hash: scheduler.hash,
    lines: scheduler.lines,
    acknowledged: oks.filter(op => op.f === 'send').length,
    commits: oks.filter(op => op.f === 'commit').length,
    failOvers,
  }
}

const FATES: readonly Fate[] = ['answer lost', 'answer lost', 'lost', 'late', 'late', 'refused']

/** Creates a topic before the simulation begins. Returns its id. */
async function prepare(scheduler: Scheduler, server: ReplicatedServer): Promise<string> {
  const { clock } = new Machine(scheduler, 0)
  const wire: Wire = {
    fate: () => 'answered',
    toServer: queueMicrotask,
    toBroker: queueMicrotask,
    later: (ms, due) => scheduler.after(ms, due).cancel,
    delayMs: () => 0,
  }
  const store = connectReplicatedStore({ server, wire, waitReplicas: 0, waitTimeoutMs: 0 })
  const catalogue = await openCatalogue(store, testSettings(), clock, scheduler.random)
  const [topic] = await catalogue.add([{ name: 't', partitions: PARTITIONS, configs: {} }])
  assert(topic !== undefined && !isRefusal(topic), 'the topic of a simulation must be made')
  return topic.id
}

/** Returns the offset after the last batch of a stream on the server. */
function lastOf(server: ReplicatedServer, id: StreamId): number {
  return server.contents.streams.get(id)?.batches.at(-1)?.nextOffset ?? 0
}

/** Checks that the batches of a stream on the server form one log. */
function audit(
  server: ReplicatedServer,
  id: StreamId,
  complain: (column: Column, kind: string, detail: string) => void,
): void {
  let end = 0
  let epoch = 0
  for (const batch of server.contents.streams.get(id)?.batches ?? []) {
    const { baseOffset, lastOffset, leaderEpoch } = viewBatch(batch.bytes)
    const place = `${id}: batch ${baseOffset} to ${lastOffset} of epoch ${leaderEpoch}`
    if (baseOffset < end) complain('overlap', 'overlap', `${place}, though the one before ends at ${end}`)
    if (leaderEpoch < epoch) complain('other', 'epoch-backwards', `${place} follows epoch ${epoch}`)
    if (baseOffset !== batch.baseOffset || lastOffset + 1 !== batch.nextOffset) {
      complain('other', 'mislabelled', `${place} is stored as ${batch.baseOffset} to ${batch.nextOffset - 1}`)
    }
    end = Math.max(end, lastOffset + 1)
    epoch = Math.max(epoch, leaderEpoch)
  }
}
