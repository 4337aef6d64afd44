// The chaos run: faults happen one after another while producers and consumers work. Then the run reads all records,
// and the checker judges the histories. The same seed repeats the run's choices. The caller provides the faults.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Random, seededRandom } from '../../src/base/random.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { checkHistory, describeAnomalies } from '../../testing/checker.ts'
import { auditCompacted } from '../../testing/compaction.ts'
import { eventually } from '../../testing/eventually.ts'
import { auditFolder, deadFiles } from '../../testing/folder-audit.ts'
import { type History, recordHistory } from '../../testing/history.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { startProxy, type TcpProxy } from '../../testing/proxy.ts'
import { createTopic } from '../../testing/topic.ts'
import { connect } from '../../testing/wire.ts'
import { type CompactedTopics, cleanedTo, isCleaned } from './compaction/topics.ts'
import { readEverything, runFollower, runGroupMember } from './consumers.ts'
import { runLibrdkafkaProducer } from './librdkafka.ts'
import { standsStill } from './orders.ts'
import { runIdempotentProducer, runPlainProducer } from './producers.ts'
import { openRun, type Run } from './run.ts'

const TOPIC = 'chaos'
const GROUP = 'chaos-group'
const PARTITIONS = 4

/** Values that are acknowledged between two faults. */
const LEAST_PROGRESS = 100
const PROGRESS_SPREAD = 2000

/** Some checkpoints, which an idle broker takes after five seconds, on a busy machine. */
const FREED_MS = 60_000

export interface Scene {
  readonly broker: BrokerProcess
  /** Forwards the clients' connections to the broker, and can disturb them. */
  readonly proxy: TcpProxy
  readonly run: Run
  readonly random: Random
  readonly history: History
}

export interface ChaosReport {
  readonly faults: number
  readonly acknowledged: number
  readonly operations: number
  readonly slowestStartMs: number
}

export interface ChaosOptions {
  readonly faults: number
  readonly seed: number
  readonly settings?: Readonly<Record<string, string>>
  readonly nodeFlags?: readonly string[]
  /** The place of the store; by default a folder of its own. */
  readonly store?: string
  /** The topic is compacted, and its audit comes at the end. */
  readonly compacted?: CompactedTopics
  /** Adds an idempotent producer of librdkafka. It connects to the broker directly and not through the proxy. */
  readonly librdkafka?: boolean
  /** Causes one fault and ends it. Resolves to a description of it for the timeline. */
  fault(scene: Scene): Promise<string>
}

/**
 * Asserts that no record was lost, duplicated, moved or invented. On failure it keeps the history and the broker's
 * folder, and the error names them and the seed.
 */
export async function runChaos(cleanUp: CleanUp, options: ChaosOptions): Promise<ChaosReport> {
  const { faults, seed, fault, compacted = null } = options
  const partitions = compacted?.partitions ?? PARTITIONS
  const random = seededRandom(seed)
  // The faults have a generator of their own, because no seed decides which client takes the next number.
  const faultsRandom = seededRandom(seed * 2003 + 1)
  const folder = await mkdtemp(join(tmpdir(), 'ketch-chaos-'))
  const path = join(folder, 'history.ndjson')
  const history = recordHistory({ path })
  const broker = await startBrokerProcess(cleanUp, {
    folder: options.store ?? join(folder, 'store'),
    settings: { 'svc.broker.rebalance-delay': '100ms', ...options.settings },
    nodeFlags: options.nodeFlags ?? [],
  })
  const proxy = await startProxy({ target: { port: broker.port }, random })
  cleanUp.after(() => proxy.close())
  const run = openRun({
    history,
    connect: () => connect({ port: proxy.port }),
    topic: TOPIC,
    partitions,
    random,
    compaction: compacted?.compaction ?? null,
  })
  let slowestStartMs = broker.startedInMs
  try {
    await createTopic(broker, TOPIC, partitions, compacted?.configs)
    const clients = Promise.all([
      runPlainProducer(run),
      runPlainProducer(run),
      runIdempotentProducer(run),
      runIdempotentProducer(run),
      runFollower(run),
      runGroupMember(run, GROUP),
      runGroupMember(run, GROUP),
      ...(options.librdkafka === true ? [runLibrdkafkaProducer(run, broker.address)] : []),
    ])
    // If a client fails, the run ends at once instead of waiting for progress.
    const failed = clients.then(() => new Promise<never>(() => {}))
    failed.catch(() => {})
    for (let number = 1; number <= faults; number++) {
      await Promise.race([run.progress(LEAST_PROGRESS + random.below(PROGRESS_SPREAD)), failed])
      history.fault(`${number} begins`)
      const what = await Promise.race([fault({ broker, proxy, run, random: faultsRandom, history }), failed])
      history.fault(`${number} is over: ${what}`)
      slowestStartMs = Math.max(slowestStartMs, broker.startedInMs)
    }
    await Promise.race([run.progress(LEAST_PROGRESS), failed])
    run.stop()
    await clients
    if (compacted !== null) {
      await isCleaned(() => broker.url, TOPIC, partitions)
      await hasFreed(broker, run)
    }
    await readAndAudit(broker, run, compacted)
    // Reads again after an orderly shutdown, which must change nothing.
    assert.equal(await broker.kill('SIGTERM'), 0, 'the exit status after SIGTERM')
    await broker.start()
    await readAndAudit(broker, run, compacted)
    const { compaction } = run
    const anomalies = checkHistory(history, { dense: compaction === null, compaction })
    assert.equal(anomalies.length, 0, describeAnomalies(anomalies))
    if (compacted !== null) {
      assert.equal(await broker.kill('SIGTERM'), 0, 'the exit status after SIGTERM')
      assert.deepEqual(await auditFolder(broker.folder), [], 'the audit of the folder')
    }
  } catch (error) {
    await history.close()
    throw new Error(
      `seed ${seed}: ${(error as Error).message}\nthe history is ${path}, the broker's folder beside it; it printed:\n` +
        broker.output().slice(-3000),
      { cause: error },
    )
  }
  await history.close()
  cleanUp.after(() => rm(folder, { recursive: true, force: true }))
  return { faults, acknowledged: run.acknowledged, operations: history.ops.length, slowestStartMs }
}

/**
 * Resolves when the broker has freed every file that no reader needs. It must do so without a restart, which counts
 * afresh. It does so a few checkpoints after the last rewrite.
 */
async function hasFreed(broker: BrokerProcess, run: Run): Promise<void> {
  const look = async () => {
    broker.pause()
    await standsStill(broker.pid)
    const dead = deadFiles(broker.folder)
    broker.resume()
    const isFreed = (await dead).length === 0
    if (!isFreed) await run.pause(500)
    return isFreed
  }
  await eventually('the broker has no dead file', look, FREED_MS)
}

async function readAndAudit(broker: BrokerProcess, run: Run, compacted: CompactedTopics | null): Promise<void> {
  const dirtyFrom = compacted === null ? null : await cleanedTo(() => broker.url, run)
  const from = run.history.ops.length
  await readEverything(run, GROUP)
  if (compacted === null || dirtyFrom === null) return
  const lacking = auditCompacted(run.history, compacted.compaction, { from, cleanedTo: dirtyFrom })
  assert.deepEqual(lacking, [], 'the audit of the newest record of each key')
}

/** Kills the broker with SIGKILL and starts it again on the same folder. */
export async function killAndStart({ broker }: Scene): Promise<string> {
  await broker.kill('SIGKILL')
  await broker.start()
  return 'kill -9'
}

/** Causes one fault of the network, and ends it after a while. */
export async function disturbNetwork({ proxy, run, random }: Scene): Promise<string> {
  const what = await proxy.disturb()
  await run.pause(20 + random.below(200))
  // A cut, a swallowed reply or a freeze must not last into the next fault.
  await proxy.heal()
  return what
}
