// One round of chaos with the remote tier: brokers and a place of their own, producers and consumers, one fault. Then
// everything moves into the tables. The checker judges the clients' histories, and judge.ts the tables: no acknowledged
// record is lost or doubled, neither for clients nor in a table, and no file is missing or left over.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep, systemClock, within } from '../../../src/base/clock.ts'
import { type Random, seededRandom } from '../../../src/base/random.ts'
import type { CleanUp } from '../../../testing/broker.ts'
import { checkHistory, describeAnomalies } from '../../../testing/checker.ts'
import { auditFolder } from '../../../testing/folder-audit.ts'
import { type History, recordHistory } from '../../../testing/history.ts'
import { auditRedis } from '../../../testing/redis-audit.ts'
import { openClusterCaller } from '../cluster-caller.ts'
import { reconfigure } from '../compaction/common-faults.ts'
import { readEverything, runFollower, runGroupMember } from '../consumers.ts'
import { runIdempotentProducer, runPlainProducer } from '../producers.ts'
import { makeTopic, topicIdAt } from '../redis/topics.ts'
import { openRun, type Run } from '../run.ts'
import { type JudgedTopic, judgeTable, type Known, type Verdict } from './judge.ts'
import { ORPHAN_AGE_MS } from './steps.ts'
import {
  endsIfCold,
  fillPassing,
  KEPT,
  keptConfigs,
  PARTITIONS,
  PASSING,
  PASSING_CONFIGS,
  PASSING_PARTITIONS,
} from './topics.ts'
import { openWorld, type World, type WorldOptions } from './world.ts'

/** Values that are acknowledged before the fault, and after it. */
const PROGRESS = 60
const PROGRESS_SPREAD = 200
/** A round that takes longer has hung. */
const ROUND_LIMIT_MS = 240_000
/** How long a failed round waits for its fault and its clients to end. */
const END_MS = 20_000
/** Everything is offloaded and dropped locally within this time. */
const COLD_MS = 60_000
/** Orphans are gone, and nothing that upkeep changes meanwhile is taken for a fault. */
const TIDY_MS = ORPHAN_AGE_MS + 35_000
const AGAIN_MS = 300
/** A judge reads all files of a table. */
const JUDGED_AGAIN_MS = 1_000
/** The pause of producers after each batch, also in a round that lasts for long: all of the history is in memory. */
const PACE_MS = 25
const SLOW_MS = 150
const LONG_MS = 60_000
const REQUEST_MS = 5_000

export interface RoundContext {
  readonly world: World
  readonly run: Run
  readonly random: Random
  readonly history: History
  /** The ids of the topics. */
  readonly keptId: string
}

export interface RemoteFault {
  readonly name: string
  /** The world that the fault needs, as far as the seed must not draw it. */
  readonly needs?: Partial<Omit<WorldOptions, 'seed'>>
  /** Configs of the clients' topic, instead of those that the seed draws. */
  readonly configs?: Readonly<Record<string, string>>
  /** The length of the fault; 0 by default. The round may take that much longer, and is slower if it is long. */
  readonly lastsMs?: number
  /** Causes the fault, ends it, and resolves to a description of it. */
  act(context: RoundContext): Promise<string>
}

export interface RoundReport {
  readonly what: string
  readonly world: string
  readonly acknowledged: number
  readonly rows: number
  readonly versions: number
  readonly seconds: number
}

export interface RoundOptions {
  readonly seed: number
  readonly fault: RemoteFault
  /** By default the seed decides, as far as the fault does not. */
  readonly world?: Partial<Omit<WorldOptions, 'seed'>>
}

/** Asserts what the head says. The error names the seed and a folder with the history and the brokers' output. */
export async function runRemoteRound(
  cleanUp: CleanUp,
  { seed, fault, world: wanted = {} }: RoundOptions,
): Promise<RoundReport> {
  const beganAtMs = systemClock.monotonic()
  const random = seededRandom(seed * 1009 + 1)
  const options: WorldOptions = { seed, ...drawnWorld(random), ...wanted, ...fault.needs }
  const folder = await mkdtemp(join(tmpdir(), 'ketch-chaos-'))
  const history = recordHistory({ path: join(folder, 'history.ndjson') })
  const world = await openWorld(cleanUp, options)
  const { brokers } = world
  const paceMs = (fault.lastsMs ?? 0) > LONG_MS ? SLOW_MS : PACE_MS
  const ports = brokers.map(({ port }) => port)
  const runOf = (topic: string, partitions: number, number: number): Run => {
    const own = seededRandom(seed * 2003 + number)
    const route = (port: number) => port
    const caller = { topic, ports, route, timeoutMs: REQUEST_MS, random: own, isOver: () => run.aborted !== null }
    const connect = async () => openClusterCaller(caller)
    const run = openRun({ history, topic, partitions, random: own, connect, paceMs })
    return run
  }
  const run = runOf(KEPT, PARTITIONS, 1)
  const passing = runOf(PASSING, PASSING_PARTITIONS, 2)
  let what = fault.name
  let keptId = ''
  let passingId = ''
  const underWay: Promise<unknown>[] = []
  const limitMs = ROUND_LIMIT_MS + (fault.lastsMs ?? 0)
  const limit = sleep(systemClock, limitMs).then(() => {
    throw new Error(`the round is not over after ${limitMs / 1000} s`)
  })
  limit.catch(() => {})

  async function work(): Promise<Verdict> {
    await makeTopic(brokers[0]!, KEPT, PARTITIONS, { ...keptConfigs(random), ...fault.configs })
    await makeTopic(brokers[0]!, PASSING, PASSING_PARTITIONS, PASSING_CONFIGS)
    keptId = await topicIdAt(brokers[0]!, KEPT)
    passingId = await topicIdAt(brokers[0]!, PASSING)
    const running = [
      runPlainProducer(run),
      runIdempotentProducer(run),
      runFollower(run),
      runGroupMember(run, GROUP),
      runGroupMember(run, GROUP),
    ]
    const filling = fillPassing(passing)
    underWay.push(...running, filling)
    const clients = Promise.all([...running, filling])
    // A client that fails ends the round at once.
    const failed = clients.then(() => new Promise<never>(() => {}))
    failed.catch(() => {})
    const progress = () => Promise.race([run.progress(PROGRESS + random.below(PROGRESS_SPREAD)), failed])
    await progress()
    history.fault('begins')
    const acting = fault.act({ world, run, random, history, keptId })
    underWay.push(acting)
    what = await Promise.race([acting, failed])
    history.fault(`is over: ${what}`)
    await progress()
    run.stop()
    passing.stop()
    await clients
    await reconfigure(brokers[0]!, KEPT, 'local.retention.ms', '1')
    await reconfigure(brokers[0]!, KEPT, 'segment.ms', '1')
    await reconfigure(brokers[0]!, PASSING, 'retention.ms', '-1')
    const ends = await coldEnds(run)
    await coldEnds(passing)
    await readEverything(run, GROUP)
    const kept = { name: KEPT, id: keptId, known: knownTo(history, run), ends }
    const verdict = await restingVerdict(world, kept)
    const other = { name: PASSING, id: passingId, known: await filling, ends: null }
    const { faults } = await restingVerdict(world, other)
    return { ...verdict, faults: [...verdict.faults, ...faults] }
  }

  try {
    const { faults, rows, versions } = await Promise.race([work(), limit])
    const anomalies = checkHistory(history)
    assert.equal(anomalies.length, 0, describeAnomalies(anomalies))
    assert.deepEqual(faults, [], 'the tables')
    for (const broker of brokers) assert.equal(await broker.kill('SIGTERM'), 0, 'the exit status after SIGTERM')
    assert.deepEqual(await storeProblems(world), [], 'the audit of the store')
    await history.close()
    await rm(folder, { recursive: true, force: true })
    const seconds = Math.round((systemClock.monotonic() - beganAtMs) / 100) / 10
    return { what, world: worldName(options), acknowledged: run.acknowledged, rows, versions, seconds }
  } catch (error) {
    for (const each of [run, passing]) each.abort(error as Error)
    await within(systemClock, END_MS, Promise.allSettled(underWay), () => null)
    await history.close()
    for (const [at, broker] of brokers.entries()) await writeFile(join(folder, `broker-${at + 1}.log`), broker.output())
    const tables = [
      { name: KEPT, id: keptId },
      { name: PASSING, id: passingId },
    ].map(async ({ name, id }) => {
      const found = await within(systemClock, END_MS, faultsOf(world, name, id), () => 'cannot be read in time')
      return `the table of ${name}: ${found}\n`
    })
    throw new Error(
      `seed ${seed} (${worldName(options)}; ${what}): ${(error as Error).message}\n${(await Promise.all(tables)).join('')}the history and the output of the brokers are in ${folder}`,
      { cause: error },
    )
  }
}

const GROUP = 'remote-group'

const worldName = ({ store, brokers, place }: WorldOptions) => `${brokers} on ${store}, ${place}`

/** Returns a store, a number of brokers and a place. */
function drawnWorld(random: Random): Pick<WorldOptions, 'store' | 'brokers' | 'place'> {
  const [store, brokers] = (
    [
      ['embedded', 1],
      ['Redis', 1],
      ['Redis', 2],
    ] as const
  )[random.below(3)]!
  return { store, brokers, place: random.below(2) === 0 ? 'folder' : 'bucket' }
}

/** Resolves with the end of each partition when all of them are cold. */
async function coldEnds(run: Run): Promise<ReadonlyMap<number, number>> {
  const beganAtMs = systemClock.monotonic()
  for (;;) {
    const ends = await endsIfCold(run)
    if (ends !== null) return ends
    if (systemClock.monotonic() - beganAtMs > COLD_MS)
      throw new Error(`${run.topic} is not offloaded and dropped in time`)
    await run.pause(AGAIN_MS)
  }
}

/**
 * Resolves with a verdict without faults and orphans, or with the last one when the time for them is over: brokers go
 * on with the table while it is judged.
 */
async function restingVerdict({ objects }: World, topic: JudgedTopic): Promise<Verdict> {
  const beganAtMs = systemClock.monotonic()
  for (;;) {
    const isLate = systemClock.monotonic() - beganAtMs > TIDY_MS
    try {
      const verdict = await judgeTable(objects, topic)
      if (verdict.faults.length + verdict.unreached.length === 0) return verdict
      const orphans = verdict.unreached.map(key => `${key} is an orphan, ${TIDY_MS / 1000} s after the last client`)
      if (isLate) return { ...verdict, faults: [...verdict.faults, ...orphans] }
    } catch (error) {
      if (isLate) throw error
    }
    await sleep(systemClock, JUDGED_AGAIN_MS)
  }
}

/** Audits the local store, which no broker uses any more. */
async function storeProblems({ redis, brokers }: World): Promise<readonly string[]> {
  return redis === null ? await auditFolder(brokers[0]!.folder) : (await auditRedis([redis])).problems
}

/** Resolves with the faults of a topic's table after a failed round. */
async function faultsOf({ objects, stub }: World, name: string, id: string): Promise<string> {
  if (stub !== null) stub.faultOf = () => null
  try {
    const { faults } = await judgeTable(objects, { name, id, known: new Map(), ends: null })
    return faults.length === 0 ? 'no fault' : faults.join('\n')
  } catch (error) {
    return String(error)
  }
}

/** Returns what the clients of the run have read. */
function knownTo({ ops }: History, run: Run): Known {
  const keys = new Map(Array.from({ length: run.partitions }, (_, index) => [run.key(index), index]))
  const known = new Map(Array.from(keys.values(), index => [index, new Map<number, number>()]))
  for (const { value } of ops)
    for (const micro of value) {
      if (micro[0] !== 'poll' || micro[1] === undefined) continue
      for (const [key, seen] of Object.entries(micro[1])) {
        const values = known.get(keys.get(key)!)!
        for (const [offset, one] of seen) values.set(offset, one)
      }
    }
  return known
}
