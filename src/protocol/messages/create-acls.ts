// CreateAcls: creates rules. 1: kinds of resource patterns (KIP-290). 3: resources of type USER (KIP-373).

import { api, array, int8, int16, int32, nullable, string } from '../schema.ts'

export const createAcls = api({
  key: 30,
  name: 'CreateAcls',
  versions: '1-3',
  flexible: '2+',
  request: {
    creations: array({
      resourceType: int8(),
      resourceName: string(),
      resourcePatternType: int8('1+', 3),
      principal: string(),
      host: string(),
      operation: int8(),
      permissionType: int8(),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: array({
      errorCode: int16(),
      errorMessage: nullable(string()),
    }),
  },
})
