// DescribeGroups: returns state and members of classic groups. 6+: an unknown group is an error (KIP-1043).

import { api, array, bool, bytes, int16, int32, nullable, string } from '../schema.ts'

export const describeGroups = api({
  key: 15,
  name: 'DescribeGroups',
  versions: '0-6',
  flexible: '5+',
  request: {
    groups: array(string()),
    includeAuthorizedOperations: bool('3+'),
  },
  response: {
    throttleTimeMs: int32('1+'),
    groups: array({
      errorCode: int16(),
      errorMessage: nullable(string('6+', null)),
      groupId: string(),
      groupState: string(),
      protocolType: string(),
      protocolData: string(),
      members: array({
        memberId: string(),
        groupInstanceId: nullable(string('4+', null)),
        clientId: string(),
        clientHost: string(),
        memberMetadata: bytes(),
        memberAssignment: bytes(),
      }),
      authorizedOperations: int32('3+', -2147483648),
    }),
  },
})
