// The bytes that consumers put into JoinGroup (their subscription) and SyncGroup (their assignment) if the protocol
// type of the group is `consumer`. The broker passes them on unread; it decodes them only to show a group to people.
// Both begin with their version as an int16.

import { array, bytes, int32, message, nullable, string } from '../schema.ts'

export const consumerProtocolSubscription = message({
  name: 'ConsumerProtocolSubscription',
  versions: '0-3',
  fields: {
    topics: array(string()),
    userData: nullable(bytes('0+', null)),
    ownedPartitions: array({ topic: string(), partitions: array(int32()) }, '1+'),
    generationId: int32('2+', -1),
    rackId: nullable(string('3+', null)),
  },
})

export const consumerProtocolAssignment = message({
  name: 'ConsumerProtocolAssignment',
  versions: '0-3',
  fields: {
    assignedPartitions: array({ topic: string(), partitions: array(int32()) }),
    userData: nullable(bytes('0+', null)),
  },
})
