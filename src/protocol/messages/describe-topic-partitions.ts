// DescribeTopicPartitions: returns topics and their partitions in pages. A cursor names the next page (KIP-966).

import { api, array, bool, int16, int32, nullable, string, struct, uuid } from '../schema.ts'

export const describeTopicPartitions = api({
  key: 75,
  name: 'DescribeTopicPartitions',
  versions: '0',
  flexible: '0+',
  request: {
    topics: array({ name: string() }),
    responsePartitionLimit: int32('0+', 2000),
    cursor: nullable(struct({ topicName: string(), partitionIndex: int32() }, '0+', null)),
  },
  response: {
    throttleTimeMs: int32('0+'),
    topics: array({
      errorCode: int16(),
      name: nullable(string()),
      topicId: uuid(),
      isInternal: bool('0+', false),
      partitions: array({
        errorCode: int16(),
        partitionIndex: int32(),
        leaderId: int32(),
        leaderEpoch: int32('0+', -1),
        replicaNodes: array(int32()),
        isrNodes: array(int32()),
        eligibleLeaderReplicas: nullable(array(int32(), '0+', null)),
        lastKnownElr: nullable(array(int32(), '0+', null)),
        offlineReplicas: array(int32()),
      }),
      topicAuthorizedOperations: int32('0+', -2_147_483_648),
    }),
    nextCursor: nullable(struct({ topicName: string(), partitionIndex: int32() }, '0+', null)),
  },
})
