// Runs after a fault: waits until the cluster is healthy again, and finds the outcome of every request whose answer
// was lost. After that the model is certain again. If the broker's state contradicts the model, it throws a
// Difference.

import type { Random } from '../../src/base/random.ts'
import { NONE } from '../../src/protocol/errors.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { readRecords, splitBatches } from '../../src/protocol/records.ts'
import { Difference, expectSame } from './difference.ts'
import { checkOffsets } from './group-operations.ts'
import type { Place } from './places.ts'
import { sendBarrier } from './producing.ts'
import { checkEnds, readLog } from './read-operations.ts'
import type { Scene } from './scene.ts'

export async function reconcile(scene: Scene, random: Random): Promise<void> {
  await scene.ready()
  for (const topic of scene.topics.values()) {
    for (const [partition, log] of topic.logs.entries()) {
      const place = { topic, partition, log }
      if (log.pending.length > 0) await settle(scene, place, random)
      await checkEnds(scene, place)
      if (random.below(3) === 0) await readLog(scene, place)
    }
  }
  for (const group of scene.groups) await checkOffsets(scene, group, random)
}

/** Finds out which of the batches that were sent to a partition are in the log. */
export async function settle(scene: Scene, place: Place, random: Random): Promise<void> {
  await sendBarrier(scene, place.topic, place.partition, random)
  place.log.resolve(await readNew(scene, place))
}

interface Found {
  readonly tag: string
  readonly baseOffset: number
  readonly appendTimeMs: number
}

/** Returns the batches from the model's end on, in the order of the log. */
async function readNew(scene: Scene, { topic, partition, log }: Place): Promise<readonly Found[]> {
  const found: Found[] = []
  const acknowledged = log.pending.at(-1)!
  const end = acknowledged.baseOffset! + acknowledged.sent.records.length
  for (let offset = log.end; offset < end; ) {
    const next = await scene.until(`${log.name} is read at ${offset}`, async () => {
      const partitions = [{ partition, fetchOffset: offset, partitionMaxBytes: 1_000_000 }]
      const body = { maxWaitMs: 0, minBytes: 0, topics: [{ topic: topic.name, partitions }] }
      const answer = await scene.ask(scene.leader(topic, partition), fetch, 12, body)
      const row = answer.responses[0]!.partitions[0]!
      if (scene.mayMove && row.errorCode !== NONE) {
        await scene.ready()
        return undefined
      }
      expectSame(`${log.name}: the error of a fetch from ${offset}`, row.errorCode, NONE)
      let at = offset
      for (const { bytes, baseOffset, lastOffset, timestampType, maxTimestamp } of splitBatches(
        row.records ?? Buffer.alloc(0),
      )) {
        const [first] = await readRecords(bytes)
        const appendTimeMs = timestampType === 'LogAppendTime' ? maxTimestamp : -1
        found.push({ tag: tagOf(first!.value!), baseOffset, appendTimeMs })
        at = lastOffset + 1
      }
      if (at === offset)
        throw new Difference(`${log.name}: nothing is read at ${offset}, though ${end - 1} was acknowledged`)
      return at
    })
    offset = next
  }
  return found
}

function tagOf(value: Buffer): string {
  const text = value.subarray(0, 20).toString('latin1')
  return text.slice(0, text.indexOf('.') + 1)
}
