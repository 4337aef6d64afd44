// AlterPartitionReassignments 0-1: gives partitions other replicas. The rules are in admin/reassignments.ts.
//
// Each partition has its own outcome. Nothing is moved: the answer comes when the replicas are remembered, or with REQUEST_TIMED_OUT after
// the client's timeout; they may be changed all the same. A partition whose replicas are null asks to end what moves it, which is
// NO_REASSIGNMENT_IN_PROGRESS. The brokers lead in the order of the list from then on.

import { reassignPartitions } from '../../admin/reassignments.ts'
import { NONE, type Refusal } from '../../protocol/errors.ts'
import { alterPartitionReassignments } from '../../protocol/messages/alter-partition-reassignments.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { handler } from './handler.ts'

type Body = RequestOf<typeof alterPartitionReassignments>
type Answer = ResponseInput<typeof alterPartitionReassignments>

export const alterPartitionReassignmentsHandler = handler(alterPartitionReassignments, rooms => ({
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

/** `nextOutcome` is asked once for each partition, in order. */
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
