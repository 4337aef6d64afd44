// DeleteAcls: deletes the rules that match filters, and returns them. 1: kinds of resource patterns (KIP-290).
// 3: resources of type USER (KIP-373).

import { api, array, int8, int16, int32, nullable, string } from '../schema.ts'

export const deleteAcls = api({
  key: 31,
  name: 'DeleteAcls',
  versions: '1-3',
  flexible: '2+',
  request: {
    filters: array({
      resourceTypeFilter: int8(),
      resourceNameFilter: nullable(string()),
      patternTypeFilter: int8('1+', 3),
      principalFilter: nullable(string()),
      hostFilter: nullable(string()),
      operation: int8(),
      permissionType: int8(),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    filterResults: array({
      errorCode: int16(),
      errorMessage: nullable(string()),
      matchingAcls: array({
        errorCode: int16(),
        errorMessage: nullable(string()),
        resourceType: int8(),
        resourceName: string(),
        patternType: int8('1+', 3),
        principal: string(),
        host: string(),
        operation: int8(),
        permissionType: int8(),
      }),
    }),
  },
})
