// CreateTopics: creates topics with partitions and configs, or only checks whether that is possible.

import { api, array, bool, int8, int16, int32, nullable, string, tagged, uuid } from '../schema.ts'

export const createTopics = api({
  key: 19,
  name: 'CreateTopics',
  versions: '2-7',
  flexible: '5+',
  request: {
    topics: array({
      name: string(),
      numPartitions: int32(),
      replicationFactor: int16(),
      assignments: array({
        partitionIndex: int32(),
        brokerIds: array(int32()),
      }),
      configs: array({
        name: string(),
        value: nullable(string()),
      }),
    }),
    timeoutMs: int32('2+', 60_000),
    validateOnly: bool('2+', false),
  },
  response: {
    throttleTimeMs: int32('0+'),
    topics: array({
      name: string(),
      topicId: uuid('7+'),
      errorCode: int16(),
      errorMessage: nullable(string()),
      topicConfigErrorCode: tagged(0, int16('5+')),
      numPartitions: int32('5+', -1),
      replicationFactor: int16('5+', -1),
      configs: nullable(
        array(
          {
            name: string(),
            value: nullable(string()),
            readOnly: bool(),
            configSource: int8('5+', -1),
            isSensitive: bool(),
          },
          '5+',
        ),
      ),
    }),
  },
})
