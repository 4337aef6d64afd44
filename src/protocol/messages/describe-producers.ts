// DescribeProducers: returns the idempotent and transactional producers of partitions (KIP-664).

import { api, array, int16, int32, int64, nullable, string } from '../schema.ts'

export const describeProducers = api({
  key: 61,
  name: 'DescribeProducers',
  versions: '0',
  flexible: '0+',
  request: {
    topics: array({
      name: string(),
      partitionIndexes: array(int32()),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: nullable(string('0+', null)),
        activeProducers: array({
          producerId: int64(),
          producerEpoch: int32(),
          lastSequence: int32('0+', -1),
          lastTimestamp: int64('0+', -1),
          coordinatorEpoch: int32(),
          currentTxnStartOffset: int64('0+', -1),
        }),
      }),
    }),
  },
})
