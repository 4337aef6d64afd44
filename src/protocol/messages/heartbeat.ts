// Heartbeat: a member of a classic group shows that it is alive. The response tells it about a rebalance.

import { api, int16, int32, nullable, string } from '../schema.ts'

export const heartbeat = api({
  key: 12,
  name: 'Heartbeat',
  versions: '0-4',
  flexible: '4+',
  request: {
    groupId: string(),
    generationId: int32(),
    memberId: string(),
    groupInstanceId: nullable(string('3+', null)),
  },
  response: {
    throttleTimeMs: int32('1+'),
    errorCode: int16(),
  },
})
