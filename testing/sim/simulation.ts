// A whole cluster from one seed: three brokers on one simulated server, clients that write, read and commit, and
// everything that goes wrong in between. Then it heals, everything is read once more, and the oracles judge what the
// clients saw and what the server holds. A scenario says what may happen; the seed says what does.

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
  /** How many of them must have what is acknowledged. */
  readonly waitReplicas: number
  /** Whether the most advanced replica is promoted, or any. */
  readonly promotes: 'best' | 'any'
  /** The largest number of fail-overs. */
  readonly failOvers: number
  /** Whether some of them break no connection, so that brokers learn of them when they look. */
  readonly silently: boolean
  /** Other faults at most: brokers that stand still or die, replicas cut off, a slow network, the server away. */
  readonly faults: number
  /** One call in this number meets a broken connection; 0: no call does. */
  readonly oneCallIn: number
  /** Whether the server may be killed in the midst of a write, and started twice. */
  readonly tears: boolean
  readonly safeguards: Safeguards
}

/** All safeguards, and as many replicas waited for as the promoted one needs: nothing may ever be wrong. */
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

/** The columns of the table of the study's model, and what it has no name for. */
export type Column = 'divergence' | 'overlap' | 'duplicate' | 'lost' | 'skipped' | 'other'

export interface Violation {
  readonly column: Column
  readonly kind: string
  readonly detail: string
}

export interface Outcome {
  readonly seed: number
  readonly violations: readonly Violation[]
  /** Of everything that happened, in order: the same for the same seed and code. */
  readonly hash: number
  /** The lines of the trace, if they were asked for. */
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
      // The operator kills it in the end; a broker whose store is away ends too.
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
    // A replica that lags is what makes a fail-over worth it.
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

/** Makes a topic while all is quiet. Returns its id. */
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

/** The offset behind the last batch that the server holds. */
function lastOf(server: ReplicatedServer, id: StreamId): number {
  return server.contents.streams.get(id)?.batches.at(-1)?.nextOffset ?? 0
}

/** The batches that the server holds of a stream must be one log. */
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
