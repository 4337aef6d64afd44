// Heartbeat 0-4: tells the coordinator that a member of a classic group is alive. REBALANCE_IN_PROGRESS tells the
// member to join again. UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION and FENCED_INSTANCE_ID tell it that the group continues
// without it. The cost is constant, and nothing is stored.
//
//   3    static members (KIP-345)
//
// Differences from Apache Kafka: none.

import { COORDINATOR_NOT_AVAILABLE, NONE } from '../../protocol/errors.ts'
import { heartbeat } from '../../protocol/messages/heartbeat.ts'
import { handler } from '../handler.ts'
import { onGroup } from '../needs.ts'

export const heartbeatHandler = handler(heartbeat, rooms => ({
  needs: ({ body }) => [onGroup('READ', body.groupId)],
  storeAway: COORDINATOR_NOT_AVAILABLE,
  answer({ body }) {
    const refusal = rooms.groups.heartbeat(body.groupId, {
      memberId: body.memberId,
      instanceId: body.groupInstanceId,
      generation: body.generationId,
    })
    return { errorCode: refusal?.code ?? NONE }
  },
  refused: (_request, refusal) => ({ errorCode: refusal.code }),
}))
