// LeaveGroup: members leave a classic group. 0-2: one member. 3+: many (KIP-345).

import { api, array, int16, int32, nullable, string } from '../schema.ts'

export const leaveGroup = api({
  key: 13,
  name: 'LeaveGroup',
  versions: '0-5',
  flexible: '4+',
  request: {
    groupId: string(),
    memberId: string('0-2'),
    members: array(
      {
        memberId: string(),
        groupInstanceId: nullable(string('3+', null)),
        reason: nullable(string('5+', null)),
      },
      '3+',
    ),
  },
  response: {
    throttleTimeMs: int32('1+'),
    errorCode: int16(),
    members: array(
      {
        memberId: string(),
        groupInstanceId: nullable(string()),
        errorCode: int16(),
      },
      '3+',
    ),
  },
})
