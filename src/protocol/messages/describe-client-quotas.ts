// DescribeClientQuotas: returns the quotas of users, client ids and addresses (KIP-546).

import { api, array, bool, float64, int8, int16, int32, nullable, string } from '../schema.ts'

export const describeClientQuotas = api({
  key: 48,
  name: 'DescribeClientQuotas',
  versions: '0-1',
  flexible: '1+',
  request: {
    components: array({
      entityType: string(),
      matchType: int8(),
      match: nullable(string()),
    }),
    strict: bool(),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16(),
    errorMessage: nullable(string()),
    entries: nullable(
      array({
        entity: array({ entityType: string(), entityName: nullable(string()) }),
        values: array({ key: string(), value: float64() }),
      }),
    ),
  },
})
