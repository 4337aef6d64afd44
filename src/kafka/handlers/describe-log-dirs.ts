// DescribeLogDirs 1-4: returns the log directory, its partitions, and how many bytes they have there.
// admin/log-dirs.ts looks them up.
//
// Null topics ask for all topics. Partitions that do not exist are left out. There is one log directory, and no
// replica lags behind or moves.
//
// Versions: 3 has an error of the whole request. 4 has the size of the volume and the usable bytes on it (KIP-827).

import { describeLogDirs as describe } from '../../admin/log-dirs.ts'
import { NONE } from '../../protocol/errors.ts'
import { describeLogDirs } from '../../protocol/messages/describe-log-dirs.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const describeLogDirsHandler = handler(describeLogDirs, rooms => ({
  needs: () => [onCluster('DESCRIBE')],
  async answer({ body }) {
    const wanted = body.topics?.flatMap(({ topic, partitions }) => partitions.map(partition => ({ topic, partition })))
    const dirs = await describe(rooms, wanted ?? null)
    const results = dirs.map(({ place, totalBytes, usableBytes, topics }) => ({
      errorCode: NONE,
      logDir: place,
      topics: topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partition, sizeBytes }) => ({
          partitionIndex: partition,
          partitionSize: sizeBytes,
          offsetLag: 0,
          isFutureKey: false,
        })),
      })),
      totalBytes,
      usableBytes,
    }))
    return { errorCode: NONE, results }
  },
  refused: (_request, refusal) => ({ errorCode: refusal.code, results: [] }),
}))
