// RunStorageRound: our own API, with which the broker that holds the lease of the storage worker asks another broker to
// roll, drop and clean the partitions that it leads. ApiVersions does not name it. The holder sends the same request
// until the round is over. A report of a round that goes on is all zero. Version 1 adds the news of the remote tier.

import { api, array, bool, int16, int32, int64, nullable, string, struct, uuid } from '../schema.ts'

export const runStorageRound = api({
  key: 30_003,
  name: 'RunStorageRound',
  versions: '0-1',
  flexible: '0+',
  request: {
    holderId: int32(),
    /** The start of the holder. */
    incarnation: string(),
    /** The version with which the holder took the lease. */
    fence: int64(),
    /** The holder counts its rounds. */
    round: int64(),
    /** The most partitions that the broker works on at the same time. */
    concurrency: int32(),
    isCleaningAllowed: bool(),
    /** The holder knows the news of the broker up to this change; 0: it knows none. -1: it wants none. */
    newsSince: int64('1+', -1),
  },
  response: {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: nullable(string('0+', null)),
    isRunning: bool('0+'),
    report: struct(
      {
        partitions: int64(),
        rolled: int64(),
        droppedBytes: int64(),
        due: int64(),
        cleaned: int64(),
        cleanedBytes: int64(),
        failures: int64(),
      },
      '0+',
    ),
    /** The partitions of the remote tier that the broker leads and whose documents of segments have changed. */
    news: struct(
      {
        /** The change up to which these are all. */
        to: int64(),
        topics: array({ topicId: uuid(), partitions: array(int32()) }),
      },
      '1+',
    ),
  },
})
