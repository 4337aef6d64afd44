// OffsetForLeaderEpoch: returns the end offset of a leader epoch. A consumer learns from it that its log was
// truncated (KIP-101, KIP-320).

import { api, array, int16, int32, int64, string } from '../schema.ts'

export const offsetForLeaderEpoch = api({
  key: 23,
  name: 'OffsetForLeaderEpoch',
  versions: '2-4',
  flexible: '4+',
  request: {
    replicaId: int32('3+', -2),
    topics: array({
      topic: string(),
      partitions: array({
        partition: int32(),
        currentLeaderEpoch: int32('2+', -1),
        leaderEpoch: int32(),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    topics: array({
      topic: string(),
      partitions: array({
        errorCode: int16(),
        partition: int32(),
        leaderEpoch: int32('1+', -1),
        endOffset: int64('0+', -1),
      }),
    }),
  },
})
