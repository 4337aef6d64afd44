// DescribeAcls: returns the rules that match a filter. 1: kinds of resource patterns (KIP-290). 3: resources of type
// USER (KIP-373).

import { api, array, int8, int16, int32, nullable, string } from '../schema.ts'

export const describeAcls = api({
  key: 29,
  name: 'DescribeAcls',
  versions: '1-3',
  flexible: '2+',
  request: {
    resourceTypeFilter: int8(),
    resourceNameFilter: nullable(string()),
    patternTypeFilter: int8('1+', 3),
    principalFilter: nullable(string()),
    hostFilter: nullable(string()),
    operation: int8(),
    permissionType: int8(),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16(),
    errorMessage: nullable(string()),
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      patternType: int8('1+', 3),
      acls: array({
        principal: string(),
        host: string(),
        operation: int8(),
        permissionType: int8(),
      }),
    }),
  },
})
