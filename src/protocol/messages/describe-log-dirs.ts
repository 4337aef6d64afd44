// DescribeLogDirs: returns the log directories of partitions and the partitions' sizes (KIP-113). Null topics request
// all. 4+: the total and the free bytes of the volume (KIP-827).

import { api, array, bool, int16, int32, int64, nullable, string } from '../schema.ts'

export const describeLogDirs = api({
  key: 35,
  name: 'DescribeLogDirs',
  versions: '1-4',
  flexible: '2+',
  request: {
    topics: nullable(
      array({
        topic: string(),
        partitions: array(int32()),
      }),
    ),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('3+'),
    results: array({
      errorCode: int16(),
      logDir: string(),
      topics: array({
        name: string(),
        partitions: array({
          partitionIndex: int32(),
          partitionSize: int64(),
          offsetLag: int64(),
          isFutureKey: bool(),
        }),
      }),
      totalBytes: int64('4+', -1),
      usableBytes: int64('4+', -1),
    }),
  },
})
