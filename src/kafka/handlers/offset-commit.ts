// OffsetCommit 2-10: stores committed offsets of a group, and answers when they are durable. Offsets belong to topic
// ids: if a topic is deleted and created again under the same name, it has no offsets.
//
//   6    the leader epoch of the record that was read last is kept with the offset (KIP-320)
//   7    static members (KIP-345)
//   9    GROUP_ID_NOT_FOUND for a member of a group that does not exist; before, ILLEGAL_GENERATION (KIP-848)
//   10   topics by id only; an unknown id gets UNKNOWN_TOPIC_ID (KIP-848)
//
// A consumer that assigns partitions itself commits with generation -1 and no member id, to a group without members.
// The empty group id is accepted, as in Kafka. Any offset is accepted, even below zero.
//
// In versions 2 to 4 a request can say how long the offset is kept. Metadata has at most 4096 UTF-16 units, as Kafka
// counts.
//
// If the broker already keeps as many offsets as it may, an offset that is new, or that needs more memory than
// before, gets INVALID_COMMIT_OFFSET_SIZE in its row. The others are stored.
//
// Differences from Apache Kafka: an offset beyond 2^53 - 1 is refused with INVALID_REQUEST, because every number here
// is exact.

import type { CommitReply, OffsetToCommit } from '../../coordinator/offsets/group-offsets.ts'
import {
  because,
  COORDINATOR_NOT_AVAILABLE,
  GROUP_ID_NOT_FOUND,
  ILLEGAL_GENERATION,
  INVALID_REQUEST,
  isRefusal,
  NONE,
  OFFSET_METADATA_TOO_LARGE,
  type Refusal,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { offsetCommit } from '../../protocol/messages/offset-commit.ts'
import type { RequestOf } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onGroup, onTopics } from '../needs.ts'
import { findTopic, lookForTopics, type Naming } from '../partitions.ts'

const FIRST_WITH_IDS = 10
const MAX_METADATA_LENGTH = 4_096

const INEXACT_OFFSET = because(INVALID_REQUEST, 'The offset is above 2^53 - 1, the largest that this broker gives.')

type Body = RequestOf<typeof offsetCommit>
type Partition = Body['topics'][number]['partitions'][number]

export const offsetCommitHandler = handler(offsetCommit, rooms => ({
  needs: ({ apiVersion, body }) => [
    onGroup('READ', body.groupId),
    ...onTopics('READ', namingOf(apiVersion), body.topics),
  ],
  storeAway: COORDINATOR_NOT_AVAILABLE,
  async answer({ apiVersion, body, permissions }) {
    const naming = namingOf(apiVersion)
    const looked = lookForTopics(
      rooms,
      permissions,
      naming,
      body.topics.map(each => each[naming]),
    )
    if (looked !== null) await looked
    const catalogue = rooms.catalogue.current()
    const offsets: OffsetToCommit[] = []
    /** The rows that the offsets come from. */
    const committed: Partition[] = []
    // For a row whose partition exists, a refusal by the group comes before an error of the row itself.
    const refusals = new Map<Partition, { readonly refusal: Refusal; readonly isFinal: boolean }>()
    let rows = 0
    for (const said of body.topics) {
      const topic = permissions.topic(naming, said[naming]) ?? findTopic(catalogue, naming, said[naming])
      for (const partition of said.partitions) {
        const refusal = isRefusal(topic) ? topic : checkIndex(partition.partitionIndex, topic.partitions)
        if (refusal !== null) {
          refusals.set(partition, { refusal, isFinal: true })
          continue
        }
        rows++
        const unfit = checkPosition(partition)
        if (unfit !== null) refusals.set(partition, { refusal: unfit, isFinal: false })
        else if (!isRefusal(topic)) {
          offsets.push(toCommit(topic.id, partition, body.retentionTimeMs))
          committed.push(partition)
        }
      }
    }

    const reply =
      rows === 0
        ? null
        : await rooms.groups.commitOffsets({
            groupId: body.groupId,
            memberId: body.memberId,
            instanceId: body.groupInstanceId,
            generation: body.generationIdOrMemberEpoch,
            offsets,
            missing: apiVersion >= 9 ? GROUP_ID_NOT_FOUND : ILLEGAL_GENERATION,
          })
    const refusal = isByRow(reply) ? null : reply
    for (const [at, row] of isByRow(reply) ? reply.entries() : []) {
      if (row !== null) refusals.set(committed[at]!, { refusal: row, isFinal: true })
    }
    return toAnswer(body, partition => {
      const own = refusals.get(partition)
      return own?.isFinal === true ? own.refusal : (refusal ?? own?.refusal ?? null)
    })
  },
  refused: ({ body }, refusal) => toAnswer(body, () => refusal),
}))

function namingOf(apiVersion: number): Naming {
  return apiVersion >= FIRST_WITH_IDS ? 'topicId' : 'name'
}

function isByRow(reply: CommitReply): reply is readonly (Refusal | null)[] {
  return Array.isArray(reply)
}

function checkIndex(index: number, partitions: number): Refusal | null {
  return index >= 0 && index < partitions ? null : UNKNOWN_TOPIC_OR_PARTITION
}

function checkPosition({ committedOffset, committedMetadata }: Partition): Refusal | null {
  if (!Number.isSafeInteger(committedOffset)) return INEXACT_OFFSET
  return (committedMetadata ?? '').length > MAX_METADATA_LENGTH ? OFFSET_METADATA_TOO_LARGE : null
}

function toCommit(topicId: string, partition: Partition, retentionMs: number): OffsetToCommit {
  return {
    topicId,
    partition: partition.partitionIndex,
    offset: partition.committedOffset,
    leaderEpoch: partition.committedLeaderEpoch,
    metadata: partition.committedMetadata ?? '',
    retentionMs,
  }
}

function toAnswer(body: Body, refusalOf: (partition: Partition) => Refusal | null) {
  return {
    topics: body.topics.map(({ name, topicId, partitions }) => ({
      name,
      topicId,
      partitions: partitions.map(partition => ({
        partitionIndex: partition.partitionIndex,
        errorCode: refusalOf(partition)?.code ?? NONE,
      })),
    })),
  }
}
