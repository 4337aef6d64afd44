// JoinGroup 0-9: a member joins or rejoins a classic group. The answer is sent when the rebalance ends. It has the
// generation, and for the leader the metadata of all members. If nothing has changed for a member, it is answered at
// once.
//
//   0    no rebalance timeout: the session timeout is used for it
//   4    a dynamic member without id gets one with MEMBER_ID_REQUIRED and joins with it (KIP-394)
//   5    static members, known by their instance id (KIP-345)
//   7    the answer names the protocol type, and a refusal has no protocol name (KIP-559)
//   8    the client's reason, for the log (KIP-800)
//   9    skipAssignment: a returning static leader leads a stable group without assigning (KIP-814)
//
// Differences from Apache Kafka: those of coordinator/classic/group.ts (limits, and a returning static member that
// subscribes to other topics causes a rebalance). A negative rebalance timeout means the session timeout.

import type { JoinReply } from '../../coordinator/classic/requests.ts'
import { refuseJoin } from '../../coordinator/classic/requests.ts'
import { COORDINATOR_NOT_AVAILABLE, NONE } from '../../protocol/errors.ts'
import { joinGroup } from '../../protocol/messages/join-group.ts'
import type { RequestOf } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onGroup } from '../needs.ts'

export const joinGroupHandler = handler(joinGroup, rooms => ({
  needs: ({ body }) => [onGroup('READ', body.groupId)],
  storeAway: COORDINATOR_NOT_AVAILABLE,
  // Not an async function: while it waits, its closure would keep the whole request.
  answer(request) {
    const { apiVersion, body, clientId, connection } = request
    const handedMs = rooms.clock.monotonic()
    return rooms.groups
      .join({
        groupId: body.groupId,
        memberId: body.memberId,
        instanceId: body.groupInstanceId,
        clientId: clientId ?? '',
        clientHost: connection.address,
        sessionTimeoutMs: body.sessionTimeoutMs,
        rebalanceTimeoutMs: rebalanceTimeoutOf(body),
        protocolType: body.protocolType,
        protocols: body.protocols,
        reason: body.reason,
        memberIdRequired: apiVersion >= 4,
        canSkipAssignment: apiVersion >= 9,
      })
      .then(reply => {
        request.waitedMs = rooms.clock.monotonic() - handedMs
        return toAnswer(reply, apiVersion)
      })
  },
  kept: body => ({ ...body, protocols: [], reason: null }),
  refused: ({ apiVersion, body }, refusal) => toAnswer(refuseJoin(refusal, body.memberId), apiVersion),
  patienceMs: ({ body }) => Math.max(rebalanceTimeoutOf(body), rooms.groups.patienceMs(body.groupId)),
}))

function rebalanceTimeoutOf(body: RequestOf<typeof joinGroup>): number {
  return body.rebalanceTimeoutMs < 0 ? body.sessionTimeoutMs : body.rebalanceTimeoutMs
}

function toAnswer(reply: JoinReply, apiVersion: number) {
  return {
    errorCode: reply.error?.code ?? NONE,
    generationId: reply.generation,
    protocolType: reply.protocolType,
    // Null only in versions that allow null.
    protocolName: reply.protocolName ?? (apiVersion < 7 ? '' : null),
    leader: reply.leader,
    skipAssignment: reply.skipAssignment,
    memberId: reply.memberId,
    members: reply.members.map(({ memberId, instanceId, metadata }) => ({
      memberId,
      groupInstanceId: instanceId,
      metadata,
    })),
  }
}
