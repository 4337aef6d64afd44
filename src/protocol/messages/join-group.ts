// JoinGroup: a member enters or re-enters a classic consumer group; answered when the rebalance ends.
// 4: MEMBER_ID_REQUIRED (KIP-394). 5: static members (KIP-345). 9: skipAssignment (KIP-814).

import { api, array, bool, bytes, int16, int32, nullable, string } from '../schema.ts'

export const joinGroup = api({
  key: 11,
  name: 'JoinGroup',
  versions: '0-9',
  flexible: '6+',
  request: {
    groupId: string(),
    sessionTimeoutMs: int32(),
    rebalanceTimeoutMs: int32('1+', -1),
    memberId: string(),
    groupInstanceId: nullable(string('5+', null)),
    protocolType: string(),
    protocols: array({
      name: string(),
      metadata: bytes(),
    }),
    reason: nullable(string('8+', null)),
  },
  response: {
    throttleTimeMs: int32('2+'),
    errorCode: int16(),
    generationId: int32('0+', -1),
    protocolType: nullable(string('7+', null)),
    protocolName: nullable(string(), '7+'),
    leader: string(),
    skipAssignment: bool('9+', false),
    memberId: string(),
    members: array({
      memberId: string(),
      groupInstanceId: nullable(string('5+', null)),
      metadata: bytes(),
    }),
  },
})
