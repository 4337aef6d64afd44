// OffsetForLeaderEpoch 2-4 (KIP-101): returns the offset at which the records of a leader epoch end. With it a
// consumer finds out after a change of leaders whether its log was truncated (KIP-320).
//
// The answer has the largest epoch with records in the log, up to the requested one. If the log has never had the
// epoch, epoch and offset are -1, without an error. The epoch rises whenever a broker becomes the leader, so also
// after each start. The store keeps the start offset of each epoch. The client's own epoch is compared as in Fetch.
//
// Versions: 3 names a replica, which grants nothing here, because there are no followers.

import { isRefusal, NONE } from '../../protocol/errors.ts'
import { offsetForLeaderEpoch } from '../../protocol/messages/offset-for-leader-epoch.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { CLUSTER, onEach, orElse } from '../needs.ts'
import { findPartition, findTopic } from '../partitions.ts'

type Row = ResponseInput<typeof offsetForLeaderEpoch>['topics'][number]['partitions'][number]

export const offsetForLeaderEpochHandler = handler(offsetForLeaderEpoch, rooms => ({
  needs: ({ body }) =>
    orElse(
      onEach(
        'DESCRIBE',
        'TOPIC',
        body.topics.map(({ topic }) => topic),
      ),
      () => ({ operation: 'CLUSTER_ACTION', resource: CLUSTER }),
    ),
  answer({ body, permissions }) {
    const topics = body.topics.map(({ topic, partitions }) => {
      const found = permissions.topic('name', topic) ?? findTopic(rooms.catalogue.current(), 'name', topic)
      return {
        topic,
        partitions: partitions.map(({ partition: index, currentLeaderEpoch, leaderEpoch }): Row => {
          const partition = findPartition(rooms, found, index)
          if (isRefusal(partition)) return { partition: index, errorCode: partition.code }
          const refusal = partition.checkEpoch(currentLeaderEpoch)
          if (refusal !== null) return { partition: index, errorCode: refusal.code }
          const { epoch, endOffset } = partition.endOfEpoch(leaderEpoch) ?? UNKNOWN
          return { partition: index, errorCode: NONE, leaderEpoch: epoch, endOffset }
        }),
      }
    })
    return { topics }
  },
  refused: ({ body }, { code }) => ({
    topics: body.topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map(({ partition }) => ({ partition, errorCode: code })),
    })),
  }),
}))

const UNKNOWN = Object.freeze({ epoch: -1, endOffset: -1 })
