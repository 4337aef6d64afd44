// IncrementalAlterConfigs: changes single configs of resources (KIP-339).

import { api, array, bool, int8, int16, int32, nullable, string } from '../schema.ts'

export const incrementalAlterConfigs = api({
  key: 44,
  name: 'IncrementalAlterConfigs',
  versions: '0-1',
  flexible: '1+',
  request: {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      configs: array({ name: string(), configOperation: int8(), value: nullable(string()) }),
    }),
    validateOnly: bool(),
  },
  response: {
    throttleTimeMs: int32('0+'),
    responses: array({
      errorCode: int16(),
      errorMessage: nullable(string()),
      resourceType: int8(),
      resourceName: string(),
    }),
  },
})
