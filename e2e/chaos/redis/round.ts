// One round of chaos on Redis. Producers and consumers run on a topic of their own while one fault happens. Then the
// round reads all records. The checker judges the clients' histories, and the audit judges the content of Redis.
// faults.ts has the faults.

import assert from 'node:assert/strict'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep, systemClock, within } from '../../../src/base/clock.ts'
import { type Random, seededRandom } from '../../../src/base/random.ts'
import { type Anomaly, checkHistory, describeAnomalies } from '../../../testing/checker.ts'
import { auditCompacted } from '../../../testing/compaction.ts'
import { type History, recordHistory } from '../../../testing/history.ts'
import { auditRedis, type RedisAudit } from '../../../testing/redis-audit.ts'
import { type CompactedTopics, cleanedTo, isCleaned } from '../compaction/topics.ts'
import { readEverything, runFollower, runGroupMember } from '../consumers.ts'
import { runIdempotentProducer, runPlainProducer } from '../producers.ts'
import type { Run } from '../run.ts'
import type { RedisScene } from './scene.ts'
import { openSceneRun } from './scene-run.ts'
import { makeTopic, topicIdAt, unmakeTopic } from './topics.ts'

const PARTITIONS = 6
/** Values that are acknowledged before the fault, and after it. */
const PROGRESS = 100
const PROGRESS_SPREAD = 400
/** Audits of the store, one second apart. Only problems that the last one finds count. */
const AUDITS = 5
/** A round that takes longer has hung. */
const ROUND_LIMIT_MS = 300_000
/** How long a failed round waits for its fault and its clients to end, so that they do not disturb later rounds. */
const END_MS = 90_000

export interface RoundContext<S extends RedisScene = RedisScene> {
  readonly scene: S
  readonly run: Run
  readonly random: Random
  readonly history: History
  /** The id of the topic that the clients write to. */
  readonly topicId: string
  /**
   * In a scene that may lose records, it may lose those that were acknowledged from `beforeMs` ago until lossEnds().
   */
  lossMayBegin(beforeMs?: number): void
  lossEnds(): void
}

export interface Fault<S extends RedisScene = RedisScene> {
  readonly name: string
  /** The store may have lost its newest data. The next leader must have a higher epoch. */
  readonly raisesEpoch?: boolean
  /** The offsets of the log may have gaps. */
  readonly leavesGaps?: boolean
  /** Causes the fault, ends it, and resolves to a description of it. */
  act(context: RoundContext<S>): Promise<string>
}

export interface RoundReport {
  readonly number: number
  readonly fault: string
  readonly acknowledged: number
  readonly entries: number
  readonly seconds: number
}

export class RoundFailed extends Error {
  override readonly name = 'RoundFailed'
  /** The folder of the history, the logs and the data. */
  readonly folder: string
  constructor(message: string, folder: string, cause: unknown) {
    super(message, { cause })
    this.folder = folder
  }
}

/**
 * Asserts that no record was lost, duplicated, moved or invented. If one was, the error says how to repeat the round
 * and which folder has its files.
 */
export async function runRound<S extends RedisScene>(
  scene: S,
  number: number,
  fault: Fault<S>,
  compacted: CompactedTopics | null = null,
): Promise<RoundReport> {
  const begunAt = systemClock.monotonic()
  const random = seededRandom(scene.seed * 1009 + number)
  // The clients have a generator of their own, because no seed decides which client takes the next number.
  const clientsRandom = seededRandom(scene.seed * 2003 + number)
  const topic = `round-${number}`
  const group = `${topic}-group`
  const folder = await mkdtemp(join(tmpdir(), 'ketch-chaos-'))
  const history = recordHistory({ path: join(folder, 'history.ndjson') })
  const partitions = compacted?.partitions ?? PARTITIONS
  const compaction = compacted?.compaction ?? null
  const run = openSceneRun(scene, { history, topic, partitions, random: clientsRandom, compaction })
  let what = fault.name
  const limit = sleep(systemClock, ROUND_LIMIT_MS).then(() => {
    throw new Error(`the round is not over after ${ROUND_LIMIT_MS / 1000} s`)
  })
  limit.catch(() => {})
  const losses: Losses = { times: [], readFrom: 0 }
  let id = ''
  let lacking: readonly string[] = []
  /** Work that must end before any part of the scene is closed. */
  const underWay: Promise<unknown>[] = []
  const work = async (): Promise<RedisAudit> => {
    await makeTopic(scene.nodes[0]!.broker, topic, partitions, compacted?.configs)
    id = await topicIdAt(scene.nodes[0]!.broker, topic)
    const running = [
      runPlainProducer(run),
      runPlainProducer(run),
      // A producer whose sequences are lost must begin again. These rounds do not test that.
      ...(scene.mayLose ? [] : [runIdempotentProducer(run), runIdempotentProducer(run)]),
      runFollower(run),
      runGroupMember(run, group, scene),
      runGroupMember(run, group, scene),
    ]
    underWay.push(...running)
    const clients = Promise.all(running)
    // A client that fails ends the round at once.
    const failed = clients.then(() => new Promise<never>(() => {}))
    failed.catch(() => {})
    await Promise.race([run.progress(PROGRESS + random.below(PROGRESS_SPREAD)), failed])
    const before = fault.raisesEpoch === true ? await auditRedis(await scene.primaries()) : null
    history.fault('begins')
    const context = {
      scene,
      run,
      random,
      history,
      topicId: id,
      lossMayBegin: (beforeMs = 0) => {
        losses.times.push({ from: machineTimeNs() - beforeMs * 1e6, to: Number.POSITIVE_INFINITY })
      },
      lossEnds: () => {
        losses.times.at(-1)!.to = machineTimeNs()
      },
    }
    const acting = fault.act(context)
    underWay.push(acting)
    what = await Promise.race([acting, failed])
    history.fault(`is over: ${what}`)
    const healedAt = history.ops.length
    await Promise.race([run.progress(PROGRESS + random.below(PROGRESS_SPREAD)), failed])
    // Each partition takes records again. Only if a record follows the lost ones can a reader reach the end.
    while (keysWritten(history, healedAt).size < partitions) await Promise.race([run.progress(PROGRESS / 10), failed])
    run.stop()
    await clients
    const urlOf = () => scene.nodes[random.below(scene.nodes.length)]!.broker.url
    if (compacted !== null) await isCleaned(urlOf, topic, partitions)
    const dirtyFrom = compacted === null ? null : await cleanedTo(urlOf, run)
    losses.readFrom = history.ops.length
    await readEverything(run, group)
    if (compacted !== null && dirtyFrom !== null) {
      const reading = { from: losses.readFrom, cleanedTo: dirtyFrom, mayLack: during(losses) }
      lacking = auditCompacted(history, compacted.compaction, reading)
    }
    const audit = await auditAtRest(scene)
    if (before !== null) assertEpochsRose(id, before, audit)
    return audit
  }
  try {
    const audit = await Promise.race([work(), limit])
    const strict = [
      ...checkHistory(history, { dense: fault.leavesGaps !== true && compacted === null, compaction }),
      ...(compacted === null ? findVanished(history, run, id, audit) : []),
    ]
    const outside = () => (compacted === null ? findLossesOutside(history, losses) : [])
    const anomalies = scene.mayLose ? [...strict.filter(isNoLoss), ...outside()] : strict
    assert.deepEqual(lacking, [], 'the audit of the newest record of each key')
    assert.equal(anomalies.length, 0, describeAnomalies(anomalies))
    assert.deepEqual(audit.problems, [], 'the audit of the store')
    await unmakeTopic(scene.nodes[0]!.broker, topic)
    assert.deepEqual((await auditAtRest(scene)).problems, [], 'the audit of the store without the topic')
    await history.close()
    await rm(folder, { recursive: true, force: true })
    const streams = [...audit.streams.values()]
    return {
      number,
      fault: what,
      acknowledged: run.acknowledged,
      entries: streams.reduce((sum, stream) => sum + stream.entries, 0),
      seconds: Math.round((systemClock.monotonic() - begunAt) / 100) / 10,
    }
  } catch (error) {
    run.abort(error as Error)
    await within(systemClock, END_MS, Promise.allSettled(underWay), () => null)
    await history.close()
    for (const { id, broker } of scene.nodes) await writeFile(join(folder, `broker-${id}.log`), broker.output())
    for (const redis of scene.servers) {
      // A running server may delete a file during the copy. That must not hide the failure of the round.
      await cp(redis.folder, join(folder, `redis-${redis.port}`), { recursive: true }).catch(failure =>
        writeFile(join(folder, `redis-${redis.port}.incomplete`), String(failure)),
      )
    }
    throw new RoundFailed(
      `seed ${scene.seed}, round ${number} (${what}): ${(error as Error).message}\nthe history, the logs of the brokers and the files of Redis are in ${folder}`,
      folder,
      error,
    )
  }
}

interface Losses {
  /** Times on the clock of the history. */
  readonly times: { readonly from: number; to: number }[]
  /** The index of the operation with which the last reading begins. */
  readFrom: number
}

/** The kinds of anomalies that a lost end of a log causes for clients that had read or written it. */
const SIGNS_OF_LOSS: ReadonlySet<Anomaly['kind']> = new Set([
  'lost-write',
  'unseen',
  'hole',
  'poll-skip',
  'int-poll-skip',
  'committed-stale',
  'committed-backwards',
  'committed-phantom',
  'zombie-commit',
])

function isNoLoss({ kind }: Anomaly): boolean {
  return !SIGNS_OF_LOSS.has(kind)
}

/** Returns a function that says whether a send could be lost, by its begin and its end. */
function during({ times }: Losses): (begunAt: number, endedAt: number) => boolean {
  return (begunAt, endedAt) => times.some(({ from, to }) => endedAt >= from && begunAt <= to)
}

/** Finds records that were acknowledged when nothing could be lost, and that the last reading did not find. */
function findLossesOutside({ ops }: History, losses: Losses): readonly Anomaly[] {
  const { readFrom } = losses
  const couldBeLost = during(losses)
  const read = new Set<number>()
  for (const { value } of ops.slice(readFrom)) {
    for (const micro of value) {
      if (micro[0] === 'poll' && micro[1] !== undefined)
        for (const seen of Object.values(micro[1]).flat()) read.add(seen[1])
    }
  }
  const begun = new Map<number, number>()
  const lost: Anomaly[] = []
  for (const op of ops) {
    if (op.f !== 'send') continue
    if (op.type === 'invoke') begun.set(op.process, op.time)
    const begunAt = begun.get(op.process)!
    if (op.type !== 'ok' || couldBeLost(begunAt, op.time)) continue
    for (const micro of op.value) {
      if (micro[0] !== 'send' || !Array.isArray(micro[2]) || read.has(micro[2][1])) continue
      lost.push({
        kind: 'lost-write',
        detail: `${micro[1]}: operation ${op.index} sent ${micro[2][1]} when nothing could be lost`,
      })
    }
  }
  return lost
}

/** Returns the partitions with an acknowledged send that began after `from`. */
export function keysWritten({ ops }: History, from: number): ReadonlySet<string> {
  const keys = new Set<string>()
  const begun = new Set<number>()
  for (const op of ops.slice(from)) {
    if (op.f !== 'send') continue
    if (op.type === 'invoke') begun.add(op.process)
    else if (op.type === 'ok' && begun.has(op.process)) for (const micro of op.value) keys.add(String(micro[1]))
  }
  return keys
}

function assertEpochsRose(topicId: string, before: RedisAudit, after: RedisAudit): void {
  for (const [stream, { epoch }] of before.streams) {
    if (!stream.startsWith(`${topicId}:`)) continue
    assert((after.streams.get(stream)?.epoch ?? 0) > epoch, `${stream} is still led by epoch ${epoch}`)
  }
}

/**
 * Returns the last of several audits: the broker may delete the streams of a removed topic a little later, if the
 * store did not answer at once.
 */
async function auditAtRest(scene: RedisScene): Promise<RedisAudit> {
  for (let attempt = 1; ; attempt++) {
    const audit = await auditRedis(await scene.primaries())
    if (audit.problems.length === 0 || attempt === AUDITS) return audit
    await sleep(systemClock, 1_000)
  }
}

/** Returns the time of the history's clock. */
function machineTimeNs(): number {
  return Number(process.hrtime.bigint())
}

/** Finds offsets that a client has read and that the store no longer has. A record that was read must stay. */
function findVanished(history: History, run: Run, topicId: string, { streams }: RedisAudit): readonly Anomaly[] {
  const vanished: Anomaly[] = []
  const partitions = new Map(Array.from({ length: run.partitions }, (_, index) => [run.key(index), index]))
  for (const op of history.ops) {
    if (op.type !== 'ok' || op.f !== 'poll') continue
    for (const micro of op.value) {
      if (micro[0] !== 'poll' || micro[1] === undefined) continue
      for (const [key, seen] of Object.entries(micro[1])) {
        const stream = streams.get(`${topicId}:${partitions.get(key)}`)
        const gone = seen.find(([offset]) => !stream?.covered.some(([from, to]) => from <= offset && offset < to))
        if (gone !== undefined)
          vanished.push({
            kind: 'lost-write',
            detail: `${key}: operation ${op.index} read ${gone[1]} at ${gone[0]}, where the store has nothing`,
          })
      }
    }
  }
  return vanished
}
