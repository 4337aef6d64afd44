// Produce: appends one record batch to each named partition.
// Names: 3-12, topic ids: 13+ (KIP-516). 3: record batches of magic 2. 8: recordErrors (KIP-467). 10: currentLeader
// (KIP-951). Versions 0-2 are advertised and refused: librdkafka up to 2.11 stops compressing when they are missing.

import { api, array, int16, int32, int64, nullable, records, string, struct, tagged, uuid } from '../schema.ts'

export const produce = api({
  key: 0,
  name: 'Produce',
  versions: '3-13',
  advertised: '0-13',
  flexible: '9+',
  request: {
    transactionalId: nullable(string('3+', null)),
    acks: int16(),
    timeoutMs: int32(),
    topicData: array({
      name: string('3-12'),
      topicId: uuid('13+'),
      partitionData: array({
        index: int32(),
        records: nullable(records()),
      }),
    }),
  },
  response: {
    responses: array({
      name: string('3-12'),
      topicId: uuid('13+'),
      partitionResponses: array({
        index: int32(),
        errorCode: int16(),
        baseOffset: int64(),
        logAppendTimeMs: int64('3+', -1),
        logStartOffset: int64('5+', -1),
        recordErrors: array(
          {
            batchIndex: int32(),
            batchIndexErrorMessage: nullable(string('8+', null)),
          },
          '8+',
        ),
        errorMessage: nullable(string('8+', null)),
        currentLeader: tagged(
          0,
          struct(
            {
              leaderId: int32('10+', -1),
              leaderEpoch: int32('10+', -1),
            },
            '10+',
          ),
        ),
      }),
    }),
    throttleTimeMs: int32('3+'),
    nodeEndpoints: tagged(
      0,
      array(
        {
          nodeId: int32(),
          host: string(),
          port: int32(),
          rack: nullable(string('10+', null)),
        },
        '10+',
      ),
    ),
  },
})
