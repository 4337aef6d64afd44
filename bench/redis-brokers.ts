// Starts brokers on one Redis for the benchmarks. It waits until each partition of a topic has a leader and returns
// the partitions of each broker, so that a load goes to the right brokers.

import { sleep, systemClock } from '../src/base/clock.ts'
import { listOffsets } from '../src/protocol/messages/list-offsets.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import type { BrokerProcess } from '../testing/process.ts'
import type { RedisServer } from '../testing/redis.ts'
import { connect } from '../testing/wire.ts'
import type { Harness } from './harness.ts'

/** A broker and the partitions of a topic that it leads. */
export interface Leader {
  readonly broker: BrokerProcess
  readonly partitions: readonly number[]
}

/** Starts `count` brokers in a namespace of their own. */
export async function startBrokers(
  harness: Harness,
  redis: RedisServer,
  count: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<readonly BrokerProcess[]> {
  const starts = Array.from({ length: count }, (_, at) =>
    harness.broker({
      'svc.redis.uri': redis.uri,
      'svc.namespace': `bench-${count}`,
      'svc.broker.id': String(at + 1),
      ...settings,
    }),
  )
  return await Promise.all(starts)
}

/** Waits for the condition and checks it every 20 ms, so that the checks cost the brokers little. */
export async function until(what: string, condition: () => Promise<boolean>, withinMs = 60_000): Promise<void> {
  const begunAt = systemClock.monotonic()
  const alive = setInterval(() => undefined, 1000)
  try {
    while (!(await condition())) {
      if (systemClock.monotonic() - begunAt > withinMs) throw new Error(`this did not happen in time: ${what}`)
      await sleep(systemClock, 20)
    }
  } finally {
    clearInterval(alive)
  }
}

/** Resolves with the leaders of a topic's partitions, when every broker serves all partitions that it leads. */
export async function leadersOf(
  brokers: readonly BrokerProcess[],
  topic: string,
  partitions: number,
): Promise<readonly Leader[]> {
  let leaders: readonly Leader[] = []
  await until(`${brokers.length} brokers serve the ${partitions} partitions of ${topic}`, async () => {
    leaders = await Promise.all(brokers.map((broker, at) => ledBy(broker, at + 1, topic)))
    return (
      leaders.every(leader => leader.partitions.length > 0) &&
      leaders.reduce((sum, leader) => sum + leader.partitions.length, 0) === partitions
    )
  })
  return leaders
}

/**
 * Resolves with the partitions that the broker reports as its own, if it serves all of them; else with no partitions.
 */
async function ledBy(broker: BrokerProcess, id: number, topic: string): Promise<Leader> {
  const wire = await connect({ port: broker.port })
  try {
    const { topics } = await wire.send(metadata, 12, { topics: [{ name: topic }] })
    const partitions = topics[0]!.partitions.filter(each => each.leaderId === id).map(each => each.partitionIndex)
    const served = await wire.send(listOffsets, 7, {
      replicaId: -1,
      isolationLevel: 0,
      topics: [{ name: topic, partitions: partitions.map(partitionIndex => ({ partitionIndex, timestamp: -1 })) }],
    })
    const isServed = served.topics[0]?.partitions.every(each => each.errorCode === 0) ?? false
    return { broker, partitions: isServed ? partitions : [] }
  } finally {
    await wire.close()
  }
}
