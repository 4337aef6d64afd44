// ListPartitionReassignments: lists the partitions whose replicas are being moved (KIP-455).

import { api, array, int16, int32, nullable, string } from '../schema.ts'

export const listPartitionReassignments = api({
  key: 46,
  name: 'ListPartitionReassignments',
  versions: '0',
  flexible: '0+',
  request: {
    timeoutMs: int32('0+', 60_000),
    topics: nullable(array({ name: string(), partitionIndexes: array(int32()) }, '0+', null)),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16(),
    errorMessage: nullable(string()),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        replicas: array(int32()),
        addingReplicas: array(int32()),
        removingReplicas: array(int32()),
      }),
    }),
  },
})
