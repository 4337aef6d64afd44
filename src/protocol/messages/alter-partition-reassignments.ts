// AlterPartitionReassignments: moves partitions to other replicas, or cancels such a move (KIP-455). Version 1 can
// forbid a change of the number of replicas (KIP-860).

import { api, array, bool, int16, int32, nullable, string } from '../schema.ts'

export const alterPartitionReassignments = api({
  key: 45,
  name: 'AlterPartitionReassignments',
  versions: '0-1',
  flexible: '0+',
  request: {
    timeoutMs: int32('0+', 60_000),
    allowReplicationFactorChange: bool('1+', true),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        replicas: nullable(array(int32(), '0+', null)),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    allowReplicationFactorChange: bool('1+', true),
    errorCode: int16(),
    errorMessage: nullable(string()),
    responses: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: nullable(string()),
      }),
    }),
  },
})
