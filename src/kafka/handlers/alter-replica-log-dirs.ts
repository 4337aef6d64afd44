// AlterReplicaLogDirs 1-2 (KIP-113): moves replicas of this broker to another of its log directories. A broker has
// one log directory, so there is nothing to move. The rules are in admin/log-dirs.ts.
//
// Versions: 2 is flexible.

import { checkLogDirs } from '../../admin/log-dirs.ts'
import { NONE, type Refusal } from '../../protocol/errors.ts'
import { alterReplicaLogDirs } from '../../protocol/messages/alter-replica-log-dirs.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

type Body = RequestOf<typeof alterReplicaLogDirs>
type Answer = ResponseInput<typeof alterReplicaLogDirs>

export const alterReplicaLogDirsHandler = handler(alterReplicaLogDirs, rooms => ({
  needs: () => [onCluster('ALTER')],
  async answer({ body }) {
    const moves = body.dirs.flatMap(({ path, topics }) =>
      topics.flatMap(({ name, partitions }) => partitions.map(partition => ({ topic: name, partition, place: path }))),
    )
    const outcomes = await checkLogDirs(rooms, moves)
    let next = 0
    return answerOf(body, () => outcomes[next++]!)
  },
  refused: ({ body }, refusal) => answerOf(body, () => refusal),
}))

/** `nextOutcome` is called once for each partition, in order. */
function answerOf({ dirs }: Body, nextOutcome: () => Refusal | null): Answer {
  return {
    results: dirs.flatMap(({ topics }) =>
      topics.map(({ name, partitions }) => ({
        topicName: name,
        partitions: partitions.map(partitionIndex => ({ partitionIndex, errorCode: nextOutcome()?.code ?? NONE })),
      })),
    ),
  }
}
