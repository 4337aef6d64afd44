// DescribeStorageWorker: our own API, with which a broker asks the one that holds the lease of the storage worker for
// one of its rounds, and may start one. ApiVersions does not name it. Times are by the wall clock of the holder, for
// people. Version 1 adds what the holder has offloaded.

import { api, array, bool, float64, int16, int32, int64, nullable, string, struct } from '../schema.ts'

export const describeStorageWorker = api({
  key: 30_004,
  name: 'DescribeStorageWorker',
  versions: '0-1',
  flexible: '0+',
  request: {
    /** Whether the holder starts a round, if none is in progress. */
    start: bool(),
    /** The round; -1, or one that the holder does not remember: the newest. */
    number: int64('0+', -1),
  },
  response: {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: nullable(string('0+', null)),
    /** Null before the first round. */
    round: nullable(
      struct(
        {
          number: int64(),
          startedAt: string(),
          /** -1 while it goes on. */
          tookMs: float64(),
          brokers: array({
            id: int32(),
            outcome: string(),
            partitions: int64(),
            rolled: int64(),
            droppedBytes: int64(),
            due: int64(),
            cleaned: int64(),
            cleanedBytes: int64(),
            failures: int64(),
            trouble: nullable(string()),
          }),
          /** Null without a remote tier, and while the round goes on. */
          offload: nullable(
            struct(
              {
                segments: int64(),
                bytes: int64(),
                failures: int64(),
                waitingSegments: int64(),
                waitingBytes: int64(),
              },
              '1+',
              null,
            ),
          ),
        },
        '0+',
        null,
      ),
    ),
  },
})
