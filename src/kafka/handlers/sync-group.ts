// SyncGroup 0-5: the leader of a classic group hands in the assignments of a generation; every member is
// answered with its own bytes, once they are stored. Followers wait for the leader.
//
//   3    static members (KIP-345)
//   5    the client says which protocol it believes in, and must (KIP-559): INCONSISTENT_GROUP_PROTOCOL otherwise
//
// Differences from Apache Kafka: assignments for somebody who is not a member are refused with UNKNOWN_MEMBER_ID, and
// their bytes are bounded. What a follower sends as assignments is ignored, as in Kafka.

import { refuseSync, type SyncReply } from '../../coordinator/classic-group.ts'
import { INCONSISTENT_GROUP_PROTOCOL, NONE } from '../../protocol/errors.ts'
import { syncGroup } from '../../protocol/messages/sync-group.ts'
import { handler } from './handler.ts'

export const syncGroupHandler = handler(syncGroup, rooms => ({
  // Not an async function: one that waits would keep what the request says.
  answer({ apiVersion, body }) {
    if (apiVersion >= 5 && (body.protocolType === null || body.protocolName === null)) {
      return toAnswer(refuseSync(INCONSISTENT_GROUP_PROTOCOL))
    }
    return rooms.groups
      .sync({
        groupId: body.groupId,
        generation: body.generationId,
        memberId: body.memberId,
        instanceId: body.groupInstanceId,
        protocolType: body.protocolType,
        protocolName: body.protocolName,
        assignments: body.assignments,
      })
      .then(toAnswer)
  },
  kept: body => ({ ...body, assignments: [] }),
  refused: (_request, refusal) => toAnswer(refuseSync(refusal)),
  patienceMs: ({ body }) => rooms.groups.patienceMs(body.groupId),
}))

function toAnswer({ error, protocolType, protocolName, assignment }: SyncReply) {
  return { errorCode: error?.code ?? NONE, protocolType, protocolName, assignment }
}
