// ListPartitionReassignments 0: lists the partitions whose replicas are being moved. The list is always empty: the
// log is in the store, and a change by AlterPartitionReassignments is complete when it is answered. As in Kafka,
// topics that do not exist are left out without an error.

import { NONE } from '../../protocol/errors.ts'
import { listPartitionReassignments } from '../../protocol/messages/list-partition-reassignments.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const listPartitionReassignmentsHandler = handler(listPartitionReassignments, () => ({
  needs: () => [onCluster('DESCRIBE')],
  answer: () => ({ errorCode: NONE, errorMessage: null, topics: [] }),
  refused: (_request, { code, message }) => ({ errorCode: code, errorMessage: message, topics: [] }),
}))
