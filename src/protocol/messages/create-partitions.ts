// CreatePartitions: adds partitions to topics, or only checks whether that is possible (KIP-195).

import { api, array, bool, int16, int32, nullable, string } from '../schema.ts'

export const createPartitions = api({
  key: 37,
  name: 'CreatePartitions',
  versions: '0-3',
  flexible: '2+',
  request: {
    topics: array({
      name: string(),
      count: int32(),
      assignments: nullable(array({ brokerIds: array(int32()) })),
    }),
    timeoutMs: int32(),
    validateOnly: bool(),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: array({
      name: string(),
      errorCode: int16(),
      errorMessage: nullable(string('0+', null)),
    }),
  },
})
