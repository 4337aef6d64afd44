// Fills topics with batches for the benchmarks of the cleaner and of the remote tier, and asks a broker for single
// rounds of its storage worker. Topics of Apache Kafka are filled in the same way.

import type { Round, StartedRound, WorkerState } from '../src/api/storage.ts'
import { describeLogDirs } from '../src/protocol/messages/describe-log-dirs.ts'
import { incrementalAlterConfigs } from '../src/protocol/messages/incremental-alter-configs.ts'
import { produce } from '../src/protocol/messages/produce.ts'
import { askHttp } from '../testing/ask-http.ts'
import { connect } from '../testing/wire.ts'
import { sleepAwake } from './startup.ts'

/** Rounds of the storage worker begin only when a benchmark asks for them. The admin API needs no sign-in. */
export const ON_REQUEST = {
  'svc.storage.worker.tick-interval': '1h',
  'svc.storage.worker.lease-duration': '2h',
  'svc.admin.security-enabled': 'false',
}

/** A compacted topic that is not cleaned before `allowCleaning`. */
export const COMPACTED = {
  'cleanup.policy': 'compact',
  'segment.bytes': String(2 ** 20),
  'min.cleanable.dirty.ratio': '1',
}

/** The requests that are sent before the first answer. */
const IN_FLIGHT = 8

/** Produces batches to a partition, in order. Rejects if one is refused. */
export async function fill(port: number, topic: string, batches: Iterable<Buffer>, index = 0): Promise<void> {
  const wire = await connect({ port })
  const sent: Promise<void>[] = []
  const send = async (records: Buffer) => {
    const topicData = [{ name: topic, partitionData: [{ index, records }] }]
    const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 60_000, topicData })
    const { errorCode, errorMessage } = responses[0]!.partitionResponses[0]!
    if (errorCode !== 0) throw new Error(`a batch was refused with ${errorCode}: ${errorMessage}`)
  }
  for (const batch of batches) {
    if (sent.length === IN_FLIGHT) await sent.shift()
    const one = send(batch)
    // Awaited in its turn. An earlier failure ends the benchmark first.
    one.catch(() => {})
    sent.push(one)
  }
  await Promise.all(sent)
  await wire.close()
}

const TOPIC = 2
const SET = 0

/** Lets the cleaner clean a topic from its first dirty byte on. */
export async function allowCleaning(port: number, topic: string): Promise<void> {
  await setConfigs(port, topic, { 'min.cleanable.dirty.ratio': '0' })
}

/** Sets configs of a topic. Rejects if the broker refuses them. */
export async function setConfigs(port: number, topic: string, values: Readonly<Record<string, string>>): Promise<void> {
  const wire = await connect({ port })
  const configs = Object.entries(values).map(([name, value]) => ({ name, configOperation: SET, value }))
  const resources = [{ resourceType: TOPIC, resourceName: topic, configs }]
  const { responses } = await wire.send(incrementalAlterConfigs, 1, { resources, validateOnly: false })
  const { errorCode, errorMessage } = responses[0]!
  if (errorCode !== 0) throw new Error(`a config of ${topic} was refused with ${errorCode}: ${errorMessage}`)
  await wire.close()
}

/**
 * Has the storage worker make one round, and resolves with the round when it has ended. Rejects if a broker failed at
 * its part.
 */
export async function runRound(url: string, lookEveryMs = 20): Promise<Round> {
  const ask = askHttp(url)
  let { round } = await ask<StartedRound>('/api/v1/storage/worker/run', 200, { body: {} })
  while (round.tookMs === null) {
    await sleepAwake(lookEveryMs)
    const { lastRound } = await ask<WorkerState>('/api/v1/storage/worker')
    round = lastRound ?? round
  }
  const failed = round.brokers.find(({ outcome, failures }) => outcome !== 'done' || failures > 0)
  if (failed) throw new Error(`a broker failed at its part of the round: ${JSON.stringify(failed)}`)
  return round
}

/** Resolves with the stored bytes of partition 0. */
export async function bytesOf(port: number, topic: string): Promise<number> {
  const wire = await connect({ port })
  const { results } = await wire.send(describeLogDirs, 4, { topics: [{ topic, partitions: [0] }] })
  await wire.close()
  return Number(results[0]!.topics[0]!.partitions[0]!.partitionSize)
}
