// DescribeDeliveries: our own API, with which brokers ask each other for deliveries to groups (docs/decisions/0031).
// ApiVersions does not name it. A coordinator knows the owners of partitions: `groups`. A leader knows how far a
// client has read: `readers`, in the order of the request. Times are durations, because brokers have no common clock.

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
            /** How long the member has owned the partition, in ms. */
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
          /** In how many groups of this coordinator a member of that client id and host owns the partition. */
          owners: int32(),
          /**
           * The offset after the last delivered record; -1 if this broker does not know it, or does not lead the
           * partition.
           */
          nextOffset: int64(),
          /** How long ago the fetch that read up to `nextOffset` arrived, in ms; -1 if `nextOffset` is -1. */
          agoMs: int64(),
        }),
      }),
    }),
  },
})
