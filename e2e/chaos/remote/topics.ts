// The topics of a round of the remote tier. Clients work on the first one, which keeps everything. The second one is
// filled beside it and loses its oldest records to retention, so that its table needs all kinds of upkeep.

import type { Random } from '../../../src/base/random.ts'
import { listOffsets } from '../../../src/protocol/messages/list-offsets.ts'
import { produce } from '../../../src/protocol/messages/produce.ts'
import { encodeBatch } from '../../../src/protocol/records.ts'
import { isConnectionLoss } from '../producers.ts'
import type { Run } from '../run.ts'

export const KEPT = 'kept'
export const PASSING = 'passing'
export const PARTITIONS = 3
export const PASSING_PARTITIONS = 2

const DAYS_MS = 7 * 24 * 3_600_000
/** The clocks of brokers may be an hour apart. */
const ALWAYS = { 'remote.storage.enable': 'true', 'message.timestamp.after.max.ms': String(DAYS_MS) }

/** The configs of the first topic. The local part may stay for a while. */
export function keptConfigs(random: Random): Readonly<Record<string, string>> {
  return {
    ...ALWAYS,
    'retention.ms': '-1',
    'segment.ms': ['1', '200', '800'][random.below(3)]!,
    'local.retention.ms': ['1', '1', '1500', '-2'][random.below(4)]!,
  }
}

export const PASSING_CONFIGS: Readonly<Record<string, string>> = {
  ...ALWAYS,
  'retention.ms': '3000',
  'segment.ms': '1',
  'local.retention.ms': '1',
}

/** A topic that is filled while nothing is offloaded. It keeps everything, in the table only. */
export const AT_ONCE: Readonly<Record<string, string>> = {
  ...ALWAYS,
  'retention.ms': '-1',
  'segment.ms': '1',
  'local.retention.ms': '1',
}

const EARLIEST_LOCAL = -4
const LATEST = -1
const PAUSE_MS = 60
const PRODUCE_VERSION = 12
const TIMEOUT_MS = 10_000

/** A client of a topic. */
type Asker = Pick<Run, 'topic' | 'partitions' | 'connect'>

/** Resolves with an offset of each partition of the run's topic. */
async function offsetsOf(run: Asker, timestamp: number): Promise<ReadonlyMap<number, number>> {
  const wire = await run.connect()
  try {
    const partitions = Array.from({ length: run.partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp }))
    const { topics } = await wire.send(listOffsets, 8, { replicaId: -1, topics: [{ name: run.topic, partitions }] })
    const found = topics.flatMap(topic => topic.partitions)
    return new Map(
      found.map(({ partitionIndex, errorCode, offset }) => [partitionIndex, errorCode === 0 ? offset : -1]),
    )
  } finally {
    await wire.close()
  }
}

/** Resolves with the end of each partition when no local store has anything of it. Null: not yet. */
export async function endsIfCold(run: Asker): Promise<ReadonlyMap<number, number> | null> {
  const [ends, starts] = [await offsetsOf(run, LATEST), await offsetsOf(run, EARLIEST_LOCAL)]
  const isCold = [...ends].every(([partition, end]) => end >= 0 && starts.get(partition) === end)
  return isCold ? ends : null
}

/**
 * Fills a topic with small batches until the run ends. Resolves with the values that were acknowledged, by partition
 * and offset.
 */
export async function fillPassing(run: Run): Promise<ReadonlyMap<number, ReadonlyMap<number, number>>> {
  const known = new Map(Array.from({ length: run.partitions }, (_, index) => [index, new Map<number, number>()]))
  let value = 0
  while (!run.stopping) {
    const wire = await run.connect()
    try {
      while (!run.stopping) {
        const index = run.random.below(run.partitions)
        const values = Array.from({ length: 1 + run.random.below(5) }, () => value++)
        const records = encodeBatch(values.map(each => ({ value: String(each), timestamp: run.clock.now() })))
        const { responses } = await wire.send(produce, PRODUCE_VERSION, {
          acks: -1,
          timeoutMs: TIMEOUT_MS,
          topicData: [{ name: run.topic, partitionData: [{ index, records }] }],
        })
        const { errorCode, baseOffset } = responses[0]!.partitionResponses[0]!
        if (errorCode === 0) for (const [at, each] of values.entries()) known.get(index)!.set(baseOffset + at, each)
        await run.pause(PAUSE_MS)
      }
    } catch (error) {
      if (!isConnectionLoss(error)) throw error
    } finally {
      await wire.close()
    }
  }
  return known
}
