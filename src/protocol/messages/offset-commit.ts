// OffsetCommit: commits offsets of a consumer group. 2-9: topic names, 10+: topic ids (KIP-848). For a consumer that
// assigns partitions itself, generationIdOrMemberEpoch is -1 and memberId is empty.

import { api, array, int16, int32, int64, nullable, string, uuid } from '../schema.ts'

export const offsetCommit = api({
  key: 8,
  name: 'OffsetCommit',
  versions: '2-10',
  flexible: '8+',
  request: {
    groupId: string(),
    generationIdOrMemberEpoch: int32('2+', -1),
    memberId: string(),
    groupInstanceId: nullable(string('7+', null)),
    retentionTimeMs: int64('2-4', -1),
    topics: array({
      name: string('2-9'),
      topicId: uuid('10+'),
      partitions: array({
        partitionIndex: int32(),
        committedOffset: int64(),
        committedLeaderEpoch: int32('6+', -1),
        committedMetadata: nullable(string()),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32('3+'),
    topics: array({
      name: string('2-9'),
      topicId: uuid('10+'),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
      }),
    }),
  },
})
