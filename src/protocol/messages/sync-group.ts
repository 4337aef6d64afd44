// SyncGroup: the leader of a classic group sends the assignments, and every member receives its own.

import { api, array, bytes, int16, int32, nullable, string } from '../schema.ts'

export const syncGroup = api({
  key: 14,
  name: 'SyncGroup',
  versions: '0-5',
  flexible: '4+',
  request: {
    groupId: string(),
    generationId: int32(),
    memberId: string(),
    groupInstanceId: nullable(string('3+', null)),
    protocolType: nullable(string('5+', null)),
    protocolName: nullable(string('5+', null)),
    assignments: array({
      memberId: string(),
      assignment: bytes(),
    }),
  },
  response: {
    throttleTimeMs: int32('1+'),
    errorCode: int16(),
    protocolType: nullable(string('5+', null)),
    protocolName: nullable(string('5+', null)),
    assignment: bytes(),
  },
})
