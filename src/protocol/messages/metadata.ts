// Metadata: returns the brokers, the topics and their partitions, and the leaders; may create topics. Version 0: an
// empty topic list requests all topics. 1+: null requests all, an empty list requests no topic. 12+: topics by id
// (KIP-516).

import { api, array, bool, int16, int32, nullable, string, uuid } from '../schema.ts'

export const metadata = api({
  key: 3,
  name: 'Metadata',
  versions: '0-13',
  flexible: '9+',
  // librdkafka 2 requests all topics with a null array of four bytes instead of one, so three bytes are left at the
  // end.
  mayBeFollowed: true,
  request: {
    topics: nullable(
      array({
        topicId: uuid('10+'),
        name: nullable(string(), '10+'),
      }),
      '1+',
    ),
    allowAutoTopicCreation: bool('4+', true),
    includeClusterAuthorizedOperations: bool('8-10'),
    includeTopicAuthorizedOperations: bool('8+'),
  },
  response: {
    throttleTimeMs: int32('3+'),
    brokers: array({
      nodeId: int32(),
      host: string(),
      port: int32(),
      rack: nullable(string('1+', null)),
    }),
    clusterId: nullable(string('2+', null)),
    controllerId: int32('1+', -1),
    topics: array({
      errorCode: int16(),
      name: nullable(string(), '12+'),
      topicId: uuid('10+'),
      isInternal: bool('1+', false),
      partitions: array({
        errorCode: int16(),
        partitionIndex: int32(),
        leaderId: int32(),
        leaderEpoch: int32('7+', -1),
        replicaNodes: array(int32()),
        isrNodes: array(int32()),
        offlineReplicas: array(int32(), '5+'),
      }),
      topicAuthorizedOperations: int32('8+', -2_147_483_648),
    }),
    clusterAuthorizedOperations: int32('8-10', -2_147_483_648),
    errorCode: int16('13+'),
  },
})
