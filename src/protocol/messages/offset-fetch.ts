// OffsetFetch: the stored positions of one consumer group, and from version 8 on of many (KIP-709).
// Names: 1-9, topic ids: 10+ (KIP-848). A null topic list asks for all.

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
