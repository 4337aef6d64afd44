// DescribeCluster: returns the cluster's id and its brokers (KIP-700). 1+: the request names the type of endpoint
// (KIP-919).

import { api, array, bool, int8, int16, int32, nullable, string } from '../schema.ts'

export const describeCluster = api({
  key: 60,
  name: 'DescribeCluster',
  versions: '0-2',
  flexible: '0+',
  request: {
    includeClusterAuthorizedOperations: bool(),
    endpointType: int8('1+', 1),
    includeFencedBrokers: bool('2+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16(),
    errorMessage: nullable(string('0+', null)),
    endpointType: int8('1+', 1),
    clusterId: string(),
    controllerId: int32('0+', -1),
    brokers: array({
      brokerId: int32(),
      host: string(),
      port: int32(),
      rack: nullable(string('0+', null)),
      isFenced: bool('2+'),
    }),
    clusterAuthorizedOperations: int32('0+', -2_147_483_648),
  },
})
