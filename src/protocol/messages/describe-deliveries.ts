// DescribeDeliveries: an API of ours by which brokers ask each other what was delivered to groups
// (docs/decisions/0031). ApiVersions does not name it. A coordinator knows who owns a partition: `groups`. A leader
// knows how far a client has read: `readers`, answered in the order of the question. Times are durations, since brokers
// have no clock in common.

import { api, array, int32, int64, string, uuid } from '../schema.ts'

export const describeDeliveries = api({
  key: 30_000,
  name: 'DescribeDeliveries',
  versions: '0',
  flexible: '0+',
  request: {
    groups: array(string()),
    readers: array({
      clientId: string(),
      clientHost: string(),
      topics: array({
        topicId: uuid(),
        partitions: array(int32()),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32(),
    groups: array({
      groupId: string(),
      members: array({
        memberId: string(),
        clientId: string(),
        clientHost: string(),
        topics: array({
          topicId: uuid(),
          partitions: array({
            partition: int32(),
            /** For how long the member has owned it, in ms. */
            ownedMs: int64(),
          }),
        }),
      }),
    }),
    readers: array({
      topics: array({
        topicId: uuid(),
        partitions: array({
          partition: int32(),
          /** In how many groups that this broker coordinates such a member owns it. */
          owners: int32(),
          /** The offset after the last that was delivered; -1 where this broker does not know, or does not lead. */
          nextOffset: int64(),
          /** For how long the client has not been answered, in ms; -1 with `nextOffset`. */
          agoMs: int64(),
        }),
      }),
    }),
  },
})
