// AlterClientQuotas: sets or removes the quotas of users, client ids and addresses (KIP-546).

import { api, array, bool, float64, int16, int32, nullable, string } from '../schema.ts'

export const alterClientQuotas = api({
  key: 49,
  name: 'AlterClientQuotas',
  versions: '0-1',
  flexible: '1+',
  request: {
    entries: array({
      entity: array({ entityType: string(), entityName: nullable(string()) }),
      ops: array({ key: string(), value: float64(), remove: bool() }),
    }),
    validateOnly: bool(),
  },
  response: {
    throttleTimeMs: int32('0+'),
    entries: array({
      errorCode: int16(),
      errorMessage: nullable(string()),
      entity: array({ entityType: string(), entityName: nullable(string()) }),
    }),
  },
})
