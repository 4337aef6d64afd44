// ListOffsets: returns the offset of a timestamp. Special timestamps: -1 latest, -2 earliest, -3 largest timestamp
// (7+), -4 earliest local (8+), -5 latest tiered (9+), -6 earliest pending upload (11+).

import { api, array, int8, int16, int32, int64, string } from '../schema.ts'

export const listOffsets = api({
  key: 2,
  name: 'ListOffsets',
  versions: '1-11',
  flexible: '6+',
  request: {
    replicaId: int32(),
    isolationLevel: int8('2+'),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        currentLeaderEpoch: int32('4+', -1),
        timestamp: int64(),
      }),
    }),
    timeoutMs: int32('10+'),
  },
  response: {
    throttleTimeMs: int32('2+'),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        timestamp: int64('1+', -1),
        offset: int64('1+', -1),
        leaderEpoch: int32('4+', -1),
      }),
    }),
  },
})
