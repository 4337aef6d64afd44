// SyncGroup 0-5: the leader of a classic group sends the assignments of a generation. Every member gets its own
// assignment when they are stored. Followers wait for the leader.
//
//   3    static members (KIP-345)
//   5    the client must name the protocol of its group (KIP-559), or gets INCONSISTENT_GROUP_PROTOCOL
//
// Differences from Apache Kafka: assignments for a member that is not in the group are refused with
// UNKNOWN_MEMBER_ID, and the bytes of assignments are limited. Assignments of a follower are ignored, as in Kafka.

import { refuseSync, type SyncReply } from '../../coordinator/classic/requests.ts'
import { COORDINATOR_NOT_AVAILABLE, INCONSISTENT_GROUP_PROTOCOL, NONE } from '../../protocol/errors.ts'
import { syncGroup } from '../../protocol/messages/sync-group.ts'
import { handler } from '../handler.ts'
import { onGroup } from '../needs.ts'

export const syncGroupHandler = handler(syncGroup, rooms => ({
  needs: ({ body }) => [onGroup('READ', body.groupId)],
  storeAway: COORDINATOR_NOT_AVAILABLE,
  // Not an async function: while it waits, its closure would keep the whole request.
  answer(request) {
    const { apiVersion, body } = request
    if (apiVersion >= 5 && (body.protocolType === null || body.protocolName === null)) {
      return toAnswer(refuseSync(INCONSISTENT_GROUP_PROTOCOL))
    }
    // A leader waits only for the store, a follower waits for its leader.
    const isLeader = body.assignments.length > 0
    const handedMs = rooms.clock.monotonic()
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
      .then(reply => {
        if (!isLeader) request.waitedMs = rooms.clock.monotonic() - handedMs
        return toAnswer(reply)
      })
  },
  kept: body => ({ ...body, assignments: [] }),
  refused: (_request, refusal) => toAnswer(refuseSync(refusal)),
  patienceMs: ({ body }) => rooms.groups.patienceMs(body.groupId),
}))

function toAnswer({ error, protocolType, protocolName, assignment }: SyncReply) {
  return { errorCode: error?.code ?? NONE, protocolType, protocolName, assignment }
}
