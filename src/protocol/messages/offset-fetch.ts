// OffsetFetch: returns the committed offsets of one consumer group; 8+: of many groups (KIP-709). 1-9: topic names,
// 10+: topic ids (KIP-848). A null topic list requests all.

import { api, array, bool, int16, int32, int64, nullable, string, uuid } from '../schema.ts'

export const offsetFetch = api({
  key: 9,
  name: 'OffsetFetch',
  versions: '1-10',
  flexible: '6+',
  request: {
    groupId: string('1-7'),
    topics: nullable(
      array(
        {
          name: string(),
          partitionIndexes: array(int32()),
        },
        '1-7',
      ),
      '2+',
    ),
    groups: array(
      {
        groupId: string(),
        memberId: nullable(string('9+', null)),
        memberEpoch: int32('9+', -1),
        topics: nullable(
          array({
            name: string('8-9'),
            topicId: uuid('10+'),
            partitionIndexes: array(int32()),
          }),
        ),
      },
      '8+',
    ),
    requireStable: bool('7+', false),
  },
  response: {
    throttleTimeMs: int32('3+'),
    topics: array(
      {
        name: string(),
        partitions: array({
          partitionIndex: int32(),
          committedOffset: int64(),
          committedLeaderEpoch: int32('5+', -1),
          metadata: nullable(string()),
          errorCode: int16(),
        }),
      },
      '1-7',
    ),
    errorCode: int16('2-7', 0),
    groups: array(
      {
        groupId: string(),
        topics: array({
          name: string('8-9'),
          topicId: uuid('10+'),
          partitions: array({
            partitionIndex: int32(),
            committedOffset: int64(),
            committedLeaderEpoch: int32('8+', -1),
            metadata: nullable(string()),
            errorCode: int16(),
          }),
        }),
        errorCode: int16('8+', 0),
      },
      '8+',
    ),
  },
})
