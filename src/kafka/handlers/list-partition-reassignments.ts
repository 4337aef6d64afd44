// ListPartitionReassignments 0: the partitions whose replicas are being moved, which are none: the log rests in the store, and what
// AlterPartitionReassignments changes is done when it is answered. As in Kafka, topics that are not there are passed over.

import { NONE } from '../../protocol/errors.ts'
import { listPartitionReassignments } from '../../protocol/messages/list-partition-reassignments.ts'
import { handler } from './handler.ts'

export const listPartitionReassignmentsHandler = handler(listPartitionReassignments, () => ({
  answer: () => ({ errorCode: NONE, errorMessage: null, topics: [] }),
  refused: (_request, { code, message }) => ({ errorCode: code, errorMessage: message, topics: [] }),
}))
