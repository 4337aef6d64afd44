// DeleteRecords: drops the records of partitions below an offset; -1 is the high watermark (KIP-107).

import { api, array, int16, int32, int64, string } from '../schema.ts'

export const deleteRecords = api({
  key: 21,
  name: 'DeleteRecords',
  versions: '0-2',
  flexible: '2+',
  request: {
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        offset: int64(),
      }),
    }),
    timeoutMs: int32(),
  },
  response: {
    throttleTimeMs: int32('0+'),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        lowWatermark: int64(),
        errorCode: int16(),
      }),
    }),
  },
})
