// ListGroups: lists the groups that this broker coordinates. 4+: filters by state (KIP-518). 5+: by type (KIP-848).

import { api, array, int16, int32, string } from '../schema.ts'

export const listGroups = api({
  key: 16,
  name: 'ListGroups',
  versions: '0-5',
  flexible: '3+',
  request: {
    statesFilter: array(string(), '4+'),
    typesFilter: array(string(), '5+'),
  },
  response: {
    throttleTimeMs: int32('1+'),
    errorCode: int16(),
    groups: array({
      groupId: string(),
      protocolType: string(),
      groupState: string('4+'),
      groupType: string('5+'),
    }),
  },
})
