// ListOffsets 1-11: returns the offset for a timestamp, or for a special timestamp:
//
//   -1  latest: the high watermark, or the last stable offset for read_committed (2+)
//   -2  earliest: the log start
//   -3  the record with the largest timestamp (7+, KIP-734)
//   -4  earliest local (8+, KIP-405): the log start, because all readable records are local
//   -5  latest tiered (9+, KIP-1005): no offset, because there is no tier
//   -6  earliest that waits for tiering (11+, KIP-1023): no offset, because there is no tier
//
// For a timestamp the answer has the first record at or after it, with that record's own timestamp. If there is no
// such record, the offset and the timestamp are -1, without an error. If the version does not know a special
// timestamp, the answer is UNSUPPORTED_VERSION, as in Kafka. The search stops at the deadline of the request, and
// when its connection closes.

import { type Patience, patience } from '../../base/patience.ts'
import type { Partition } from '../../log/partition.ts'
import { because, INVALID_REQUEST, isRefusal, NONE, type Refusal, UNSUPPORTED_VERSION } from '../../protocol/errors.ts'
import { listOffsets } from '../../protocol/messages/list-offsets.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onTopics } from '../needs.ts'
import { findPartition, findRepeated, findTopic, keyOf } from '../partitions.ts'

type Answer = ResponseInput<typeof listOffsets>

interface Found {
  readonly offset: number
  readonly timestamp: number
  readonly leaderEpoch: number
}

const READ_COMMITTED = 1

const LATEST = -1
const EARLIEST = -2
const MAX_TIMESTAMP = -3
const EARLIEST_LOCAL = -4
const LATEST_TIERED = -5
const EARLIEST_PENDING_UPLOAD = -6

/** The first version that knows each special timestamp. */
const SINCE: ReadonlyMap<number, number> = new Map([
  [LATEST, 1],
  [EARLIEST, 1],
  [MAX_TIMESTAMP, 7],
  [EARLIEST_LOCAL, 8],
  [LATEST_TIERED, 9],
  [EARLIEST_PENDING_UPLOAD, 11],
])

const NOTHING: Found = Object.freeze({ offset: -1, timestamp: -1, leaderEpoch: -1 })

const TWICE = because(INVALID_REQUEST, 'The partition is named twice in this request.')

export const listOffsetsHandler = handler(listOffsets, rooms => ({
  needs: ({ body }) => onTopics('DESCRIBE', 'name', body.topics),
  async answer({ body, apiVersion, deadlineMs, closed, permissions }) {
    const catalogue = rooms.catalogue.current()
    const waiting = patience(rooms.clock, deadlineMs, closed)
    const repeated = findRepeated(
      body.topics.map(({ name, partitions }) => ({
        topic: name,
        partitions: partitions.map(each => each.partitionIndex),
      })),
    )
    const topics = body.topics.map(async topic => {
      const denied = permissions.topic('name', topic.name)
      const found = denied ?? findTopic(catalogue, 'name', topic.name)
      const partitions = topic.partitions.map(async ({ partitionIndex, currentLeaderEpoch, timestamp }) => {
        const partition = findPartition(rooms, found, partitionIndex)
        if (denied === null && repeated.has(keyOf(topic.name, partitionIndex))) return rowOf(partitionIndex, TWICE)
        if (isRefusal(partition)) return rowOf(partitionIndex, partition)
        const refusal = partition.checkEpoch(currentLeaderEpoch)
        if (refusal !== null) return rowOf(partitionIndex, refusal)
        return rowOf(partitionIndex, await find(partition, timestamp, apiVersion, body.isolationLevel, waiting))
      })
      return { name: topic.name, partitions: await Promise.all(partitions) }
    })
    return { topics: await Promise.all(topics) }
  },
  refused: ({ body }, refusal) => ({
    topics: body.topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => rowOf(partitionIndex, refusal)),
    })),
  }),
}))

async function find(
  partition: Partition,
  timestamp: number,
  apiVersion: number,
  isolationLevel: number,
  waiting: Patience,
): Promise<Found | Refusal> {
  if (timestamp < 0 && apiVersion < (SINCE.get(timestamp) ?? Number.POSITIVE_INFINITY)) {
    return because(UNSUPPORTED_VERSION, `The timestamp ${timestamp} has no meaning in version ${apiVersion}.`)
  }
  switch (timestamp) {
    case LATEST: {
      const offset = isolationLevel === READ_COMMITTED ? partition.lastStableOffset : partition.highWatermark
      return { offset, timestamp: -1, leaderEpoch: partition.leaderEpoch }
    }
    case EARLIEST:
    case EARLIEST_LOCAL:
      return { offset: partition.logStartOffset, timestamp: -1, leaderEpoch: epochOfStart(partition) }
    case MAX_TIMESTAMP:
      return (await partition.maxTimestampOffset(waiting)) ?? NOTHING
    case LATEST_TIERED:
    case EARLIEST_PENDING_UPLOAD:
      return NOTHING
    default:
      return (await partition.offsetForTimestamp(timestamp, waiting)) ?? NOTHING
  }
}

/** Returns the epoch of the first batch, so that a reader that begins there never sees a lower epoch later. */
function epochOfStart({ logStartOffset, leaderEpoch, state }: Partition): number {
  return state.epochs.findLast(each => each.startOffset <= logStartOffset)?.epoch ?? leaderEpoch
}

function rowOf(partitionIndex: number, found: Found | Refusal): Answer['topics'][number]['partitions'][number] {
  if (isRefusal(found)) return { partitionIndex, errorCode: found.code, ...NOTHING }
  // Producers choose timestamps of up to 64 bits, and the codec writes 53. The nearest of them is near enough: these
  // times are 280,000 years away.
  const timestamp = Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, found.timestamp))
  return { partitionIndex, errorCode: NONE, ...found, timestamp }
}
