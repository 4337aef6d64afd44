// AlterReplicaLogDirs: moves replicas of partitions on one broker to another of its log directories (KIP-113).

import { api, array, int16, int32, string } from '../schema.ts'

export const alterReplicaLogDirs = api({
  key: 34,
  name: 'AlterReplicaLogDirs',
  versions: '1-2',
  flexible: '2+',
  request: {
    dirs: array({
      path: string(),
      topics: array({
        name: string(),
        partitions: array(int32()),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: array({
      topicName: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
      }),
    }),
  },
})
