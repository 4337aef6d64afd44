// The faults of the local store in a round of the remote tier: no room is left, and a sealed batch is damaged. In each
// of them data waits for its offload, because the place was away before.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { produce } from '../../../src/protocol/messages/produce.ts'
import { encodeBatch } from '../../../src/protocol/records.ts'
import { fileName, fileNumber } from '../../../src/store/embedded/journal.ts'
import { adminClient } from '../../../testing/admin-client.ts'
import { eventually } from '../../../testing/eventually.ts'
import { runsIn } from '../../../testing/folder-audit.ts'
import type { BrokerProcess } from '../../../testing/process.ts'
import { openClusterCaller } from '../cluster-caller.ts'
import { flipBit, writeTopic } from '../compaction/common-faults.ts'
import { PADDING } from '../compaction/topics.ts'
import { isConnectionLoss } from '../producers.ts'
import { makeTopic, unmakeTopic } from '../redis/topics.ts'
import type { Caller, Run } from '../run.ts'
import type { RemoteFault, RoundContext } from './round.ts'
import { AT_ONCE, endsIfCold } from './topics.ts'

const PROGRESS = 60
/** More than one append, and less than what waits for its offload. */
const ROOM_BYTES = 400_000
const WAITING_MIB = 16
const ONE_BATCH_MIB = 0.01
/** Offload, trim and some checkpoints. */
const FREED_MS = 90_000
/** If nothing is acknowledged for this long, no room is left. */
const STILL_MS = 2_000
const REFUSED_MS = 60_000
const LARGE_BYTES = 64 * 1024

/** Resolves with the offload jobs of a topic. */
export async function jobsOf({ url }: BrokerProcess, topic: string): Promise<readonly Job[]> {
  const { status, body } = await adminClient(url).ask('GET', `/api/v1/storage/offload-jobs?topic=${topic}&limit=1000`)
  return status === 200 ? body.jobs : []
}

interface Job {
  readonly id: string
  readonly base: number
  readonly next: number
  readonly status: string
  readonly suspended: boolean
  readonly attempts: number
  readonly failure: { readonly why: string; readonly offset: number | null } | null
}

/** Nothing that is in the table stays in the local store. */
const NOT_LOCAL = { 'local.retention.ms': '1' }

/** Fills a topic while the place is away, lets `full` take the room, and brings the place back. */
async function untilFreed({ world, run }: RoundContext, full: () => Promise<void>): Promise<string> {
  const { brokers, stub } = world
  const topic = 'waiting'
  const ports = brokers.map(({ port }) => port)
  const caller = { topic, ports, route: (port: number) => port, timeoutMs: 10_000, random: run.random }
  const connect = async () => openClusterCaller(caller)
  await makeTopic(brokers[0]!, topic, 1, AT_ONCE)
  // It takes records when its table was read.
  await writeTopic(brokers, topic, ONE_BATCH_MIB, run)
  stub!.faultOf = () => 'reset'
  try {
    await writeTopic(brokers, topic, WAITING_MIB, run)
    const writer = await connect()
    let seen = -1
    let seenAtMs = 0
    await eventually(
      'producers are refused',
      async () => {
        // Room that becomes free a moment later, such as that of buffers, goes too.
        await full()
        await sendLarge(writer, topic, run)
        await run.pause(200)
        if (run.acknowledged !== seen) {
          seen = run.acknowledged
          seenAtMs = run.clock.monotonic()
        }
        return run.clock.monotonic() - seenAtMs > STILL_MS
      },
      REFUSED_MS,
    )
    await writer.close()
  } finally {
    stub!.faultOf = () => null
  }
  // Only offload and trim can free room, which producers take at once.
  const isCold = async () => {
    await run.pause(200)
    return (await endsIfCold({ topic, partitions: 1, connect })) !== null
  }
  await eventually('offload and trim free room', isCold, FREED_MS)
  await run.progress(5 * PROGRESS)
  const jobs = await jobsOf(brokers[0]!, topic)
  const bad = jobs.filter(({ status }) => status === 'failed' || status === 'cancelled')
  assert.deepEqual(bad, [], 'the jobs of the topic')
  return 'until offload and trim had freed room'
}

/** Sends a large batch, which takes room. The broker may refuse it. */
async function sendLarge(writer: Caller, topic: string, run: Run): Promise<void> {
  const records = encodeBatch([{ value: run.random.bytes(LARGE_BYTES), timestamp: run.clock.now() }])
  const topicData = [{ name: topic, partitionData: [{ index: 0, records }] }]
  try {
    await writer.send(produce, 12, { acks: -1, timeoutMs: 10_000, topicData })
  } catch (error) {
    if (!isConnectionLoss(error)) throw error
  }
}

const fullDisk: RemoteFault = {
  name: 'a full disk',
  needs: { store: 'embedded', brokers: 1, place: 'bucket', diskMiB: 160 },
  configs: NOT_LOCAL,
  async act(context) {
    const disk = context.world.disk!
    const told = await untilFreed(context, async () => disk.fill())
    disk.empty()
    return `the disk full ${told}`
  },
}

const fullRedis: RemoteFault = {
  name: 'a full Redis',
  needs: { store: 'Redis', place: 'bucket' },
  configs: NOT_LOCAL,
  async act(context) {
    const redis = context.world.redis!
    const used = async () => Number(await redis.info('used_memory'))
    let maxmemory = Number.POSITIVE_INFINITY
    try {
      const full = async () => {
        const most = (await used()) + ROOM_BYTES
        maxmemory = Math.min(maxmemory, most)
        await redis.ask('CONFIG', 'SET', 'maxmemory', maxmemory)
      }
      return `Redis full ${await untilFreed(context, full)}`
    } finally {
      await redis.ask('CONFIG', 'SET', 'maxmemory', '0')
    }
  },
}

const BATCHES = 12
const SEALED_MS = 600

const flippedBit: RemoteFault = {
  name: 'a flipped bit in a sealed batch',
  needs: {
    store: 'embedded',
    brokers: 1,
    place: 'bucket',
    settings: { 'svc.storage.worker.offload-jobs.max-attempts': '3' },
  },
  async act({ world, run }) {
    const [broker] = world.brokers as readonly [BrokerProcess]
    const { stub } = world
    const topic = 'damaged'
    await makeTopic(broker, topic, 1, AT_ONCE)
    await writeTopic([broker], topic, ONE_BATCH_MIB, run)
    stub!.faultOf = () => 'reset'
    const caller = openClusterCaller({
      topic,
      ports: [broker.port],
      route: port => port,
      timeoutMs: 10_000,
      random: run.random,
    })
    for (let sent = 0; sent < BATCHES; ) {
      const records = encodeBatch([{ value: PADDING, timestamp: run.clock.now() }])
      const topicData = [{ name: topic, partitionData: [{ index: 0, records }] }]
      const { responses } = await caller.send(produce, 12, { acks: -1, timeoutMs: 10_000, topicData })
      if (responses[0]!.partitionResponses[0]!.errorCode === 0) sent++
      // Each batch is a segment, mostly.
      await run.pause(SEALED_MS / 4)
    }
    await caller.close()
    assert.equal(await broker.kill('SIGTERM'), 0, 'the exit status after SIGTERM')
    assert.ok(await flipOne(broker.folder), 'a batch with a value')
    // The table must be read before the broker takes records.
    stub!.faultOf = () => null
    await broker.start()
    let failed: Job | undefined
    const hasFailed = async () => {
      await run.pause(100)
      const jobs = await jobsOf(broker, topic)
      failed = jobs.find(({ status, suspended }) => status === 'failed' && suspended)
      const others = jobs.filter(job => job !== failed)
      return failed !== undefined && others.length > 0 && others.every(({ status }) => status === 'done')
    }
    await eventually('one job fails, and its neighbours are done', hasFailed, FREED_MS)
    const { base, next, failure, id } = failed!
    const offset = failure?.offset ?? -1
    assert.ok(base <= offset && offset < next, `the failure names an offset: ${JSON.stringify(failure)}`)
    assert.ok(failure!.why.includes(`offset ${offset}`), failure!.why)
    await run.progress(PROGRESS)
    assert.equal(await broker.kill('SIGTERM'), 0, 'the exit status after SIGTERM')
    for (const name of readdirSync(broker.folder))
      if (fileNumber(name) !== null) await flipBit(join(broker.folder, name), { isBack: true })
    await broker.start()
    const retried = await adminClient(broker.url).ask(
      'POST',
      `/api/v1/storage/offload-jobs/${encodeURIComponent(id)}/retry`,
    )
    assert.equal(retried.status, 200, JSON.stringify(retried.body))
    const isDone = async () => (await jobsOf(broker, topic)).every(({ status }) => status === 'done')
    await eventually('the retried job is done', isDone, FREED_MS)
    await unmakeTopic(broker, topic)
    return `a flipped bit, later flipped back: ${failure!.why}`
  },
}

/** Damages a batch that a reader may need. Resolves to false if no batch has a value. */
async function flipOne(folder: string): Promise<boolean> {
  for (const { file, position, length } of await runsIn(folder)) {
    if (await flipBit(join(folder, fileName(file)), { from: position, to: position + length })) return true
  }
  return false
}

export const ROOM_FAULTS: readonly RemoteFault[] = [fullDisk, fullRedis, flippedBit]
