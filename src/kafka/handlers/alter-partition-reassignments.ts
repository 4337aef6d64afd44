// AlterPartitionReassignments 0-1: changes the replicas of partitions. The rules are in admin/reassignments.ts.
//
// Each partition has its own outcome. No records are moved. The answer is sent when the new replicas are stored.
// After the client's timeout the answer is REQUEST_TIMED_OUT, although the replicas may still change. Null replicas
// ask to cancel the reassignment of a partition; the answer is NO_REASSIGNMENT_IN_PROGRESS. After the change the
// brokers lead in the order of the list.

import { reassignPartitions } from '../../admin/reassignments.ts'
import { NONE, type Refusal } from '../../protocol/errors.ts'
import { alterPartitionReassignments } from '../../protocol/messages/alter-partition-reassignments.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

type Body = RequestOf<typeof alterPartitionReassignments>
type Answer = ResponseInput<typeof alterPartitionReassignments>

export const alterPartitionReassignmentsHandler = handler(alterPartitionReassignments, rooms => ({
  needs: () => [onCluster('ALTER')],
  audit: ({ body }) => ({ verb: 'reassign partitions', what: body.topics.map(({ name }) => name) }),
  async answer({ body }) {
    const requests = body.topics.flatMap(({ name, partitions }) =>
      partitions.map(({ partitionIndex, replicas }) => ({
        topic: name,
        partition: partitionIndex,
        brokerIds: replicas,
      })),
    )
    const { allowReplicationFactorChange: allowsFactorChange, timeoutMs } = body
    const outcomes = await reassignPartitions(rooms, requests, { allowsFactorChange, timeoutMs })
    let next = 0
    return answerOf(body, null, () => outcomes[next++]!)
  },
  refused: ({ body }, refusal) => answerOf(body, refusal, () => refusal),
}))

/** `nextOutcome` is called once for each partition, in order. */
function answerOf(
  { topics, allowReplicationFactorChange }: Body,
  whole: Refusal | null,
  nextOutcome: () => Refusal | null,
): Answer {
  const told = (refusal: Refusal | null) => ({
    errorCode: refusal?.code ?? NONE,
    errorMessage: refusal?.message ?? null,
  })
  return {
    allowReplicationFactorChange,
    ...told(whole),
    responses: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, ...told(nextOutcome()) })),
    })),
  }
}
