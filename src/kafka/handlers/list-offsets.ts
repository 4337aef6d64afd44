// ListOffsets 1-11: returns the offset for a timestamp, or for a special timestamp:
//
//   -1  latest: the high watermark, or the last stable offset for read_committed (2+)
//   -2  earliest: the log start
//   -3  the record with the largest timestamp (7+, KIP-734)
//   -4  earliest local (8+, KIP-405): the lowest offset that the store has; the log start without remote storage
//   -5  latest tiered (9+, KIP-1005): the highest archived offset; no offset without remote storage
//   -6  earliest that waits for tiering (11+, KIP-1023): the first local offset that is not archived; no offset without
//       remote storage
//
// For a timestamp the answer has the first record at or after it, with that record's own timestamp. If there is no
// such record, the offset and the timestamp are -1, without an error. If the version does not know a special
// timestamp, the answer is UNSUPPORTED_VERSION, as in Kafka. The search stops at the deadline of the request, and
// when its connection closes. A search that may read the archive stops earlier, after half of
// `broker.response-queue-timeout` or the timeout of the request (10+, KIP-1075), so that the other rows are answered.
//
// Kafka copies segments in order, so its -6 is the offset after the highest archived one. Here a segment that could
// not be copied is passed over and copied later: it waits although a later one is archived.

import { type Patience, patience } from '../../base/patience.ts'
import { aFewInSharedTurns } from '../../base/shared-turns.ts'
import type { Partition } from '../../log/partition.ts'
import { archivedFrom } from '../../log/remote-log.ts'
import { SEARCHES_AT_ONCE } from '../../log/time-search.ts'
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

/**
 * The most partitions of one request that are searched at the same time. A broker searches as many in the stream, and
 * the queue of the remote tier has room for some: a request that filled it would be refused most of its rows.
 */
const AT_ONCE = SEARCHES_AT_ONCE

const TWICE = because(INVALID_REQUEST, 'The partition is named twice in this request.')

export const listOffsetsHandler = handler(listOffsets, rooms => {
  const aFew = aFewInSharedTurns(rooms.clock, AT_ONCE)
  return {
    needs: ({ body }) => onTopics('DESCRIBE', 'name', body.topics),
    async answer({ body, apiVersion, receivedAtMs, deadlineMs, closed, permissions }) {
      const catalogue = rooms.catalogue.current()
      const waiting = patience(rooms.clock, deadlineMs, closed)
      const halfMs = (deadlineMs - receivedAtMs) / 2
      const remoteMs = body.timeoutMs > 0 ? Math.min(body.timeoutMs, halfMs) : halfMs
      const remoteWaiting = patience(rooms.clock, receivedAtMs + remoteMs, closed)
      const repeated = findRepeated(
        body.topics.map(({ name, partitions }) => ({
          topic: name,
          partitions: partitions.map(each => each.partitionIndex),
        })),
      )
      const topics = body.topics.map(({ name, partitions }) => {
        const denied = permissions.topic('name', name)
        const found = denied ?? findTopic(catalogue, 'name', name)
        return partitions.map(asked => ({ name, denied, found, asked }))
      })
      const rows = await aFew(topics.flat(), async ({ name, denied, found, asked }) => {
        const { partitionIndex, currentLeaderEpoch, timestamp } = asked
        const partition = findPartition(rooms, found, partitionIndex)
        if (denied === null && repeated.has(keyOf(name, partitionIndex))) return rowOf(partitionIndex, TWICE)
        if (isRefusal(partition)) return rowOf(partitionIndex, partition)
        const refusal = partition.checkEpoch(currentLeaderEpoch)
        if (refusal !== null) return rowOf(partitionIndex, refusal)
        const patience = partition.isRemote ? remoteWaiting : waiting
        return rowOf(partitionIndex, await find(partition, timestamp, apiVersion, body.isolationLevel, patience))
      })
      const answered: Answer['topics'][number][] = []
      let at = 0
      for (const { name, partitions } of body.topics) {
        answered.push({ name, partitions: rows.slice(at, at + partitions.length) })
        at += partitions.length
      }
      return { topics: answered }
    },
    refused: ({ body }, refusal) => ({
      topics: body.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex }) => rowOf(partitionIndex, refusal)),
      })),
    }),
  }
})

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
      return at(partition, partition.logStartOffset)
    case EARLIEST_LOCAL:
      return at(partition, partition.localStartOffset)
    case MAX_TIMESTAMP:
      return (await partition.maxTimestampOffset(waiting)) ?? NOTHING
    case LATEST_TIERED:
      return partition.isRemote && partition.highestArchived >= 0 ? at(partition, partition.highestArchived) : NOTHING
    case EARLIEST_PENDING_UPLOAD:
      return earliestPending(partition)
    default:
      return (await partition.offsetForTimestamp(timestamp, waiting)) ?? NOTHING
  }
}

function earliestPending(partition: Partition): Found {
  const { isRemote, highestArchived, logStartOffset, localStartOffset, state } = partition
  if (!isRemote) return NOTHING
  if (highestArchived >= 0 && state.remote !== null) {
    return at(partition, archivedFrom(state.remote, localStartOffset))
  }
  // Records that are not local must be archived, but it is not known how far.
  return localStartOffset === logStartOffset ? at(partition, logStartOffset) : NOTHING
}

/**
 * Returns an offset with its own epoch, so that a reader that begins there never sees a lower epoch later. An offset
 * that has no record yet has the epoch of the leader.
 */
function at(partition: Partition, offset: number): Found {
  const epoch = partition.epochAt(offset)
  const isKnown = epoch >= 0 || offset < partition.endOffset
  return { offset, timestamp: -1, leaderEpoch: isKnown ? epoch : partition.leaderEpoch }
}

function rowOf(partitionIndex: number, found: Found | Refusal): Answer['topics'][number]['partitions'][number] {
  if (isRefusal(found)) return { partitionIndex, errorCode: found.code, ...NOTHING }
  // Producers choose timestamps of up to 64 bits, and the codec writes 53. The nearest of them is near enough: these
  // times are 280,000 years away.
  const timestamp = Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, found.timestamp))
  return { partitionIndex, errorCode: NONE, ...found, timestamp }
}
