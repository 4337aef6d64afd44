// DescribeQuorum: returns the nodes that keep the metadata of the cluster, and how much of it each one has (KIP-595).
// 1+: when a voter last fetched (KIP-836). 2+: error messages, directories and the endpoints of the voters (KIP-853).

import { api, array, int16, int32, int64, nullable, string, uint16, uuid } from '../schema.ts'

const replicaState = {
  replicaId: int32(),
  replicaDirectoryId: uuid('2+'),
  logEndOffset: int64(),
  lastFetchTimestamp: int64('1+', -1),
  lastCaughtUpTimestamp: int64('1+', -1),
} as const

export const describeQuorum = api({
  key: 55,
  name: 'DescribeQuorum',
  versions: '0-2',
  flexible: '0+',
  request: {
    topics: array({
      topicName: string(),
      partitions: array({ partitionIndex: int32() }),
    }),
  },
  response: {
    errorCode: int16(),
    errorMessage: nullable(string('2+')),
    topics: array({
      topicName: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: nullable(string('2+')),
        leaderId: int32(),
        leaderEpoch: int32(),
        highWatermark: int64(),
        currentVoters: array(replicaState),
        observers: array(replicaState),
      }),
    }),
    nodes: array(
      {
        nodeId: int32(),
        listeners: array({
          name: string(),
          host: string(),
          port: uint16(),
        }),
      },
      '2+',
    ),
  },
})
