// LeaveGroup 0-5: members leave a classic group, or a tool removes them. The remaining members rebalance once for all
// members that left in one request.
//
//   0-2  one member; its error is the answer's error
//   3    many members with an error each; a static member may be named by its instance id alone (KIP-345)
//   5    the client's reason, for the log (KIP-800)
//
// Differences from Apache Kafka: the broker stores that the members have left before it answers.

import { COORDINATOR_NOT_AVAILABLE, NONE } from '../../protocol/errors.ts'
import { leaveGroup } from '../../protocol/messages/leave-group.ts'
import { handler } from '../handler.ts'
import { onGroup } from '../needs.ts'

export const leaveGroupHandler = handler(leaveGroup, rooms => ({
  needs: ({ body }) => [onGroup('READ', body.groupId)],
  storeAway: COORDINATOR_NOT_AVAILABLE,
  async answer({ apiVersion, body }) {
    const leaving =
      apiVersion < 3
        ? [{ memberId: body.memberId, instanceId: null, reason: null }]
        : body.members.map(({ memberId, groupInstanceId, reason }) => ({
            memberId,
            instanceId: groupInstanceId,
            reason,
          }))
    const { error, rows } = await rooms.groups.leave(body.groupId, leaving)
    const only = apiVersion < 3 ? (rows[0]?.error ?? null) : null
    return {
      errorCode: (error ?? only)?.code ?? NONE,
      members: rows.map(row => ({
        memberId: row.memberId,
        groupInstanceId: row.instanceId,
        errorCode: row.error?.code ?? NONE,
      })),
    }
  },
  refused: (_request, refusal) => ({ errorCode: refusal.code, members: [] }),
}))
