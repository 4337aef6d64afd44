// Simulates a whole cluster from one seed: three brokers on one simulated server, clients that write, read and
// commit, and faults. Then all faults end, everything is read again, and the oracles judge the observations of the
// clients and the data on the server. The scenario says what may happen; the seed decides what happens.

import { assert } from '../../src/base/assert.ts'
import { type CatalogueKeeper, openCatalogue, type Topic } from '../../src/log/catalogue.ts'
import { isRefusal } from '../../src/protocol/errors.ts'
import { viewBatch } from '../../src/protocol/records.ts'
import { testSettings } from '../../src/settings/settings.ts'
import { type StreamId, streamId } from '../../src/store/store.ts'
import { type AnomalyKind, checkHistory } from '../checker.ts'
import { recordHistory } from '../history.ts'
import { type ClientWorld, consume, produce, takePart } from './clients.ts'
import { type Scenario, SimulatedCluster, TROUBLE_MS } from './cluster.ts'
import type { ReplicatedServer } from './replicated-server.ts'
import { ALL_SAFEGUARDS, connectReplicatedStore, type Wire } from './replicated-store.ts'
import { Machine, Scheduler } from './scheduler.ts'
import type { Column, Complain, Outcome, Violation } from './violations.ts'

/** All safeguards, and enough replicas to wait for: no violation is allowed. */
export const SAFE: Scenario = Object.freeze({
  replicas: 1,
  waitReplicas: 1,
  promotes: 'best',
  failOvers: 2,
  lagMs: 50,
  cutsPower: false,
  silently: true,
  faults: 3,
  oneCallIn: 60,
  tears: false,
  safeguards: ALL_SAFEGUARDS,
})

const PARTITIONS = 2
const PRODUCERS = 4
const SENDS = 10
const HEALED_MS = 60_000

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
  const cluster = new SimulatedCluster({ scheduler, scenario })
  const { server, brokers } = cluster
  const violations: Violation[] = []
  const complain: Complain = (column, kind, detail) => void violations.push({ column, kind, detail })
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

  const [topic] = await prepare(scheduler, server, [{ name: 't', partitions: PARTITIONS, configs: {} }])
  const topicId = topic!.id
  cluster.start()

  const world: ClientWorld = {
    scheduler,
    history,
    brokers,
    topicId,
    readsVisible: scenario.safeguards.visibility,
    latencyMs: () => cluster.latencyMs(),
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
    while (cluster.isTroubled) await new Promise<void>(resolve => scheduler.after(100, resolve))
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
    done: {
      acknowledged: oks.filter(op => op.f === 'send').length,
      commits: oks.filter(op => op.f === 'commit').length,
      failOvers: cluster.failOvers,
    },
  }
}

/** Creates topics before a simulation begins. */
export async function prepare(
  scheduler: Scheduler,
  server: ReplicatedServer,
  topics: Parameters<CatalogueKeeper['add']>[0],
  documents = server,
): Promise<readonly Topic[]> {
  const { clock } = new Machine(scheduler, 0)
  const wire: Wire = {
    fate: () => 'answered',
    toServer: queueMicrotask,
    toBroker: queueMicrotask,
    later: (ms, due) => scheduler.after(ms, due).cancel,
    delayMs: () => 0,
  }
  const to = (server: ReplicatedServer) => connectReplicatedStore({ server, wire, waitReplicas: 0, waitTimeoutMs: 0 })
  const { create } = to(server)
  const catalogue = await openCatalogue({ ...to(documents), create }, testSettings(), clock, scheduler.random)
  const made = await catalogue.add(topics)
  return made.map(topic => {
    assert(!isRefusal(topic), 'the topics of a simulation must be made')
    return topic
  })
}

/** Returns the offset after the last batch of a stream on the server. */
function lastOf(server: ReplicatedServer, id: StreamId): number {
  return server.contents.streams.get(id)?.batches.at(-1)?.nextOffset ?? 0
}

/** Checks that the batches of a stream on the server form one log. */
function audit(server: ReplicatedServer, id: StreamId, complain: Complain): void {
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
