// The parts of faults beside the cleaner that both stores share.

import assert from 'node:assert/strict'
import { open } from 'node:fs/promises'
import type { Random } from '../../../src/base/random.ts'
import { incrementalAlterConfigs } from '../../../src/protocol/messages/incremental-alter-configs.ts'
import { produce } from '../../../src/protocol/messages/produce.ts'
import { encodeBatch } from '../../../src/protocol/records.ts'
import { eventually } from '../../../testing/eventually.ts'
import type { BrokerProcess } from '../../../testing/process.ts'
import { connect } from '../../../testing/wire.ts'
import { openClusterCaller } from '../cluster-caller.ts'
import type { Orders } from '../orders.ts'
import { readCounter } from '../redis/probing.ts'
import { isPassing, type Run } from '../run.ts'
import { askCleaned, PADDING } from './topics.ts'

/** Values that are acknowledged while a fault goes on. */
export const PROGRESS = 100
/** A broker stops at a step at the latest when it comes there for this time. */
export const MOST_TIMES = 3

const DAY_MS = 24 * 60 * 60_000
const BATCH_BYTES = 64 * 1024
const PATIENCE_MS = 60_000

/** A topic of old data. fillTopic sets the time after which it is dropped. */
export const OLD: Readonly<Record<string, string>> = { 'retention.ms': '600000', 'segment.ms': '1000' }
/** Retention drops no old data for this long, however long the filling took. */
const OLD_MS = 5_000

/** Writes this many MiB to the first partition of a topic. Retention begins to drop them a few seconds later. */
export async function fillTopic(
  brokers: readonly BrokerProcess[],
  topic: string,
  mib: number,
  run: Run,
): Promise<void> {
  const beganAtMs = run.clock.now()
  await writeTopic(brokers, topic, mib, run)
  await reconfigure(brokers[0]!, topic, 'retention.ms', String(run.clock.now() - beganAtMs + OLD_MS))
}

/** Writes this many MiB to the first partition of a topic. */
export async function writeTopic(
  brokers: readonly BrokerProcess[],
  topic: string,
  mib: number,
  run: Run,
): Promise<void> {
  const ports = brokers.map(({ port }) => port)
  const caller = openClusterCaller({ topic, ports, route: port => port, timeoutMs: 30_000, random: run.random })
  for (let sent = 0; sent < (mib * 1024 * 1024) / BATCH_BYTES; ) {
    const records = encodeBatch([{ value: run.random.bytes(BATCH_BYTES), timestamp: run.clock.now() }])
    const topicData = [{ name: topic, partitionData: [{ index: 0, records }] }]
    const { responses } = await caller.send(produce, 12, { acks: -1, timeoutMs: 30_000, topicData })
    const { errorCode, errorMessage } = responses[0]!.partitionResponses[0]!
    if (errorCode === 0) sent++
    else if (isPassing(errorCode)) await run.pause(50)
    else throw new Error(`filling ${topic}: ${errorCode} ${errorMessage}`)
  }
  await caller.close()
}

/** Sets a config of a topic. */
export async function reconfigure({ port }: BrokerProcess, topic: string, name: string, value: string): Promise<void> {
  const resources = [{ resourceType: 2, resourceName: topic, configs: [{ name, configOperation: 0, value }] }]
  await eventually(`${topic} has another ${name}`, async () => {
    const wire = await connect({ port })
    const { responses } = await wire.send(incrementalAlterConfigs, 1, { resources, validateOnly: false })
    await wire.close()
    return responses[0]!.errorCode === 0
  })
}

const FAILED = 'svc_storage_cleaner_passes_total{result="failed"}'

/** Returns a function that resolves when a pass has failed since now, and a broker has said that its cleaner waits. */
export async function watchForWaits(brokers: readonly BrokerProcess[], run: Run): Promise<() => Promise<void>> {
  const failures = () => Promise.all(brokers.map(broker => readCounter(broker, FAILED)))
  const before = await failures()
  const hasFailed = async () => {
    await run.pause(50)
    const now = await failures()
    return now.some((count, at) => count > before[at]! && brokers[at]!.output().includes('the cleaner waits until'))
  }
  return () => eventually('the cleaner waits and says so', hasFailed, PATIENCE_MS)
}

/** Moves the clocks of some brokers by a day, forward or back, and later sets them right. */
export async function jumpClocks(
  brokers: readonly BrokerProcess[],
  orders: Orders,
  run: Run,
  random: Random,
): Promise<string> {
  const jumps = brokers.map(() => (random.below(3) - 1) * DAY_MS)
  jumps[random.below(jumps.length)] = random.below(2) === 0 ? DAY_MS : -DAY_MS
  await Promise.all(brokers.map((broker, at) => orders.give(broker, { clockMs: jumps[at]! })))
  await run.progress(5 * PROGRESS)
  await run.pause(1_000)
  await Promise.all(brokers.map(broker => orders.give(broker, {})))
  return `clocks moved by ${jumps.map(ms => ms / DAY_MS).join(', ')} days and set right`
}

const MIDDLE = Math.floor(PADDING.length / 2)
const FLIPPED =
  PADDING.slice(0, MIDDLE) + String.fromCharCode(PADDING.charCodeAt(MIDDLE) ^ 1) + PADDING.slice(MIDDLE + 1)

/**
 * Flips a bit in the padding of the last value in this part of a file. Resolves to false if it has no value. With
 * `isBack` it flips every such bit back.
 */
export async function flipBit(
  path: string,
  { from = 0, to = Number.POSITIVE_INFINITY, isBack = false } = {},
): Promise<boolean> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    const length = Math.min(to, size) - from
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, from)
    const [is, instead] = isBack ? [FLIPPED, PADDING] : [PADDING, FLIPPED]
    let isFound = false
    for (let at = buffer.lastIndexOf(is); at !== -1; at = at === 0 ? -1 : buffer.lastIndexOf(is, at - 1)) {
      await file.write(Buffer.from(instead), 0, instead.length, from + at)
      isFound = true
      if (!isBack) break
    }
    return isFound
  } finally {
    await file.close()
  }
}

const UNCLEANABLE = 'svc_storage_cleaner_uncleanable_partitions'

/**
 * Resolves when a partition of the run is no longer cleaned and its leader says so in the log, in the gauge and in the
 * list of segments. Rejects if that does not happen in time.
 */
export async function isUncleanable(
  brokers: readonly BrokerProcess[],
  run: Run,
  from: readonly number[],
): Promise<string> {
  let found = ''
  const look = async () => {
    await run.pause(50)
    for (let partition = 0; partition < run.partitions; partition++) {
      const uncleanable = (await askCleaned(brokers[0]!.url, run.topic, partition))?.uncleanable ?? null
      if (uncleanable === null) continue
      assert.ok(uncleanable.why.includes(`offset ${uncleanable.offset}`), uncleanable.why)
      found = uncleanable.why
    }
    return found !== ''
  }
  await eventually('a partition is no longer cleaned', look, PATIENCE_MS / 2)
  const counts = await Promise.all(brokers.map(broker => readCounter(broker, UNCLEANABLE)))
  assert.ok(
    counts.some(count => count > 0),
    'the gauge counts the partition',
  )
  const said = brokers.some((broker, at) => broker.output().slice(from[at]).includes('is no longer cleaned'))
  assert.ok(said, 'the log names the partition')
  return found
}
