// AlterConfigs: replaces the configs of resources. Configs that the request does not name return to their defaults.

import { api, array, bool, int8, int16, int32, nullable, string } from '../schema.ts'

export const alterConfigs = api({
  key: 33,
  name: 'AlterConfigs',
  versions: '0-2',
  flexible: '2+',
  request: {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      configs: array({ name: string(), value: nullable(string()) }),
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
