// The chaos run: a broker is killed as a machine kills it, again and again, under producers and consumers, and started on
// the same folder; then everything is read, and the checker judges what was seen. One seed repeats the run's choices.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from '../../src/base/random.ts'
import { type Anomaly, checkHistory, describeAnomalies } from '../../testing/checker.ts'
import { recordHistory } from '../../testing/history.ts'
import { type CleanUp, startBrokerProcess } from '../../testing/process.ts'
import { createTopic } from '../../testing/topic.ts'
import { readEverything, runFollower, runGroupMember } from './consumers.ts'
import { runIdempotentProducer, runPlainProducer } from './producers.ts'
import { openRun } from './run.ts'

const TOPIC = 'chaos'
const GROUP = 'chaos-group'

export interface KillReport {
  readonly kills: number
  readonly acknowledged: number
  readonly operations: number
  readonly slowestStartMs: number
}

/**
 * Runs so many kills and asserts that nothing was lost, doubled, moved or made up. On failure the history and the
 * broker's folder are kept, and the error names them with the seed.
 */
export async function killAgainAndAgain(
  cleanUp: CleanUp,
  options: { kills: number; seed: number; settings?: Readonly<Record<string, string>>; partitions?: number },
): Promise<KillReport> {
  const { kills, seed, partitions = 4 } = options
  const random = seededRandom(seed)
  const folder = await mkdtemp(join(tmpdir(), 'ketch-chaos-'))
  const path = join(folder, 'history.ndjson')
  const history = recordHistory({ path })
  const broker = await startBrokerProcess(cleanUp, {
    folder: join(folder, 'store'),
    settings: { 'svc.broker.rebalance-delay': '100ms', ...options.settings },
  })
  let anomalies: readonly Anomaly[]
  let slowestStartMs = broker.startedInMs
  let acknowledged: number
  try {
    await createTopic(broker, TOPIC, partitions)
    const run = openRun({ history, port: broker.port, topic: TOPIC, partitions, random })
    const clients = Promise.all([
      runPlainProducer(run),
      runPlainProducer(run),
      runIdempotentProducer(run),
      runIdempotentProducer(run),
      runFollower(run),
      runGroupMember(run, GROUP),
      runGroupMember(run, GROUP),
    ])
    // A client that fails ends the run at once instead of leaving it to wait for progress.
    const failed = clients.then(() => new Promise<never>(() => {}))
    failed.catch(() => {})
    for (let kill = 1; kill <= kills; kill++) {
      await Promise.race([run.progress(100 + random.below(2000)), failed])
      history.fault(`kill -9, number ${kill}`)
      await broker.kill('SIGKILL')
      await broker.start()
      history.fault(`started, number ${kill}`)
      slowestStartMs = Math.max(slowestStartMs, broker.startedInMs)
    }
    await Promise.race([run.progress(500), failed])
    run.stop()
    await clients
    acknowledged = run.acknowledged
    await readEverything(run, GROUP)
    // Once more after an orderly end, which must change nothing.
    await broker.kill('SIGTERM')
    await broker.start()
    await readEverything(run, GROUP)
    anomalies = checkHistory(history)
    assert.equal(anomalies.length, 0, describeAnomalies(anomalies))
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
  return { kills, acknowledged, operations: history.ops.length, slowestStartMs }
}
