// The calls of a consumer group on a topic `orders`, over the wire, for tests of the operators' views of the group.

import assert from 'node:assert/strict'
import { joinGroup } from '../src/protocol/messages/join-group.ts'
import { leaveGroup } from '../src/protocol/messages/leave-group.ts'
import { offsetCommit } from '../src/protocol/messages/offset-commit.ts'
import { produce } from '../src/protocol/messages/produce.ts'
import { syncGroup } from '../src/protocol/messages/sync-group.ts'
import { batchOf } from './kafka.ts'
import { assigning, subscribing } from './sim/groups.ts'
import type { Wire } from './wire.ts'

export const TOPIC = 'orders'

/** Produces records to a partition. The broker must lead it. */
export async function append(wire: Wire, partition: number, values: readonly string[], timestamp?: number) {
  const partitionData = [{ index: partition, records: batchOf(values, {}, timestamp) }]
  const asked = { acks: -1, timeoutMs: 5_000, topicData: [{ name: TOPIC, partitionData }] }
  const { responses } = await wire.send(produce, 9, asked)
  assert.equal(responses[0]!.partitionResponses[0]!.errorCode, 0)
}

/** Commits offsets by partition for a group without members. The broker must be its coordinator. */
export async function commit(wire: Wire, groupId: string, offsets: Readonly<Record<number, number>>, name = TOPIC) {
  const partitions = Object.entries(offsets).map(([partition, offset]) => {
    return { partitionIndex: Number(partition), committedOffset: offset, committedMetadata: 'note' }
  })
  const asked = { groupId, memberId: '', topics: [{ name, partitions }] }
  const answer = await wire.send(offsetCommit, 8, asked)
  for (const { errorCode } of answer.topics[0]!.partitions) assert.equal(errorCode, 0)
}

/** Lets a static member that reads partition 0 join; the group becomes stable. */
export async function enter(wire: Wire, groupId: string) {
  const asked = { groupId, memberId: '', groupInstanceId: 'here', sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 10_000 }
  const { protocols } = subscribing(TOPIC)
  const joined = await wire.send(joinGroup, 9, { ...asked, protocolType: 'consumer', protocols })
  assert.equal(joined.errorCode, 0)
  const { memberId, generationId } = joined
  const assignments = [{ memberId, assignment: assigning({ [TOPIC]: [0] }) }]
  await wire.send(syncGroup, 3, { groupId, generationId, memberId, groupInstanceId: 'here', assignments })
  const members = [{ memberId: '', groupInstanceId: 'here' }]
  return { memberId, leave: () => wire.send(leaveGroup, 3, { groupId, members }) }
}
