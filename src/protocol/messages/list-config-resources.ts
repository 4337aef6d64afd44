// ListConfigResources: lists resources that have configs (KIP-1142). Version 0 is ListClientMetricsResources
// (KIP-714).

import { api, array, int8, int16, int32, string } from '../schema.ts'

export const listConfigResources = api({
  key: 74,
  name: 'ListConfigResources',
  versions: '0-1',
  flexible: '0+',
  request: {
    resourceTypes: array(int8(), '1+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16(),
    configResources: array({
      resourceName: string(),
      resourceType: int8('1+', 16),
    }),
  },
})
