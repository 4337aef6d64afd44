// ElectLeaders: makes the preferred or another replica the leader of partitions. 1+: the request names the kind of
// election, and the response has an error for the whole request (KIP-460). Null partitions request all.

import { api, array, int8, int16, int32, nullable, string } from '../schema.ts'

export const electLeaders = api({
  key: 43,
  name: 'ElectLeaders',
  versions: '0-2',
  flexible: '2+',
  request: {
    electionType: int8('1+'),
    topicPartitions: nullable(
      array({
        topic: string(),
        partitions: array(int32()),
      }),
    ),
    timeoutMs: int32('0+', 60_000),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('1+'),
    replicaElectionResults: array({
      topic: string(),
      partitionResult: array({
        partitionId: int32(),
        errorCode: int16(),
        errorMessage: nullable(string()),
      }),
    }),
  },
})
